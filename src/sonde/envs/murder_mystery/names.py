"""Mark the names of a case in a detective's message, and find the declared phrasings in it.

`@p2` is a person, `@v` the victim, `@b6` a record that is somebody to talk to, `@r1`, `@i4`, `@l3` a record, an item, a
place, `@s` the scene, `@n` the spot near it, `@t` the thing that access is about, `@x` one of several. A mention is a
run of a name's words: all of them, or the head with some of the others ("the painter" for "the set painter"), after a
word that may precede a noun. The longest run counts. Part of a name beside an unknown word ("the security camera", "the
kitchen clock") names nothing, and a given name before somebody else's family name names nobody.

`data/phrases.txt` declares one meaning per line; the word in brackets says where its phrases are searched: `[act]` in
what a unit of a message does, `[topic]` in the topic of a question, `[guilt]` in accusations, `[told]` in questions
about the briefing; `[list]` declares words. Own design; `envs/_shared/english` reads words and sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from sonde._util.folders import data_file

from .._shared.english.lexicon import Line, Spot, Spotter, expand_phrase, parse_lines, search_forms
from .._shared.english.tokens import UNITS, base_form, is_verb, split_sentences, tokenize, word_list, word_set
from .cases import Frame, case_data

OWNER = "s"
"""The token after the name of an owner."""


class Sentence(NamedTuple):
    """The words of a sentence with marks, commas between them, and whether it asks."""

    words: tuple[str, ...]
    asks: bool


class Entry(NamedTuple):
    """Something that a message can mention: its mark, the base forms of its words, the words that may stand for the
    whole (`heads`), and whether the words are a proper name."""

    mark: str
    words: tuple[str, ...]
    heads: frozenset[str]
    name: bool = False


# --- the names of a case ---------------------------------------------------------------------------------------------


@cache
def _same_words() -> Mapping[str, str]:
    rows = [phrase.split() for line in declared_lines()["same"] for phrase in line.phrases]
    return {base_form(word): base_form(row[0]) for row in rows for word in row}


def name_form(word: str) -> str:
    """The form for comparing words of names: base forms, one for synonyms."""
    return _same_words().get(base_form(word), base_form(word))


def _name_words(name: str) -> tuple[str, ...]:
    return tuple(name_form(w) for w in tokenize(name, possessive=OWNER) if w not in declared_words("small"))


_CUT = re.compile(r" (?:of|to|about|with|from|by|on|for|in|made|signed|marked|labelled|naming|outside|at|that|behind) ")


def _thing_entry(mark: str, name: str) -> Entry:
    """Make the entry of a thing; its head is the last word before a preposition, and the content of a set or box."""
    low = " ".join(w for w in tokenize(re.sub(r"-(?:in|on|off|by)\b|\b[a-z]+-the-[a-z]+\b", "", name)))
    first, *rest = _CUT.split(low)
    heads = {name_form(first.split()[-1])}
    if heads & declared_words("holder") and rest:
        heads.add(name_form(rest[0].split()[-1]))
    return Entry(mark, _name_words(name), frozenset(heads))


def _name_entry(mark: str, name: str) -> Entry:
    words = tuple(tokenize(name))
    return Entry(mark, words, frozenset(words), True)


@lru_cache(maxsize=256)
def _entries_by_word(frame: Frame) -> Mapping[str, Sequence[Entry]]:
    """All possible mentions in a case, indexed by word."""
    entries = [
        _name_entry("@v", frame.victim),
        _thing_entry("@v", str(case_data()["settings"][frame.setting]["victim"])),
    ]
    for p in frame.people:
        entries += [_name_entry(f"@{p.id}", p.name), _thing_entry(f"@{p.id}", p.role)]
    for r in frame.records:
        entries.append(_thing_entry(f"@{'b' if r.kind == 'bystander' else 'r'}{r.id[1:]}", r.name))
    entries += [_thing_entry(_target_mark(thing.id), thing.name) for thing in (*frame.places, *frame.items)]
    near = _name_words(frame.near)
    entries.append(Entry("@n", near, frozenset(near) - {*_name_words(frame.places[0].name)}))
    thing = _name_words(frame.thing)
    skill = Entry("@t", thing, frozenset(thing[1:] or thing))
    entries.append(skill if frame.means == "skill" else _thing_entry("@t", frame.thing))
    for mark in ("v", "s", "i1", "i0"):
        rows = [line for line in declared_lines()[f"also @{mark}"] if line.scope in ("", frame.trace)]
        entries += [_thing_entry(f"@{mark}", name) for line in rows for p in line.phrases for name in expand_phrase(p)]
    book: dict[str, list[Entry]] = {}
    for entry in entries:
        for word in dict.fromkeys(entry.words):
            book.setdefault(word, []).append(entry)
    return book


def _target_mark(target: str) -> str:
    """The mark of a thing or place; the scene has its own."""
    return "@s" if target == "l0" else f"@{target}"


@cache
def all_name_words() -> frozenset[str]:
    return frozenset(w for rows in case_data()["names"].values() for name in rows for w in tokenize(name))


# --- mentions --------------------------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """Words of a message that fit an entry up to `end`; better runs compare greater."""

    words: int
    full: bool
    end: int
    entry: Entry


_LONGEST = 16
"""Maximum number of words over which a name may extend."""


def _longest_run(entry: Entry, words: Sequence[str], shapes: Sequence[str], at: int) -> _Run | None:
    """The longest run from `at` on that names this entry; None if there is none."""
    left, got, ends = Counter(entry.words), list[str](), list[int]()
    for i in range(at, min(at + _LONGEST, len(words))):
        word = words[i] if entry.name else shapes[i]
        if left[word] > 0:
            left[word] -= 1
            got.append(word)
            ends.append(i + 1)
        elif words[i] not in declared_words("small"):
            break
    for n in range(len(got), 0, -1):
        if not entry.heads.isdisjoint(got[:n]) and not (entry.name and _is_shuffled(got[:n], entry.words)):
            return _Run(n, n == len(entry.words), ends[n - 1], entry)
    return None


def _is_shuffled(part: Sequence[str], whole: Sequence[str]) -> bool:
    return list(part) != [w for w in whole if w in part]


def _find_mention(
    book: Mapping[str, Sequence[Entry]], words: Sequence[str], shapes: Sequence[str], at: int
) -> _Run | None:
    """The best mention that begins at `at`; None if there is none."""
    rows = dict.fromkeys((*book.get(words[at], ()), *book.get(shapes[at], ())))
    runs = [run for entry in rows if (run := _longest_run(entry, words, shapes, at))]
    if not runs:
        return None
    top = max(runs, key=lambda run: run[:2])
    marks = dict.fromkeys(run.entry.mark for run in runs if run[:2] == top[:2])
    if top.entry.name:
        return None if _is_misnamed(words, at, top) else top
    if not _stands_for_thing(words, at, top):
        return None
    if len(marks) > 1:
        marks.pop("@t", None)
        marks.pop("@n", None)
    mark = next(iter(marks)) if len(marks) == 1 else "@x"
    return top._replace(entry=top.entry._replace(mark=mark))


def _stands_for_thing(words: Sequence[str], at: int, run: _Run) -> bool:
    """Whether a run stands for the thing itself and not for part of another name, judged by the adjacent words."""
    before, after = (words[at - 1] if at else ","), (words[run.end] if run.end < len(words) else ",")
    kind, whole = run.entry.mark[1], run.full and run.words > 1
    if before in _ANY and (kind in "pb" or not whole):
        return False
    if run.words == 1 and (words[at] in word_set("aux") or before in declared_words("subject")):
        return False
    return (whole or _may_stand_beside(before, "before")) and (
        (whole and kind not in "lpv") or _may_stand_beside(after, "after")
    )


_ANY = frozenset(("a", "another", "my", "every"))


def _may_stand_beside(word: str, side: str) -> bool:
    """Whether a word may stand before or after a name."""
    return word in declared_words(side) or _is_plain_word(word)


def _is_plain_word(word: str) -> bool:
    """Whether a word is not one that may be part of a name."""
    return word == "," or word[0] == "@" or word.endswith(("ly", "ing", "ed")) or _is_function(word)


@lru_cache(maxsize=1 << 14)
def _is_function(word: str) -> bool:
    lists = ("aux", "open", "prepositional", "followers", "pronouns", "adverbs", "fillers", "turns")
    return word in declared_words("small") or is_verb(base_form(word)) or any(word in word_set(name) for name in lists)


def _is_misnamed(words: Sequence[str], at: int, run: _Run) -> bool:
    """Whether the run is a family name after a given name that does not belong to it."""
    return (
        at > 0
        and words[at] != run.entry.words[0]
        and not (_may_stand_beside(words[at - 1], "before") or words[at - 1] in _title_words())
    )


@cache
def _title_words() -> frozenset[str]:
    """Words that may stand before a family name: titles, and all roles of people."""
    roles = (role for row in case_data()["settings"].values() for role in row["roles"])
    return declared_words("title") | frozenset(
        w for role in roles for w in tokenize(role) if w not in declared_words("small")
    )


# --- sentences -------------------------------------------------------------------------------------------------------

_MARKUP = re.compile(r"[*_#\"“”«»`()\[\]]+")
_COLON = re.compile(r"(?<!\d):|:(?!\d)")
_CLOCK = re.compile(r"(\d{1,2})[:.](\d\d)")
_COUNTED = re.compile(
    r"\b(?:the )?(?:(?P<which>first|second|third|fourth|last|only|[1-4](?:st|nd|rd|th)) )?(?P<kind>suspect|witness)"
    r"(?(which)| (?:number |no\. |#)?(?P<number>[1-4]|one|two|three|four))\b",
    re.IGNORECASE,
)
_STRANGER = re.compile(r"\b([A-Z][a-z]+) ([A-Z][A-Za-z]*)\b")


def split_message(text: str) -> list[Sentence]:
    """The sentences of a message, without marks."""
    plain = _COLON.sub(" , ", _CLOCK.sub(r"\1 \2", _MARKUP.sub(" ", text)))
    parts = ((tokenize(part.replace("/", " or "), possessive=OWNER), part) for part in split_sentences(plain))
    return [Sentence(tuple(words), part.rstrip().endswith("?")) for words, part in parts if words]


@lru_cache(maxsize=8192)
def mark_sentences(frame: Frame, text: str) -> tuple[Sentence, ...]:
    """The sentences of a message, with marks.

    >>> from .cases import numbered_case
    >>> message = "Hm. Sven, did you see the ship's doctor near the galley?"
    >>> for s in mark_sentences(numbered_case("train", 4).frame, message):
    ...     print(" ".join(s.words), s.asks)
    hm False
    @p0 , did you see @p1 near @l5 True
    """
    counted = _COUNTED.sub(lambda found: _resolve_numbered_person(frame, found), text)
    apart = _STRANGER.sub(_mark_stranger, counted)
    return tuple(Sentence(_mark_words(frame, s.words), s.asks) for s in split_message(apart))


def _resolve_numbered_person(frame: Frame, found: re.Match[str]) -> str:
    """The person referred to by number: "the second suspect", "witness 1", "the only witness"."""
    group = [p.name for p in frame.people if p.suspect is (found["kind"].lower() == "suspect")]
    word = (found["which"] or found["number"]).lower()
    if word in ("last", "only"):
        return group[-1] if word == "last" or len(group) == 1 else found[0]
    ordinals = word_list("ordinals")
    n = ordinals.index(word) if word in ordinals else int(word[0]) - 1 if word[0].isdigit() else UNITS.get(word, 0) - 1
    return group[n] if 0 <= n < len(group) else found[0]


def _mark_stranger(found: re.Match[str]) -> str:
    """Replace a given name before a family name that nobody has: it means a stranger."""
    first, last = found[1].lower(), found[2].lower()
    strange = first in all_name_words() and last not in all_name_words() and not _is_plain_word(last)
    return f"stranger {found[2]}" if strange else found[0]


def _mark_words(frame: Frame, words: Sequence[str]) -> tuple[str, ...]:
    book, shapes, out, at = _entries_by_word(frame), [name_form(w) for w in words], list[str](), 0
    while at < len(words):
        run = _find_mention(book, words, shapes, at)
        out.append(run.entry.mark if run else words[at])
        at = run.end if run else at + 1
    return tuple(_join_marks(frame, out))


def _join_marks(frame: Frame, words: Sequence[str]) -> Iterable[str]:
    """Drop a name that repeats the person before it ("the cook, Sven,"), and the place of a record."""
    kept: list[str] = []
    for i, word in enumerate(words):
        before_mark = words[i + 1 : i + 2] and words[i + 1][0] == "@"
        if before_mark and (word in ("the", "our", "that", "this") or _is_title_of(frame, word, words[i + 1])):
            continue
        last = next((w for w in reversed(kept) if w not in (",", "the", "in", "of", "at", "from")), "")
        if (word[0] == "@" and word == last) or (
            word[:2] == "@l" and last[:2] in ("@r", "@b") and f"l{frame.records[int(last[2:])].place}" == word[1:]
        ):
            while kept[-1] != last:
                kept.pop()
        elif word[0] == "@" and last == "@v" and word[1] in "pb" and kept[-2:] == ["@v", "s"]:
            kept[-2:] = [word]
        else:
            kept.append(word)
    return kept


def _is_title_of(frame: Frame, word: str, mark: str) -> bool:
    """Whether a word before somebody's name is a title or their role."""
    return word in declared_words("title") or (mark[1] == "p" and word in tokenize(frame.people[int(mark[2:])].role))


def mentioned_ids(words: Iterable[str], kinds: str) -> list[str]:
    """The ids of these kinds, in order, each once.

    >>> mentioned_ids(("@p1", "and", "@p0", "see", "@p1", "in", "@l3"), "p")
    ['p1', 'p0']
    """
    found = (("l0" if w == "@s" else w[1:]) for w in words if w[0] == "@")
    return list(dict.fromkeys(target for target in found if target[0] in kinds))


def find_indicated_record(frame: Frame, heard: str, rest: tuple[str, ...]) -> str:
    """The id of the record that shares most words with a message that refers to a record without its name; "" if there
    is no single one. Words of its place count half."""
    shapes = {name_form(w) for w in tokenize(heard, possessive=OWNER)} - {name_form("record"), name_form("camera")}
    if not {"record", "camera"} & {name_form(w) for w in rest} and "@x" not in rest:
        return ""
    scores = {
        r.id: _count_shared_words(frame, r.place, _name_words(r.name), shapes)
        for r in frame.records
        if r.kind != "bystander"
    }
    best = max(scores.values(), default=0.0)
    top = [record for record, score in scores.items() if score == best]
    return top[0] if best > 0 and len(top) == 1 else ""


def _count_shared_words(frame: Frame, place: int, words: Iterable[str], shapes: set[str]) -> float:
    return len(shapes.intersection(words)) + 0.5 * (not shapes.isdisjoint(_name_words(frame.places[place].name)))


@cache
def declared_lines() -> Mapping[str, Sequence[Line]]:
    """The lines of `data/phrases.txt` by meaning."""
    text = data_file("murder_mystery", "phrases.txt").read_text("utf-8")
    found: dict[str, list[Line]] = {}
    for line in parse_lines(text):
        found.setdefault(line.meaning, []).append(line)
    return found


@cache
def declared_words(meaning: str) -> frozenset[str]:
    """The words of a declared list."""
    return frozenset(text for line in declared_lines()[meaning] for p in line.phrases for text in expand_phrase(p))


@cache
def _group_spotter(group: str) -> Spotter:
    return Spotter(line for rows in declared_lines().values() for line in rows if line.scope == group)


@lru_cache(maxsize=1 << 12)
def _word_forms(words: tuple[str, ...]) -> list[str]:
    return search_forms(words)


@lru_cache(maxsize=1 << 14)
def _spot_group(group: str, words: tuple[str, ...]) -> Mapping[str, Sequence[Spot]]:
    found: dict[str, list[Spot]] = {}
    for spot in _group_spotter(group).find_spots(_word_forms(words)):
        found.setdefault(spot.meaning, []).append(spot)
    return found


def find_spots(name: str, words: tuple[str, ...]) -> Sequence[Spot]:
    """The positions at which a sentence with marks has a meaning."""
    return _spot_group(declared_lines()[name][0].scope, words).get(name, ())


def has_meaning(name: str, words: tuple[str, ...]) -> bool:
    """Whether a sentence with marks has a meaning."""
    return bool(find_spots(name, words))
