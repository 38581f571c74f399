"""Clauses: the words for the hidden thing, who does something to it, and what is said about it.

Own design. "It", "this animal" and "the thing you are thinking of" stand for the hidden thing; "people", "you" and
"most children" are those who do something to it. If the hidden thing is the person addressed, the conversation sets
`Subject.you`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .lists import index_phrases, match_length, word_list, word_set
from .words import Words, base_form

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
