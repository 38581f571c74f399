"""Thresholds of the garbage collector inside and after runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import sonde
from sonde._util.garbage import RARELY, collect_garbage_rarely
from sonde.core import Trajectory
from sonde.runs.rollout import collect_trajectories


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_last_one_out_restores_the_thresholds() -> None:
    gc.set_threshold(700, 11, 12)
    first, second = collect_garbage_rarely(), collect_garbage_rarely()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold() == (RARELY, 11, 12)
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (RARELY, 11, 12)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("own", [0, 2 * RARELY])
def test_thresholds_of_ones_own_stay(own: int) -> None:
    gc.set_threshold(own, 10, 10)
    with collect_garbage_rarely():
        assert gc.get_threshold()[0] == own
    assert gc.get_threshold()[0] == own


def test_a_change_inside_stays() -> None:
    gc.set_threshold(700, 10, 10)
    with collect_garbage_rarely():
        gc.set_threshold(5, 5, 5)
    assert gc.get_threshold() == (5, 5, 5)


def test_a_run_collects_rarely_and_leaves_no_trace() -> None:
    gc.set_threshold(700, 10, 10)
    seen: list[int] = []

    def note(trajectory: Trajectory) -> None:
        seen.append(gc.get_threshold()[0])

    env = sonde.make("mastermind")
    collect_trajectories(env, {"agent": sonde.make("agents:random")}, env.tasks("test")[:2], on_done=note)
    assert seen == [RARELY, RARELY] and gc.get_threshold() == (700, 10, 10)
