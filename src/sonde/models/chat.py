"""Chat messages to token ids, token-in token-out: what a model sampled is fed back as sampled, never encoded again.

The template is rendered twice: once with the messages as they are, and once with a mark in place of every assistant
message whose ids are known. The text between marks is encoded piece by piece (each piece once, then remembered), and
the sampled ids go where the marks are. If putting the texts back does not give the first rendering, the template has
rewritten history (some drop earlier reasoning), and the whole rendering is encoded instead; `Prompt.rewritten` says so.

Source: ours; the trap it avoids (ids trained != ids sampled) is described in many training frameworks.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from sonde.core.errors import UserError, invalid, unknown
from sonde.core.model import Probe
from sonde.core.types import Json, Message

from .reasoning import decode_reply, find_open_mark, special_marks
from .templates import TRAINING

PIECES_KEPT = 8192
RENDERED_KEPT = 64


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token ids of a conversation up to where the assistant speaks.

    The first `shared` of them are also the first of `previous`: prompt and completion of the latest completion found in
    the messages. `rewritten` is true where the template did not keep what was sampled.
    """

    ids: array[int]
    shared: int = 0
    previous: int = 0
    """Length of that earlier sequence."""
    rewritten: bool = False
    open_mark: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """Token ids of a conversation up to the assistant's message at its end, and the places of those to score."""

    ids: array[int]
    places: array[int]


class Chat:
    """A tokenizer with its chat template, or with the one of `templates.py` that `template["training"]` names; the rest
    of `template` are its arguments. `label` names the model: only its own completions are fed back as ids."""

    def __init__(self, tokenizer: Any, *, label: str, template: Mapping[str, Json], ends: Sequence[int] = ()) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(f"model: got {label!r}, which has no chat template; allowed: a chat model")
        self.tokenizer = tokenizer
        self.label = label
        self.template = {name: value for name, value in template.items() if name != "training"}
        if "training" in template:
            self.template["chat_template"] = self._training(template["training"])
        self.encode = lru_cache(maxsize=PIECES_KEPT)(self._encode)
        self._marked = lru_cache(maxsize=RENDERED_KEPT)(self._render)
        special = [t.content for t in tokenizer.added_tokens_decoder.values() if t.special and not t.lstrip]
        self._special = re.compile("|".join(map(re.escape, special))) if special else None
        self._reasoning = special_marks(tokenizer)
        self.ends = frozenset({*ends, *self._own_ends()})
        """Ids that end an assistant message."""

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """The ids that make the model speak next. `messages` ends with a user message."""
        if not messages or messages[-1].role != "user":
            raise invalid("messages", [m.role for m in messages], "a user message last")
        sampled = {i: m.completion.ids for i, m in enumerate(messages) if m.completion and self._is_own(m)}
        plain = self.render(messages)
        found = self._pieces(messages, sampled, plain, speak=True)
        ids = self._join(map(self.encode, found[0]), sampled.values()) if found else array("i", self.encode(plain))
        previous = self._previous(messages)
        return Prompt(ids, common(ids, previous), len(previous), found is None, find_open_mark(plain))

    def scored(self, probe: Probe) -> Scored:
        """The ids of a probe's messages, up to its last token that counts.

        The last message is encoded together with the template's text around it, unless it was sampled. Its place is
        where a mark stood; the offsets that the tokenizer gives say which tokens overlap the span.
        """
        if not self.tokenizer.is_fast:
            raise UserError(
                f"model: got {self.label!r}, whose tokenizer gives no offsets; allowed: a fast one, to score"
            )
        messages, last = probe.messages, len(probe.messages) - 1
        sampled = {i: m.completion.ids for i, m in enumerate(messages) if m.completion and self._is_own(m)}
        plain = self.render(messages, speak=False)
        found = self._pieces(messages, {**sampled, last: None}, plain, speak=False)
        if found is None:  # history is rewritten
            sampled = {i: ids for i, ids in sampled.items() if i == last}
            found = self._pieces(messages, (last,), plain, speak=False)
        if found is None:
            raise UserError(
                f"probe: messages: the chat template of {self.label!r} does not show the last message as it is, "
                f"{messages[-1].content!r}; allowed: text that the template leaves as it is"
            )
        pieces, forms = found
        own = sampled.pop(last, None)
        if own is None:
            return self._spoken(probe, pieces, forms[-1], list(sampled.values()))
        return self._sampled(probe, pieces, own, list(sampled.values()))

    def _spoken(self, probe: Probe, pieces: Sequence[str], form: str, sampled: Sequence[array[int]]) -> Scored:
        """Of a last message that is shown as `form`."""
        head, tail = pieces[-2:]
        before, head = self._told(head)
        encoded = self.tokenizer(head + form + tail, add_special_tokens=False, return_offsets_mapping=True)
        piece = before + array("i", encoded["input_ids"])
        ids = self._join([*map(self.encode, pieces[:-2]), piece], sampled)
        start, end = len(head), len(head) + len(form)
        shift = start - probe.messages[-1].content.find(form)
        a, b = (min(max(start, at + shift), end) for at in probe.bounds)
        offsets: list[tuple[int, int]] = encoded["offset_mapping"]
        places = [i for i, (left, right) in enumerate(offsets) if max(left, a) < min(right, b)]
        if probe.ending:
            after = next((i for i, at in enumerate(offsets) if at[0] >= end), len(offsets))
            places.append(self._ending(encoded["input_ids"], after))
        first = len(ids) - len(offsets)
        return self._cut(ids, [first + i for i in places])

    def _told(self, text: str) -> tuple[array[int], str]:
        """The ids of a text up to its last special token, and the rest. Nothing is merged across special tokens, so
        what stands between two is encoded once, whatever follows."""
        at = [found.start() for found in self._special.finditer(text)] if self._special else []
        ids = array("i")
        for a, b in pairwise([0, *at]):
            ids += self.encode(text[a:b])
        return ids, text[at[-1] :] if at else text

    def _sampled(self, probe: Probe, pieces: Sequence[str], own: array[int], sampled: Sequence[array[int]]) -> Scored:
        """Of a last message that is this model's own, as the ids that it sampled."""
        before = self._join(map(self.encode, pieces[:-1]), sampled)
        ids = self._join(map(self.encode, pieces), [*sampled, own])
        a, b = probe.bounds
        texts = [self.decode(own[:i]) for i in range(len(own) + 1)]  # one may end inside a character
        places = [i for i, (x, y) in enumerate(pairwise(texts)) if max(len(x.rstrip("\ufffd")), a) < min(len(y), b)]
        if probe.ending:
            places.append(self._ending(ids[len(before) :], len(own) - (own[-1] in self.ends)))
        return self._cut(ids, [len(before) + i for i in places])

    def _ending(self, ids: Sequence[int], at: int) -> int:
        """The place `at`, if an assistant message ends there."""
        if at >= len(ids) or ids[at] not in self.ends:
            raise UserError(
                f"probe: ending: got True, but the chat template of {self.label!r} ends no message by a token"
            )
        return at

    def _cut(self, ids: array[int], places: list[int]) -> Scored:
        """What comes after the last place decides nothing, and nothing comes before the first token."""
        if 0 in places:
            raise UserError(
                f"probe: messages: the chat template of {self.label!r} shows nothing before the last message"
            )
        return Scored(ids[: max(places, default=-1) + 1], array("i", places))

    def render(self, messages: Sequence[Message], *, speak: bool = True) -> str:
        """The template's text; with `speak`, up to where the assistant's next message starts."""
        return self._render(tuple((m.role, m.content) for m in messages), speak=speak)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of sampled ids, special tokens left out but for the marks of reasoning (`reasoning.py`)."""
        return decode_reply(self.tokenizer, ids, self._reasoning - self.ends)

    def _training(self, name: Json) -> str:
        """The template of that name, which has to say one turn just as the tokenizer's own does."""
        if name not in TRAINING:
            raise unknown("template: training", name, TRAINING)
        system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}
        for rows in ([user], [system, user]):
            ours, own = (
                self.tokenizer.apply_chat_template(
                    rows, tokenize=False, add_generation_prompt=True, **{**self.template, **which}
                )
                for which in ({"chat_template": TRAINING[name]}, {})
            )
            if ours != own:
                raise UserError(
                    f"template: training: got {name!r}, which says one turn of {self.label!r} as {ours!r}; allowed: "
                    f"one that says it as the model's own template does, {own!r}"
                )
        return TRAINING[name]

    def _render(self, said: tuple[tuple[str, str], ...], *, speak: bool) -> str:
        rows = [{"role": role, "content": content} for role, content in said]
        try:
            return self.tokenizer.apply_chat_template(
                rows, tokenize=False, add_generation_prompt=speak, **self.template
            )
        except Exception as error:  # templates are programs of others; whatever they raise is about these messages
            roles = [row["role"] for row in rows]
            raise UserError(f"messages: the chat template of {self.label!r} refuses roles {roles}: {error}") from error

    def _encode(self, text: str) -> array[int]:
        return array("i", self.tokenizer.encode(text, add_special_tokens=False))

    def _is_own(self, message: Message) -> bool:
        """Whether the completion behind `message` is this model's and says just what the message says."""
        c = message.completion
        return c is not None and bool(c.ids) and c.model == self.label and c.text == message.content

    def _pieces(
        self, messages: Sequence[Message], marked: Iterable[int], plain: str, *, speak: bool
    ) -> tuple[list[str], list[str]] | None:
        """The texts around the messages numbered in `marked`, and how these are shown; None if the template changes
        what messages say."""
        marks = {i: f"\ue000{i}\ue001" for i in marked}
        rows = tuple((m.role, marks.get(i, m.content)) for i, m in enumerate(messages))
        rest = self._marked(rows, speak=speak) if marks else plain
        pieces: list[str] = []
        forms: list[str] = []
        at = 0
        for i, mark in marks.items():
            piece, found, rest = rest.partition(mark)
            said = next((s for s in _forms(messages[i].content) if plain.startswith(piece + s, at)), None)
            if not found or said is None:
                return None
            pieces.append(piece)
            forms.append(said)
            at += len(piece) + len(said)
        return ([*pieces, rest], forms) if plain[at:] == rest else None

    def _join(self, pieces: Iterable[array[int]], sampled: Iterable[array[int]]) -> array[int]:
        first, *others = pieces
        ids = array("i", first)
        for own, after in zip(sampled, others, strict=True):
            ends_itself = own[-1] in self.ends and after[:1] == own[-1:]
            ids += own
            ids += after[1:] if ends_itself else after
        return ids

    def _previous(self, messages: Sequence[Message]) -> array[int]:
        """Prompt and completion of the latest completion, rebuilt along the chain; empty where its start is missing, or
        where it is another model's."""
        ids, known = array("i"), True
        for c in (m.completion for m in messages if m.completion):
            known = bool(c.ids) and c.model == self.label and (c.shared == 0 or (known and c.shared <= len(ids)))
            del ids[c.shared :]
            ids += c.prompt_ids
            ids += c.ids
        return ids if known else array("i")

    def _own_ends(self) -> set[int]:
        """The tokenizer's end id and the special token that this template puts after an assistant message."""
        ends = set[int]()
        if isinstance(self.tokenizer.eos_token_id, int):
            ends.add(self.tokenizer.eos_token_id)
        mark = "\ue000end\ue001"
        text = self.render([Message("user", "Hello"), Message("assistant", mark)], speak=False)
        after = self.encode(text.partition(mark)[2])
        if after and after[0] in self.tokenizer.all_special_ids:
            ends.add(after[0])
        return ends


def _forms(content: str) -> tuple[str, ...]:
    """The forms in which a faithful template may show a message: as it is, or trimmed."""
    return (content, content.strip(), content.rstrip(), content.lstrip())


def common(a: array[int], b: array[int]) -> int:
    """Length of the longest common prefix.

    >>> common(array("i", [1, 2, 3]), array("i", [1, 2, 9, 3]))
    2
    """
    n = min(len(a), len(b))
    if a[:n] == b[:n]:  # mostly so, and thirty times faster to see
        return n
    same = np.frombuffer(a, np.intc, n) == np.frombuffer(b, np.intc, n)
    return n if same.all() else int(same.argmin())
