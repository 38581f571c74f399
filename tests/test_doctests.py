"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import sonde
from tests.cases import Checks

NEEDS_WEIGHTS = ("sonde.models.", "sonde.train.", "sonde.beliefs.elicitation", "sonde.interop.", "sonde.runs.on_ray")
"""Left to their own tests: importing them loads torch, or somebody else's library."""


def test_examples() -> None:
    checks, examples = Checks(), 0
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in pkgutil.walk_packages(sonde.__path__, "sonde."):
        name = module.name
        if name.startswith(NEEDS_WEIGHTS) or name.endswith("__main__"):
            continue
        loaded = importlib.import_module(name)
        examples += sum(bool(found.examples) for found in finder.find(loaded))
        checks.run(name, lambda loaded=loaded: run_examples(loaded))
    checks.report()
    assert examples >= 20


def run_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
