"""What is said to messages that do nothing: help and the briefing's facts, whatever is hidden; and other names."""

from __future__ import annotations

import random
import re
import time

import pytest

from sonde.envs._rules.dialogue import GOAL
from sonde.envs._rules.mystery.cases import Act, Case, case
from sonde.envs._rules.mystery.public import unanswered
from sonde.envs._rules.mystery.reading import NOTHING, Reading, read
from sonde.envs._rules.mystery.replies import reply
from sonde.envs._rules.mystery.telling import briefing

SHIP = case("train", 4)
"""Suspects: Sven, Zofia, Nikhil. Witness: Wanda. A knotted cord, a steel core tube, a wet chart and a tide table."""
MANOR = case("test", 3)
"""Three suspects, three witnesses: Ibrahim, Callum, Arjun."""
LIBRARY = case("test", 0)
"""At the lending desk lies a diary page."""

ASKED = (
    ("Who are the suspects?", "Sven Jovanovic (cook), Zofia Ferreira (ship's doctor) and Nikhil Nguyen"),
    ("Who are the witnesses?", "Wanda Achterberg (marine biologist)"),
    ("Who can I talk to?", "the harbour pilot and the fisheries observer"),
    ("List the places", "the sample lab, the bridge, the engine room"),
    ("Which records are there?", "the ship's log, the hatch record, the winch camera"),
    ("What records can I check?", "the ship's log, the hatch record, the winch camera"),
    ("What can I examine?", "a knotted cord, a steel core tube, a wet chart and a tide table"),
    ("What do we know about the victim?", "Farah Andersson, chief scientist, was found dead in the sample lab"),
    ("Tell me about the victim", "between 05:10 and 05:30"),
    ("How was Farah killed?", "a steel core tube"),
    ("How did the killer get in?", "The sample lab opens with a code"),
    ("Repeat the briefing, please.", "the fisheries observer"),
    ("check the logbook", "the ship's log, the hatch record"),
    ("Check the security camera", "the winch camera"),
    ("Examine the footprints", "by that name|of that name|by that name"),
    ("Read the will", "name"),
    ("Search the attic", "the sample lab, the bridge"),
    ("Ask the butler where he was.", "Sven Jovanovic (cook)"),
    ("Where were you?", "Sven Jovanovic (cook)"),
    ("Look at the shoes", "wear and carry"),
    ("Check for DNA", "tested|test that"),
    ("Who is Zofia?", "ship's doctor"),
    ("I think Sven did it.", "accus"),
    ("Confess, Sven!", "Ask me where I was"),
    ("Question Wanda", "Ask me where I was"),
    ("Help", "You can ask one person one thing"),
    ("Who did it?", "one person"),
)


@pytest.mark.parametrize(("said", "words"), ASKED)
def test_public_facts_are_told(said: str, words: str) -> None:
    text = reply(SHIP, said, GOAL)
    assert any(w in text for w in words.split("|")), text


@pytest.mark.parametrize("known", [SHIP, MANOR, LIBRARY])
def test_nothing_hidden_changes_a_word(known: Case) -> None:
    others = [Case(known.frame, known.frame.model.draw(random.Random(seed))) for seed in range(5)]
    for said, _ in ASKED:
        if read(known.frame, said).act is None:
            assert {reply(other, said, GOAL) for other in others} == {reply(known, said, GOAL)}


@pytest.mark.parametrize("known", [SHIP, MANOR, LIBRARY])
def test_no_name_is_told_that_the_briefing_does_not_tell(known: Case) -> None:
    told = briefing(known.frame)
    secret = [i.name for i in known.frame.items if i.name not in told]
    assert secret
    for said, _ in ASKED:
        if read(known.frame, said).act is None:
            text = unanswered(known.frame, read(known.frame, said), said)
            assert not [name for name in secret if name in text]


@pytest.mark.parametrize("said", ["Check the diary", "Look at the page", "Read the diary of Quentin"])
def test_what_may_be_there_is_not_denied(said: str) -> None:
    assert not re.search(r"nothing|nobody|no such", reply(LIBRARY, said, GOAL), re.IGNORECASE)


def test_words_vary() -> None:
    said = [f"Examine the footprints{'.' * n}" for n in range(6)]
    assert len({reply(SHIP, s, GOAL) for s in said}) == 3


@pytest.mark.parametrize(
    ("known", "said", "act"),
    [
        (SHIP, "Ask the first suspect where they were", Act("ask", "p0", "alibi")),
        (SHIP, "I'll question the second suspect, Zofia Ferreira, about the murder.", Act("ask", "p1", "death")),
        (SHIP, "Witness 1, where were you?", Act("ask", "p3", "alibi")),
        (SHIP, "Ask the witness what they saw", Act("ask", "p3", "others")),
        (MANOR, "Ask the second witness what they saw.", Act("ask", "p4", "others")),
        (MANOR, "Where was the last suspect?", Act("ask", "p2", "alibi")),
        (SHIP, "Look around the place where the body was found.", Act("examine", "l0")),
        (SHIP, "Search the room where Farah was killed", Act("examine", "l0")),
        (SHIP, "Inspect the area around the body", Act("examine", "l0")),
        (SHIP, "Verify Sven's alibi with the fisheries observer", Act("check", "r6")),
        (SHIP, "Check Sven's story against the ship's log", Act("check", "r0")),
        (SHIP, "where were u zofia", Act("ask", "p1", "alibi")),
        (SHIP, "hey Sven whats your alibi", Act("ask", "p0", "alibi")),
        (case("train", 18), "Examine the poison.", Act("examine", "i1")),
    ],
)
def test_other_names(known: Case, said: str, act: Act) -> None:
    assert read(known.frame, said) == Reading("act", act)


def test_what_is_no_other_name() -> None:
    assert read(MANOR.frame, "Ask the witness what they saw") == NOTHING
    assert read(SHIP.frame, "I suspect 2 people") == NOTHING
    assert read(SHIP.frame, "Ask the fourth suspect where they were") == NOTHING
    assert read(case("train", 18).frame, "Search Lars's room") == NOTHING
    assert read(case("train", 13).frame, "Can I see the list of visitors?") == NOTHING, "a can of paraffin"
    assert read(SHIP.frame, "I accuse the second suspect.") == Reading("accuse", person=1)
    assert read(SHIP.frame, "Sven and Nikhil did it together.").kind == "several"


@pytest.mark.parametrize("unit", ["who ", "question Sven ", "what the ", "list the ", "@x ", "a", "? ", "did it Sven "])
def test_long_messages_cost_little(unit: str) -> None:
    said = unit * (100_000 // len(unit))
    start = time.process_time()
    for kind in (NOTHING, Reading("talk", person=0)):
        assert unanswered(SHIP.frame, kind, said)
    assert time.process_time() - start < 0.5
