"""Work on several cores: in order, with the errors of the function, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from sonde._util.processes import count_cores, map_processes
from sonde.core import ContractError, WorldError
from tests.cases import each

ROOT = Path(__file__).parents[2]


def square(n: int) -> int:
    print("this is no answer")
    return n * n


def failing(n: int) -> int:
    if n == 3:
        raise KeyError(f"thing {n}")
    return n


class Odd(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def odd(n: int) -> int:
    raise Odd(n, 2)


def dying(n: int) -> int:
    os._exit(7)


def get_process(n: int) -> int:
    return os.getpid()


@each("processes", [1, 3])
def test_results_come_in_order(processes: int) -> None:
    assert list(map_processes(square, range(40), processes)) == [n * n for n in range(40)]


def test_it_is_other_processes_that_work_and_as_many_as_asked_for() -> None:
    found = set(map_processes(get_process, range(60), 2))
    assert len(found) == 2 and os.getpid() not in found
    assert count_cores() >= 1


def test_errors_are_raised_after_the_results_before_them() -> None:
    found = map_processes(failing, range(10), 2)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="thing 3") as caught:
        next(found)
    assert "in failing" in caught.value.__notes__[0]


def test_an_exception_that_cannot_be_sent_comes_in_words() -> None:
    with pytest.raises(ContractError, match="Odd: 1 and 2"):
        list(map_processes(odd, [1], 1))


def test_a_process_that_dies_is_named() -> None:
    with pytest.raises(WorldError, match="a helper process ended with status 7"):
        list(map_processes(dying, range(4), 2))


def test_closing_ends_the_processes_and_takes_no_more() -> None:
    taken: list[int] = []
    found = map_processes(get_process, (taken.append(n) or n for n in count()), 2)
    pid = next(found)
    found.close()
    assert len(taken) <= 6
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from math import sqrt\nfrom sonde._util.processes import map_processes\n"
        "print('once')\nprint(*map_processes(sqrt, (4.0, 9.0), 2))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr) == ("once\n2.0 3.0\n", "")
