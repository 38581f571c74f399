"""A player of guess_my_city who narrows the world down, in plain English.

It asks the question of the highest expected gain on the exact posterior (`View.filter`), in one of several wordings
that the view's seed chooses, and proposes a city when no question gains more. Questions with more than `most_replies`
different replies are left out: "What is your city famous for?" gives a city away at once to whoever knows by heart what
is said of each, and that is not how one plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid


class _Known(Protocol):
    @property
    def questions(self) -> Sequence[str]: ...
    def split(self, said: str) -> Mapping[str, int]: ...
    def guess(self, index: int) -> str: ...


@runtime_checkable
class _Partition(Protocol):
    """What this agent asks of a filter."""

    known: _Known
    levels: tuple[int, ...]

    def expected_gain(self, action: str) -> float: ...


@dataclass(frozen=True, kw_only=True)
class GuessMyCitySolver(ProgramPolicy):
    """See the module."""

    most_replies: int = 40

    def __post_init__(self) -> None:
        if self.most_replies < 2:
            raise invalid("agents:guess_my_city: most_replies", self.most_replies, "2 or more")

    def act_now(self, view: View) -> Action:
        known, rng = view.filter, Rng(view.seed)
        if not isinstance(known, _Partition):
            raise UserError(f"agents:guess_my_city: {view.spec.name} has no filter over cities")
        question, gain = self._best(known)
        lead = next(mask for mask in known.levels if mask)
        city = view.say(known.known.guess((lead & -lead).bit_length() - 1))
        if view.turn == view.spec.max_turns - 1 or known.expected_gain(city) >= gain:
            return Action(city)
        return Action(worded(question, rng, first=view.turn == 0))

    def _best(self, known: _Partition) -> tuple[str, float]:
        best, most = "", -1.0
        for question in known.known.questions:
            if len(known.known.split(question)) <= self.most_replies:
                gain = known.expected_gain(question)
                if gain > most + 1e-12:
                    best, most = question, gain
        return best, most


_IN = (
    "Is your city in {}?",
    "Is it in {}?",
    "Is it located in {}?",
    "Would you say that your city is in {}?",
    "Does your city lie in {}?",
    "Okay, is your hometown situated in {}?",
)
_SPOKEN = (
    "Is {} an official language there?",
    "Is {} one of the official languages?",
    "Is {} an official language of your country?",
    "Can you tell me if {} is an official language?",
    "Is {} an official language in your country?",
)
_PEOPLE = (
    "Does your city have more than {} inhabitants?",
    "Is the population more than {}?",
    "Does it have over {} residents?",
    "Do more than {} people live there?",
    "Does your city have a population of more than {}?",
    "Is the population of your city above {}?",
)
_FAITH = (
    "Is {} the main religion of your country?",
    "Is {} the dominant religion in your country?",
    "Is the main religion of your country {}?",
    "Is {} the main religion in your country?",
    "Would you say {} is the predominant religion of your country?",
)
_LETTER = (
    "Does the name of the city start with {}?",
    "Does the city's name begin with the letter {}?",
    "Does the name begin with {}?",
    "Is the first letter of the name {}?",
    "Does its name start with the letter {}?",
)
_FRAMES = (
    ("Is your city in ", "?", _IN),
    ("Is ", " an official language there?", _SPOKEN),
    ("Does your city have more than ", " inhabitants?", _PEOPLE),
    ("Is ", " the main religion of your country?", _FAITH),
    ("Does the name of the city start with ", "?", _LETTER),
)
_LEADS = ("", "", "", "Okay. ", "Thanks! ", "I see. ")

_WORDINGS: Mapping[str, Sequence[str]] = {
    "What continent is your city on?": (
        "Which continent is your city in?",
        "What continent are you on?",
        "On which continent is your city?",
        "Which continent do you live on?",
        "Could you tell me what continent it is on?",
    ),
    "Which part of the world is your city in?": (
        "What part of the world is it in?",
        "Which region of the world is your city in?",
        "In which part of the world do you live?",
        "What region is your city in?",
        "In what part of the world is your city located?",
    ),
    "What language do people speak there?": (
        "What language is spoken in your city?",
        "Which languages do people speak?",
        "What is the main language?",
        "What language do the people there speak?",
        "Which language is spoken there?",
    ),
    "What currency do people use?": (
        "What is the currency?",
        "Which currency is used in your country?",
        "What money do people pay with?",
        "What's the local currency?",
        "Which currency do you use?",
    ),
    "What is the main religion?": (
        "What religion do people follow there?",
        "Which religion do most people follow?",
        "What is the most common religion there?",
        "What religion is predominant?",
        "What religion do most people have?",
    ),
    "What is the climate like?": (
        "What's the weather like there?",
        "How is the climate in your city?",
        "What kind of climate does your city have?",
        "Describe the climate.",
        "What is the weather usually like?",
    ),
    "What is the population of your city?": (
        "How many people live in your city?",
        "How many inhabitants does your city have?",
        "How big is the population?",
        "What's the approximate population?",
        "How large is the population of your city?",
    ),
    "Which river is your city on?": (
        "What river is it on?",
        "Which river flows through your city?",
        "What river runs through it?",
        "What's the name of the river?",
        "Which river passes through your city?",
    ),
    "Which sea is it close to?": (
        "What body of water is it next to?",
        "Which sea or ocean is your city on?",
        "What sea is it on?",
        "Which ocean is it near?",
        "What body of water is your city near?",
    ),
    "What is the elevation of your city?": (
        "How high is your city?",
        "How high above sea level is it?",
        "What's the altitude of your city?",
        "At what altitude is your city?",
        "How high is it above sea level?",
    ),
    "What time zone is your city in?": (
        "Which time zone are you in?",
        "What's your time zone?",
        "What time zone do you use?",
        "In which time zone is your city?",
        "What is the local time zone?",
    ),
    "Which hemisphere is your city in?": (
        "What hemisphere is it in?",
        "In which hemisphere do you live?",
        "Which hemisphere are you in?",
        "In what hemisphere is your city located?",
        "Which hemispheres is it in?",
    ),
    "What is the latitude of your city?": (
        "What's the approximate latitude?",
        "At what latitude is it?",
        "What latitude is your city at?",
        "Which latitude is it on?",
        "How far north or south is it?",
    ),
    "What is the longitude of your city?": (
        "What's the approximate longitude?",
        "At what longitude is it?",
        "What longitude is your city at?",
        "Which longitude is it on?",
        "How far east or west is it?",
    ),
    "How old is your city?": (
        "When was your city founded?",
        "What is the age of your city?",
        "In which century was your city founded?",
        "How old is it?",
        "In what era was your city founded?",
    ),
    "How many letters are in the name of your city?": (
        "How many letters does the name have?",
        "How long is the name?",
        "What is the length of the name?",
        "How many letters are in its name?",
        "How many letters does its name have?",
    ),
    "Is it the capital of your country?": (
        "Is it a capital city?",
        "Is your city the capital?",
        "Is it the national capital?",
        "Is your city a national capital?",
        "Is it the capital of its country?",
    ),
    "Is it the biggest city of your country?": (
        "Is it the largest city in your country?",
        "Is your city the most populous in the country?",
        "Is it the biggest city in the country?",
        "Is it the most populated city of your country?",
        "Is your city the largest in your country?",
    ),
    "Is your city on the coast?": (
        "Is it on the sea?",
        "Is it a coastal city?",
        "Does your city lie on the coast?",
        "Is your city by the ocean?",
        "Is it located on the coast?",
    ),
    "Is your city on an island?": (
        "Is it on an island?",
        "Do you live on an island?",
        "Does it lie on an island?",
        "Is it built on an island?",
        "Is your city located on an island?",
    ),
    "Is your country landlocked?": (
        "Is it in a landlocked country?",
        "Is the country landlocked?",
        "Is your country a landlocked country?",
        "Is the country your city is in landlocked?",
        "Would you say your country is landlocked?",
    ),
    "Is it in the Northern Hemisphere?": (
        "Is it north of the equator?",
        "Does your city lie in the northern hemisphere?",
        "Is your city in the Northern Hemisphere?",
        "Is it located north of the equator?",
        "Is your city situated in the northern hemisphere?",
    ),
    "Is it in the tropics?": (
        "Does it lie in the tropics?",
        "Is your city in the tropics?",
        "Is it between the tropics?",
        "Is your city within the tropics?",
        "Is it located between the Tropic of Cancer and the Tropic of Capricorn?",
    ),
    "Do people drive on the left?": (
        "Do cars drive on the left?",
        "Do you drive on the left?",
        "Do people drive on the left side of the road?",
        "Do they drive on the left there?",
        "Is it true that people drive on the left in your country?",
    ),
    "Has your city ever hosted the Olympic Games?": (
        "Has it hosted the Olympics?",
        "Did your city ever host the Olympics?",
        "Has your city hosted the Olympic Games?",
        "Has it ever hosted the Olympics?",
        "Were the Olympic Games held in your city?",
    ),
    "Was your country a British colony?": (
        "Was your country ruled by Britain?",
        "Was the country under British rule?",
        "Was your country once a British colony?",
        "Was your country colonized by the British?",
        "Was your country part of the British Empire?",
    ),
}


def worded(question: str, rng: Rng, *, first: bool = False) -> str:
    """One of the ways to ask a canonical question; the words mean the same to the resident.

    >>> worded("Is it an ancient city?", Rng(0)).endswith("?")
    True
    """
    lead = rng.choice(_LEADS)
    return ("" if first else lead) + rng.choice(wordings(question))


def wordings(question: str) -> Sequence[str]:
    """All ways to ask a canonical question, itself included."""
    for start, end, frames in _FRAMES:
        if question.startswith(start) and question.endswith(end) and len(question) > len(start) + len(end):
            slot = question.removeprefix(start).removesuffix(end)
            return tuple(frame.format(slot) for frame in frames)
    if question in _WORDINGS:
        return (question, *_WORDINGS[question])
    return (question, *_turned(question))


_TURNS = (
    (
        "Is it ",
        (
            "Would you say it is {}?",
            "Is your city {}?",
            "Is it true that it is {}?",
            "I wonder, is it {}?",
            "Can you tell me if it is {}?",
        ),
    ),
    (
        "Is your city ",
        (
            "Would you say your city is {}?",
            "Is it {}?",
            "Is it true that your city is {}?",
            "Can you tell me if it is {}?",
            "Is your hometown {}?",
        ),
    ),
    (
        "Is your country ",
        (
            "Would you say your country is {}?",
            "Is the country {}?",
            "Is it true that your country is {}?",
            "Can you tell me if your country is {}?",
            "Is the country your city is in {}?",
        ),
    ),
    (
        "Was your country ",
        (
            "Was the country {}?",
            "Was your country once {}?",
            "Was your nation {}?",
            "Was your home country {}?",
            "I would like to know if your country was {}.",
        ),
    ),
    (
        "Was your city ",
        (
            "Was it {}?",
            "Was the city {}?",
            "Was your hometown {}?",
            "Was your home city {}?",
            "Is it true that your city was {}?",
        ),
    ),
    (
        "What ",
        (
            "Can you tell me what {}?",
            "So, what {}?",
            "Next question: what {}?",
            "Tell me, what {}?",
            "Please tell me, what {}?",
        ),
    ),
    (
        "Which ",
        (
            "Can you tell me which {}?",
            "So, which {}?",
            "Next question: which {}?",
            "Tell me, which {}?",
            "Please tell me, which {}?",
        ),
    ),
    ("", ("So: {}?", "Next question: {}?", "Okay, {}?", "Let me ask: {}?", "Tell me: {}?")),
)


def _turned(question: str) -> Sequence[str]:
    """Other ways to ask by turning the sentence around."""
    start, frames = next(row for row in _TURNS if question.startswith(row[0]))
    rest = question.removeprefix(start).rstrip("?")
    return tuple(frame.format(rest) for frame in frames)
