"""The golden table of natural questions x test topics (tests/truth/gate.py)."""

import sys
from pathlib import Path

import pytest

from tests.cases import each

sys.path.insert(0, str(Path(__file__).parent))

import gate


@pytest.mark.thorough
@each("env", sorted(gate.MEASURED))
def test_answers_equal_the_reviewed_table(env: str) -> None:
    golden = gate.table(env)
    assert [gate.MEASURED[env](row.sort, row.question) for row in golden] == golden
    assert len(golden) >= 200
    assert len({row.question for row in golden}) > 0.98 * len(golden)
