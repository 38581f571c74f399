"""How many plain first questions get an answer (tests/truth/play_test.py)."""

import sys
from pathlib import Path

from sonde.envs.twenty_questions.user import true_reply
from tests.cases import each

sys.path.insert(0, str(Path(__file__).parent))

import play_test


@each("part, questions, most", [("open", 14, 0.11), ("held_out", 14, 0.12), ("wide", 40, 0.44)])
def test_most_plain_first_questions_are_answered(part: str, questions: int, most: float) -> None:
    gaps, asked = play_test.find_gaps(part), play_test.count_pairs(part)
    assert len(play_test.load_questions()[part]) == questions and len(gaps) >= 19 and asked > 4_500
    assert sum(map(len, gaps.values())) / asked <= most


def test_every_kind_of_topic_answers_most_plain_first_questions() -> None:
    shares = play_test.share_of_gaps("open")
    assert len(shares) >= 19
    assert {kind: share for kind, share in shares.items() if share > 0.15} == {}
    assert max(play_test.share_of_gaps("held_out").values()) < 0.17


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
        ("moon", "Is it older than 100 years?", "Yes."),
        ("moon", "Is it less than 50 years old?", "No."),
        ("malaria", "Is it older than 100 years?", "Yes."),
        ("dog", "Is it older than 100 years?", "No."),
        ("oak", "Is it older than 100 years?", "I do not know."),
        ("Marie Curie", "Is it older than 100 years?", "I do not know."),
        ("Elvis Presley", "Is it older than 100 years?", "No."),
        ("nylon", "Is it older than 100 years?", "No."),
        ("gold", "Is it expensive?", "Yes."),
        ("steel", "Is it expensive?", "No."),
        ("cotton", "Is it found indoors?", "Yes."),
        ("lava", "Is it found indoors?", "No."),
        ("Sherlock Holmes", "Is it alive?", "No."),
        ("Homer Simpson", "Is it alive?", "I do not know."),
        ("R2-D2", "Is it man-made?", "Yes."),
        ("Homer Simpson", "Is it man-made?", "I do not know."),
        ("Snoopy", "Is it bigger than a car?", "No."),
        ("King Kong", "Is it bigger than a car?", "Yes."),
        ("badminton", "Is it found indoors?", "Yes."),
        ("hiking", "Is it found indoors?", "No."),
        ("skateboarding", "Is it older than 100 years?", "I do not know."),
        ("archery", "Is it older than 100 years?", "Yes."),
        ("tooth", "Does it fly?", "No."),
        ("stomach", "Does it make a sound?", "Yes."),
        ("ear", "Is it a living thing?", "I do not know."),
        ("Pegasus", "Can it fly?", "Yes."),
        ("Spider-Man", "Can it fly?", "No."),
        ("Aladdin", "Can it fly?", "I do not know."),
        ("Chewbacca", "Does it have fur?", "Yes."),
        ("Moby Dick", "Does it have legs?", "No."),
        ("Frodo Baggins", "Is it small?", "Yes."),
        ("R2-D2", "Is it electronic?", "Yes."),
        ("chess", "Does it involve water?", "No."),
        ("swimming", "Does it involve water?", "Yes."),
        ("skydiving", "Does it fly?", "I do not know."),
        ("Live Aid", "Is it dangerous?", "No."),
        ("Hurricane Katrina", "Is it natural?", "Yes."),
        ("Chernobyl disaster", "Is it man-made?", "Yes."),
        ("Nile", "Does it have leaves?", "No."),
        ("rainforest", "Does it have leaves?", "Yes."),
        ("shadow", "Does it fly?", "No."),
        ("lightning", "Is it fast?", "Yes."),
        ("earthquake", "Does it make a sound?", "Yes."),
    ],
)
def test_by_hand(topic: str, question: str, reply: str) -> None:
    assert true_reply(topic, question) == reply
