"""Encode text so that templates may write control tokens, and messages never can.

A *control token* is one that the tokenizer calls special, or another one that the template writes, such as the role
marks of DeepSeek. `guard` inserts a mark (`CUT`) into every spelling of a control token in a message, and `encode`
encodes the text on either side of a mark separately: the ids are those of ordinary text, which decode to the same
characters. Texts without such spellings are encoded in one piece, as the tokenizer does.

Many SentencePiece tokenizers put a space before everything that they encode. A continuation (a reply after its prompt,
the text after sampled ids) is therefore encoded *in its place*: behind some other text, whose ids are then removed.

Source: ours. Texts that turn into control tokens: transformers#29279 and #47853. Departure: role marks that are
ordinary text (`[INST]` of Llama 2, `USER:` of Vicuna) cannot be guarded; they are no tokens.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

PIECES_KEPT = 8192
CUT = "\ufdd0"
"""A noncharacter of Unicode that marks where a text is encoded in two parts. In a message it is replaced by U+FFFD."""
_BEFORE = ("\n", ".", "a", "1")
"""Texts to encode another text behind; the first that the tokenizer keeps separate from it is used."""


class EncodedText(NamedTuple):
    """Ids, and the characters (start, end) of the text that each id stands for."""

    ids: array[int]
    offsets: list[tuple[int, int]]


class Encoder:
    """Encodes texts that may hold `CUT`, with a transformers tokenizer. `thoughts`: special tokens that mark reasoning,
    which an assistant's text may hold as tokens unless the template builds turns from them."""

    def __init__(self, tokenizer: Any, thoughts: Collection[int] = ()) -> None:
        self.tokenizer = tokenizer
        added: dict[int, Any] = dict(tokenizer.added_tokens_decoder)
        special = [t for t in added.values() if t.special]
        self._thoughts = frozenset(thoughts)
        self.ids: dict[str, int] = {t.content: i for i, t in added.items()}
        """Ids of tokens that were added to the vocabulary, including special ones."""
        self.contents = {i: t.content for i, t in added.items()}
        self.special = frozenset(i for i, t in added.items() if t.special) | {*tokenizer.all_special_ids}
        self._control = self._own_control = _any_of_pattern(t.content for t in special)
        self._parting = _any_of_pattern(t.content for t in special if not t.lstrip)
        self._folded = any(t.normalized for t in special) and _get_normalizer(tokenizer) is not None
        self._bare = False
        self.encode = lru_cache(maxsize=PIECES_KEPT)(self._encode_with_cuts)
        self.encode_inside = lru_cache(maxsize=PIECES_KEPT)(self._encode_inside)
        self.guard = lru_cache(maxsize=PIECES_KEPT)(self._guard_text)
        self._bare = all(self._encode_alone(text) == self.encode(text) for text in ("a", "Yes."))

    # --- control tokens ----------------------------------------------------------------------------------------------

    def mark_structure(self, texts: Sequence[str]) -> None:
        """Treat tokens that the template writes as control tokens, unless they are white space."""
        ordinary = _any_of_pattern(
            content for content, i in self.ids.items() if i not in self.special and content.strip()
        )
        written = {found[0] for text in texts for found in ordinary.finditer(text)} if ordinary else set[str]()
        special = {content for content, i in self.ids.items() if i in self.special}
        self._control = _any_of_pattern({*special, *written})
        structure = {found[0] for text in texts for found in self._control.finditer(text)} if self._control else set()
        self._own_control = _any_of_pattern({c for c in special if c in structure or self.ids[c] not in self._thoughts})
        self.guard.cache_clear()

    def _guard_text(self, text: str, role: str) -> str:
        """Insert `CUT` into every control token of a message. In an assistant's message only special tokens count,
        because its reasoning may be marked by other tokens that the template writes too."""
        text = text.replace(CUT, "\ufffd")
        spelled = _find_spellings(self._own_control if role == "assistant" else self._control, text)
        parts, at = list[str](), 0
        for start, length in spelled:
            parts.append(text[at : start + 1] + CUT if length > 1 else text[at:start] + "\ufffd")
            at = start + 1
        text = "".join([*parts, text[at:]])
        if self._folded and self._holds_special(text):  # spelled with other characters that the tokenizer normalises
            return CUT.join(text.replace(CUT, ""))
        return text

    def _holds_special(self, text: str) -> bool:
        unknown = {getattr(self.tokenizer, "unk_token_id", None)}
        return not (self.special - unknown).isdisjoint(self.encode(text))

    def find_leading(self, text: str, at: int = 0) -> Iterator[tuple[int, int, int]]:
        """Find the control tokens at the beginning of a template's text from `at` on, ignoring white space: start, end
        and id of each."""
        end = at
        for match in self._control.finditer(text, at) if self._control else ():
            if text[end : match.start()].strip():
                return
            end = match.end()
            yield match.start(), end, self.ids[match[0]]

    def find_last_special(self, text: str) -> int:
        """Where the last special token of a text begins, 0 if there is none. Tokenizers merge nothing across special
        tokens."""
        return max((match.start() for match in self._parting.finditer(text)), default=0) if self._parting else 0

    # --- ids ---------------------------------------------------------------------------------------------------------

    def _encode_with_cuts(self, text: str) -> array[int]:
        first, *others = text.split(CUT)
        ids = self._encode_plain(first)
        for part in others:
            ids += self._encode_alone(part)
        return ids

    def _encode_inside(self, text: str) -> array[int]:
        """Encode a text that follows other text."""
        if self._bare or self._begins_special(text):
            return self.encode(text)
        return self._encode_with_cuts(CUT + text)

    def encode_after(self, before: str, text: str) -> array[int]:
        """Encode a text that follows `before` as part of the joint encoding. If the tokenizer merges across the border,
        encode it in another place, since the ids of `before` are fixed."""
        head = before[self.find_last_special(before) :]
        first, whole = self.encode(head), self.encode(head + text)
        return whole[len(first) :] if whole[: len(first)] == first else self.encode_inside(text)

    def encode_by_parts(self, text: str) -> array[int]:
        """Same result as `encode`, for texts that grow: the text between two special tokens is encoded once."""
        at = [found.start() for found in self._parting.finditer(text)] if self._parting else []
        ids = array("i")
        for a, b in pairwise([0, *at, len(text)]):
            ids += self.encode(text[a:b])
        return ids

    def encode_with_offsets(self, text: str) -> EncodedText:
        """Encode with offsets; needs a fast tokenizer."""
        ids, offsets, at = array("i"), list[tuple[int, int]](), 0
        for n, part in enumerate(text.split(CUT)):
            before = self._find_place(part) if n else ""
            encoded = self.tokenizer(before + part, add_special_tokens=False, return_offsets_mapping=True)
            skip, shift = len(self._encode_plain(before)) if before else 0, at - len(before)
            ids += array("i", encoded["input_ids"][skip:])
            offsets += [(a + shift, b + shift) for a, b in encoded["offset_mapping"][skip:]]
            at += len(part) + 1
        return EncodedText(ids, offsets)

    def _encode_alone(self, text: str) -> array[int]:
        """Encode a text without marks that follows other text."""
        before = self._find_place(text)
        return (
            self._encode_plain(before + text)[len(self._encode_plain(before)) :] if before else self._encode_plain(text)
        )

    def _find_place(self, text: str) -> str:
        """A text to encode this one behind, so that it is encoded as a continuation; "" if there is none."""
        if not text or self._bare:
            return ""
        for before in _BEFORE:
            first = self._encode_plain(before)
            if self._encode_plain(before + text)[: len(first)] == first:
                return before
        return ""

    def _begins_special(self, text: str) -> bool:
        return self._parting is not None and self._parting.match(text) is not None

    def _encode_plain(self, text: str) -> array[int]:
        return array("i", self.tokenizer.encode(text, add_special_tokens=False))


def _any_of_pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for any of these texts, the longest first."""
    ordered = sorted(set(texts), key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None


def _find_spellings(pattern: re.Pattern[str] | None, text: str) -> Iterator[tuple[int, int]]:
    """Start and length of every match of the pattern, overlapping ones included."""
    at = 0
    while pattern is not None and (found := pattern.search(text, at)):
        yield found.start(), len(found[0])
        at = found.start() + 1


def _get_normalizer(tokenizer: Any) -> Any:
    return getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
