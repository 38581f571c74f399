"""Small talk with the people of a case, natural ways to put things, and what nobody does: by hand."""

from __future__ import annotations

from sonde.envs._shared.dialogue import GOAL
from sonde.envs.murder_mystery.cases import Case, CaseAct, numbered_case
from sonde.envs.murder_mystery.reading import ReadAct, read_case_message
from sonde.envs.murder_mystery.replies import answer_message
from tests.cases import each

SHIP = numbered_case("train", 4)
"""Suspects: Sven, Zofia, Nikhil. Witness: Wanda. A knotted cord, a steel core tube, a wet chart and a tide table."""


@each(
    "said, words",
    [
        ("Sven, how are you?", "Ask"), ("Zofia, when did you last see Farah?", "where I was"),
        ("Nikhil, did you hear a scream?", "Ask me"), ("Wanda, tell me everything.", "Ask me where I was"),
        ("I ask him about the quarrel.", "Sven Jovanovic (cook)"), ("I think Sven is lying.", "accus"),
    ],
)  # fmt: skip
def test_messages_that_do_nothing_are_answered(said: str, words: str) -> None:
    assert read_case_message(SHIP.frame, said).act is None
    text = answer_message(SHIP, said, GOAL)
    assert any(w in text for w in words.split("|")), text


def test_small_talk_is_the_same_for_the_guilty_and_the_innocent() -> None:
    for said in ("Sven, how old are you?", "Sven, did you hear anything?", "Sven, thank you.", "Sven, come here."):
        worlds = {
            answer_message(Case(SHIP.frame, SHIP.truth._replace(culprit=p)), said, GOAL)
            for p in range(len(SHIP.frame.people))
        }
        assert len(worlds) == 1


@each(
    "said, act",
    [
        ("Heft the steel core tube and look at it.", CaseAct("examine", "i1")),
        ("Cook Jovanovic, where were you?", CaseAct("ask", "p0", "alibi")),
        ("Madam Ferreira, do you know anything about Nikhil?", CaseAct("ask", "p1", "p2")),
        ("Is there anything unusual about the steel core tube?", CaseAct("examine", "i1")),
        ("The harbour pilot: I ask him what he saw.", CaseAct("check", "r4")),
        ("Sven, someone says that you were seen near the sample lab.", CaseAct("ask", "p0", "scene")),
        ("Sven, had Farah cheated you?", CaseAct("ask", "p0", "victim")),
    ],
)
def test_natural_ways_to_do_things(said: str, act: CaseAct) -> None:
    assert read_case_message(SHIP.frame, said) == ReadAct("act", act)


@each("said", ["Guilty: Zofia Ferreira.", "It was you, Zofia, and I accuse you!", "Accuse: Zofia"])
def test_accusations(said: str) -> None:
    assert read_case_message(SHIP.frame, said) == ReadAct("accuse", person=1)


@each(
    "said",
    [
        "Zofia, I accuse you of lying.", "Guilty: Zofia?", "Sven, do you like music?", "Sven, where were you born?",
        "Is the ship's log reliable?",
        "I look at the tide table, go to the bridge, and then accuse whoever seems guilty.",
    ],
)  # fmt: skip
def test_nothing_comes_of_these(said: str) -> None:
    assert read_case_message(SHIP.frame, said).kind in ("nothing", "talk", "several")


PRINTERS = numbered_case("train", 15).frame
"""Suspects: Ibrahim, crossword editor; Dalia, typesetter; Hana, cartoonist. Witnesses: Kofi, court reporter; Edith,
delivery driver. Victim: Paloma. The skill: to release the goods lift. Near: in the paper aisle to the type store."""


@each(
    "said, act",
    [
        ("Dalia, weren't you in the paper aisle leading to the type store?", CaseAct("ask", "p1", "scene")),
    ],
)
def test_who_is_meant(said: str, act: CaseAct) -> None:
    assert read_case_message(PRINTERS, said) == ReadAct("act", act)


@each(
    "said",
    [
        "Hana would never have killed anyone.", "Dalia, I never asked you about your quarrel with Paloma.",
        "Dalia, I know where you were.", "Dalia, suppose you had quarrelled with Paloma. Would you tell me?",
        "Dalia, where was Paloma before she died?", "Dalia, did Paloma know how to release the goods lift?",
        "Dalia, is the goods lift heavy?", "Dalia, do you have many friends here?", "Dalia, where were you yesterday?",
        "Dalia, can Hana confirm that you were at home?", "Dalia, did Hana see you?",
        "Has anybody asked Dalia where she was?", "Ask Dalia's assistant where she was.", "Ask the courier to leave.",
        "Was the courier late?", "I have read the press log.", "I forgot to check the press log.",
        "Is the press log reliable?", "Search everywhere but the machine hall.", "Hana should search the machine hall.",
        "Look at the machine hall clock.", "Look at the courier's bag.", "Hana poisoned the atmosphere.",
        "Hana shouted: Dalia is the murderer!",
    ],
)  # fmt: skip
def test_what_only_mentions_something_does_nothing(said: str) -> None:
    assert read_case_message(PRINTERS, said).kind in ("nothing", "talk", "several")


@each("person", [0, 1])
@each(
    "said",
    [
        "Check {r} to verify {p}'s alibi.", "I will examine {r} to confirm or refute {p}'s alibi.",
        "To verify the alibi of {p}, check {r}.", "Verify {p}'s story against {r}.",
        "{p} claims to have been somewhere else, so I consult {r}.", "Does {r} show {p}?",
    ],
)  # fmt: skip
def test_a_record_is_read_and_not_the_person_whose_alibi_it_is_about(person: int, said: str) -> None:
    name = SHIP.frame.people[person].name
    for record in SHIP.frame.records:
        if record.kind != "bystander":
            found = read_case_message(SHIP.frame, said.format(r=record.name, p=name))
            assert found == ReadAct("act", CaseAct("check", record.id))


@each(
    "said, people",
    [
        ("There is no doubt left: Zofia committed the murder.", (1,)),
        ("Since Sven has an alibi, I accuse Zofia.", (1,)), ("Not Sven, but Zofia is the killer.", (1,)),
        ("At first I suspected Sven, but the killer is Zofia.", (1,)), ("Farah was killed by Zofia.", (1,)),
        ("It has to be the ship's doctor.", (1,)), ("I believe Zofia is the culprit.", (1,)),
        ("The killer's cousin is Zofia.", ()), ("The killer was seen by Zofia.", ()),
        ("Sven says that Zofia did it.", ()), ("If Zofia has no alibi, she is the murderer.", ()),
        ("I suspect Zofia of the murder.", ()), ("It wasn't Zofia.", ()), ("Who killed Farah, Zofia?", ()),
    ],
)  # fmt: skip
def test_who_is_accused_is_read_by_what_is_named(said: str, people: tuple[int, ...]) -> None:
    found = read_case_message(SHIP.frame, said)
    assert ((found.person,) if found.kind == "accuse" else ()) == people


@each(
    "said, act",
    [
        ("Ask the second suspect where they were.", CaseAct("ask", "p1", "alibi")),
        ("Question suspect number 3 about the quarrel with Farah.", CaseAct("ask", "p2", "victim")),
        ("Where was the last suspect at the time of the murder?", CaseAct("ask", "p2", "alibi")),
        ("I'd like to ask witness 1 what they know about the death.", CaseAct("ask", "p3", "death")),
        ("Did the only witness know the code?", CaseAct("ask", "p3", "access")),
    ],
)
def test_people_are_counted_as_well_as_named(said: str, act: CaseAct) -> None:
    assert read_case_message(SHIP.frame, said) == ReadAct("act", act)


@each("said", ["Ask the fourth suspect where they were.", "Ask the second witness about the code."])
def test_whom_nobody_can_count_is_not_asked(said: str) -> None:
    assert read_case_message(SHIP.frame, said).act is None


def test_whoever_is_counted_is_accused() -> None:
    assert read_case_message(SHIP.frame, "I accuse the third suspect of the murder.") == ReadAct("accuse", person=2)
