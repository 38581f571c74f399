"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import sonde
from tests.cases import Checks

NEEDS_WEIGHTS = ("sonde.models.", "sonde.train.", "sonde.beliefs.elicitation", "sonde.interop.", "sonde.runs.on_ray")
"""Left to their own tests: importing them loads torch, or somebody else's library."""


def test_examples() -> None:
    checks, examples = Checks(), 0
    for module in pkgutil.walk_packages(sonde.__path__, "sonde."):
        if module.name.startswith(NEEDS_WEIGHTS) or module.name.endswith("__main__"):
            continue
        found = doctest.testmod(importlib.import_module(module.name))
        examples += found.attempted
        checks.run(module.name, lambda found=found: check_results(found))
    checks.report()
    assert examples >= 20


def check_results(found: doctest.TestResults) -> None:
    assert found.failed == 0
