"""A support agent's questions get what the reviewed table says, and fixes in a stranger's words are known as such."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
cities: Any = importlib.import_module("gate_cities")
gate: Any = importlib.import_module("gate_service")
fixes: Any = importlib.import_module("fixes")


def test_every_question_gets_what_the_table_says() -> None:
    rows = cities.kept("customer_service")
    assert len(rows) >= 300
    assert gate.measured("customer_service", rows) == rows, "see python tests/truth/gate_service.py customer_service"


def test_fixes_in_a_strangers_words() -> None:
    rows = fixes.rows()
    won = [fixes.wins(row) for row in rows]
    right = [w for row, w in zip(rows, won, strict=True) if row.right]
    assert len(right) >= 80 and len(rows) - len(right) >= 80
    assert sum(right) >= 95 and sum(won) == sum(right)
