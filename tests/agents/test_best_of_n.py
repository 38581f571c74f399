"""The best of n: which candidate is taken, what is known of the truth, and that nothing is spoilt by trying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

import sonde
from sonde.agents.best_of_n import BestOfN
from sonde.beliefs.elicitation import Elicitation, belief_probes, truth_probe
from sonde.core import (
    AGENT,
    Action,
    Capabilities,
    Completion,
    Episode,
    Message,
    Model,
    Policy,
    Probe,
    ProgramPolicy,
    Rng,
    Sampling,
    UserError,
    View,
    advance_to_agent,
    default_policies,
    play_act,
    run_sync,
)
from sonde.models.fake import Fake
from sonde.runs.rollout import Plan, collect_trajectories

from ..train.asking import Asking

ENV = Asking()


@dataclass(frozen=True, kw_only=True)
class Says(ProgramPolicy):
    """One of these, drawn by the view's seed."""

    texts: tuple[str, ...]

    def act_now(self, view: View) -> Action:
        return Action(self.texts[Rng(view.seed).randrange(len(self.texts))], memory={"turn": view.turn})


@dataclass(frozen=True, kw_only=True)
class Believer(Model):
    """Believes in a colour as much as it has been told of it, and a little less with every word it was told."""

    capabilities: ClassVar[Capabilities] = Capabilities(score=True)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        raise NotImplementedError

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        return [[self.belief([m.content for m in p.messages[:-1] if m.role == "user"], p.span_text)] for p in probes]

    def belief(self, told: Sequence[str], colour: str) -> float:
        return -1.0 if colour in told else -2.0 - 0.1 * sum(len(text.split()) for text in told)


def begin_episode(colour: str = "red", seed: int = 0) -> Episode:
    return Episode.begin(ENV, ENV.task(colour), seed=seed)


def choose_action(policy: BestOfN, ep: Episode) -> Action:
    return run_sync(policy.choose_action(ep, {}))


def test_it_takes_the_question_after_which_the_truth_is_believed_most() -> None:
    """Of asking and humming, asking: told the colour, the model believes it. The worst is humming."""
    best = BestOfN(player=Says(texts=("ask", "hm", "well")), n=12, believer=Believer())
    for seed in range(8):
        ep = begin_episode(seed=seed)
        assert choose_action(best, ep).text == "ask" and choose_action(replace(best, worst=True), ep).text in (
            "hm",
            "well",
        )
        assert choose_action(best, ep).memory == {"turn": 0} and ep.turns == ()


def test_a_game_being_played_is_asked_as_its_record_is() -> None:
    ep = begin_episode().step("ask").step("hm")
    for how in (Elicitation(), Elicitation(template="answer"), Elicitation(template="<target>")):
        now, (*_, recorded) = truth_probe(ep, how), belief_probes(ENV, ep.to_trajectory(), how).probes
        assert now is not None and now.span == recorded.span and now.ending == recorded.ending
        assert [m.to_json() for m in now.messages] == [m.to_json() for m in recorded.messages]
        assert now.span_text == "red"


def test_a_candidate_that_wins_is_the_best_and_the_last_choice_of_the_worst() -> None:
    ep = begin_episode().step("ask")
    best = BestOfN(player=Says(texts=("red", "blue", "hm")), n=16, believer=Believer())
    assert choose_action(best, ep).text == "red"
    assert choose_action(replace(best, worst=True), ep).text in ("blue", "hm")


def test_one_candidate_is_the_player_alone() -> None:
    player = Says(texts=("ask", "hm", "red", "blue"))
    tasks = ENV.tasks("train")
    plan = Plan(k=2)
    alone = collect_trajectories(ENV, {AGENT: player}, tasks, plan)
    one = collect_trajectories(ENV, {AGENT: BestOfN(player=player, n=1, believer=Believer())}, tasks, plan)
    said = [[[turn.text for turn in t.turns] for t in sorted(run, key=lambda t: t.id)] for run in (alone, one)]
    assert sorted(said[0]) == sorted(said[1])
    assert all(t.privileged for t in one) and not any(t.privileged for t in alone)


def test_below_p_some_turns_are_drawn() -> None:
    """A quarter of the candidates ask: drawn always, about a quarter of the turns do, and never drawn, all."""
    player = Says(texts=("ask", "hm", "well", "oh"))

    def share(p: float) -> float:
        policy = BestOfN(player=player, n=8, p=p, believer=Believer())
        return sum(choose_action(policy, begin_episode(seed=seed)).text == "ask" for seed in range(200)) / 200

    assert 0.15 < share(0.0) < 0.35 and 0.45 < share(0.5) < 0.75 and share(1.0) > 0.85


def test_by_expected_gain_needs_no_truth() -> None:
    """The same choice whatever is hidden, of the question that halves the candidates best; and not privileged."""
    env = sonde.make("mastermind")
    (task,) = env.tasks("test")[:1]
    policy = BestOfN(player=sonde.make("agents:random"), n=6, by="expected")
    assert not policy.privileged and replace(policy, by="belief", believer=Believer()).privileged
    ep = Episode.begin(env, task, seed=3)
    action = run_sync(policy.choose_action(ep, {}))
    views = policy._sample_views(ep, ep.view().seed)  # pyright: ignore[reportPrivateUsage]
    texts = [run_sync(policy.player.act(view)).text for view in views]
    known = ep.filter()
    assert known is not None and len(set(texts)) > 1
    assert known.expected_gain(action.text) == max(map(known.expected_gain, texts)) > 0.0


def test_replies_tried_are_those_that_will_be_given() -> None:
    """In a game with a user: what the model was asked after is what the game told then."""
    env = sonde.make("twenty_questions", preset="delta_belief")
    task = env.tasks("train")[0]

    @dataclass(frozen=True, kw_only=True)
    class Curious(Believer):
        heard: ClassVar[list[tuple[str, str]]] = []

        def belief(self, told: Sequence[str], colour: str) -> float:
            self.heard.append((told[-1], colour))
            return -float(len(self.heard))

    player = Says(texts=("Is it alive?", "Is it a place?", "Is it made of metal?"))
    policies: Mapping[str, Any] = {**default_policies(env), AGENT: BestOfN(player=player, n=6, believer=Curious())}
    ep = run_sync(advance_to_agent(Episode.begin(env, task, seed=0), policies))
    ep = run_sync(advance_to_agent(run_sync(play_act(ep, policies)), policies))
    replies, targets = zip(*Curious.heard, strict=True)
    assert set(targets) == {env.in_words(env.hypothesis(ep.state))} and 1 <= len(replies) <= 3
    assert ep.turns[0].told == replies[0]  # the first is believed most here


@dataclass(frozen=True, kw_only=True)
class Unfiltered(Asking):
    def filter(self, public: Any) -> None:
        return None


def test_mistakes() -> None:
    player: Policy = Says(texts=("ask",))
    with pytest.raises(UserError, match="agents:best_of_n: n: got 0, allowed: 1 or more"):
        BestOfN(player=player, n=0, believer=Believer())
    with pytest.raises(UserError, match="by: got 'luck'"):
        BestOfN(player=player, by="luck", believer=Believer())  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"p: got 1\.5, allowed: 0 to 1"):
        BestOfN(player=player, p=1.5, believer=Believer())
    with pytest.raises(UserError, match="believer: got None, allowed: a model"):
        BestOfN(player=player)
    with pytest.raises(UserError, match="template: got 'Is it', allowed: statement, question, answer, or a text with"):
        BestOfN(player=player, believer=Believer(), template="Is it")
    unfiltered = Unfiltered()
    ep = Episode.begin(unfiltered, unfiltered.task("red"), seed=0)
    with pytest.raises(UserError, match="has no filter; allowed: belief"):
        run_sync(BestOfN(player=player, by="expected").choose_action(ep, {}))


def test_a_language_model_is_its_own_judge() -> None:
    """The belief is asked in the game as the model sees it, and a configuration comes back as it was."""
    llm = sonde.make("agents:llm", model=Fake(script=("ask", "hm", "red")), context="last:1", temperature=1.0)
    policy = BestOfN(player=llm, n=3)
    (found,) = collect_trajectories(ENV, {AGENT: policy}, ENV.tasks("train")[:1], Plan())
    assert found.privileged and not found.error and 1 <= len(found.turns) <= 4
    assert all(len(turn.acts[0].action.completions) == 1 for turn in found.turns)
    assert sonde.core.build(policy.config) == policy
