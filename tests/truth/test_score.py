"""The replies of the rule users to the open hand-written messages (tests/truth/score.py)."""

import sys
from pathlib import Path

import pytest

from tests.cases import each

sys.path.insert(0, str(Path(__file__).parent))

import score


@pytest.mark.thorough
@each(
    "env, answered",
    [("twenty_questions", 0.55), ("guess_my_city", 0.45), ("customer_service", 0.75), ("murder_mystery", 0.82)],
)
def test_hardly_any_reply_is_wrong(env: str, answered: float) -> None:
    """Silence is not wrong, so the share of messages that get an answer counts too."""
    found = score.score(score.judged(env, score.load(env, "open")))
    assert found.items == 2000 and found.wrong_rate < 0.03 and found.coverage > answered
