"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sonde

NEEDS_WEIGHTS = ("sonde.models.", "sonde.train.", "sonde.beliefs.elicitation", "sonde.interop.", "sonde.runs.on_ray")
"""Left to their own tests: importing them loads torch, or somebody else's library."""

MODULES = [
    m.name
    for m in pkgutil.walk_packages(sonde.__path__, "sonde.")
    if not m.name.startswith(NEEDS_WEIGHTS) and not m.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples]
    assert len(found) >= 20
