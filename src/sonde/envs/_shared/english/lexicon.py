"""Declared phrasings: a text file that maps what players say to what it asks, without code.

Own design. A line is `MEANING: PHRASE; PHRASE; ...`. A phrase begins with its frame:

    is X        it is X                     (is red; is worn on the head)
    adj X       it is X, also before a noun (a red thing, a famous person)
    has X       it has X
    does X      it does X, did X            (does fly; does lay eggs)
    ob X        people do X to it           (ob eat; ob keep as a pet), which is also: it is eaten, it can be eaten
    for X       it serves to do X           (for cut; for entertainment)
    at X        it is found X               (at in the kitchen; at under water)
    rel X       it has to do with X
    known X     it is known for X
    made X      it is made of X
    do ...      a whole question that fits no frame (do people live there; are people afraid of it)
    q X         any other whole question (q is english spoken there)

`(a|b)` are alternatives, `[a]` is optional. Articles and words of frequency do not matter, nor do forms of verbs and
nouns. `<slot>` in a phrase stands for words that a reader of that name understands (`<time>`, `<amount>`, `<place>`).

MEANING is an expression of attributes: `a & b`, `a | b`, `!a`; `a / b` is true if one of them is, false if the first is
false and no other says more; `a?` is never false, and `a~`, for something narrower than a, never true. For phrases with
a slot it is the name of one column, `column <slot>`. `[scope]` in front limits a line to the things of which the
attribute `scope` is true. Several lines with one phrase add up: a fact adds knowledge and never overrides.

`Spotter` finds declared phrasings anywhere within a sentence, for messages that are orders or questions in any frame
("I'd like you to ask the cook where she was"): their parts count, not the whole. Declarations have the same form
(`MEANING: PHRASE; PHRASE`) without frames: words in any form, `(a|b)` alternatives, `[a]` optional, `<p>` a mark for
something named, `quarrel*` every word that begins like this, `..` up to four words other than commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple, Protocol

from .claims import Claim, join_all, join_any, negate_claim, strengthen_claim, weaken_claim
from .tokens import Words, base_form, is_participle, phrase_key, tokenize, word_set

# --- whole phrases ----------------------------------------------------------------------------------------------------

Reader = Callable[[Words], Any]
"""Maps words to the value that they stand for, or None."""


class Knows(Protocol):
    """The knowledge of a conversation."""

    def attribute(self, name: str) -> Claim | None:
        """The claim that an attribute is true; None for an unknown name."""
        ...

    def column(self, name: str, value: Any) -> Claim | None:
        """The claim that a column has a value, such as an interval; None if that cannot be asked."""
        ...

    def home(self, yes: int) -> int:
        """The things of all sorts of which at least one is among the given ones."""
        ...


PREPOSITIONS: Mapping[str, str] = {
    word: to for pair in word_set("prepositions") for word, _, to in [pair.partition(":")]
}
"""Prepositions of place, and their canonical forms."""
_WHOLE = ("are", "were", "was", "did", "is", "can")
_WHOLE_IF = (word_set("people") | word_set("pronouns") | word_set("subjects")) - {"one"}
_OPTION = re.compile(r"\[([^\[\]()]*)\]|\(([^\[\]()]*)\)")
_PLAIN = re.compile(r"[a-z ]+")
_SLOT = re.compile(r"<(\w+)>")


def expand_phrase(phrase: str) -> Iterator[str]:
    """Expand the alternatives of a phrase.

    >>> list(expand_phrase("ob (eat|cook) [and serve]"))
    ['ob eat and serve', 'ob eat', 'ob cook and serve', 'ob cook']
    """
    if "(" not in phrase and "[" not in phrase:
        yield phrase
        return
    parts, at = list[Sequence[str]](), 0
    for found in _OPTION.finditer(phrase):
        parts += [[phrase[at : found.start()]], [*found[1].split("|"), ""] if found[2] is None else found[2].split("|")]
        at = found.end()
    for chosen in product(*parts, [phrase[at:]]):
        yield " ".join("".join(chosen).split())


def be_key(words: Words) -> str:
    """The key, with its frame, of what follows "it is": passives are things done to it."""
    dropped = word_set("dropped")
    first = next((w for w in words if w not in dropped), "")
    return f"{'ob' if is_participle(first) else 'is'}:{phrase_key(words)}"


def place_key(words: Words) -> str:
    """The key of a place, with its preposition."""
    kept = PREPOSITIONS.get(words[0])
    if kept is None:
        return f"at:{phrase_key(words)}"
    return f"at:{kept} {phrase_key(words[1:])}" if kept else f"at:{phrase_key(words[1:])}"


def frame_key(frame: str, words: Words) -> str:
    """The key of a phrase in a frame."""
    if frame == "q":
        return f"q:{phrase_key(words)}"
    if frame in ("do", "have") or (frame in _WHOLE and words[:1] and words[0] in _WHOLE_IF):
        return f"q:{phrase_key([frame, *words])}"
    frame = "is" if frame in ("was", "were", "are") else frame
    if frame in ("is", "adj"):
        return be_key(words)
    if frame == "at":
        return place_key(words)
    return (
        f"do:have {phrase_key(words)}"
        if frame == "has"
        else f"{'do' if frame in ('does', 'did') else frame}:{phrase_key(words)}"
    )


class Line(NamedTuple):
    """A line of a declaration."""

    meaning: str
    scope: str
    phrases: Sequence[str]

    def spelled_phrases(self) -> Iterator[str]:
        """Its phrases, with alternatives spelled out."""
        for phrase in self.phrases:
            yield from expand_phrase(phrase)


def parse_lines(text: str) -> list[Line]:
    """The lines of a declaration.

    >>> parse_lines("# none\\n[animal] wild & !pet: is wild; does live (free|in the wild)")
    [Line(meaning='wild & !pet', scope='animal', phrases=['is wild', 'does live (free|in the wild)'])]
    """
    found = list[Line]()
    for row in text.splitlines():
        head, colon, rest = row.partition(":")
        if colon and not row.startswith("#"):
            scope = re.match(r"\s*\[(\w+)\]", head)
            meaning = head[scope.end() :] if scope else head
            phrases = [p.strip() for p in rest.split(";") if p.strip()]
            found.append(Line(meaning.strip(), scope[1] if scope else "", phrases))
    return found


class _Slotted(NamedTuple):
    """A phrase with a slot: the words before it, its name, the words after it."""

    before: str
    slot: str
    behind: str
    line: Line


class Lexicon:
    """The phrasings of a conversation. `slots` reads the words of a slot; the lines in `beside` count only for phrases
    that no other line has. Options that name an unknown attribute are ignored."""

    def __init__(
        self, declared: Iterable[Line], knows: Knows, slots: Mapping[str, Reader], beside: Iterable[Line] = ()
    ) -> None:
        self._knows, self._slots = knows, slots
        self._lines: dict[str, list[Line]] = {}
        self._slotted: dict[str, list[_Slotted]] = {}
        for line in declared:
            for phrase in line.spelled_phrases():
                self._add_phrase(phrase, line)
        own = frozenset(self._lines)
        for line in beside:
            for phrase in line.spelled_phrases():
                self._add_phrase(phrase, line, own)
        self._asked = cache(self._look_up)
        self._expressed = cache(self._evaluate_term)

    def _add_phrase(self, phrase: str, line: Line, own: Collection[str] = ()) -> None:
        frame, _, text = phrase.partition(" ")
        found = _SLOT.search(text)
        if found is not None:
            before, behind = text[: found.start()].split(), text[found.end() :].split()
            k = f"at:{phrase_key(before)}" if frame == "at" else frame_key(frame, before).strip()
            self._slotted.setdefault(k.split(" ")[0], []).append(_Slotted(k, found[1], phrase_key(behind), line))
            return
        words = text.split() if _PLAIN.fullmatch(text) else tokenize(text)
        for k in (frame_key(frame, words), f"adj:{phrase_key(words)}" if frame == "adj" else ""):
            if k and k not in own:
                held = self._lines.setdefault(k, [])
                held += [line] if line not in held else []

    @property
    def keys(self) -> Iterable[str]:
        return self._lines.keys()

    def lookup_phrase(self, k: str, words: Words = ()) -> Claim | None:
        """The claim of a key, or of its words if a phrase with a slot fits them."""
        return None if k.endswith((":", ": ")) else self._asked(k, tuple(words))

    def _look_up(self, k: str, words: tuple[str, ...]) -> Claim | None:
        found = self._lines.get(k)
        if found is not None:
            return self._add_claim([self._meaning_claim(line) for line in sorted(found, key=_phrase_options)], k)
        return self._fill_slots(k, words) if words else None

    def _meaning_claim(self, line: Line) -> Claim:
        found = self.evaluate_expression(line.meaning)
        if not line.scope:
            return found
        scope = self.evaluate_expression(line.scope).yes
        return found._replace(yes=found.yes & scope, no=found.no & scope)

    def _add_claim(self, parts: Sequence[Claim], k: str) -> Claim:
        """Combine several meanings of one phrase: true if one is, and for what something *is* only if the first does
        not deny it; false if the first is false and no other says or may say more."""
        first, *more = parts
        yes, no, whole = first.yes, first.no, k.startswith(("is:", "adj:", "q:"))
        for q in more:
            home = self._knows.home(q.yes)
            yes |= q.yes & ~first.no if whole else q.yes
            no = no & (q.no | ~home) | q.no & home & ~first.known_things & ~yes
        return first if not more else Claim(" / ".join(q.text for q in parts), yes, no & ~yes)

    # --- slots -------------------------------------------------------------------------------------------------------

    def _fill_slots(self, k: str, words: tuple[str, ...]) -> Claim | None:
        """The first phrase with a slot that fits all of the words and whose slot can be read."""
        for first in dict.fromkeys((k.split(" ", maxsplit=1)[0], k.partition(":")[0] + ":")):
            for row in self._slotted.get(first, ()):
                found = self._fit_slots(row, k, words)
                if found is not None:
                    return found
        return None

    def _fit_slots(self, row: _Slotted, k: str, words: tuple[str, ...]) -> Claim | None:
        if not k.startswith(row.before) or (row.behind and not k.endswith(row.behind)):
            return None
        if k.startswith("at:") and row.before != "at:" and PREPOSITIONS.get(words[0]) == "":
            words = words[1:]
        start = _kept_words(words, len(row.before.partition(":")[2].split()), row.before)
        end = _back_reference(words, len(row.behind.split()))
        value = self._slots[row.slot](words[start:end]) if start is not None and start < end else None
        return None if value is None else self._knows.column(row.line.meaning.split(" ")[0], value)

    # --- meanings ----------------------------------------------------------------------------------------------------

    def evaluate_expression(self, text: str) -> Claim:
        """Evaluate an expression of attributes."""
        return self._expressed(text)

    def _evaluate_term(self, text: str) -> Claim:
        if "/" in text:
            parts = [self.evaluate_expression(part.strip()) for part in text.split("/")]
            return self._add_claim([q for q in parts if not q.unread] or parts, text)
        options = [
            join_all(self._grade_claim(name.strip()) for name in option.split("&")) for option in text.split("|")
        ]
        return join_any([q for q in options if not q.unread] or options)

    def _grade_claim(self, name: str) -> Claim:
        q = self._knows.attribute(name.strip("!?~"))
        if q is None:
            return Claim(f"? {name}", 0, 0, unread=True)
        q = negate_claim(q) if name.startswith("!") else q
        return (
            weaken_claim(q, "if") if name.endswith("?") else strengthen_claim(q, "kind of") if name.endswith("~") else q
        )


def _phrase_options(line: Line) -> int:
    """Order lines with the same phrase: the one about fewer attributes first; among equals, the earlier."""
    return len(re.findall(r"[|&/]", line.meaning))


def _kept_words(words: Words, n: int, before: str) -> int | None:
    """The end of the first n words that count; they must be the words before the slot."""
    dropped, i, seen = word_set("dropped"), 0, list[str]()
    while i < len(words) and len(seen) < n:
        seen += [] if words[i] in dropped or words[i] == "," else [base_form(words[i])]
        i += 1
    return i if " ".join(seen) == before.partition(":")[2] else None


def _back_reference(words: Words, n: int) -> int:
    """The start of the last n words that count."""
    dropped, i = word_set("dropped"), len(words)
    while i and n:
        i -= 1
        n -= words[i] not in dropped
    return i


# --- phrasings within a sentence --------------------------------------------------------------------------------------

_GAP, _WIDEST = "..", 4
_PART = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\S+")


class Spot(NamedTuple):
    """A meaning and the position of its phrase."""

    meaning: str
    start: int
    end: int


class _Node(NamedTuple):
    """A node in the tree of phrases: the next words, beginnings of words (by three letters), or gaps, and the meanings
    of the phrases that end here."""

    words: dict[str, list[_Node]]
    stems: dict[str, list[tuple[str, _Node]]]
    gaps: list[_Node]
    ends: list[str]

    def add_word(self, part: str, node: _Node) -> None:
        """Make a word lead to a node."""
        if part[-1] == "*":
            self.stems.setdefault(part[:3], []).append((part[:-1], node))
        else:
            self.words.setdefault(part if part[0] == "<" else base_form(part), []).append(node)

    def walk_phrase(self, words: Sequence[str], at: int, ends: dict[str, int]) -> None:
        """Record where phrases end that continue from here with the word at `at`."""
        for meaning in self.ends:
            ends[meaning] = max(at, ends.get(meaning, 0))
        if at == len(words):
            return
        self._step_word(words, at, ends)
        for gap in self.gaps:
            for skipped in range(at, min(at + _WIDEST + 1, len(words))):
                gap._step_word(words, skipped, ends)
                if words[skipped] == ",":
                    break

    def _step_word(self, words: Sequence[str], at: int, ends: dict[str, int]) -> None:
        word = words[at]
        for node in self.words.get(word, ()):
            node.walk_phrase(words, at + 1, ends)
        for stem, node in self.stems.get(word[:3], ()):
            if word.startswith(stem):
                node.walk_phrase(words, at + 1, ends)


def _new_node() -> _Node:
    return _Node({}, {}, [], [])


def _lead_node(node: _Node, words: Iterable[str]) -> _Node:
    """The node after some words."""
    for word in words:
        step = _new_node()
        node.add_word(word, step)
        node = step
    return node


def _add_phrase(root: _Node, phrase: str, meaning: str) -> None:
    """Add a phrase below a node; alternatives meet after them."""
    heads = [root]
    for part in _PART.findall(phrase):
        node = _new_node()
        if part == _GAP:
            for head in heads:
                head.gaps.append(node)
            heads = [node]
            continue
        for option in part.strip("()[]").split("|"):
            *before, last = option.split()
            for head in heads:
                _lead_node(head, before).add_word(last, node)
        heads = [*heads, node] if part[0] == "[" else [node]
    for head in heads:
        head.ends.append(meaning)


class Spotter:
    """The phrasings of some declared lines; sentences are given as the base forms of their words (`search_forms`).

    >>> from .lexicon import parse_lines
    >>> spotter = Spotter(parse_lines("alibi: where .. you; alibi\\nstrife: (quarrel*|row) .. with <v>"))
    >>> spotter.find_spots(search_forms("so where exactly were you , and did you quarrel badly with @v".split()))
    [Spot(meaning='alibi', start=1, end=5), Spot(meaning='strife', start=9, end=13)]
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._root = _new_node()
        for line in lines:
            for phrase in line.phrases:
                _add_phrase(self._root, phrase, line.meaning)

    def find_spots(self, words: Sequence[str]) -> list[Spot]:
        """All phrases in a sentence, from left to right; the longest of those with one meaning and start."""
        found: dict[tuple[str, int], int] = {}
        root = self._root
        for at, word in enumerate(words):
            if word not in root.words and word[:3] not in root.stems:
                continue
            ends: dict[str, int] = {}
            root.walk_phrase(words, at, ends)
            found.update({(meaning, at): end for meaning, end in ends.items()})
        return [Spot(meaning, at, end) for (meaning, at), end in found.items()]


def search_forms(words: Iterable[str]) -> list[str]:
    """The forms used for searching a sentence: base forms, and marks such as `@v` and `@p3` by their kind."""
    return [f"<{word[1:].rstrip('0123456789')}>" if word[0] == "@" else base_form(word) for word in words]
