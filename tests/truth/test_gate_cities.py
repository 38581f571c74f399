"""Natural questions x test topics get what the reviewed tables say (`tests/truth/gate_cities.py`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests.cases import each

TRUTH = Path(__file__).parent
spec = importlib.util.spec_from_file_location("gate", TRUTH / "gate_cities.py")
assert spec is not None
assert spec.loader is not None
gate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gate)


@each("env", ["guess_my_city"])
def test_every_question_gets_what_the_table_says(env: str) -> None:
    rows = gate.kept(env)
    assert len(rows) >= 200
    assert len({row.question for row in rows}) == len(rows)
    assert gate.measured(env, rows) == rows, f"see python tests/truth/gate_cities.py {env}"
