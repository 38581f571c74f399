"""Collecting the tests imports nothing that takes seconds: what does is imported by the tests that use it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.cases import each

TESTS = Path(__file__).parent
HEAVY = {"transformers", "peft", "trl", "accelerate", "datasets", "inspect_ai", "ray", "skyrl_gym", "pandas"}
OURS = {
    *(f"sonde.train.{name}" for name in ("trainer", "sharded", "online.trainer", "online.weight_snapshots")),
    *(f"sonde.train.online.{name}" for name in ("rollout_backend", "held_out", "recorded")),
    *(f"sonde.interop.outward.{name}" for name in ("trl", "inspect", "skyrl_gym")),
    *(f"sonde.models.local.{name}" for name in ("scoring", "kv_cache")),
    "sonde.runs.on_ray",
}
"""Modules of the package that import such a one."""


def list_imports(file: Path) -> set[str]:
    """What is imported when this file is."""
    found: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@each("file", sorted(TESTS.rglob("*.py")), ids=lambda file: str(file.relative_to(TESTS)))
def test_nothing_heavy_is_imported_at_the_top(file: Path) -> None:
    imported = list_imports(file)
    assert not {name for name in imported if name.partition(".")[0] in HEAVY or name in OURS}
