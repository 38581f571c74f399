"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import sonde
from tests.cases import Checks

NEEDS_WEIGHTS = ("sonde.models.", "sonde.train.", "sonde.beliefs.elicitation", "sonde.interop.", "sonde.runs.on_ray")
"""Left to their own tests: importing them loads torch, or somebody else's library."""


def test_examples() -> None:
    checks, examples = Checks(), 0
    for module in pkgutil.walk_packages(sonde.__path__, "sonde."):
        if module.name.startswith(NEEDS_WEIGHTS) or module.name.endswith("__main__"):
            continue
        made = importlib.import_module(module.name)
        if ">>>" not in Path(str(made.__file__)).read_text("utf-8"):  # doctest would look at every name, to find none
            continue
        found = doctest.testmod(made)
        examples += found.attempted
        checks.run(module.name, lambda found=found: check_results(found))
    checks.report()
    assert examples >= 20


def check_results(found: doctest.TestResults) -> None:
    assert found.failed == 0
