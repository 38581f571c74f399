"""What the narrator says beyond the facts: the end of a story, the turns that are left, and what was said before."""

from __future__ import annotations

import random

import sonde
from sonde.core import AGENT, Episode, ProgramPolicy, default_policies
from sonde.envs._shared.dialogue import GOAL
from sonde.envs.murder_mystery.cases import TASKS, Case, CaseAct, numbered_case
from sonde.envs.murder_mystery.env import MurderMystery
from sonde.envs.murder_mystery.filter import IMPLICATES
from sonde.envs.murder_mystery.reading import NOTHING, ReadAct, read_case_message
from sonde.envs.murder_mystery.replies import answer_message, answer_without_act
from sonde.envs.murder_mystery.telling import write_ending
from tests.cases import each

ENV = MurderMystery()
USER = default_policies(ENV)["user"]
LIBRARY, MANOR, HALL, SHOW, CIRCUS = (numbered_case("test", i) for i in (0, 3, 7, 12, 33))
"""People: Katya, Tadeo, Ruth, Lars, Zofia, Ulla; Olamide, Kamal, Nadia, Ibrahim, Callum, Arjun; Viktor, Emre, Ruth,
Hugo, Lucia; Hugo, Quentin, Jasmine, Gideon; Fumiko, Ulla, Katya, Bashir."""


def play(ep: Episode, *messages: str) -> list[str]:
    """What the agent hears to each message."""
    for said in messages:
        ep = ep.step(said)
        while ep.to_act == "user":
            assert isinstance(USER, ProgramPolicy)
            ep = ep.step(USER.act_now(ep.view("user")))
    return [m.content for m in ep.messages[AGENT] if m.role == "user"][1:]


def begin(index: int, env: MurderMystery = ENV) -> Episode:
    return Episode.begin(env, env.tasks("test")[index])


def text(known: Case, said: str, left: int = 9) -> str:
    return answer_message(known, said, GOAL, left)


def worlds(known: Case, n: int = 12) -> list[Case]:
    """The same frame with other truths."""
    rng = random.Random(4)
    return [Case(known.frame, known.frame.model.draw_truth(rng)) for _ in range(n)]


# --- the end ---------------------------------------------------------------------------------------------------------


def test_the_epilogue_tells_who_did_it_and_how_and_no_seat_hears_it() -> None:
    frame, truth = HALL
    name, other = (frame.people[p].name for p in (truth.culprit, truth.culprit + 1))
    won, lost = play(begin(7), f"I accuse {name}.")[-1], play(begin(7), f"I accuse {other}.")[-1]
    late = play(begin(7, MurderMystery(max_turns=1)), "Wait.")[-1]
    long = play(begin(7, MurderMystery(max_turns=1)), "x " * 800)[-1]
    assert all(write_ending(HALL) not in told for told in (won, lost, late, long))
    assert all(name not in told for told in (lost, late, long))
    ep = begin(7)
    assert ep.env.epilogue(ep.state) == write_ending(HALL)
    assert f"It was {name}, the {frame.people[truth.culprit].role}." in write_ending(HALL)
    assert "right person" in won and "wrong person" in lost and "last turn" in late


SIGNS = {
    "access": ("had a key to", "knew the code of", "knew how to"), "alibi": (", as claimed",),
    "sighting": ("was seen",), "slip": ("of which nobody had been told",), "trace": ("left a",),
}  # fmt: skip
"""Channel -> words that tell that it implicates."""


@each("index", range(TASKS["test"]))
def test_the_end_tells_what_implicates_and_nothing_else(index: int) -> None:
    known = numbered_case("test", index)
    for frame, truth in (known, *worlds(known, 6)):
        told = write_ending(Case(frame, truth))
        row = dict(zip(map(str, frame.channels), truth.vectors[truth.culprit], strict=True))
        how = told.rsplit(". ", 1)[1]
        for channel, words in SIGNS.items():
            assert any(w in how for w in words) is (row.get(channel) == IMPLICATES), (channel, told)
        assert "{" not in told and "  " not in told
        assert not [p.name for i, p in enumerate(frame.people) if i != truth.culprit and p.name in told]


def test_nothing_of_the_end_is_told_before() -> None:
    said = ["How many turns are left?", "Katya, you lied.", "Could it be Katya?", "Who did it?", "Help"]
    heard = {
        tuple(play(Episode.begin(ENV, ENV.task({"case": "test/0", **w.truth._asdict()})), *said))
        for w in worlds(LIBRARY)
    }
    assert len(heard) == 1
    assert not any("It was" in line for line in next(iter(heard)))


def test_a_scenario_from_elsewhere_ends_as_before() -> None:
    env = MurderMystery(judge="seat")
    ep = Episode.begin(env, env.task({"scenario": "A wolf is dead.", "solution": "The hunter."}))
    ep = ep.step("I accuse the hunter.").step("Goal reached").step("<VALID>")
    assert ep.messages[AGENT][-1].content == sonde.make("murder_mystery").say_pieces["goal"].strip()


# --- turns -----------------------------------------------------------------------------------------------------------


@each(
    "said",
    [
        "How many turns do I have left?", "how many turns are left", "How many more questions can I ask?",
        "How much time do I have?", "What turn is it?", "Am I running out of turns?",
        "Ruth, how many turns do we have left?",
    ],
)  # fmt: skip
def test_the_number_of_turns_is_told(said: str) -> None:
    assert "19" in play(begin(7), said)[0]
    assert "17" in play(begin(7), "Wait.", "Wait.", said)[-1]
    assert "one turn" in text(HALL, said, left=1) or "single turn" in text(HALL, said, left=1)
    assert text(HALL, said, left=0) == "None: this was the last one."


@each("said", ["Ruth, how many questions did Ibrahim ask you?", "The road turns left."])
def test_other_turns_are_not_counted(said: str) -> None:
    assert "left" not in text(HALL, said, left=9)


# --- what is read ----------------------------------------------------------------------------------------------------


@each(
    "known, said, act",
    [
        (HALL, "Are there any fingerprints on the scale?", CaseAct("examine", "i2")),
        (HALL, "Examine the jam.", CaseAct("examine", "i1")),
        (HALL, "Viktor, what weapon was used?", CaseAct("ask", "p0", "death")),
        (LIBRARY, "Ruth, was Quentin your friend?", CaseAct("ask", "p2", "victim")),
        (LIBRARY, "Ulla, were you jealous of Quentin's success?", CaseAct("ask", "p5", "victim")),
        (HALL, "Viktor, did you talk to Emre?", CaseAct("ask", "p0", "p1")),
        (HALL, "Hugo, was Ibrahim kind to you?", CaseAct("ask", "p3", "victim")),
        (HALL, "Emre, were you in love with Ibrahim?", CaseAct("ask", "p1", "victim")),
        (MANOR, "Arjun, were you and Edith lovers?", CaseAct("ask", "p5", "victim")),
        (CIRCUS, "Bashir, what was used to kill him?", CaseAct("ask", "p3", "death")),
        (CIRCUS, "Bashir, what did the killer use?", CaseAct("ask", "p3", "death")),
    ],
)
def test_what_is_meant_is_done(known: Case, said: str, act: CaseAct) -> None:
    assert read_case_message(known.frame, said) == ReadAct("act", act)


@each(
    "known, said",
    [
        (HALL, "Who left the fingerprints on the scale?"), (HALL, "Are there Ruth's fingerprints on the scale?"),
        (MANOR, "Look at the other people's tobacco."), (MANOR, "Check everyone's tobacco."),
        (SHOW, "Trainee hats are funny."), (LIBRARY, "Lars, did you want Quentin's atlas?"),
    ],
)  # fmt: skip
def test_what_is_like_it_does_nothing(known: Case, said: str) -> None:
    found = read_case_message(known.frame, said)
    assert found.kind in ("nothing", "talk", "several"), found


# --- what is answered ------------------------------------------------------------------------------------------------


def test_natural_sentences() -> None:
    for index in range(TASKS["test"]):
        for world in (numbered_case("test", index),):
            for person in world.frame.people:
                told = text(world, f"{person.name}, where were you?")
                assert "part of the day" not in told and "Nothing but" not in told


# --- time ------------------------------------------------------------------------------------------------------------

UNITS = (
    "how many turns ", "Katya, Lars and ", "was it the ", "the other people's tobacco ", "what is in it ",
    "open atlas what is in it ", "are there any marks on the ", "you and Quentin ", "who found ", "not ", "and ",
)  # fmt: skip


@each("unit", UNITS)
def test_long_messages_are_answered(unit: str) -> None:
    said = unit * (40_000 // len(unit))
    assert read_case_message(LIBRARY.frame, said).kind != "accuse"
    for kind in (NOTHING, ReadAct("talk", person=0)):
        assert answer_without_act(LIBRARY.frame, kind, said, 3)
