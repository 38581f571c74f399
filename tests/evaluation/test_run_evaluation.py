"""The evaluation of a run folder, whoever recorded it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import sonde
from sonde.core import AGENT, Action, Episode, Policy, UserError, View, WorldError
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.run_evaluation import MOST_SAMPLES, load_evaluation, reopen_run, rescore_run
from sonde.runs.rollout import Plan, record_plan
from sonde.runs.store import Run, RunWriter

ENV = sonde.make("mastermind", length=2, digits=3, max_turns=4)
RANDOM = {AGENT: sonde.make("agents:random")}


@dataclass(frozen=True, kw_only=True)
class Offline(Policy):
    """Its host answers with half a character."""

    async def act(self, view: View) -> Action:
        raise WorldError("the host said \ud83d\ude00 \ud83d")


def record_episodes(folder: Path, *worlds: tuple[int, int]) -> Run:
    """A run whose configuration says nothing about seeds, with an episode for each seed and sample."""
    seats = {AGENT: RANDOM[AGENT].config}
    with RunWriter.open(folder, {"env": ENV.config, "seats": seats}) as run:
        for seed, sample in worlds:
            ep = Episode.begin(ENV, ENV.tasks("train")[0], seed=seed, sample=sample)
            while ep.to_act is not None:
                ep = ep.step(ENV.say("01"))
            run.append_trajectory(ep.to_trajectory(policies=RANDOM))
    return Run.load(folder)


def test_a_recorded_plan_has_the_split_and_the_seed_of_its_episodes(tmp_path: Path) -> None:
    run = record_plan(ENV, RANDOM, ENV.tasks("train")[:3], Plan(k=2, seed=7), tmp_path)
    found = rescore_run(reopen_run(run), tmp_path)
    assert (found.split, found.seed, found.n_tasks, found.kinds["missing"]) == ("train", 7, 3, 0)
    assert found.metrics == evaluate(run).metrics
    largest = record_episodes(tmp_path / "seed", (2**64 - 1, 0))
    assert reopen_run(largest).config.seed == 2**64 - 1


@pytest.mark.parametrize(
    ("worlds", "says"),
    [
        ([(0, 0), (1, 0)], "seed: got episodes of 0 and 1, allowed: one seed; `sonde.evaluate` takes a part"),
        ([(0, MOST_SAMPLES)], f"sample: got {MOST_SAMPLES}, allowed: 0 to {MOST_SAMPLES - 1} in a run"),
        ([], "no episodes"),
    ],
)
def test_episodes_that_are_no_run_are_refused(tmp_path: Path, worlds: Sequence[tuple[int, int]], says: str) -> None:
    with pytest.raises(UserError, match=says):
        reopen_run(record_episodes(tmp_path, *worlds))


def test_an_error_with_half_a_character_can_be_evaluated(tmp_path: Path) -> None:
    run = record_plan(ENV, {AGENT: Offline()}, ENV.tasks("test")[:1], Plan(), tmp_path)
    assert run[0].error == "WorldError: the host said \U0001f600 \ud83d"
    rescore_run(reopen_run(run), tmp_path)
    assert load_evaluation(tmp_path).rows[0].error == "WorldError: the host said \U0001f600 \ufffd"
