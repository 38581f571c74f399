"""The shipped floors and references are those of the environments as they are now."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import Env, StoreError
from sonde.evaluation import scale as reference
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.scale import (
    COMMAND,
    PREFIX,
    SAMPLES,
    load_entries,
    measured_bounds,
    reference_score,
    scale_fingerprint,
)
from sonde.runs.store import Run
from sonde.viewer import write_report
from tests.cases import each

from ..cli.invoke import failure
from ..cli.invoke import run as run_command

ENVIRONMENTS: list[Any] = [pytest.param(e, id=f"{e.name}-{e.spec.preset}") for e in reference.all_environments()]
TURNS = 300
"""Whose episodes have more is left to the slow tests; another preset of the same environment has fewer."""
PLAYED: list[Any] = [
    pytest.param(e, id=f"{e.name}-{e.spec.preset}", marks=[pytest.mark.slow] if e.spec.max_turns > TURNS else [])
    for e in reference.all_environments()
]
STALE = f"run `{COMMAND}` and commit sonde/evaluation/scale.json"


def test_every_entry_belongs_to_an_environment_as_it_is() -> None:
    known = {scale_fingerprint(env): env for env in reference.all_environments()}
    for key, entry in load_entries().items():
        assert key in known, f"{entry['env']} was measured in another state: {STALE}"
        assert known[key].config == entry["env"], STALE
        assert entry["command"] == COMMAND


@each("env", ENVIRONMENTS)
def test_every_preset_has_a_scale(env: Env[Any]) -> None:
    assert env.spec.reference, f"{env.name} names no reference"
    found = measured_bounds(env)
    assert found is not None, f"{env.name}, preset {env.spec.preset}, was not measured: {STALE}"
    floor, top = found
    assert floor.n == top.n == len(env.tasks("test"))
    assert floor.low <= floor.mean <= floor.high < top.low <= top.mean <= top.high
    least, most = env.spec.reward_range
    assert min(0.0, least) * env.spec.max_turns <= floor.mean and top.mean <= max(0.0, most) * env.spec.max_turns


def acts_of(env: Env[Any], agent: str) -> list[str]:
    (t,) = sonde.rollout(env, reference.make_agent(agent), tasks=env.tasks("test")[:1])
    assert not t.error
    return [act.action.text for act in t.acts]


@each("env", [p for p in ENVIRONMENTS if p.values[0].package_prompts()])
def test_other_prompts_do_not_move_the_scale(env: Env[Any]) -> None:
    """Both ends, and the environment's own users, act the same whatever the texts around an episode say."""
    texts = {
        file: {name: f"Lo: {text}\nThank you." for name, text in pieces.items()}
        for file, pieces in env.package_prompts().items()
    }
    other = sonde.make(env.name, preset=env.spec.preset, prompts=texts)
    assert other.config != env.config and scale_fingerprint(other) == scale_fingerprint(env)
    for agent in {env.spec.floor, env.spec.reference}:
        assert acts_of(env, agent) == acts_of(other, agent)


@pytest.mark.thorough
@pytest.mark.parametrize("env", PLAYED)
def test_the_first_tasks_play_as_they_were_measured(env: Env[Any]) -> None:
    entry = load_entries().get(scale_fingerprint(env))
    assert entry is not None, f"{env.name}, preset {env.spec.preset}, was not measured: {STALE}"
    for role, samples in (("floor", SAMPLES["floor"]), ("reference", SAMPLES["reference"])):
        stored = entry[role]
        found = reference.play_returns(env, stored["agent"], stored["k"], PREFIX, entry["seed"])
        assert stored["k"] == (samples if env.spec.max_turns <= reference.LONG else samples // 4)
        assert found == stored["prefix"], f"{env.name}: {stored['agent']} plays otherwise than measured: {STALE}"


def test_other_configurations_and_splits_have_no_scale() -> None:
    env = sonde.make("mastermind")
    assert measured_bounds(env) is not None
    assert measured_bounds(env, "train") is None
    assert measured_bounds(sonde.make("mastermind", max_turns=11)) is None
    assert reference_score(sonde.make("mastermind", length=3), "test", Estimate(0.5, 0.4, 0.6, 9)) is None


def test_a_fingerprint_follows_version_configuration_and_policies() -> None:
    env = sonde.make("mastermind")
    before = scale_fingerprint(env)
    assert before == scale_fingerprint(sonde.make("mastermind"))
    found = {before, scale_fingerprint(sonde.make("mastermind", max_turns=11))}
    for change in ({"version": "another"}, {"reference": "random"}, {"floor": "entropy"}):
        changed = sonde.make("mastermind")
        changed.__dict__["spec"] = replace(env.spec, **change)
        found.add(scale_fingerprint(changed))
    assert len(found) == 5


def scale(monkeypatch: pytest.MonkeyPatch, floor: tuple[float, float, float], top: tuple[float, float, float]) -> Any:
    ends = (Estimate(*floor, 9), Estimate(*top, 9))
    monkeypatch.setattr(reference, "measured_bounds", lambda env, split, folder: ends)
    return lambda mean, low, high: reference_score(sonde.make("mastermind"), "test", Estimate(mean, low, high, 7))


def test_0_is_the_floor_and_100_the_reference_and_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    on = scale(monkeypatch, (-5.0, -5.5, -4.5), (-3.0, -3.2, -2.8))
    assert on(-5.0, -5.0, -5.0).mean == 0.0
    assert on(-3.0, -3.0, -3.0).mean == 100.0
    assert on(-4.5, -6.0, -1.0) == Estimate(25.0, -50.0, 200.0, 7)


@pytest.mark.parametrize(
    ("floor", "top"),
    [
        ((0.1, 0.0, 0.3), (0.4, 0.3, 0.5)),  # they touch
        ((0.1, 0.0, 0.4), (0.3, 0.2, 0.5)),  # they overlap
        ((0.5, 0.4, 0.6), (0.1, 0.0, 0.2)),  # the reference is worse than random play
    ],
)
def test_where_floor_and_reference_are_not_apart_there_is_no_scale(
    floor: tuple[float, float, float], top: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scale(monkeypatch, floor, top)(0.2, 0.1, 0.3) is None


def test_a_measurement_holds_what_the_scale_needs() -> None:
    env = sonde.make("mastermind", length=1, digits=3, max_turns=2)
    found = reference.measure_environment(env)
    tasks = env.tasks("test")
    assert found["env"] == env.config and found["version"] == env.spec.version
    assert found["floor"]["agent"] == "random" and found["reference"]["agent"] == "entropy"
    assert found["floor"]["k"] == SAMPLES["floor"] and len(found["floor"]["prefix"]) == min(PREFIX, len(tasks))
    score = Estimate(**found["reference"]["score"])
    assert score.n == len(tasks)

    async def again() -> list[list[float]]:
        return reference.play_returns(env, "entropy", SAMPLES["reference"])

    assert asyncio.run(again()) == found["reference"]["prefix"], "also inside a running loop"


def test_the_scale_holds_against_the_policies_it_was_measured_with() -> None:
    env = sonde.make("word_chaining")
    score = Estimate(0.5, 0.4, 0.6, 9)
    default = sonde.make("users:chainer").fingerprint
    on = reference_score(env, "test", score)
    assert on is not None
    assert reference_score(env, "test", score, {"opponent": default}) == on
    assert reference_score(env, "test", score, {"opponent": sonde.make("agents:random").fingerprint}) is None


# --- environments of others ------------------------------------------------------------------------------------------

MINE = """
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from sonde import AGENT, Frozen, Outcome, Spec, Step, CertainEnv, TaskList
from sonde.agents.random import Random
from sonde.envs._shared.answer import read_answer, tag_answer


class Solver(Random):
    pass


@dataclass(frozen=True, kw_only=True)
class Coins(CertainEnv):
    presets: ClassVar = ("two",)
    preset: str = "two"
    max_turns: int = 1

    @cached_property
    def spec(self):
        return Spec(name=self.name, version="1", summary="name the coin", preset=self.preset, max_turns=self.max_turns,
                    reward_range=(0.0, 1.0), support="two coins", source="ours", reference=REFERENCE)

    def split(self, split):
        return TaskList(4, lambda i: self.make_listed_task(split, i, hidden="ab"[i % 2]))

    def task(self, hidden):
        return self.make_listed_task("custom", 0, hidden=hidden)

    def prior(self, public):
        return [(0.5, "a"), (0.5, "b")]

    def start(self, public, hidden):
        return hidden, False

    def to_act(self, state):
        return None if state[1] else AGENT

    def hypothesis(self, state):
        return state[0]

    def intro(self, state, seat):
        return "a or b?"

    def next_step(self, state, text):
        won = read_answer(text) == state[0]
        return Step((state[0], True), Frozen({AGENT: "over"}), Frozen({AGENT: float(won)}), Frozen(),
                    Outcome("win" if won else "loss", float(won)))

    def actions(self, state):
        return ["a", "b"]

    def say(self, answer):
        return tag_answer(answer)
"""


@pytest.fixture
def write_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write an environment into a module of the user's and return its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(module: str, reference: str) -> str:
        (tmp_path / f"{module}.py").write_text(MINE.replace("REFERENCE", repr(reference)))
        return f"{module}:Coins"

    return write


def call(*args: str) -> Any:
    printed = run_command(*args)
    return json.loads(printed) if "--json" in args else printed


def test_an_environment_of_a_users_file_is_measured_and_scored(write_game: Any, tmp_path: Path) -> None:
    """Its own random play is its reference, so floor and reference overlap; with another reference there is a scale."""
    name = write_game("coins_one", "coins_one:Solver")
    assert "no scale" in call("scale", name)
    run = ("eval", name, "--agent", "random", "-k", "1", "--json")
    (found,) = call(*run)
    assert found["metrics"]["reference_score"] is None and "not clearly above the floor" in found["no_score"]
    env = sonde.make(name)
    entry = {**reference.measure_environment(env), "reference": {"agent": "x", "score": asdict(Estimate(3, 2, 4, 4))}}
    reference.save_entry(env, entry, tmp_path / "runs")
    (folder,) = (tmp_path / "runs").glob("coins*")
    floor = Estimate(**entry["floor"]["score"]).mean
    (found,) = call("rescore", str(folder), "--json")
    returned = found["metrics"]["score"]["mean"]
    assert found["metrics"]["reference_score"]["mean"] == pytest.approx(100 * (returned - floor) / (3 - floor))
    assert found["no_score"] == ""
    assert measured_bounds(env) is None and measured_bounds(env, "test", folder) is not None
    assert measured_bounds(env, "train", folder) is None
    page = write_report([folder], tmp_path / "page.html").read_text("utf-8")
    assert "3.00 of the reference <i>x</i> (100)" in page
    in_memory = evaluate(Run.load(folder).trajectories, folder=tmp_path / "runs")
    assert in_memory.metrics["reference_score"] is not None


def test_who_names_no_reference_is_measured_with_a_given_one(write_game: Any, tmp_path: Path) -> None:
    name = write_game("coins_two", "")
    (found,) = call("eval", name, "--agent", "random", "-k", "1", "--json")
    assert found["no_score"].endswith(f"sonde scale {name} --reference AGENT")
    first = call("scale", name, "--reference", "entropy", "-n", "2", "--json")
    assert first["reference"]["agent"] == "entropy" and first["floor"]["score"]["n"] == 2
    assert first["command"] == f"sonde scale {name} --reference entropy --tasks 2"
    assert "4x16" in call("scale", name, "--reference", "entropy"), "more tasks are measured anew"
    assert "4x16" in call("scale", name), "what was measured is shown"
    assert call("scale", name, "--reference", "entropy", "-n", "3", "--json")["floor"]["score"]["n"] == 4, "fewer not"
    assert len(reference.read_entries(tmp_path / "runs" / "scale.json")) == 1


@each(
    "args, said",
    [
        (["wordle", "--reference", "random"], "scale: reference: got 'random', allowed: none, or entropy"),
        (["wordle", "--floor", "entropy"], "scale: floor: got 'entropy', allowed: none, or random"),
        (["agents:random"], "not an environment"),
        (["movie_recommendation", "-o", "env.attributes=8"], "names no reference; say an agent that plays it well"),
    ],
)
def test_a_mistake_is_told_before_anything_is_measured(
    args: list[str], said: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in failure("scale", *args)
    assert not (tmp_path / "runs").exists()


def test_a_shipped_scale_is_shown_and_not_measured(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    found = call("scale", "wordle", "--json")
    assert found["command"] == COMMAND and found["reference"]["agent"] == "entropy"
    assert not (tmp_path / "runs").exists()


@each("text", ["{", "[]", "5", '{"a": 5}', '{"a": {"floor": {"agent": "x", "score": {"mean": 1}}}}'])
def test_a_file_that_is_no_scale_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text(text)
    with pytest.raises(StoreError, match=r"scale.json: not a file of `sonde scale`"):
        measured_bounds(sonde.make("mastermind", length=3), "test", tmp_path)


def test_scores_beyond_the_ends_are_explained() -> None:
    def lines(*means: float) -> list[str]:
        return reference.explain_range([None, *(Estimate(m, m, m, 3) for m in means)])

    assert lines(0.0, 100.0) == []
    assert lines(-3.0) == [reference.BELOW] and lines(120.0) == [reference.BEYOND]
    assert lines(-3.0, 120.0) == [reference.BELOW, reference.BEYOND]
