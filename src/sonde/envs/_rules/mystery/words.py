"""Whom and what a detective's message mentions: names of people and things, by their words, in order.

A message becomes a *template*: lower-case words in which every mention is a mark, such as `@p2` (a person), `@v` (the
victim), `@b6` (a record that is somebody to talk to), `@r1`, `@i4`, `@l3` (record, item, place), `@n` (the spot near
the scene), `@t` (what access is about), `@x` (several things are meant alike). `reading` reads templates.

A mention is a run of a name's words with nothing but small words between: all of them, or some with the head ("the
painter" for "the set painter"), in the order of the name, or the head first ("camera on the jetty"), or last ("tea
bowl" for "a bowl of tea"). The longest run counts. A given name with a family name that is not theirs is nobody, and
part of a name next to a word that is not understood ("the security camera") is nothing.

Source: ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from .aliases import named
from .cases import Frame
from .lexicon import Entry, Lexicon, all_names, lexicon
from .tokens import (
    BEFORE,
    DETERMINERS,
    RANKS,
    RECORDED,
    SMALL,
    SUBJECTS,
    SYNONYMS,
    VERBS,
    stem,
    tokens,
    words_of,
)


class Mention(NamedTuple):
    """Words `start` to `end` of a message mean `mark`; `full` if they are the whole name."""

    start: int
    end: int
    mark: str
    full: bool


# --- mentions --------------------------------------------------------------------------------------------------------


class _Match(NamedTuple):
    """How well a run of words fits an entry; better ones compare greater."""

    words: int
    full: bool
    exact: bool
    head: bool
    end: int
    entry: Entry


def mentions(frame: Frame, words: Sequence[str]) -> list[Mention]:
    """All mentions in a row of tokens, from left to right."""
    book, stems = lexicon(frame), [stem(w) for w in words]
    known, found = book.by_word, list[Mention]()
    end = 0
    for at, (word, root) in enumerate(zip(words, stems, strict=True)):
        rows = known.get(word) or known.get(root) or known.get(SYNONYMS.get(root, ""))
        if rows and at >= end and (mention := _at(book, rows, words, stems, at, frame)):
            found.append(mention)
            end = mention.end
    return found


def _at(
    book: Lexicon, rows: Iterable[Entry], words: Sequence[str], stems: Sequence[str], at: int, frame: Frame
) -> Mention | None:
    """The mention that begins with a word of the entries `rows`."""
    matches = [m for e in rows if (m := _longest(e, words, stems, at))]
    # A register is not the registry.
    matches = [m for m in matches if m.head and (m.exact or m.entry.mark[:2] != "@l")]
    if not matches:
        return None
    top = max(matches, key=lambda m: m[:4])
    best = [m for m in matches if m[:4] == top[:4]]
    if top.words == 1 and _verb(words, at):
        return None
    role = not top.entry.name and top.entry.mark[:2] in ("@p", "@b")
    if role and (_anyone(words, at, top.entry.mark[1]) or (top.words == 1 and _all_of_them(words, at))):
        return None
    whole = (top.full and top.entry.words != ("scene",)) or top.entry.name or top.entry.mark == "@t"
    if not whole and not _known_before(words, at):
        return None
    if _misnamed(book, words, at, top) if top.entry.name else (_vague(words, at, top) or _elsewhere(words, at, top)):
        return None
    marks = dict.fromkeys(m.entry.mark for m in best)
    return Mention(at, max(m.end for m in best), _chosen(tuple(marks), frame), top.full)


def _all_of_them(words: Sequence[str], at: int) -> bool:
    """Whether a role is that of many: "doctors have enemies"."""
    return words[at] != stem(words[at]) and words[at - 1] != "the"


def _anyone(words: Sequence[str], at: int, kind: str) -> bool:
    """Whether a role is not that of one of the case: "a cook", "my grandmother"."""
    before = words[max(at - 2, 0) : at]
    if "my" in before:
        return True
    return kind == "p" and any(w in ("a", "an", "any", "another", "every") for w in before)


def _chosen(marks: tuple[str, ...], frame: Frame) -> str:
    """One mark where several things are called the same."""
    if len(marks) == 1:
        return marks[0]
    rest = tuple(m for m in marks if m not in ("@t", "@n"))
    if set(rest) == {"@l0"}:
        return "@l0"
    return rest[0] if len(rest) == 1 else "@x"


def _known_before(words: Sequence[str], at: int) -> bool:
    before = words[at - 1] if at else "."
    if before in SUBJECTS:
        return False
    return before in BEFORE or before.isdigit() or before.endswith("ing") or before.endswith("ly")


def _verb(words: Sequence[str], at: int) -> bool:
    """Whether a word that can be a verb is one here ("head to the office", "study the letter")."""
    before, after = (words[at - 1] if at else "."), (words[at + 1] if at + 1 < len(words) else ".")
    return words[at] in VERBS and before not in DETERMINERS and after not in (",", ".", "?", "!", ":")


def _vague(words: Sequence[str], start: int, match: _Match) -> bool:
    """Whether a list or a picture is of something that is none of the names ("a list of all films")."""
    if match.full or match.end >= len(words) or words[match.end] != "of":
        return False
    only = all(stem(w) in RECORDED or w in SMALL for w in words[start : match.end])
    return only or (match.entry.mark[:2] == "@i" and len(match.entry.words) > match.words and words[start - 1] != "a")


def _elsewhere(words: Sequence[str], start: int, match: _Match) -> bool:
    """Whether a part of a name is something else: "the room", "Sven's kitchen", "Sven's hands"."""
    if match.full or not (match.entry.mark[:2] == "@l" or (match.entry.mark == "@t" and match.words == 1)):
        return False
    return words[start : match.end] in (["room"], ["rooms"], ["place"]) or (start > 0 and words[start - 1] == "'s")


def _misnamed(book: Lexicon, words: Sequence[str], start: int, match: _Match) -> bool:
    """Whether a name stands beside another name that does not belong to it, or a family name after a strange word."""
    used, names = set(words[start : match.end]), all_names()
    beside = [words[i] for i in (start - 1, match.end) if 0 <= i < len(words)]
    if any(w in names and w not in used for w in beside):
        return True
    known = _known_before(words, start) or stem(words[start - 1]) in book.by_word or words[start - 1] in RANKS
    return words[start] != match.entry.words[0] and not known


def _longest(entry: Entry, words: Sequence[str], stems: Sequence[str], at: int) -> _Match | None:
    """The longest run from `at` on that is a name of this entry."""
    own = Counter(entry.words)
    got: list[str] = []
    ends: list[int] = []
    tight: list[bool] = []
    exact: list[bool] = []
    i, joined = at, True
    while i < len(words) and len(got) < len(entry.words):
        word = next((w for w in (words[i], stems[i]) if own[w] > 0), None)
        if word is None:
            word = _synonym(own, stems[i])
            plain = False
        else:
            plain = True
        if word is not None:
            own[word] -= 1
            got.append(word)
            ends.append(i + 1)
            tight.append(joined)
            exact.append(plain)
            joined = True
        elif words[i] in SMALL and got:
            joined = joined and words[i] in ("'s",)
        else:
            break
        i += 1
    return _accepted(entry, got, ends, tight, exact)


def _synonym(own: Counter[str], word: str) -> str | None:
    same = SYNONYMS.get(word)
    return None if same is None else next((w for w, n in own.items() if n > 0 and SYNONYMS.get(w) == same), None)


def _accepted(entry: Entry, got: list[str], ends: list[int], tight: list[bool], exact: list[bool]) -> _Match | None:
    for n in range(len(got), 0, -1):
        if _in_order(entry, got[:n], all(tight[1:n])):
            head = any(w in entry.heads for w in got[:n])
            return _Match(n, n == len(entry.words), all(exact[:n]), head, ends[n - 1], entry)
    return None


def _in_order(entry: Entry, got: list[str], joined: bool) -> bool:
    if len(got) == 1 or _subsequence(got, entry.words):
        return True
    if entry.name:
        return False
    first, *rest = got
    if first in entry.heads and _subsequence(rest, entry.words):
        return True
    return joined and got[-1] in entry.heads and _subsequence(got[:-1], entry.words)


def _subsequence(part: Sequence[str], whole: Sequence[str]) -> bool:
    left = iter(whole)
    return all(any(word == other for other in left) for word in part)


def _untitled(words: Sequence[str]) -> list[str]:
    """Without titles that are roles too, where a name follows."""
    names = all_names()
    after = (*words[1:], "")[: len(words)]
    return [w for w, x in zip(words, after, strict=True) if not (w in ("doctor", "professor") and x in names)]


_STRANGER = re.compile(r"\b([A-Z][a-z]+) ([A-Z][A-Za-z]*)\b")


def _apart(found: re.Match[str]) -> str:
    """A given name before a family name that nobody has is nobody's."""
    names, last = all_names(), found[2].lower()
    strange = found[1].lower() in names and not (last in names or last in BEFORE)
    return f"stranger {found[2]}" if strange else found[0]


@lru_cache(maxsize=8192)
def template(frame: Frame, text: str) -> str:
    """The message with marks for what it mentions.

    >>> from .cases import case
    >>> template(case("train", 4).frame, "Sven, did you see the ship's doctor near the galley?")
    '@p0 , did you see the @p1 near the @l5 ?'
    """
    words = _untitled(tokens(_STRANGER.sub(_apart, text)))
    found = {m.start: m for m in mentions(frame, words)}
    out: list[str] = []
    at = 0
    while at < len(words):
        mention = found.get(at)
        out.append(mention.mark if mention else words[at])
        at = mention.end if mention else at + 1
    return _tidied(frame, " ".join(out))


_CALLED = re.compile(r"\b([a-z]+) @p(\d)")
_OF_VICTIM = re.compile(r"@v 's (?=@p)")
_KEPT = re.compile(r"@r(\d) ([a-z]+)")


def _tidied(frame: Frame, marked: str) -> str:
    """Without the victim where a role is theirs ("the victim's cousin"), without the place that a list is from, and
    without a word of somebody's role before their name ("Guide Lombardi")."""

    def kept(found: re.Match[str]) -> str:
        place = frame.places[frame.records[int(found[1])].place]
        return f"@r{found[1]}" if stem(found[2]) in words_of(place.name) else found[0]

    def called(found: re.Match[str]) -> str:
        role = words_of(frame.people[int(found[2])].role)
        return f"@p{found[2]}" if stem(found[1]) in role else found[0]

    if "@p" in marked:
        marked = _OF_VICTIM.sub("", _CALLED.sub(called, marked))
    return named(frame, _KEPT.sub(kept, marked) if "@r" in marked else marked)
