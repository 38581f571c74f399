"""Sentences: what a message does (speech acts), and who does what in it (clauses). Own design.

Speech acts: find the sentence of a message that asks, and strip the politeness around it. A message is one yes/no
question, one statement or one guess, in any polite frame. Requests, open questions and several questions at once are
separate kinds, because some games treat them as invalid. Remarks about the game, its rules or the answerer are never
obeyed. The word lists are in `english.txt`.

Clauses: the words for the hidden thing, who does something to it, and what is said about it. "It", "this animal" and
"the thing you are thinking of" stand for the hidden thing; "people", "you" and "most children" are those who do
something to it. If the hidden thing is the person addressed, the conversation sets `Subject.you`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from .tokens import (
    Words,
    ascii_lower,
    base_form,
    index_phrases,
    match_length,
    split_sentences,
    tokenize,
    word_list,
    word_set,
)

# --- speech acts ------------------------------------------------------------------------------------------------------

Kind = Literal["asks", "open", "several", "unclear", "nothing"]
LONGEST = 600
"""Maximum characters of a message; longer ones are unclear."""


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
    r"[^)\]]*[)\]]|"
    r"(?<=\w )[\[(](?!(?:not|no|but|only|in|on|at|from|of|by|with\w*|except|excluding)\b)"
    r"(?:\s*\w[^()\[\],]*,){2}[^()\[\]]*[)\]]",
    re.I,
)
"""In brackets, examples of what stands before them: "(e.g. a tool)", or a list of three, "(tree, flower, grass)"."""
_SEVERAL = re.compile(r"\?(?=[^?]*\w[^?]*\?)")
_DEEPEST = 6
"""Maximum number of nested frames that are removed."""


@cache
def list_pattern(name: str, form: str) -> re.Pattern[str]:
    """Join the expressions of a list into one pattern; names of other lists in angle brackets stand for their
    expressions."""
    parts = "|".join(word_list(name))
    while (found := re.search(r"<(\w+)>", parts)) is not None:
        inner = "|".join(word_list(found[1]))
        parts = f"{parts[: found.start()]}(?:{inner}){parts[found.end() :]}"
    return re.compile(form.format(f"(?:{parts})"))


_ITS_FORMS = re.compile(r"\bits(?= (?:on|in|at|near|by|an?|the|not)\b)")
""""its" for "it's": nothing that it possesses begins with these words."""


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


def is_question(said: str) -> bool:
    """Whether a message asks something, understood or not: it has the form of a question, or states something of "it".

    >>> [is_question(said) for said in ("Is it glorpish", "Glorpish?", "It is a glorp!", "Nice weather today.")]
    [True, True, True, False]
    """
    act = read_act(said)
    asks = "?" in said or act.guess or act.kind in ("open", "several")
    return asks or not (word_set("aux") | _SUBJECTS).isdisjoint(act.words[:1])


_SUBJECTS = frozenset(("it", "this", "that", "he", "she", "they"))


_BACK = frozenset(("no", "nope", "wait", "actually"))
"""Words that begin a sentence which retracts the one before."""


def _split_message(said: str) -> tuple[list[list[str]], int]:
    """The sentences of a message, and the index of the one that asks: the one with the question mark, otherwise the
    last that says anything."""
    text = _MARKUP.sub(" ", _EXAMPLES.sub(" ", ascii_lower(said)))
    text = _ITS_FORMS.sub("it is", _NUMBERING.sub("", _ASIDE.sub(", ", text)))
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
    """Whether a sentence only says that the one before it was the question or guess."""
    return list_pattern("after", r"^(?:{0})(?: ,)?$").match(" ".join(words).strip(" ,")) is not None


def _is_conditional(parts: list[list[str]], asked: int) -> bool:
    """Whether a sentence other than the question sets conditions on the answer."""
    words = set(word_list("condition"))
    rest = [part for i, part in enumerate(parts) if i != asked and not _is_closing(part)]
    return any(not words.isdisjoint(part) for part in rest) or any("if" in p for p in parts[asked + 1 :])


def _is_open(words: Words) -> bool:
    return bool(words) and words[0] in word_set("open")


def _strip_frames(words: Words) -> SpeechAct:
    """The question without its frames."""
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
    """The clause after "since it is alive, ..."; conditions are not preambles."""
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
"""As in "do people go and vote there": the second verb carries the meaning."""


def _strip_echo(text: str) -> str:
    """Drop a tag question at the end; "it is not big, is it" asks whether it is big."""
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
    """Drop examples, tag questions and asides at the end."""
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


# --- preambles and reported speech -----------------------------------------------------------------------------------

_REPORTED = re.compile(r"\b(?!you |i )[\w']+ (?:says?|said|tells|told|claims?|claimed) ")


def is_reported(said: str) -> bool:
    """Whether the words before a colon report what somebody else says.

    >>> is_reported("Somebody told me: Oslo"), is_reported("You told me of a fjord: is it Oslo?")
    (True, False)
    """
    before, colon, _ = said.lower().rpartition(":")
    return bool(colon) and bool(_REPORTED.search(re.split(r"[.!?]", before)[-1] + " "))


_SUPPOSING = frozenset(("assuming", "supposing", "imagining", "pretending", "granting"))


def opens_preamble(word: str) -> bool:
    """Whether a clause that begins with this word is a preamble; clauses that suppose something are not.

    >>> [word for word in ("based", "taking", "bring", "assuming", "if") if opens_preamble(word)]
    ['based', 'taking']
    """
    participle = word.endswith("ing") and base_form(word) != word
    return (word in word_set("preambles") or participle) and word not in _SUPPOSING


def skip_preamble(words: Words) -> Words:
    """A sentence without its preamble.

    >>> skip_preamble("based on that , i accuse him".split())
    ['i', 'accuse', 'him']
    """
    if not words or not opens_preamble(words[0]) or "," not in words:
        return words
    return words[list(words).index(",") + 1 :] or words


# --- clauses ----------------------------------------------------------------------------------------------------------

Frame = Literal["be", "do", "done", "part", "by", "bare"]
BE = frozenset(("is", "are", "was", "were", "am"))
_ITS = frozenset(("the", "your"))
_PARTS = frozenset(("its", "their", "his", "her", "the"))


class Clause(NamedTuple):
    """A parsed clause. `be`: it is ...; `do`: it does ...; `done`: people (`who`: which group) do ... to it; `part`:
    its `who` is ...; `by`: somebody in particular does ... to it; `bare`: words without a subject."""

    frame: Frame
    words: tuple[str, ...]
    who: str = ""


@dataclass(frozen=True)
class Subject:
    """The words for the hidden thing. `heads` are nouns that may stand for it ("this city"); `you` says whether "you"
    does."""

    heads: frozenset[str] = field(default_factory=lambda: word_set("heads"))
    you: bool = False
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words for groups of people, mapped to the group."""

    def subject_end(self, words: Words, at: int) -> int:
        """The end of a subject that starts at `at`; 0 if there is none."""
        if at >= len(words):
            return 0
        first = words[at]
        if first in ("this", "that", "the", "your", "these", "those", "my", "our") and (
            end := self._headed_end(words, at + 1)
        ):
            return self._relative_end(words, end)
        if first in word_set("pronouns") or (self.you and first in ("you", "i", "we")):
            return at + 1
        return at + 5 if tuple(words[at : at + 5]) == ("what", "you", "are", "thinking", "of") else 0

    def _headed_end(self, words: Words, at: int) -> int:
        while at < len(words) and words[at] in word_set("head_adjectives"):
            at += 1
        if at == len(words) or not {words[at], base_form(words[at])} & self.heads:
            return 0
        behind = words[at + 1] if at + 1 < len(words) else ""
        double = behind in ("item", "word", "place", "thing", "product") or (words[at], behind) == ("body", "part")
        return at + 2 if double and behind != words[at] else at + 1

    def _relative_end(self, words: Words, end: int) -> int:
        """The end of a subject with its relative clause ("that you are thinking of")."""
        rest = list(words[end:])
        skip = 1 if rest[:1] and rest[0] in ("that", "which", "who") else 0
        n = match_length(rest[skip:], _TOLD)
        return end + skip + n if n else end

    def people_subject(self, words: Words, at: int) -> tuple[str, int]:
        """Read a subject that means people in general, or a group of them: the group and the end; ("", 0) if there is
        none."""
        i = at
        while i < len(words) and words[i] in word_set("many"):
            i += 1
        if i >= len(words) or (words[i] == "man" and i == at):
            return "", 0
        word = words[i]
        if word in word_set("people") or (word == "you" and not self.you):
            return "", i + 2 if word.startswith("human") and words[i + 1 : i + 2] in (["being"], ["beings"]) else i + 1
        return (self.groups[word], i + 1) if word in self.groups else ("", 0)

    def parse_clause(self, words: Words) -> Clause:
        """Parse a sentence into a clause."""
        words = list(words)
        if words[0] in word_set("aux") and len(words) > 1:
            return self._parse_question(words)
        end = self.subject_end(words, 0)
        if end and end < len(words) and (words[0] != "that" or words[end] in word_set("aux")):
            rest = words[end:]
            return (
                self._clause_after_auxiliary(rest[0], rest[1:])
                if rest[0] in word_set("aux") and rest[1:]
                else _verb_clause(rest)
            )
        group, end = self.people_subject(words, 0)
        if end and end + 1 < len(words) and self._refers_to_thing(words[end:]):
            return Clause("done", tuple(_drop_auxiliary(words[end:])), group)
        if words[0] in _PARTS and len(words) > 3:
            return self._parse_part(words)
        return Clause("bare", tuple(words))

    def _parse_question(self, words: list[str]) -> Clause:
        """As in "is it ...", "does this animal ...", "can you ... it", "is its colour ...", "is there ... in it", "is
        Rome the answer"."""
        aux = words[0]
        at = 2 if words[1] == "not" and len(words) > 2 else 1
        end = self.subject_end(words, at)
        if end and end < len(words) and words[end] not in ("of", "'s"):
            return self._clause_after_auxiliary(aux, words[end:])
        if words[at] == "there":
            rest = words[at + 1 :]
            inside = rest[-2:-1] in (["in"], ["on"], ["inside"], ["for"]) and rest[-1] in ("it", "them")
            return Clause("do", ("have", *(rest[:-2] if inside else rest)))
        last = range(at + 1, len(words) - 1)
        back = next((i for i in last if words[i] in _ITS and self.subject_end(words, i) == len(words)), 0)
        if aux in BE and back and words[back - 1] not in word_set("prepositional"):
            return Clause("be", tuple(words[at:back]))
        group, end = self.people_subject(words, at)
        if end and end < len(words):
            rest = words[end:]
            if aux in BE:
                rest = ["be", *rest]
            return Clause("done", tuple(rest), group)
        if words[at] in _PARTS and len(words) > at + 2:
            return self._parse_part(words[at:])
        return Clause("by", tuple(words[at:]))

    def _parse_part(self, words: Words) -> Clause:
        """As in "its main purpose is to cut", "its colour red", "the colour of it red"."""
        at = next((i for i, w in enumerate(words[1:5], 1) if w in BE), 0)
        if at:
            return Clause("part", tuple(words[at + 1 :]), " ".join(words[1:at]))
        rest = [w for w in words if w not in ("main", "primary", "typical", "usual", "most", "common", "primarily")]
        if rest[2:4] == ["of", "it"]:
            return Clause("part", tuple(rest[4:]), rest[1])
        return Clause("part", tuple(rest[2:]), rest[1])

    def _clause_after_auxiliary(self, aux: str, rest: Words) -> Clause:
        """Parse the words after the subject of an auxiliary."""
        if aux in BE:
            return Clause("be", tuple(rest))
        if aux in ("has", "have", "had") and rest[0] not in ("to", "been", "not", "ever", "never") and aux != "had":
            return Clause("do", ("have", *rest))
        return _verb_clause(rest, perfect=aux in ("has", "have", "had"))

    def _refers_to_thing(self, words: Words) -> bool:
        """Whether the hidden thing is among the words for what people do."""
        return any(w in word_set("pronouns") for w in words) or any(
            self.subject_end(words, i) > i + 1 for i in range(len(words))
        )

    def drop_subject(self, words: Words) -> list[str]:
        """Drop the words that stand for the hidden thing.

        >>> Subject().drop_subject("find it in this place there".split())
        ['find', 'in', 'there']
        """
        kept, i = list[str](), 0
        while i < len(words):
            end = self.subject_end(words, i) if words[i] != "you" else 0
            if end and not (words[i] == "one" and i + 1 < len(words)):
                i = end
            else:
                kept.append(words[i])
                i += 1
        return kept


_TOLD = index_phrases(word_list("of_us"))


def _verb_clause(rest: Words, perfect: bool = False) -> Clause:
    if rest[0] in ("be", "been") and rest[1:]:
        return Clause("be", tuple(rest[1:]))
    return Clause("do", ("have", *rest[1:]) if perfect and rest[0] == "got" else tuple(rest))


def _drop_auxiliary(words: Words) -> Words:
    """Drop the auxiliary of a statement about people."""
    while len(words) > 1 and words[0] in word_set("aux") - {"be", "has", "have"}:
        words = words[1:]
    return words
