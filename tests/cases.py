"""Many small checks in one test: a table of cases that is walked in one go, with every failure reported by name."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import pytest

FAILED = (Exception, pytest.fail.Exception)
"""`pytest.raises` fails with what is no `Exception`."""
SHOWN = 10
"""Failures of one test that are shown with their traceback."""


class Checks:
    """Collects the failures of named checks; `report` fails with all of them."""

    def __init__(self) -> None:
        self.done = 0
        self.skipped = 0
        self.failed: list[tuple[str, BaseException]] = []

    def run(self, name: str, check: Callable[[], object]) -> None:
        self.done += 1
        try:
            check()
        except pytest.skip.Exception:
            self.skipped += 1
        except FAILED as error:
            self.failed.append((name, error))

    def report(self) -> None:
        if len(self.failed) == 1:
            name, error = self.failed[0]
            error.add_note(f"case: {name}")
            raise error
        if self.failed:
            shown = "\n\n".join(f"--- {n}\n{_describe_error(e)}" for n, e in self.failed[:SHOWN])
            names = ", ".join(name for name, _ in self.failed)
            pytest.fail(f"{len(self.failed)} of {self.done} cases failed: {names}\n\n{shown}", pytrace=False)
        if self.done and self.skipped == self.done:
            pytest.skip("every case was skipped")


def _describe_error(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-4:]).rstrip()


def each(names: str, values: Iterable[Any] | Callable[[], Iterable[Any]], ids: Any = None) -> Callable[..., Any]:
    """Like `pytest.mark.parametrize`, but one test: every case runs, and the test names those that failed.

    `values` may be a function, which is called when the test runs: collection stays cheap. For short cases that share
    no state: fixtures are made once for all of them."""
    keys = [name.strip() for name in names.split(",")]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            checks = Checks()
            for name, case in _read_cases(keys, values() if callable(values) else values, ids):
                checks.run(name, lambda case=case: test(**fixtures, **case))
            assert checks.done, f"no cases for {names}"
            checks.report()

        signature = inspect.signature(test)
        rest = [p for p in signature.parameters.values() if p.name not in keys]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorate


def _read_cases(keys: list[str], values: Iterable[Any], ids: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the arguments of every case."""
    for i, value in enumerate(values):
        label = None if ids is None else ids(value) if callable(ids) else ids[i]
        if isinstance(value, ParameterSet):
            assert not value.marks, f"a case with marks needs pytest.mark.parametrize: {value}"
            label = value.id if isinstance(value.id, str) else label
            case = value.values
        else:
            case = (value,) if len(keys) == 1 else tuple(value)
        assert len(case) == len(keys), f"{keys}: got {case!r}"
        yield str(label or ", ".join(f"{v!r:.60}" for v in case)), dict(zip(keys, case, strict=True))


ParameterSet: Any = type(pytest.param())
