"""Speech acts: find the sentence of a message that asks, and strip the politeness around it.

Ours. A message is one yes/no question, one statement or one guess, in any polite frame. Requests, open questions and
several questions at once are separate kinds, because some games call them invalid. What a message says about the game,
its rules or the answerer is never obeyed. The word lists are in `english.txt`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from .lists import word_list, word_set
from .words import Words, ascii_lower, base_form, split_sentences, tokenize

Kind = Literal["asks", "open", "several", "unclear"]
LONGEST = 600
"""Characters that are read; longer messages are unclear."""


class SpeechAct(NamedTuple):
    """What a message does. `denied`: the words around the question invert its answer; `guess`: it is announced as a
    guess."""

    kind: Kind
    words: tuple[str, ...] = ()
    denied: bool = False
    guess: bool = False


_NUMBERING = re.compile(
    r"^\W*(?:q(?:uestion)?\s*(?:#|no\.?|number)?\s*\d*\s*[:.)-]+|\(?\d{1,2}[:.)]+|(?:please )?tell me[:,])\s*", re.I
)
_MARKUP = re.compile(r"[*_#>\"“”«»`\[\](){}|~^]+")
_EXAMPLES = re.compile(
    r"[\[(]\s*(?:e\.?g|i\.?e|like|such as|for (?:example|instance)|including|or similar|meaning|also|aka|a\.k\.a)\b"
    r"[^)\]]*[)\]]",
    re.I,
)
_SEVERAL = re.compile(r"\?(?=[^?]*\w[^?]*\?)")
_DEEPEST = 6
"""Frames that are taken off one after another."""


@cache
def list_pattern(name: str, form: str) -> re.Pattern[str]:
    """Join the expressions of a list into one pattern; names of other lists in angle brackets stand for their
    expressions."""
    parts = "|".join(word_list(name))
    while (found := re.search(r"<(\w+)>", parts)) is not None:
        inner = "|".join(word_list(found[1]))
        parts = f"{parts[: found.start()]}(?:{inner}){parts[found.end() :]}"
    return re.compile(form.format(f"(?:{parts})"))


_ITS = re.compile(r"\bits(?= (?:on|in|at|near|by|an?|the|not)\b)")
"""What lacks its apostrophe: nothing that belongs to it begins with these."""


@lru_cache(maxsize=1 << 13)
def read_act(said: str) -> SpeechAct:
    """Classify a message and return the words of its question.

    >>> read_act("Great! My next question: would you say that it's alive?")
    SpeechAct(kind='asks', words=('it', 'is', 'alive'), denied=False, guess=False)
    >>> read_act("What colour is it?").kind, read_act("Is it big? Is it red?").kind
    ('open', 'several')
    """
    if len(said) > LONGEST or is_reported(said):
        return SpeechAct("unclear")
    if _SEVERAL.search(said):
        return SpeechAct("several")
    parts, asked = _split_message(said)
    if not parts or _is_conditional(parts, asked) or any(part[0] in _BACK for part in parts[asked + 1 :]):
        return SpeechAct("unclear")
    act = _strip_frames(parts[asked])
    if not act.words:
        return SpeechAct("unclear")
    opened = [act for part in parts[: asked + 1] if _is_open((act := _strip_frames(part)).words)]
    return opened[-1]._replace(kind="open") if opened else act


_BACK = frozenset(("no", "nope", "wait", "actually"))
"""What begins a sentence that takes back the one before."""


def _split_message(said: str) -> tuple[list[list[str]], int]:
    """The sentences of a message, and which of them asks: the one with the question mark, else the last that says
    anything."""
    text = _MARKUP.sub(" ", _EXAMPLES.sub(" ", ascii_lower(said)))
    text = _ITS.sub("it is", _NUMBERING.sub("", _ASIDE.sub(", ", text)))
    parts, asked = list[list[str]](), -1
    for sentence in split_sentences(text):
        if words := tokenize(sentence.replace(" - ", " , ")):
            parts.append(words)
        if sentence.rstrip().endswith("?") and asked < 0:
            while len(parts) > 1 and _is_closing(parts[-1]):
                parts.pop()
            asked = len(parts) - 1
    while asked < 0 and len(parts) > 1 and _is_closing(parts[-1]):
        parts.pop()
    return parts, asked if asked >= 0 else len(parts) - 1


def _is_closing(words: Words) -> bool:
    """Whether a sentence says nothing but that the one before it was the question or guess."""
    return list_pattern("after", r"^(?:{0})(?: ,)?$").match(" ".join(words).strip(" ,")) is not None


def _is_conditional(parts: list[list[str]], asked: int) -> bool:
    """Whether a sentence besides the question sets conditions on the answer."""
    words = set(word_list("condition"))
    rest = [part for i, part in enumerate(parts) if i != asked and not _is_closing(part)]
    return any(not words.isdisjoint(part) for part in rest) or any("if" in p for p in parts[asked + 1 :])


def _is_open(words: Words) -> bool:
    return bool(words) and words[0] in word_set("open")


def _strip_frames(words: Words) -> SpeechAct:
    """The question inside its frames."""
    text = " ".join(_strip_fillers(_strip_preamble(words))).strip(" ,")
    denied = guess = False
    for _ in range(_DEEPEST):
        start = text
        text, turned = _strip_form("deny", text)
        text, _ = _strip_form("lead", text)
        text = " ".join(_strip_fillers(text.split()))
        text, announced = _strip_form("guess", text)
        denied, guess = denied ^ turned, guess or announced
        text = _strip_tail(text)
        if text == start:
            break
    return SpeechAct("asks", tuple(text.split()), denied, guess)


def _strip_fillers(words: Words) -> Words:
    """Drop fillers at the front; "no legs" keeps its "no"."""
    fillers, words = word_set("fillers"), list(words)
    plain = fillers | word_set("aux") | word_set("pronouns") | {",", "i", "the", "a", "that", "my"}
    while len(words) > 1 and (words[0] == "," or (words[0] in fillers and (words[0] != "no" or words[1] in plain))):
        words = words[1:]
    return words


def _strip_preamble(words: Words) -> Words:
    """The clause behind "since it is alive, ..."; conditions are no preambles."""
    if words[0] not in word_set("preambles"):
        return words
    asks = word_set("aux") | {"i", "my", "it"}
    return next((words[i + 1 :] for i, w in enumerate(words[:-1]) if w == "," and words[i + 1] in asks), words)


def _strip_form(name: str, text: str) -> tuple[str, bool]:
    found = list_pattern(name, r"^{0}(?: ,)? (?=\w)").match(text)
    return (text[found.end() :], True) if found else (text, False)


_ECHO = re.compile(
    r" , (?:is|are|was|were|do|does|did|has|have|had|can|could|would|will) (?:not )?(?:it|he|she|they|this|that|you)"
    r"(?: not)?$"
)
_LOOKS = r"(?<!look)(?<!looks)(?<!taste)(?<!tastes)(?<!sound)(?<!sounds)(?<!smell)(?<!feel)(?<!act)(?<!made)"


_ERRAND = re.compile(r"\b(?:go|come) and (?!(?:go(?:es)?|come|back|up|down|away)\b)(?=[a-z])")
"""As in "do people go and vote there": the second verb says it all."""


def _strip_echo(text: str) -> str:
    """Drop an echo at the end; "it is not big, is it" asks whether it is big."""
    found = _ECHO.search(text)
    if found is None:
        return text
    text = text[: found.start()]
    return text if "not" in found[0] else re.sub(r"^((?:\w+ ){1,5}?)not ", r"\1", text)


_LIKENED = re.compile(
    r"^((?:is|are|was|were) (?!.*\b(?:with|has|have|having|shaped|looks?|looking)\b)"
    r".*\b(?:an?|any|some|of|or) (?:\w+ ){0,2}?(?P<noun>\w{3,})) like (?:an? |the )?(?!it\b)\w.*$"
)
"""As in "is it a weapon like a sword or a bow": examples of a kind."""
_ASIDE = re.compile(r"\s+[-\u2013\u2014]+\s+(?=(?:like|such as|for example|for instance|including|e\.? ?g)\b)")


def _drop_likened(text: str) -> str:
    found = _LIKENED.search(text)
    return found[1] if found is not None and found["noun"] not in word_set("generic") | {"bit", "lot"} else text


def _strip_tail(text: str) -> str:
    """Drop examples, an echo, asides and tags at the end."""
    text = list_pattern(
        "example",
        r" , {0}(?: ,)? .*$|"
        + _LOOKS
        + r" such as .*$|(?<=\w\w\w \w\w\w)"
        + _LOOKS
        + r" like (?:an? |the )(?!it\b).*$",
    ).sub("", _drop_likened(text))
    text = list_pattern("asides", r" (?:, )?{0}(?=$| ,| )").sub("", _ERRAND.sub("", _strip_echo(text)))
    return list_pattern("close", r"(?<=\w)(?: ,)? {0}$").sub("", text).strip(" ,")


# --- what leads up to a sentence, and what hands on -------------------------------------------------------------------

_REPORTED = re.compile(r"\b(?!you |i )[\w']+ (?:says?|said|tells|told|claims?|claimed) ")


def is_reported(said: str) -> bool:
    """Whether a message hands on, before a colon, what somebody else says.

    >>> is_reported("Somebody told me: Oslo"), is_reported("You told me of a fjord: is it Oslo?")
    (True, False)
    """
    before, colon, _ = said.lower().rpartition(":")
    return bool(colon) and bool(_REPORTED.search(re.split(r"[.!?]", before)[-1] + " "))


_SUPPOSING = frozenset(("assuming", "supposing", "imagining", "pretending", "granting"))


def opens_preamble(word: str) -> bool:
    """Whether a clause that begins with this word leads up to what is said; one that supposes something does not.

    >>> [word for word in ("based", "taking", "bring", "assuming", "if") if opens_preamble(word)]
    ['based', 'taking']
    """
    participle = word.endswith("ing") and base_form(word) != word
    return (word in word_set("preambles") or participle) and word not in _SUPPOSING


def skip_preamble(words: Words) -> Words:
    """A sentence without the clause that leads up to it.

    >>> skip_preamble("based on that , i accuse him".split())
    ['i', 'accuse', 'him']
    """
    if not words or not opens_preamble(words[0]) or "," not in words:
        return words
    return words[list(words).index(",") + 1 :] or words
