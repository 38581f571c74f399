"""The true reply to a message in twenty questions, and canonical questions with their paraphrases.

Ours. `answer_reading` is a pure function of the hidden topic and the words: the rule user replies with its result, and
`TopicAnswers` splits the topics by it. A question is a phrase of the lexicon in one of the frames in which people ask.
The parser reads all of them back, and `question_phrasings` returns only those that it understands as the same query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Literal

from sonde.core import UNCLEAR, UNKNOWN

from .._shared.dialogue import GOAL
from .._shared.english.tokens import name_key, plain_words
from .knowledge import data_blocks, topic_knowledge
from .room import ReadClaim, declared_lines, message_sense, read_topic_message

Answer = Literal["yes", "no", "goal", "unknown", "unclear", "invalid"]

TEXTS: Mapping[str, str] = {
    "yes": "Yes.",
    "no": "No.",
    "unknown": UNKNOWN,
    "unclear": UNCLEAR,
    "no_question": "That cannot be answered with yes or no.",
    "invalid": "Invalid.",
    "repeated": "Repeated.",
    "finished": "Finished.",
}
"""Answer -> what the agent hears. A message that is not one yes/no question is invalid where the game has that reply,
elsewhere it is called no question."""


def answer_message(topic: int, said: str) -> Answer:
    """The true reply to a message where topic number `topic` is hidden."""
    return answer_reading(topic, read_topic_message(said))


def answer_reading(topic: int, reading: ReadClaim) -> Answer:
    """The true reply to a message that has been read."""
    claim = reading.claim
    if claim is None:
        return "unclear" if reading.kind == "unclear" else "invalid"
    if claim.goal >> topic & 1:
        return "goal"
    if claim.yes >> topic & 1:
        return "yes"
    return "no" if claim.no >> topic & 1 else "unknown"


def answer_text(answer: Answer, knows_invalid: bool) -> str:
    """What the agent hears; `knows_invalid` tells whether the game has the reply "invalid"."""
    if answer == "goal":
        return f"{GOAL}."
    return TEXTS["no_question" if answer == "invalid" and not knows_invalid else answer]


@lru_cache(maxsize=8192)
def name_article(name: str) -> str:
    """The article that a guess of this name takes, with a blank behind it; empty for proper names and plurals.

    >>> name_article("guitar"), name_article("apple"), name_article("Marie Curie"), name_article("Eiffel Tower")
    ('a ', 'an ', '', 'the ')
    """
    index = topic_knowledge().index.get(name, topic_knowledge().aliases.get(name))
    if index is None:
        return ""
    if name[:1].isupper():
        return "the " if topic_knowledge().known_topics("landmark").yes >> index & 1 else ""
    if name_key(name, common=True) != plain_words(name) or any(
        topic_knowledge().known_topics(k).yes >> index & 1 for k in _UNCOUNTED
    ):
        return ""
    return "an " if name[0] in "aeiou" else "a "


_UNCOUNTED = ("substance", "concept", "activity", "field_of_study", "sport")


def guess_question(name: str) -> str:
    """A guess as a question."""
    return f"Is it {name_article(name)}{name}?"


class TopicAnswers:
    """The true replies of a pool of topics (`partition.Answers`); bit i stands for topic i of the knowledge base.

    `failed` tells whether a message breaks a check of the game and so is never answered, `heard` what is said of a raw
    text, `knows_invalid` whether the game has the reply "invalid", `won` which topics a mention wins;
    without it a guess wins.
    """

    def __init__(
        self,
        pool: int,
        heard: Callable[[str], str],
        failed: Callable[[str], str | None],
        *,
        knows_invalid: bool,
        won: Callable[[str], int] | None = None,
    ) -> None:
        self.pool = pool
        self._heard, self._failed = heard, failed
        self._knows_invalid, self._won = knows_invalid, won
        self._splits: dict[str, Mapping[str, int]] = {}

    @property
    def names(self) -> Sequence[str]:
        return topic_knowledge().names

    @property
    def questions(self) -> Sequence[str]:
        """The canonical questions that part the pool."""
        return self._splitting_questions

    @cached_property
    def _splitting_questions(self) -> Sequence[str]:
        return tuple(text for text in canonical_questions() if len(self._split_reading(text)) > 1)

    def guess(self, index: int) -> str:
        return topic_knowledge().names[index]

    def split(self, said: str) -> Mapping[str, int]:
        found = self._splits.get(said)
        if found is None:
            if len(self._splits) >= 4096:
                self._splits.clear()
            found = self._splits[said] = self._split_message(said)
        return found

    def _split_message(self, text: str) -> Mapping[str, int]:
        said = self._heard(text)
        if self._failed(said) is not None:
            return {"": self.pool}
        return self._split_reading(said)

    def _split_reading(self, said: str) -> Mapping[str, int]:
        """The true replies to a message that breaks no check."""
        reading = read_topic_message(said)
        claim = reading.claim
        won = self.pool & (self._won(said) if self._won is not None else claim.goal if claim else 0)
        left = self.pool & ~won
        if claim is None:
            parts = {GOAL: won, answer_text(answer_reading(0, reading), self._knows_invalid): left}
        else:
            yes = left & claim.yes_or_goal
            no = left & ~yes & claim.no
            parts = {GOAL: won, TEXTS["yes"]: yes, TEXTS["no"]: no, TEXTS["unknown"]: left & ~yes & ~no}
        return {reply: mask for reply, mask in parts.items() if mask}


_MOST = 12
"""Ways to ask one question."""


@cache
def _question_frames() -> Mapping[str, Sequence[str]]:
    """The blocks of `data/asking.txt`."""
    return data_blocks("asking")


def frame_questions(frame: str, words: str) -> Iterator[str]:
    gapped = _insert_it(words)
    for form in _question_frames().get("is" if frame == "adj" else frame, ()):
        yield form.format(words, gapped)


def _insert_it(words: str) -> str:
    """A verb phrase with the thing put behind its verb, or behind a final preposition."""
    verb, _, rest = words.partition(" ")
    if words.endswith((" on", " in", " with", " from", " into", " inside", " for")):
        return f"{words} it"
    return f"{verb} it {rest}".strip()


@cache
def question_wordings() -> Mapping[str, Sequence[tuple[str, str]]]:
    """The plainest question of every attribute and class -> the frames and words in which it can be asked."""
    found: dict[str, list[tuple[str, str]]] = {}
    for names in topic_knowledge().classes.values():
        _add_wordings(found, [("is", _noun_article(name) + name) for name in names[:1]])
    for line in declared_lines():
        split = (p.partition(" ") for p in line.spelled_phrases() if "<" not in p)
        _add_wordings(found, [(frame, words) for frame, _, words in split if frame in (*_question_frames(), "adj")])
    return found


def _add_wordings(found: dict[str, list[tuple[str, str]]], rows: list[tuple[str, str]]) -> None:
    if rows:
        question = next(frame_questions(*rows[0]))
        found.setdefault(question, []).extend(rows)


def _noun_article(noun: str) -> str:
    if noun.startswith(("something", "the ", "part ")):
        return ""
    return "an " if noun[0] in "aeiou" else "a "


@cache
def canonical_questions() -> Sequence[str]:
    """List one question for everything that can be asked, in the order of the files; no two ask the same."""
    found: dict[object, str] = {}
    for text in (*question_wordings(), *_question_frames()["plain"]):
        claim = read_topic_message(text).claim
        if claim is not None and claim.yes and claim.no and not claim.named:
            found.setdefault(message_sense(text), text)
    return tuple(found.values())


@lru_cache(maxsize=4096)
def question_phrasings(question: str) -> Sequence[str]:
    """List the ways to ask a question, itself first; all of them are understood as the same."""
    asked, found = message_sense(question), {question: None}
    for frame, words in (*question_wordings().get(question, ())[:6], *_question_frame(question)):
        found |= {text: None for text in frame_questions(frame, words) if message_sense(text) == asked}
        if len(found) >= _MOST:
            break
    for lead in _question_frames()["leads"]:
        text = lead.format(question[:1].lower() + question[1:])
        if len(found) < _MOST and message_sense(text) == asked:
            found[text] = None
    return tuple(found)


def _question_frame(question: str) -> Sequence[tuple[str, str]]:
    """The frame of a question that is on no line."""
    if question.startswith("Is it "):
        return [("is", question[6:-1])]
    return [("does", question[8:-1])] if question.startswith("Does it ") else []
