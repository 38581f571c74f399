"""Parts of long work in processes of their own: what is told, warned and raised, and what becomes of those killed."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sonde._util.workers import TRIES, LocalWorkers, WorkerWarning, run_parts
from sonde.core import ContractError, WorldError

Tell = Callable[[Any], None]


def counting(n: int, tell: Tell) -> None:
    print("this is no message")
    for i in range(n):
        tell((n, i))


def failing(n: int, tell: Tell) -> None:
    tell(n)
    if n == 1:
        raise KeyError(f"part {n}")
    time.sleep(60)


class Odd(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def odd(n: int, tell: Tell) -> None:
    raise Odd(1, 2)


def warning(n: int, tell: Tell) -> None:
    warnings.warn(f"part {n} is odd", UserWarning, stacklevel=1)


def dying(path: Path, tell: Tell) -> None:
    """Killed in its first two lives; each leaves a line in a file."""
    lives = path.read_text() if path.exists() else ""
    path.write_text(lives + "life\n")
    if lives.count("life") < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    tell(lives.count("life"))


def always_dying(n: int, tell: Tell) -> None:
    os._exit(7)


def tidying(path: Path, tell: Tell) -> None:
    try:
        tell(os.getpid())
        time.sleep(60)
    finally:
        path.write_text("closed")


def test_all_messages_of_the_parts_arrive() -> None:
    found = list(run_parts(counting, [3, 5], LocalWorkers(2)))
    assert sorted(found) == [(3, 0), (3, 1), (3, 2), *((5, i) for i in range(5))]
    assert [told for told in found if told[0] == 5] == [(5, i) for i in range(5)], "of one part in order"


def test_an_error_in_a_part_is_raised_with_its_traceback_and_ends_the_others() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyError, match="part 1") as caught:
        list(run_parts(failing, [0, 1], LocalWorkers(2)))
    assert "in failing" in caught.value.__notes__[0]
    assert time.monotonic() - begun < 30


def test_an_exception_that_cannot_be_sent_comes_in_words() -> None:
    with pytest.raises(ContractError, match="Odd: 1 and 2"):
        list(run_parts(odd, [0], LocalWorkers(1)))


def test_warnings_are_given_here() -> None:
    with pytest.warns(UserWarning, match="part 4 is odd"):
        assert list(run_parts(warning, [4], LocalWorkers(1))) == []


def test_a_part_whose_process_is_killed_is_begun_again(tmp_path: Path) -> None:
    with pytest.warns(WorkerWarning, match=r"worker 0 died \(status -9\); restarted") as warned:
        assert list(run_parts(dying, [tmp_path / "lives"], LocalWorkers(1))) == [2]
    assert len(warned) == 2


@pytest.mark.filterwarnings("ignore::sonde._util.workers.WorkerWarning")
def test_one_that_is_always_killed_is_given_up() -> None:
    with pytest.raises(WorldError, match=rf"worker 0: died {TRIES} times in a row .*: status 7"):
        list(run_parts(always_dying, [0], LocalWorkers(1)))


def test_closing_lets_the_processes_close_what_they_have_open(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with closing(run_parts(tidying, paths, LocalWorkers(2))) as found:
        pids = [next(found), next(found)]
    assert [path.read_text() for path in paths] == ["closed", "closed"]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
