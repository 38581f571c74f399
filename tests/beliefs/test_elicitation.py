"""Eliciting beliefs: what is asked, of which characters, before which turn; and what is refused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest

import sonde
from sonde.beliefs.elicitation import ANSWER, Elicitation, Elicited, belief_probes, elicit_beliefs
from sonde.core import AGENT, CapabilityError, Probe, Trajectory, UserError
from sonde.models.fake import Fake
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.rewarders import BeliefGain, Measurements
from tests.cases import each

ENV = sonde.make("word_guess", max_turns=4)
RANDOM = {AGENT: sonde.make("agents:random")}
FAKE = Fake(pattern=("<Answer>ahead</Answer>",))
NAMED = {  # environments in which the agent can say what the hypothesis is, with an agent that plays them
    "bernoulli_bandit": "random",
    "best_arm": "random",
    "cellular_automata": "random",
    "customer_service": "customer_service",
    "guess_my_city": "random",
    "mastermind": "random",
    "murder_mystery": "random",
    "twenty_questions": "twenty_questions",
    "word_guess": "random",
    "wordle": "random",
}


def episodes(env: Any = ENV, n: int = 3, k: int = 1, agent: str = "random") -> list[Trajectory]:
    return collect_trajectories(env, {AGENT: sonde.make(f"agents:{agent}")}, env.tasks("test")[:n], Plan(k=k))


def elicit_all(model: Any, env: Any, played: Sequence[Trajectory], **how: Any) -> list[tuple[Elicited, ...]]:
    async def work() -> list[tuple[Elicited, ...]]:
        return [beliefs async for _, beliefs in elicit_beliefs(model, env, played, Elicitation(**how))]

    return asyncio.run(work())


def secret(t: Trajectory) -> str:
    return ENV.hypothesis(sonde.Episode.begin(ENV, t.task, seed=t.seed).state)


def score_probes(model: Any, probes: Sequence[Probe]) -> list[float]:
    return [sum(row) for row in asyncio.run(model.score(probes))]


# --- what is asked -------------------------------------------------------------------------------------------------


@each(
    "template, text, span",
    [
        ("statement", "Is the secret {}", (14, 19)),
        ("question", "Is it '{}'?", (7, 12)),
        ("It must be <target>, no?", "It must be {}, no?", (11, 16)),
        (ANSWER, "<Answer>{}</Answer>", None),
    ],
)
def test_the_target_is_the_characters_that_were_put_in(template: str, text: str, span: Any) -> None:
    (t,) = episodes(n=1)
    asked = belief_probes(ENV, t, Elicitation(template=template))
    word = secret(t)
    assert asked.texts == (word,) and len(asked.probes) == len(t.turns) + 1
    for probe in asked.probes:
        last = probe.messages[-1]
        assert (last.role, last.content) == ("assistant", text.format(word))
        assert probe.span == span and probe.ending == (span is None)
        assert probe.span_text == (word if span else last.content)


def test_a_belief_stands_on_what_the_seat_had_heard() -> None:
    (t,) = episodes(n=1)
    asked = belief_probes(ENV, t, Elicitation())
    histories = [probe.messages[:-1] for probe in asked.probes]
    assert [len(h) for h in histories] == [1 + 2 * i for i in range(len(t.turns) + 1)]
    for turn, history in zip(t.turns, histories[1:], strict=True):
        assert history[-2].content == turn.text and history[-1].content == turn.told
    beliefs = elicit_all(FAKE, ENV, [t])[0]
    assert [b.target for b in beliefs] == pytest.approx(score_probes(FAKE, asked.probes))
    assert all(b.candidates is None and b.outside is None and b.tokens == len(secret(t)) for b in beliefs)


def test_completions_stay_on_the_messages_and_the_prompt_is_the_agents_own() -> None:
    agent = sonde.make("agents:llm", model=FAKE, context="last:1", system="Be brief.")
    (t,) = collect_trajectories(ENV, {AGENT: agent}, ENV.tasks("test")[:1])
    asked = belief_probes(ENV, t, Elicitation(), agent.build_prompt)
    last = asked.probes[-1].messages
    assert [m.role for m in last] == ["system", "user", "assistant", "user", "assistant"]
    assert last[0].content == "Be brief." and last[2].completion is t.turns[-1].acts[0].action.completions[0]


def test_where_nothing_is_told_at_the_end_there_is_no_belief_after_it() -> None:
    """Nobody has spoken to the agent, so the conversation has no place for a message of its own."""
    (t,) = episodes(n=1)
    n = len(t.turns)
    asked = belief_probes(ENV, t, Elicitation(), lambda view: view.messages if view.turn < n else view.messages[:-1])
    assert len(asked.probes) == n


@each("turns", [0, 2])
def test_where_the_context_was_full_there_is_no_belief_at_the_end(turns: int) -> None:
    """What no longer fitted when the agent was to speak does not fit with an elicitation behind it."""
    ep = sonde.Episode.begin(ENV, ENV.tasks("test")[0])
    for word in ("about", "above")[:turns]:
        ep = ep.step(ENV.say(word))
    t = ep.cut_short("context").to_trajectory()
    assert len(belief_probes(ENV, t, Elicitation()).probes) == turns
    [beliefs] = elicit_all(FAKE, ENV, [t])
    gain = BeliefGain(shaping=())
    assert gain.compute_rewards({"a": [t]}, Measurements({t.id: beliefs}))[t.id]["belief"].shape == (turns,)


def test_the_mean_is_over_the_tokens_of_the_target() -> None:
    played = episodes(n=1)
    (sums,), (means,) = (elicit_all(FAKE, ENV, played, aggregate=how) for how in ("sum", "mean"))
    n = len(secret(played[0]))
    assert [b.target for b in means] == pytest.approx([b.target / n for b in sums])


# --- candidates ----------------------------------------------------------------------------------------------------


def test_every_hypothesis_of_a_support_and_the_mass_outside() -> None:
    (t,) = episodes(n=1)
    prior = ENV.filter(t.task.public)
    assert prior is not None
    (beliefs,) = elicit_all(FAKE, ENV, [t], template=ANSWER, candidates="all")
    for b in beliefs:
        assert b.candidates is not None and b.outside is not None
        assert tuple(b.candidates) == tuple(prior.belief().hypotheses)
        assert b.candidates[secret(t)] == b.target
        assert b.outside == pytest.approx(1.0 - sum(map(math.exp, b.candidates.values())))
    (others,) = elicit_all(FAKE, ENV, [t], candidates="all")
    assert all(b.outside is None for b in others)


def test_the_mass_outside_of_all_that_can_be_said_is_nothing() -> None:
    """A model that says one of three answers with these probabilities, whole messages."""

    class Sure(Fake):
        async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
            p = {"amber": 0.5, "coral": 0.25, "indigo": 0.125}
            return [[math.log(next(v for k, v in p.items() if k in probe.span_text)), 0.0] for probe in probes]

    env = sonde.make("best_arm", preset="small")
    (beliefs,) = elicit_all(Sure(script=("x",)), env, episodes(env, 1), template=ANSWER, candidates="all")
    assert [b.outside for b in beliefs] == pytest.approx([0.125] * len(beliefs))
    (beliefs,) = elicit_all(
        Sure(script=("x",)), env, episodes(env, 1), template=ANSWER, candidates="all", aggregate="mean"
    )
    assert all(b.outside is None for b in beliefs)


def test_a_number_of_candidates_holds_the_truth_and_is_the_same_for_all_samples() -> None:
    played = episodes(n=6, k=2)
    asked = [belief_probes(ENV, t, Elicitation(candidates=5)) for t in played]
    by_task: dict[str, set[tuple[str, ...]]] = {}
    for t, a in zip(played, asked, strict=True):
        assert len(set(a.texts)) == 5 and a.texts[a.target] == secret(t)
        by_task.setdefault(t.task.id, set()).add(a.texts)
    assert all(len(drawn) == 1 for drawn in by_task.values()) and len(set.union(*by_task.values())) == 6
    assert {a.target for a in asked} != {0}  # its place says nothing


def test_texts_as_candidates_take_the_truth_in() -> None:
    (t,) = episodes(n=1)
    assert belief_probes(ENV, t, Elicitation(candidates=("zebra", "gnu"))).texts == ("zebra", "gnu", secret(t))
    given = (secret(t), "gnu")
    assert belief_probes(ENV, t, Elicitation(candidates=given)).texts == given


def test_many_episodes_and_one_at_a_time_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    played = episodes(n=4)
    together = elicit_all(FAKE, ENV, played, candidates=3)
    monkeypatch.setattr("sonde.beliefs.elicitation.BATCH", 7)  # fewer than an episode has
    assert elicit_all(FAKE, ENV, played, candidates=3) == together
    assert [elicit_all(FAKE, ENV, [t], candidates=3)[0] for t in played] == together


# --- hypotheses in words -------------------------------------------------------------------------------------------


@each("name", NAMED)
def test_the_answer_template_says_what_wins(name: str) -> None:
    env = sonde.make(name)
    t = episodes(env, 1, agent=NAMED[name])[0]
    ep = sonde.Episode.begin(env, t.task, seed=t.seed)
    text = env.in_words(env.hypothesis(ep.state))
    assert belief_probes(env, t, Elicitation(template=ANSWER)).probes[0].span_text == env.say(text)
    if name in ("mastermind", "word_guess", "wordle", "cellular_automata"):
        assert ep.step(env.say(text)).outcome.kind == "win"  # pyright: ignore[reportOptionalMemberAccess]


@each("name", ["customer_service", "guess_my_city"])
def test_all_hypotheses_have_words_of_their_own_that_can_be_answered(name: str) -> None:
    env = sonde.make(name)
    for task in env.tasks("test")[:3]:
        prior, state = env.filter(task.public), env.reset(task, sonde.core.Rng(0))
        texts = [env.in_words(h) for h in prior.belief().hypotheses]
        assert len(set(texts)) == len(texts) and set(texts) <= set(env.actions(state))
        assert all(" " not in text or "/" not in text for text in texts)


@each("name", ["minesweeper", "movie_recommendation", "circuit_decoding", "word_chaining"])
def test_an_environment_without_hidden_text_is_refused(name: str) -> None:
    env = sonde.make(name)
    with pytest.raises(UserError, match=rf"elicit: env: got {name}, whose hypothesis .* has no text, allowed: an env"):
        belief_probes(env, episodes(env, 1)[0], Elicitation())


# --- what is refused -----------------------------------------------------------------------------------------------


@each(
    "values, message",
    [
        ({"template": "Is it"}, "template: got 'Is it', allowed: statement, question, answer, or a text with <target>"),
        ({"template": "<target> <target>"}, "template: got '<target> <target>', allowed: <target> once"),
        ({"candidates": "every"}, "candidates: unknown name 'every'; known: all, target"),
        ({"candidates": 1}, "candidates: got 1, allowed: 2 or more"),
        ({"candidates": ("a", " ")}, r"candidates\[1\]: got ' ', allowed: a text"),
        ({"candidates": ("a", "b", "a")}, r"candidates\[2\]: got 'a' again, allowed: each once"),
        ({"candidates": ()}, r"candidates: got \(\), allowed: one text or more"),
        ({"aggregate": "max"}, "aggregate: got 'max', allowed: sum, mean"),
    ],
)
def test_settings_are_checked(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"elicit: {message}"):
        Elicitation(**values)


def test_what_a_trajectory_cannot_be_asked_is_told() -> None:
    with pytest.raises(UserError, match="candidates: got 41, allowed: 2 to 40, the size of the support"):
        belief_probes(ENV, episodes(n=1)[0], Elicitation(candidates=41))
    code = sonde.make("mastermind")
    with pytest.raises(UserError, match="candidates: got 'all', allowed: at most 1,024, mastermind has 10,000; or a"):
        belief_probes(code, episodes(code, 1)[0], Elicitation(candidates="all"))
    ships = sonde.make("battleship")
    with pytest.raises(UserError, match=r"template: got 'answer', but battleship does not accept the answer 'carrier "):
        belief_probes(ships, episodes(ships, 1)[0], Elicitation(template=ANSWER))


def test_a_model_that_cannot_score_is_refused() -> None:
    with pytest.raises(CapabilityError, match="model 'oracle' cannot score; backends that can: fake, hf"):
        elicit_all(sonde.make("models:oracle"), ENV, episodes(n=1))


# --- a real model --------------------------------------------------------------------------------------------------


def test_a_shipped_model_believes_in_the_arm_it_would_name() -> None:
    """Its beliefs are what it samples from, and few of its answers are none of the three."""
    pytest.importorskip("torch")
    env = sonde.make("best_arm", preset="small")
    agent = sonde.make(
        "agents:llm", model=sonde.make("models:hf", model="sonde-tiny-best_arm"), context="render",
        max_new_tokens=8, temperature=0.0, min_p=0.0,
    )  # fmt: skip
    played = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:3])

    async def work() -> list[tuple[Elicited, ...]]:
        how = Elicitation(template=ANSWER, candidates="all")
        return [b async for _, b in elicit_beliefs(agent.model, env, played, how, prompt=agent.build_prompt)]

    for t, beliefs in zip(played, asyncio.run(work()), strict=True):
        for turn, b in zip(t.turns, beliefs, strict=False):
            assert b.candidates is not None and b.outside is not None and b.outside < 0.01
            assert turn.info["arm"] == max(b.candidates.items(), key=lambda row: row[1])[0]
            c = turn.acts[0].action.completions[0]
            said = b.candidates[turn.info["arm"]]
            assert said == pytest.approx(sum(c.logprobs), abs=1e-4)
    asyncio.run(agent.close())
