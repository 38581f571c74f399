"""Small talk with the people of a case, natural ways to put things, and what nobody does: by hand."""

from __future__ import annotations

import pytest

from sonde.envs._rules.dialogue import GOAL
from sonde.envs._rules.mystery.cases import Act, Case, case
from sonde.envs._rules.mystery.reading import Reading, read
from sonde.envs._rules.mystery.replies import reply
from sonde.envs._rules.mystery.words import template

SHIP = case("train", 4)
"""Suspects: Sven, Zofia, Nikhil. Witness: Wanda. A knotted cord, a steel core tube, a wet chart and a tide table."""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Sven, how are you?", "Ask"),
        ("Sven, what do you do for a living?", "cook"),
        ("Zofia, are you married?", "ship's doctor"),
        ("Zofia, when did you last see Farah?", "where I was"),
        ("Nikhil, were you with Sven?", "Sven"),
        ("Nikhil, did you hear a scream?", "Ask me"),
        ("Wanda, tell me everything.", "Ask me where I was"),
        ("Wanda, sit down.", "questions"),
        ("Hello, I'm the detective. What happened here?", "found dead"),
        ("Was the door locked?", "code"),
        ("Which record would show where Sven was?", "the hatch record"),
        ("I burn the wet chart.", "evidence"),
        ("Wait.", "nobody steps forward|Nothing happens"),
        ("Call the police!", "Help is on its way|police"),
        ("I ask him about the quarrel.", "Sven Jovanovic (cook)"),
        ("I think Sven is lying.", "accus"),
    ],
)
def test_messages_that_do_nothing_are_answered(said: str, words: str) -> None:
    assert read(SHIP.frame, said).act is None
    text = reply(SHIP, said, GOAL)
    assert any(w in text for w in words.split("|")), text


def test_small_talk_is_the_same_for_the_guilty_and_the_innocent() -> None:
    for said in ("Sven, how old are you?", "Sven, did you hear anything?", "Sven, thank you.", "Sven, come here."):
        worlds = {
            reply(Case(SHIP.frame, SHIP.truth._replace(culprit=p)), said, GOAL) for p in range(len(SHIP.frame.people))
        }
        assert len(worlds) == 1


@pytest.mark.parametrize(
    ("said", "act"),
    [
        ("A glance at the ship's log, if I may.", Act("check", "r0")),
        ("The hatch record, please, officer.", Act("check", "r1")),
        ("Heft the steel core tube and look at it.", Act("examine", "i1")),
        ("Cook Jovanovic, where were you?", Act("ask", "p0", "alibi")),
        ("Madam Ferreira, do you know anything about Nikhil?", Act("ask", "p1", "p2")),
        ("Is there anything unusual about the steel core tube?", Act("examine", "i1")),
        ("The harbour pilot: I ask him what he saw.", Act("check", "r4")),
        ("Sven, someone says that you were seen near the sample lab.", Act("ask", "p0", "scene")),
        ("Sven, had Farah cheated you?", Act("ask", "p0", "victim")),
    ],
)
def test_natural_ways_to_do_things(said: str, act: Act) -> None:
    assert read(SHIP.frame, said) == Reading("act", act), template(SHIP.frame, said)


@pytest.mark.parametrize("said", ["Guilty: Zofia Ferreira.", "It was you, Zofia, and I accuse you!", "Accuse: Zofia"])
def test_accusations(said: str) -> None:
    assert read(SHIP.frame, said) == Reading("accuse", person=1)


@pytest.mark.parametrize(
    "said",
    [
        "Zofia, I accuse you of lying.",
        "Guilty: Zofia?",
        "Sven, do you like music?",
        "Sven, where were you born?",
        "Is the ship's log reliable?",
        "I look at the tide table, go to the bridge, and then accuse whoever seems guilty.",
    ],
)
def test_nothing_comes_of_these(said: str) -> None:
    assert read(SHIP.frame, said).kind in ("nothing", "talk", "several"), template(SHIP.frame, said)


PRINTERS = case("train", 15).frame
"""Suspects: Ibrahim, crossword editor; Dalia, typesetter; Hana, cartoonist. Witnesses: Kofi, court reporter; Edith,
delivery driver. Victim: Paloma. The skill: to release the goods lift. Near: in the paper aisle to the type store."""


@pytest.mark.parametrize(
    ("said", "act"),
    [
        ("Dalia, Hana says you can release the goods lift. Is that so?", Act("ask", "p1", "access")),
        ("Dalia, Hana noticed you, she says. Did you see her?", Act("ask", "p1", "p2")),
        ("Dalia, not a word about ink. What about Hana, did you see her?", Act("ask", "p1", "p2")),
        ("Dalia, weren't you in the paper aisle leading to the type store?", Act("ask", "p1", "scene")),
        ("Look at the roll of string. No, the green eyeshade.", Act("examine", "i3")),
        ("Tlak to the courier.", Act("check", "r4")),
    ],
)
def test_who_is_meant(said: str, act: Act) -> None:
    assert read(PRINTERS, said) == Reading("act", act), template(PRINTERS, said)


@pytest.mark.parametrize(
    "said",
    [
        "Hana would never have killed anyone.",
        "Dalia, I never asked you about your quarrel with Paloma.",
        "Dalia, I know where you were.",
        "Dalia, suppose you had quarrelled with Paloma. Would you tell me?",
        "Dalia, where was Paloma before she died?",
        "Dalia, did Paloma know how to release the goods lift?",
        "Dalia, is the goods lift heavy?",
        "Dalia, do you have many friends here?",
        "Dalia, where were you yesterday?",
        "Dalia, can Hana confirm that you were at home?",
        "Dalia, did Hana see you?",
        "Dalia, say hello to Hana.",
        "Dalia, look at the contract.",
        "Has anybody asked Dalia where she was?",
        "Ask Dalia's assistant where she was.",
        "Ask the courier to leave.",
        "Was the courier late?",
        "I have read the press log.",
        "I forgot to check the press log.",
        "Is the press log reliable?",
        "Search everywhere but the machine hall.",
        "Hana should search the machine hall.",
        "Look at the machine hall clock.",
        "Look at the courier's bag.",
        "Hana poisoned the atmosphere.",
        "Hana shouted: Dalia is the murderer!",
    ],
)
def test_what_only_mentions_something_does_nothing(said: str) -> None:
    assert read(PRINTERS, said).kind in ("nothing", "talk", "several"), template(PRINTERS, said)


def test_nobody_is_asked_about_themselves() -> None:
    said = "After all this, Sven, what did you the first suspect hear about the way Farah Andersson was killed?"
    assert read(SHIP.frame, said) == Reading("talk", person=0), template(SHIP.frame, said)
    assert reply(SHIP, said, GOAL).startswith("Sven Jovanovic: ")
