"""Environments of other libraries played as sonde's own: what a state is, records, seeds, ends and mistakes.

Those whose library is not installed are left out; TextArena and Gymnasium are there wherever the tests run in full.
"""

from __future__ import annotations

import pickle
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import AGENT, EMPTY, Action, Episode, ProgramPolicy, UnknownName, UserError, View, build
from sonde.evaluation.evaluate import evaluate
from sonde.interop import third_party
from sonde.interop.session import Session
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from sonde.runs.store import Run
from sonde.testing import RULES, EnvProbe, check_interop

from .. import hosts

PACKAGE = {"gem": "gem", "gymnasium": "gymnasium", "reasoning_gym": "reasoning_gym", "textarena": "textarena"}
OPTIONS: dict[str, dict[str, Any]] = {
    "textarena:GuessTheNumber-v0": {}, "textarena:Mastermind-v0": {"options": {"code_length": 3}},
    "textarena:TicTacToe-v0": {"players": 2}, "gem:game:GuessTheNumber-v0-easy": {}, "gem:game:Mastermind-v0-easy": {},
    "reasoning_gym:leg_counting": {}, "gymnasium:FrozenLake-v1": {},
    "gymnasium:sonde.interop.outward.gymnasium:sonde/wordle-v0": {},
}  # fmt: skip
WORDS = {
    "textarena:GuessTheNumber-v0": ["[7]", "[3]", "[12]", "[19]", "[1]", "[10]"],
    "textarena:Mastermind-v0": ["[1 2 3]", "[4 5 6]", "[2 1 4]", "[6 5 1]"],
    "textarena:TicTacToe-v0": ["[0]", "[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]"],
    "gem:game:GuessTheNumber-v0-easy": [r"\boxed{5}", r"\boxed{2}", r"\boxed{9}"],
    "gem:game:Mastermind-v0-easy": [r"\boxed{12}", r"\boxed{34}", r"\boxed{21}"],
    "reasoning_gym:leg_counting": ["<answer>12</answer>", "<answer>40</answer>", "forty"],
    "gymnasium:FrozenLake-v1": ["1", "2", "I go 2", "3", "nowhere"],
    "gymnasium:sonde.interop.outward.gymnasium:sonde/wordle-v0": ["<Answer>toast</Answer>", "<Answer>crane</Answer>"],
}
HERE = [name for name in OPTIONS if find_spec(PACKAGE[name.partition(":")[0]]) is not None]
each = pytest.mark.parametrize("name", HERE)

pytestmark = pytest.mark.filterwarnings("ignore:.*is.* with:SyntaxWarning")  # what reasoning-gym imports


class ScriptedPolicy(ProgramPolicy):
    """Says what there is to be said there, in an order of the seed's."""

    words: tuple[str, ...]

    def act_now(self, view: View) -> Action:
        return Action(self.words[view.seed % len(self.words)])


def make_scripted(name: str) -> ScriptedPolicy:
    from dataclasses import dataclass

    return dataclass(frozen=True, kw_only=True)(
        type("Said", (ScriptedPolicy,), {"__annotations__": {"words": tuple[str, ...]}})
    )(words=tuple(WORDS[name]))


def make_env(name: str, **more: Any) -> Any:
    return sonde.make(name, **{**OPTIONS[name], **more})


def make_players(env: Any, name: str) -> dict[str, ScriptedPolicy]:
    return {seat: make_scripted(name) for seat in env.spec.seats}


def play_some(name: str, n: int = 6, **more: Any) -> list[Any]:
    env = make_env(name)
    return collect_trajectories(env, make_players(env, name), env.tasks("train")[:n], Plan(k=2, **more))


@each
def test_a_record_replays_on_objects_that_never_played_it(name: str) -> None:
    for trajectory in play_some(name):
        assert not trajectory.error
        again = Episode.replay(build(trajectory.env), trajectory)
        assert again.outcome == trajectory.outcome


@each
def test_any_number_at_once_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = play_some(name, concurrency=1), play_some(name, concurrency=50)
    monkeypatch.setattr(third_party, "MAX_WAITING", 3)
    few = play_some(name, concurrency=50)
    assert [t.id for t in one] == [t.id for t in many] == [t.id for t in few]
    assert [[a.told for a in t.acts] for t in one] == [[a.told for a in t.acts] for t in few], "forgotten objects too"


@each
def test_a_state_is_a_value_that_can_be_gone_back_to(name: str) -> None:
    env, words = make_env(name), WORDS[name]
    first = Episode.begin(env, env.tasks("train")[4])
    a, b = first.step(words[0]), first.step(words[1])
    c = first.step(words[0])
    assert a.turns[0].told == c.turns[0].told and a.state == c.state
    assert b.state != a.state
    copied = pickle.loads(pickle.dumps(env))
    assert copied == env and pickle.loads(pickle.dumps(a.state)) == a.state
    if a.to_act is not None:
        told = [ep.step(words[1]).messages for ep in (a, c)]
        other = copied.step(a.state, words[1], None)
        assert told[0][str(a.to_act)][-1].content == told[1][str(a.to_act)][-1].content
        assert other.told == env.step(a.state, words[1], None).told


@each
def test_global_generators_are_left_alone(name: str) -> None:
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    play_some(name, 2)
    after = random.getstate(), np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0] and (before[1][1] == after[1][1]).all() and before[1][2] == after[1][2]


@each
def test_worlds_differ_and_are_shared_by_a_group(name: str) -> None:
    found = play_some(name, 8)
    assert [t.task.hidden for t in found[::2]] == [{"seed": i} for i in range(8)]
    env = make_env(name)
    firsts = {Episode.begin(env, task, seed=seed).state for task in env.tasks("test")[:8] for seed in (0, 5)}
    assert {state.seed for state in firsts} == {1_000_000 + i for i in range(8)}
    assert len(firsts) == 8, "the world's seed decides nothing more"


NOT_OF_HOSTS = {
    "hostile_text_is_harmless": "what a host makes of text is its own; a host that fails is an error on the record",
    "huge_text_is_harmless": "the same",
    "nothing_leaks": "hosts put examples into the rules, drawn by the generator that draws the secret",
    "legal_play_keeps_the_bounds": "legal answers are not listed",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [n for n in HERE if n in ("textarena:GuessTheNumber-v0", *HERE[3:7])])
@pytest.mark.parametrize("rule", sorted(set(RULES) - set(NOT_OF_HOSTS)))
def test_they_keep_the_contract_of_environments(rule: str, name: str) -> None:
    RULES[rule](EnvProbe(env=make_env(name), episodes=6))


@pytest.mark.thorough
@pytest.mark.parametrize("adapter", hosts.NEEDS)
@pytest.mark.parametrize("name", [name for name in HERE if OPTIONS[name].get("players", 1) == 1])
def test_they_go_out_again_through_every_adapter(name: str, adapter: str) -> None:
    check_interop(hosts.find_adapter(adapter), make_env(name), episodes=2, concurrent=20)


def test_evaluated_and_stored_like_the_rest(tmp_path: Path) -> None:
    name = "textarena:GuessTheNumber-v0"
    env = make_env(name)
    run = record_plan(env, {AGENT: make_scripted(name)}, env.tasks("test")[:20], Plan(k=2), tmp_path)
    found = evaluate(Run.load(tmp_path))
    assert len(found.rows) == len(run) == 40
    assert found.metrics["bits"] is None and found.metrics["reference_score"] is None, "gains are n/a"
    assert 0 < found.metrics["success"].mean < 1  # type: ignore[union-attr]
    assert found.kinds["win"] > 0 and found.kinds["error"] == 0


# --- one by one ------------------------------------------------------------------------------------------------------


def play_to_end(name: str, *words: str, **more: Any) -> Episode:
    env = sonde.make(name, **more)
    ep = Episode.begin(env, env.tasks("train")[0])
    for text in words:
        ep = ep.step(text)
    return ep


def test_textarena_ends() -> None:
    name = "textarena:GuessTheNumber-v0"
    secret = next(n for n in range(1, 21) if (o := play_to_end(name, f"[{n}]").outcome) and o.kind == "win")
    won = play_to_end(name, f"[{secret}]")
    assert won.outcome == ("win", 1.0, None, None, "") and won.turns[0].rewards == {AGENT: 1.0}
    assert play_to_end(name, str(secret)).outcome == won.outcome, "TextArena's brackets around a bare answer"
    lost = play_to_end(name, "[no]", "[no]")
    assert lost.outcome is not None and (lost.outcome.kind, lost.outcome.score) == ("unreadable", 0.0)
    wrong = [f"[{n}]" for n in range(1, 21) if n != secret]
    late = play_to_end(name, *wrong[:11])
    assert late.outcome is not None and (late.outcome.kind, late.outcome.truncated) == ("out_of_turns", "turns")
    cut = play_to_end(name, *wrong[:2], max_turns=2)
    assert cut.outcome == ("out_of_turns", 0.0, None, None, "turns")
    assert "[Player]" not in won.turns[0].told, "nobody is told what it said itself"


def test_textarena_games_of_two() -> None:
    ep = play_to_end("textarena:TicTacToe-v0", "[0]", "[3]", "[1]", "[4]", "[2]", players=2)
    assert ep.outcome == ("win", 1.0, None, None, "")
    assert [act.seat for act in ep.acts] == [AGENT, "player_1", AGENT, "player_1", AGENT]
    assert ep.turns[-1].rewards == {AGENT: 1.0, "player_1": -1.0}
    assert "[Player 1] [3]" in ep.turns[0].told or "[3]" in ep.turns[0].told
    assert len(ep.turns) == 3
    with pytest.raises(UserError, match=r"TicTacToe-v0: the host cannot begin seed 0: .*number of players"):
        play_to_end("textarena:TicTacToe-v0")


def test_gymnasium_text_of_our_own_comes_back_as_it_was() -> None:
    """Out through Gymnasium and in again: the same words, rewards and outcome."""
    name = "gymnasium:sonde.interop.outward.gymnasium:sonde/wordle-v0"
    env, ours = sonde.make(name, options={"preset": "lmrl"}, reward_range=(-1, 0)), sonde.make("wordle", preset="lmrl")
    for seed in range(5):
        there, here = Session(env), Session(ours)
        told = [there.reset(seed).text, here.reset(seed).text]
        assert told[0] == told[1]
        word = here.episode.task.hidden
        for text in ("<Answer>toast</Answer>", "nothing", f"<Answer>{word}</Answer>"):
            a, b = there.say(text), here.say(text)
            texts = [heard.text or third_party.NO_TEXT for heard in (a, b)]
            assert (texts[0], a.reward, a.outcome) == (texts[1], b.reward, b.outcome)


def test_gymnasium_by_numbers() -> None:
    env = sonde.make("gymnasium:FrozenLake-v1", options={"is_slippery": False})
    ep = Episode.begin(env, env.tasks("train")[0])
    assert ep.view().messages[0].content.splitlines()[0] == "[S]FFF"
    assert ep.view().legal == ["0", "1", "2", "3"]
    for text in ("1", "1", "2", "I think 1 is wrong, so 2", "1", "2"):
        ep = ep.step(text)
    assert ep.outcome == ("win", 1.0, None, None, "") and ep.turns[-1].rewards == {AGENT: 1.0}
    lost = play_to_end("gymnasium:FrozenLake-v1", "1", "2", options={"is_slippery": False})
    assert lost.outcome == ("loss", 0.0, None, None, "")
    (turn,) = play_to_end("gymnasium:FrozenLake-v1", "north").turns
    assert turn.info == {"invalid": True} and turn.told.endswith("Say the number of an action: 0 to 3.")
    random_play = collect_trajectories(env, {AGENT: sonde.make("agents:random")}, env.tasks("train")[:5])
    assert {t.outcome.kind for t in random_play if t.outcome} <= {"win", "loss", "out_of_turns"}


def test_what_gymnasium_has_that_is_no_text_is_refused() -> None:
    with pytest.raises(UserError, match=r"gymnasium:Blackjack-v1: observes Tuple.*, allowed: text, or rendering"):
        play_to_end("gymnasium:Blackjack-v1")
    with pytest.raises(
        UserError, match=r"gymnasium:CliffWalking-v1: reward of agent: got -1\.0, .* wider reward_range"
    ):
        play_to_end("gymnasium:CliffWalking-v1", "0")
    assert play_to_end("gymnasium:CliffWalking-v1", "0", reward_range=(-100, 0)).turns[0].rewards == {AGENT: -1.0}


def test_gem_ends() -> None:
    pytest.importorskip("gem", reason="needs the extra: pip install 'sonde-rl[gem]'")
    name = "gem:game:GuessTheNumber-v0-easy"
    bad = play_to_end(name, "no box")
    assert bad.outcome == ("unreadable", 0.0, None, None, "") and bad.turns[0].rewards == {AGENT: -0.1}
    won = next(ep for n in range(1, 11) if (ep := play_to_end(name, rf"\boxed{{{n}}}")).outcome)
    assert won.outcome == ("win", 1.0, None, None, "") and won.turns[0].rewards == {AGENT: 1.0}


def test_reasoning_gym_scores() -> None:
    reasoning_gym = pytest.importorskip(
        "reasoning_gym", reason="needs the extra: pip install 'sonde-rl[reasoning-gym]'"
    )
    entry = reasoning_gym.create_dataset("leg_counting", seed=0, size=10, max_animals=4)[0]
    more: Any = {"options": {"max_animals": 4}}
    ep = play_to_end("reasoning_gym:leg_counting", f"I count. <answer>{entry['answer']}</answer>", **more)
    assert entry["question"] in ep.messages[AGENT][0].content
    assert ep.outcome == ("win", 1.0, None, None, "")
    assert play_to_end("reasoning_gym:leg_counting", entry["answer"], **more).outcome == (
        "unreadable",
        0.0,
        None,
        None,
        "",
    )
    assert play_to_end("reasoning_gym:leg_counting", "<answer>-1</answer>", **more).outcome.kind == "loss"  # type: ignore[union-attr]


class FailingEnv(third_party.ThirdPartyEnv):
    """A host with a defect."""

    source = "their"
    package = "pytest"

    @classmethod
    def list_games(cls) -> tuple[str, ...]:
        return ("game",)

    def make_host(self) -> Any:
        return object()

    def begin_host(self, host: Any, seed: int) -> third_party.HostReply:
        return third_party.HostReply({AGENT: "go on"})

    def tell_host(self, host: Any, seat: str, text: str) -> third_party.HostReply:
        if text == "crash":
            raise ZeroDivisionError("their defect")
        return third_party.HostReply({AGENT: "x" * 100_000 + text})


def test_a_host_that_fails_is_an_error_on_the_record() -> None:
    env = FailingEnv.for_game("game")()
    ep = Episode.begin(env, env.tasks("train")[0]).step("fine")
    assert len(ep.turns[0].told) < third_party.MAX_CHARS + 100
    ep = ep.step("crash")
    assert ep.outcome == ("error", 0.0, None, None, "")
    assert ep.turns[-1].info == {"error": "pytest: ZeroDivisionError: their defect"}
    assert Episode.begin(env, env.tasks("train")[0]).step("fine").outcome is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "textarena:GuessTheNumber-v1",
            r"textarena: unknown name 'GuessTheNumber-v1' .did you mean 'GuessTheNumber-v0",
        ),
        ("gymnasium:FrozenLake", r"gymnasium: unknown name 'FrozenLake' .did you mean"),
    ],
)
def test_a_name_that_the_library_does_not_know(name: str, says: str) -> None:
    with pytest.raises(UnknownName, match=says):
        sonde.make(name)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"option": {}}, "unknown name 'option'"),
        ({"max_turns": 0}, "max_turns: got 0, allowed: 1 or more"),
        ({"players": 0}, "players: got 0, allowed: 1 or more"),
        ({"reward_range": (1.0, 0.0)}, "reward_range: got"),
    ],
)
def test_bad_arguments_are_named(config: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        sonde.make("textarena:GuessTheNumber-v0", **config)


@pytest.mark.parametrize("hidden", [None, {}, {"seed": -1}, {"seed": "1"}, {"seed": 1, "more": 2}, EMPTY, 7])
def test_a_setup_is_a_seed(hidden: Any) -> None:
    env = sonde.make("textarena:GuessTheNumber-v0")
    assert env.task({"seed": 7}).hidden == {"seed": 7}
    with pytest.raises(UserError, match=r"hidden: got .*, allowed: \{'seed'"):
        env.task(hidden)
