"""Playing many episodes when something fails: the world, a program, a defect, whoever receives them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import sonde
from sonde.core import AGENT, Action, Policy, ProgramPolicy, Trajectory, UserError, View, WorldError
from sonde.runs.rollout import Plan, collect_trajectories, record_plan, stream_trajectories
from sonde.runs.store import Run
from tests.cases import each

from .test_rollout import SMALL, Notes, list_codes, transcripts


def test_a_failure_of_the_world_is_kept_and_the_run_goes_on(tmp_path: Path) -> None:
    bad = list_codes(5)[2]
    notes = Notes(inner=sonde.make("agents:random"), fails={bad: WorldError("line cut")})
    run = record_plan(SMALL, {AGENT: notes}, SMALL.tasks("test")[:5], Plan(k=2), tmp_path / "run", {})
    failed = [t for t in run if t.error]
    assert len(run) == 10
    assert {str(t.task.hidden) for t in failed} == {bad}
    assert [t.error for t in failed] == ["WorldError: line cut"] * 2
    assert all(t.outcome is not None and t.outcome.kind == "error" and len(t.turns) == 1 for t in failed)

    mended = Notes(inner=sonde.make("agents:random"))
    again = record_plan(SMALL, {AGENT: mended}, SMALL.tasks("test")[:5], Plan(k=2), tmp_path / "run", {})
    assert [t.error for t in again] == [""] * 10
    assert [x for x in mended.log if isinstance(x, tuple)] == [("finish", AGENT, bad)] * 2, (
        "only the failed are replayed"
    )


def test_a_folder_is_not_continued_by_another_version(tmp_path: Path) -> None:
    policies = {AGENT: sonde.make("agents:random")}
    record_plan(SMALL, policies, SMALL.tasks("test")[:1], Plan(), tmp_path / "run")
    changed = sonde.make("mastermind", length=3, digits=5, max_turns=6)
    changed.__dict__["spec"] = replace(SMALL.spec, version="0")
    with pytest.raises(UserError, match="version"):
        record_plan(changed, policies, SMALL.tasks("test")[:2], Plan(), tmp_path / "run")


@dataclass(frozen=True, kw_only=True)
class Flaky(ProgramPolicy):
    """A program that depends on the outside world: it fails for a code."""

    bad: str
    where: str

    def act_now(self, view: View) -> Action:
        self._check(view, "act")
        return sonde.make("agents:random").act_now(view)

    async def finish(self, view: View) -> None:
        self._check(view, "finish")

    def _check(self, view: View, where: str) -> None:
        if self.where == where and view._episode.state.code == self.bad:  # pyright: ignore[reportPrivateUsage]
            raise WorldError("engine gone")


@each("where", ["act", "finish"])
def test_programs_may_fail_too_and_spare_the_others(where: str) -> None:
    tasks, bad = SMALL.tasks("test")[:6], list_codes(6)[3]
    found = collect_trajectories(SMALL, {AGENT: Flaky(bad=bad, where=where)}, tasks, Plan(k=2))
    assert [t.error for t in found if str(t.task.hidden) == bad] == ["WorldError: engine gone"] * 2
    good = [t for t in found if str(t.task.hidden) != bad]
    plain = collect_trajectories(SMALL, {AGENT: sonde.make("agents:random")}, tasks, Plan(k=2))
    assert transcripts(good) == transcripts([t for t in plain if str(t.task.hidden) != bad])


def test_a_defect_in_code_stops_the_run_at_once_and_cancels_the_rest(tmp_path: Path) -> None:
    bad = list_codes(30)[0]
    notes = Notes(inner=sonde.make("agents:random"), fails={bad: KeyError("defect")})
    with pytest.raises(KeyError, match="defect"):
        record_plan(SMALL, {AGENT: notes}, SMALL.tasks("test")[:30], Plan(k=1, concurrency=10), tmp_path / "run", {})
    assert notes.running[0] == 0
    assert notes.log[-1] == "close", "nothing acted after the policies were closed"
    assert notes.log.count("act") < 10 * 6, "not even the first ten were played to their end"
    assert not (tmp_path / "run").exists(), "nothing was recorded"


def test_what_was_played_is_handed_out_before_a_defect_stops_the_run(tmp_path: Path) -> None:
    """Episodes that end in the same moment as the failing one are recorded."""
    tasks = [SMALL.tasks("test")[i] for i in range(20)]

    @dataclass(frozen=True, kw_only=True)
    class Stubborn(Policy):
        async def act(self, view: View) -> Action:
            if view._episode.state.code == tasks[7].hidden:  # pyright: ignore[reportPrivateUsage]
                raise KeyError("defect")
            return Action("no answer at all")

    with pytest.raises(KeyError, match="defect"):
        record_plan(SMALL, {AGENT: Stubborn()}, tasks, Plan(), tmp_path / "run", {})
    assert {t.task.index for t in Run.load(tmp_path / "run")} == set(range(20)) - {7}


def test_a_receiver_that_fails_stops_the_run_before_the_policies_close() -> None:
    notes = Notes(inner=sonde.make("agents:random"))

    def full(_: Trajectory) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        collect_trajectories(SMALL, {AGENT: notes}, SMALL.tasks("test")[:20], Plan(concurrency=5), on_done=full)
    assert notes.running[0] == 0
    assert notes.log[-1] == "close"


def test_closing_the_stream_cancels_what_runs() -> None:
    notes = Notes(inner=sonde.make("agents:random"))

    async def first() -> int:
        stream = stream_trajectories(SMALL, {AGENT: notes}, SMALL.tasks("test")[:20], Plan(concurrency=5))
        async for _ in stream:
            break
        await stream.aclose()
        return notes.running[0]

    assert asyncio.run(first()) == 0
    assert notes.log.count("act") < 20 * 6
