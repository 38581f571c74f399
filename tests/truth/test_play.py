"""How many plain first questions get an answer (tests/truth/play_test.py)."""

import sys
from pathlib import Path

from sonde.envs.twenty_questions.user import true_reply
from tests.cases import each

sys.path.insert(0, str(Path(__file__).parent))

import play_test


@each("part, most", [("open", 0.15), ("held_out", 0.18)])
def test_most_plain_first_questions_are_answered(part: str, most: float) -> None:
    gaps, asked = play_test.find_gaps(part), play_test.count_pairs(part)
    assert len(play_test.load_questions()[part]) == 14 and len(gaps) >= 19 and asked > 4_500
    assert sum(map(len, gaps.values())) / asked <= most


@each(
    "topic, question, reply",
    [
        ("Marie Curie", "Is it an animal?", "No."),
        ("Marie Curie", "Is it alive?", "No."),
        ("teacher", "Is it an animal?", "No."),
        ("Lima", "Can you hold it in your hand?", "No."),
        ("Lima", "Is it older than 100 years?", "Yes."),
        ("Brasília", "Is it older than 100 years?", "No."),
        ("French Revolution", "Is it bigger than a car?", "No."),
        ("Sherlock Holmes", "Is it bigger than a car?", "No."),
        ("steel", "Can you eat it?", "No."),
    ],
)
def test_by_hand(topic: str, question: str, reply: str) -> None:
    assert true_reply(topic, question) == reply
