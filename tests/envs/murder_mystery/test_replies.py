"""What is said to messages that do nothing: help and the briefing's facts, whatever is hidden."""

from __future__ import annotations

import random
import re

from sonde.envs._shared.dialogue import GOAL
from sonde.envs.murder_mystery.cases import Case, numbered_case
from sonde.envs.murder_mystery.replies import answer_message
from sonde.envs.murder_mystery.telling import write_briefing
from tests.cases import each

SHIP = numbered_case("train", 4)
"""Suspects: Sven, Zofia, Nikhil. Witness: Wanda. A knotted cord, a steel core tube, a wet chart and a tide table."""
MANOR, LIBRARY = numbered_case("test", 3), numbered_case("test", 0)

ASKED = (
    ("Who are the suspects?", "Sven Jovanovic (cook), Zofia Ferreira (ship's doctor) and Nikhil Nguyen"),
    ("Who are the witnesses?", "Wanda Achterberg (marine biologist)"),
    ("Who can I talk to?", "the harbour pilot and the fisheries observer"),
    ("List the places", "the sample lab, the bridge, the engine room"),
    ("Which records are there?", "the ship's log, the hatch record, the winch camera"),
    ("What do we know about the victim?", "Farah Andersson, chief scientist, was found dead in the sample lab"),
    ("Tell me about the victim", "between 05:10 and 05:30"),
    ("How many turns are left?", "9 "),
    ("Where were you?", "Sven Jovanovic (cook)"),
    ("Read the will", "by that name"),
    ("I suspect Sven. He may be the murderer.", "accus"),
    ("Question Wanda", "Ask me where I was"),
    ("Sven, why is the sea salt?", "Ask me where I was"),
    ("Look at the knotted cord and the wet chart.", "One thing at a time|Begin with one thing|what comes first"),
    ("Help", "You can ask one person one thing|Ask somebody"),
)


@each("said, words", ASKED)
def test_public_facts_are_told(said: str, words: str) -> None:
    text = answer_message(SHIP, said, GOAL, 9)
    assert any(w in text for w in words.split("|")), text


@each("known", [SHIP, MANOR, LIBRARY])
def test_nothing_hidden_changes_a_word(known: Case) -> None:
    rng = random.Random(5)
    others = [Case(known.frame, known.frame.model.draw_truth(rng)) for _ in range(5)]
    for said, _ in ASKED:
        assert len({answer_message(w, said, GOAL, 9) for w in (known, *others)}) == 1


@each("known", [SHIP, MANOR, LIBRARY])
def test_no_name_is_told_that_the_briefing_does_not_tell(known: Case) -> None:
    public = write_briefing(known.frame)
    for item in known.frame.items:
        if item.place:
            assert item.name not in public
            for said, _ in ASKED:
                assert not re.search(rf"\b{re.escape(item.name)}\b", answer_message(known, said, GOAL, 9))
