"""The true reply to a message in twenty questions, and canonical questions with their paraphrases.

Ours. `verdict` is a pure function of the hidden topic and the words: the rule user says it, `TopicAnswers` splits the
topics by it. Questions are phrases of the lexicon in the frames in which people ask; the parser reads every one of them
back, and `phrasings` returns only those that it understands as the same query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Literal

from .._shared.dialogue import GOAL
from .._shared.english.letters import plain_words
from .._shared.english.words import name_key
from .knowledge import blocks, knowledge
from .room import Reading, declared, read, sense

Answer = Literal["yes", "no", "goal", "unknown", "invalid"]

TEXTS: Mapping[str, str] = {
    "yes": "Yes.",
    "no": "No.",
    "unknown": "I do not know.",
    "invalid": "Invalid.",
    "repeated": "Repeated.",
    "finished": "Finished.",
}
"""Answer -> what the agent hears."""


def verdict_on(topic: int, said: str) -> Answer:
    """The true reply to a message where topic number `topic` is hidden."""
    return verdict(topic, read(said))


def verdict(topic: int, reading: Reading) -> Answer:
    """The true reply to a message that has been read."""
    claim = reading.claim
    if claim is None:
        return "unknown" if reading.kind == "unclear" else "invalid"
    if claim.goal >> topic & 1:
        return "goal"
    if claim.yes >> topic & 1:
        return "yes"
    return "no" if claim.no >> topic & 1 else "unknown"


def mentioned(said: str) -> int:
    """The topics that a message mentions as whole words, or in the plural, whether it asks for them or not."""
    words, lookup, found = plain_words(said).split(), _by_name(), 0
    for i in range(len(words)):
        for j in range(i + 1, min(i + 1 + _longest(), len(words) + 1)):
            text = " ".join(words[i:j])
            for form in (text, text.removesuffix("s"), text.removesuffix("es")):
                found |= lookup.get(form, 0)
    return found


@cache
def _by_name() -> Mapping[str, int]:
    found: dict[str, int] = {}
    for i, name in enumerate(knowledge().names):
        found[plain_words(name)] = found.get(plain_words(name), 0) | 1 << i
    return found


@cache
def _longest() -> int:
    return max(len(name.split()) for name in _by_name())


@lru_cache(maxsize=8192)
def article(name: str) -> str:
    """The article that a guess of this name takes, with a blank behind it; empty for proper names and plurals.

    >>> article("guitar"), article("apple"), article("Marie Curie"), article("Eiffel Tower")
    ('a ', 'an ', '', 'the ')
    """
    index = knowledge().index.get(name, knowledge().aliases.get(name))
    if index is None:
        return ""
    if name[:1].isupper():
        return "the " if knowledge().known("landmark").yes >> index & 1 else ""
    if name_key(name, common=True) != plain_words(name) or any(
        knowledge().known(k).yes >> index & 1 for k in _UNCOUNTED
    ):
        return ""
    return "an " if name[0] in "aeiou" else "a "


_UNCOUNTED = ("substance", "concept", "activity", "field_of_study", "sport")


def guess(name: str) -> str:
    """A guess as a question."""
    return f"Is it {article(name)}{name}?"


class TopicAnswers:
    """The true replies of a pool of topics (`partition.Answers`); bit i stands for topic i of the knowledge base.

    `failed` tells whether a message breaks a check of the game and so is never answered, `heard` what is said of a raw
    text, `knows_invalid` whether the game has the reply "invalid", `by_mention` whether any mention of the topic wins.
    """

    def __init__(
        self,
        pool: int,
        heard: Callable[[str], str],
        failed: Callable[[str], str | None],
        *,
        knows_invalid: bool,
        by_mention: bool,
    ) -> None:
        self.pool = pool
        self._heard, self._failed = heard, failed
        self._knows_invalid, self._by_mention = knows_invalid, by_mention
        self._splits: dict[str, Mapping[str, int]] = {}

    @property
    def names(self) -> Sequence[str]:
        return knowledge().names

    @property
    def questions(self) -> Sequence[str]:
        """The canonical questions that part the pool."""
        return self._questions

    @cached_property
    def _questions(self) -> Sequence[str]:
        return tuple(text for text in questions() if len(self._parts(text)) > 1)

    def guess(self, index: int) -> str:
        return knowledge().names[index]

    def split(self, said: str) -> Mapping[str, int]:
        found = self._splits.get(said)
        if found is None:
            if len(self._splits) >= 4096:
                self._splits.clear()
            found = self._splits[said] = self._split(said)
        return found

    def _split(self, text: str) -> Mapping[str, int]:
        said = self._heard(text)
        if self._failed(said) is not None:
            return {"": self.pool}
        return self._parts(said)

    def _parts(self, said: str) -> Mapping[str, int]:
        """The true replies to a message that breaks no check."""
        reading = read(said)
        claim = reading.claim
        won = self.pool & (mentioned(said) if self._by_mention else claim.goal if claim else 0)
        left = self.pool & ~won
        if claim is None:
            word = "invalid" if self._knows_invalid and reading.kind != "unclear" else "unknown"
            parts = {GOAL: won, TEXTS[word]: left}
        else:
            yes = left & claim.true
            no = left & ~yes & claim.no
            parts = {GOAL: won, TEXTS["yes"]: yes, TEXTS["no"]: no, TEXTS["unknown"]: left & ~yes & ~no}
        return {reply: mask for reply, mask in parts.items() if mask}


_MOST = 12
"""Ways to ask one question."""


@cache
def _frames() -> Mapping[str, Sequence[str]]:
    """The blocks of `data/asking.txt`."""
    return blocks("asking")


def spoken(frame: str, words: str) -> Iterator[str]:
    gapped = _with_it(words)
    for form in _frames().get("is" if frame == "adj" else frame, ()):
        yield form.format(words, gapped)


def _with_it(words: str) -> str:
    """A verb phrase with the thing put behind its verb, or behind a final preposition."""
    verb, _, rest = words.partition(" ")
    if words.endswith((" on", " in", " with", " from", " into", " inside", " for")):
        return f"{words} it"
    return f"{verb} it {rest}".strip()


@cache
def wordings() -> Mapping[str, Sequence[tuple[str, str]]]:
    """The plainest question of every attribute and class -> the frames and words in which it can be asked."""
    found: dict[str, list[tuple[str, str]]] = {}
    for names in knowledge().classes.values():
        _add(found, [("is", _article(name) + name) for name in names[:1]])
    for line in declared():
        split = (p.partition(" ") for p in line.spelled() if "<" not in p)
        _add(found, [(frame, words) for frame, _, words in split if frame in (*_frames(), "adj")])
    return found


def _add(found: dict[str, list[tuple[str, str]]], rows: list[tuple[str, str]]) -> None:
    if rows:
        question = next(spoken(*rows[0]))
        found.setdefault(question, []).extend(rows)


def _article(noun: str) -> str:
    if noun.startswith(("something", "the ", "part ")):
        return ""
    return "an " if noun[0] in "aeiou" else "a "


@cache
def questions() -> Sequence[str]:
    """List one question for everything that can be asked, in the order of the files; no two ask the same."""
    found: dict[object, str] = {}
    for text in (*wordings(), *_frames()["plain"]):
        claim = read(text).claim
        if claim is not None and claim.yes and claim.no and not claim.named:
            found.setdefault(sense(text), text)
    return tuple(found.values())


@lru_cache(maxsize=4096)
def phrasings(question: str) -> Sequence[str]:
    """List the ways to ask a question, itself first; all of them are understood as the same."""
    asked, found = sense(question), {question: None}
    for frame, words in (*wordings().get(question, ())[:6], *_statement(question)):
        found |= {text: None for text in spoken(frame, words) if sense(text) == asked}
        if len(found) >= _MOST:
            break
    for lead in _frames()["leads"]:
        text = lead.format(question[:1].lower() + question[1:])
        if len(found) < _MOST and sense(text) == asked:
            found[text] = None
    return tuple(found)


def _statement(question: str) -> Sequence[tuple[str, str]]:
    """The frame of a question that is on no line."""
    if question.startswith("Is it "):
        return [("is", question[6:-1])]
    return [("does", question[8:-1])] if question.startswith("Does it ") else []
