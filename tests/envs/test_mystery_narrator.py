"""What the narrator says beyond the facts: the end of a story, the turns that are left, and what was said before."""

from __future__ import annotations

import random
import time

import pytest

import sonde
from sonde.core import AGENT, Episode, ProgramPolicy, default_policies
from sonde.envs._rules.dialogue import GOAL
from sonde.envs._rules.mystery.cases import TASKS, Act, Case, case
from sonde.envs._rules.mystery.context import Past
from sonde.envs._rules.mystery.ending import ending
from sonde.envs._rules.mystery.filter import IMPLICATES
from sonde.envs._rules.mystery.public import unanswered
from sonde.envs._rules.mystery.reading import NOTHING, Reading, read
from sonde.envs._rules.mystery.replies import reply
from sonde.envs._rules.mystery.words import template
from sonde.envs.murder_mystery import MurderMystery

ENV = MurderMystery()
USER = default_policies(ENV)["user"]
LIBRARY, MANOR, HALL, SHOW, CIRCUS = (case("test", i) for i in (0, 3, 7, 12, 33))
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


def text(known: Case, said: str, *heard: str, left: int = 9) -> str:
    return reply(known, said, GOAL, Past(heard, left))


def worlds(known: Case, n: int = 12) -> list[Case]:
    """The same frame with other truths."""
    rng = random.Random(4)
    return [Case(known.frame, known.frame.model.draw(rng)) for _ in range(n)]


# --- the end ---------------------------------------------------------------------------------------------------------


def test_the_epilogue_tells_who_did_it_and_how_and_no_seat_hears_it() -> None:
    frame, truth = HALL
    name, other = (frame.people[p].name for p in (truth.culprit, truth.culprit + 1))
    won, lost = play(begin(7), f"I accuse {name}.")[-1], play(begin(7), f"I accuse {other}.")[-1]
    late = play(begin(7, MurderMystery(max_turns=1)), "Wait.")[-1]
    long = play(begin(7, MurderMystery(max_turns=1)), "x " * 800)[-1]
    assert all(ending(HALL) not in told for told in (won, lost, late, long))
    assert all(name not in told for told in (lost, late, long))
    ep = begin(7)
    assert ep.env.epilogue(ep.state) == ending(HALL)
    assert f"It was {name}, the {frame.people[truth.culprit].role}." in ending(HALL)
    assert "right person" in won and "wrong person" in lost and "last turn" in late


SIGNS = {
    "access": ("had a key to", "knew the code of", "knew how to"), "alibi": (", as claimed",),
    "sighting": ("was seen",), "slip": ("of which nobody had been told",), "trace": ("left a",),
}  # fmt: skip
"""Channel -> words that tell that it implicates."""


@pytest.mark.parametrize("index", range(TASKS["test"]))
def test_the_end_tells_what_implicates_and_nothing_else(index: int) -> None:
    known = case("test", index)
    for frame, truth in (known, *worlds(known, 6)):
        told = ending(Case(frame, truth))
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
    ep = Episode.begin(ENV, ENV.task({"scenario": "A wolf is dead.", "solution": "The hunter."}))
    ep = ep.step("I accuse the hunter.").step("Goal reached")
    assert ep.messages[AGENT][-1].content == sonde.make("murder_mystery").say_pieces["goal"].strip()


# --- turns -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "How many turns do I have left?",
        "how many turns are left",
        "How many more questions can I ask?",
        "Turns left?",
        "How much time do I have?",
        "What turn is it?",
        "Am I running out of turns?",
        "Ruth, how many turns do we have left?",
    ],
)
def test_the_number_of_turns_is_told(said: str) -> None:
    assert "19" in play(begin(7), said)[0]
    assert "17" in play(begin(7), "Wait.", "Wait.", said)[-1]
    assert "one turn" in text(HALL, said, left=1) or "single turn" in text(HALL, said, left=1)
    assert text(HALL, said, left=0) == "None: this was the last one."


@pytest.mark.parametrize("said", ["Ruth, how many questions did Ibrahim ask you?", "The road turns left."])
def test_other_turns_are_not_counted(said: str) -> None:
    assert "left" not in text(HALL, said, left=9)


# --- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "said", "act"),
    [
        (HALL, "Are there any fingerprints on the scale?", Act("examine", "i2")),
        (HALL, "Is there blood on the blue apron?", Act("examine", "i5")),
        (HALL, "Do you see any marks on the tray of rolls?", Act("examine", "i3")),
        (HALL, "Examine the jam.", Act("examine", "i1")),
        (SHOW, "Trainee, did you see Hugo between 18:05 and 18:20?", Act("check", "r1")),
        (SHOW, "Ask the trainee what she saw.", Act("check", "r1")),
        (SHOW, "Trainee: where was Quentin?", Act("check", "r1")),
        (LIBRARY, "Night, where were you?", Act("ask", "p0", "alibi")),
        (HALL, "Any fingerprints on the scale?", Act("examine", "i2")),
        (HALL, "Viktor, what weapon was used?", Act("ask", "p0", "death")),
        (LIBRARY, "Ruth, was Quentin your friend?", Act("ask", "p2", "victim")),
        (LIBRARY, "Ulla, were you jealous of Quentin's success?", Act("ask", "p5", "victim")),
        (HALL, "Viktor, did you talk to Emre?", Act("ask", "p0", "p1")),
        (HALL, "Hugo, was Ibrahim kind to you?", Act("ask", "p3", "victim")),
        (HALL, "Emre, were you in love with Ibrahim?", Act("ask", "p1", "victim")),
        (LIBRARY, "Lars, is it true that you wanted Quentin's job?", Act("ask", "p3", "victim")),
        (MANOR, "Arjun, were you and Edith lovers?", Act("ask", "p5", "victim")),
        (CIRCUS, "Bashir, what was used to kill him?", Act("ask", "p3", "death")),
        (CIRCUS, "Bashir, what did the killer use?", Act("ask", "p3", "death")),
    ],
)
def test_what_is_meant_is_done(known: Case, said: str, act: Act) -> None:
    assert read(known.frame, said) == Reading("act", act), template(known.frame, said)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (HALL, "Who left the fingerprints on the scale?"),
        (HALL, "Are there Ruth's fingerprints on the scale?"),
        (MANOR, "Look at the other people's tobacco."),
        (MANOR, "Check everyone's tobacco."),
        (SHOW, "Trainee hats are funny."),
        (LIBRARY, "Lars, did you want Quentin's atlas?"),
        (CIRCUS, "Bashir, what was used to feed him?"),
    ],
)
def test_what_is_like_it_does_nothing(known: Case, said: str) -> None:
    found = read(known.frame, said)
    assert found.kind in ("nothing", "talk", "several"), found


# --- what is answered ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "said", "words"),
    [
        (HALL, "Taste the jam.", "evidence"),
        (HALL, "Could the egg dealer have done it?", "egg dealer|one of the suspects"),
        (HALL, "I accuse the egg dealer.", "egg dealer|one of the suspects"),
        (HALL, "Lick the rolls.", "evidence"),
        (HALL, "Is the egg dealer a suspect?", "egg dealer"),
        (HALL, "The gardener did it.", "one of the suspects"),
        (HALL, "Is Emre's alibi true?", "records"),
        (HALL, "What do we know about the murder?", "found dead"),
        (HALL, "Any witnesses?", "Hugo Moreau"),
        (CIRCUS, "Fumiko, when was the last time you saw Wei?", "Ask me where I was."),
        (SHOW, "Gideon, why did you get a telegram?", "look at it|Look at it"),
        (HALL, "Was it the puppeteer?", "one of the suspects"),
        (HALL, "I accuse the puppeteer.", "one of the suspects"),
        (HALL, "Could it be Ruth?", "records"),
        (HALL, "Is Emre telling the truth?", "records"),
        (HALL, "Can I trust Ruth?", "records"),
        (MANOR, "Was the doctor really in the billiard room?", "records"),
        (HALL, "Tell me more about the victim.", "found dead"),
        (HALL, "Who found the body?", "found dead"),
        (HALL, "Did anyone hear a scream?", "found dead"),
        (HALL, "Viktor and Ruth, where were you?", "One person at a time|chorus"),
        (MANOR, "Show me the shoes of the others.", "One person at a time|all of them"),
        (CIRCUS, "Fumiko, when did you last speak with Wei?", "Fumiko Mahlangu: "),
        (CIRCUS, "Fumiko, who found the body?", "Fumiko Mahlangu: "),
        (SHOW, "Gideon, I found a telegram to you. What was in it?", "look at it|Look at it"),
    ],
)
def test_there_is_a_fitting_answer(known: Case, said: str, words: str) -> None:
    told = text(known, said)
    assert any(w in told for w in words.split("|")), told
    assert "look at it, check it" not in told
    assert {text(w, said) for w in worlds(known)} == {told}


def test_nobody_is_called_it() -> None:
    for said in ("Could the egg dealer have done it?", "Was it the egg dealer?", "The egg dealer is guilty."):
        assert " it," not in text(HALL, said), said


def test_natural_sentences() -> None:
    for index in range(TASKS["test"]):
        for world in (case("test", index),):
            for person in world.frame.people:
                told = text(world, f"{person.name}, where were you?")
                assert "part of the day" not in told and "Nothing but" not in told


# --- what was said before --------------------------------------------------------------------------------------------


def test_what_one_can_be_asked_is_told_once() -> None:
    odd = [f"Katya, {word}?" for word in ("blue", "green", "yellow", "red")]
    told = play(begin(0), *odd, "Lars, blue?", "Katya")
    assert ["how I stood with" in line for line in told[:5]] == [True, False, False, False, True]
    assert all(line.startswith("Katya Brandt: ") and len(line.split()) < 20 for line in told[1:4])
    assert len(set(told[:4])) == 4


def test_a_contested_alibi_is_not_given_twice_and_tells_nothing() -> None:
    asked = "Katya, where were you?"
    doubts = [
        "Katya, you lied to me about where you were.",
        "Katya, the list doesn't show you there. Where were you really?",
        "Katya, nobody saw you there. Where were you?",
    ]
    for said in doubts:
        answers = {text(w, said, asked, "Check the work book.") for w in worlds(LIBRARY)}
        assert len(answers) == 1, "the same for the guilty and the innocent, refuted or not"
        (told,) = answers
        assert told.startswith("Katya Brandt: ") and "bindery" not in told
    assert "bindery" in text(LIBRARY, doubts[1]), "before it was told there is nothing to contest"
    assert "bindery" in text(LIBRARY, asked, asked), "who only asks again hears it again"
    assert "bindery" in text(LIBRARY, doubts[1], "Lars, where were you?"), "somebody else told"


def test_other_statements_can_be_contested_too() -> None:
    asked, again = "Katya, how did you stand with Quentin?", "Katya, you lied. How did you stand with Quentin?"
    assert text(LIBRARY, again, asked) not in (text(LIBRARY, asked), text(LIBRARY, again))
    access = "Katya, did you know the code of the rare book room?"
    lied = "Katya, you lied. Did you know the code of the rare book room?"
    assert text(LIBRARY, lied, access) == text(LIBRARY, access), "facts are told again"


# --- time ------------------------------------------------------------------------------------------------------------

UNITS = (
    "how many turns ", "@p0 and ", "Katya, Lars and ", "Katya and the ", "was it the ", "the other people's tobacco ",
    "you lied ", "what is in it ", "open atlas what is in it ", "are there any marks on the ", "you and Quentin ",
    "hello hi ", "who found ", "anyone heard a ", "you wanted Quentin's ", "your story is ", "was Katya in ",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_long_messages_cost_little(unit: str) -> None:
    said = unit * (40_000 // len(unit))
    heard = tuple(said[i : i + 1000] for i in range(19))
    start = time.process_time()
    assert read(LIBRARY.frame, said).kind != "accuse"
    for kind in (NOTHING, Reading("talk", person=0)):
        assert unanswered(LIBRARY.frame, kind, said, Past(heard, 3))
    assert time.process_time() - start < 2.0
