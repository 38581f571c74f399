"""Convert chat messages to token ids. Sampled tokens go back into the prompt as sampled and are never encoded again.

`Chat` renders the template (`rendering.py`), encodes the text between sampled messages piece by piece (each piece once,
then cached, `encoding.py`), and puts the sampled ids where these messages stand: directly behind the prompt that they
answered. If the template shows a sampled message differently, it has rewritten history (some templates drop earlier
reasoning). Then `Chat` encodes the whole rendering instead, and `Prompt.rewritten` is true.

The end of a turn is what the template writes behind an assistant message: its end token, or the mark of the next role
(GLM). A reply contains that end once: it is not appended to a sampled reply that has it. If a turn ended with another
token than history shows (`<|return|>` and `<|end|>` of gpt-oss), the prompt has the token of history and differs
there from what was sampled, which starts a new row in training.

Source: ours; the trap it avoids (ids trained != ids sampled) is described in many training frameworks.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sonde.core.errors import UserError, invalid
from sonde.core.model import Probe
from sonde.core.tools import Tool, ToolCall
from sonde.core.types import Completion, Json, Message

from .encoding import CUT, Encoder
from .reasoning import decode_reply, find_open_mark, special_marks, split_reasoning
from .rendering import MessageSpan, Renderer, Said, shorten_message
from .tool_calls import find_call_mark, read_calls


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token ids of a conversation up to where the assistant speaks.

    The first `shared` ids are also the first ids of the previous sequence: prompt and completion of the latest
    completion in the messages. `rewritten` is true if the template did not keep what was sampled.
    """

    ids: array[int]
    shared: int = 0
    previous: int = 0
    """Length of that previous sequence."""
    rewritten: bool = False
    open_mark: str = ""


class EncodedReply(NamedTuple):
    """The ids of a reply and its text. The text starts with what the template writes before a reply (an empty thought,
    for example) if history shows the reply without it."""

    ids: array[int]
    text: str


@dataclass(frozen=True, slots=True)
class ScoredIds:
    """Token ids of a conversation up to the assistant message at its end, and the positions of the tokens to score."""

    ids: array[int]
    places: array[int]


class Chat:
    """A tokenizer with its chat template. `template` holds arguments of the template, including those of
    `rendering.py`. `label` names the model: only its own completions are fed back as ids. `ends`: ids that end a
    message, in addition to those that tokenizer and template define."""

    def __init__(self, tokenizer: Any, *, label: str, template: Mapping[str, Json], ends: Sequence[int] = ()) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(f"model: got {label!r}, which has no chat template; allowed: a chat model")
        self.tokenizer = tokenizer
        self.label = label
        self._reasoning = special_marks(tokenizer)
        self._encoder = Encoder(tokenizer, thoughts=self._reasoning)
        self._made: dict[str, Any] = {"label": label, "template": template, "ends": ends}
        self._renderer = Renderer(tokenizer, label=label, arguments=template)
        self._tool_chats: dict[tuple[Tool, ...], Chat] = {}
        self._call_mark: str | None = None
        """The mark before a call of a tool (`tool_calls.py`); None for a chat without tools."""
        self._settle_structure({*ends, *([eos] if isinstance(eos := tokenizer.eos_token_id, int) else [])})

    def with_tools(self, tools: tuple[Tool, ...]) -> Chat:
        """This chat with these tools in its template; itself if there are none. Raises `UserError` if the template
        shows no tools, or writes calls in a form that `tool_calls.py` cannot read."""
        if not tools:
            return self
        if tools not in self._tool_chats:
            shown = {**self._made["template"], "tools": [tool.to_json() for tool in tools]}
            made = Chat(self.tokenizer, **{**self._made, "template": shown})
            made._call_mark = find_call_mark(self._renderer, made._renderer, self.label)
            self._tool_chats[tools] = made
        return self._tool_chats[tools]

    def read_calls(self, text: str, open_mark: str = "", *, cut: bool = False) -> tuple[ToolCall, ...]:
        """The tool calls in a reply, but not in its reasoning (`split_reasoning`); none for a chat without tools."""
        if self._call_mark is None:
            return ()
        return read_calls(split_reasoning(text, open_mark, cut=cut)[1], self._call_mark)

    @property
    def encode(self) -> Callable[[str], array[int]]:
        """Encode a text by itself, as the tokenizer does. The result is cached; do not modify it."""
        return self._encoder.encode

    @cached_property
    def vocabulary_ids(self) -> frozenset[int]:
        """The ids that the tokenizer defines. A model's vocabulary may be padded with more."""
        return frozenset(self.tokenizer.get_vocab().values())

    def holds_text(self, c: Completion) -> bool:
        """Whether the ids of a completion can be those of its text. A stop word may have cut the text, and the text
        lacks what the template wrote around it."""
        text, said = c.text.strip(), self.decode_ids(c.ids).strip()
        return self.vocabulary_ids.issuperset(c.ids) and (said.startswith(text) or said.endswith(text))

    def render_text(self, messages: Sequence[Message], *, speak: bool = True) -> str:
        """Render the messages with the template; with `speak`, up to where the assistant's next message starts."""
        return self._renderer.render_messages(self._guard_messages(messages), speak=speak).replace(CUT, "")

    def decode_ids(self, ids: Sequence[int]) -> str:
        """Decode sampled ids without special tokens, except the marks of reasoning (`reasoning.py`)."""
        return decode_reply(self.tokenizer, ids, self._reasoning - self.ends)

    # --- prompts -----------------------------------------------------------------------------------------------------

    def encode_prompt(self, messages: Sequence[Message]) -> Prompt:
        """Encode the prompt that makes the model speak next. `messages` ends with a user message."""
        if not messages or messages[-1].role != "user":
            raise invalid("messages", [m.role for m in messages], "a user message last")
        said, sampled = self._guard_messages(messages), self._find_sampled(messages)
        text = self._renderer.render_messages(said, speak=True)
        spans = self._locate_spans(said, text, sampled, speak=True)
        ids = array("i", self.encode(text)) if spans is None else self._join_ids(text, spans, sampled)
        previous = self._previous_ids(messages)
        return Prompt(
            ids,
            common_prefix_length(ids, previous),
            len(previous),
            spans is None,
            find_open_mark(text.replace(CUT, "")),
        )

    def encode_reply(self, messages: Sequence[Message], text: str, *, cut: bool = False) -> EncodedReply:
        """Encode an assistant reply to these messages, including its end unless it was `cut`.

        The ids are those of the template's rendering behind the prompt, including what the template writes before and
        behind the reply, provided that it renders a reply behind its prompt and the tokenizer keeps the two apart. A
        text that the tokenizer does not reproduce is an error.
        """
        said = self._guard_messages((*messages, Message("assistant", text)))
        spoken = said[-1][1]
        if (back := self._round_trip(spoken)) != text:
            raise UserError(
                f"text: got {shorten_message(text)}, which the tokenizer of {self.label!r} reproduces as "
                f"{shorten_message(back)}; "
                "allowed: text that it reproduces"
            )
        whole, lead = self._renderer.render_messages(said, speak=False), ""
        spans = self._renderer.locate_messages(said, whole, range(len(said)), speak=False)
        if spans and spans[-1].message == len(messages):
            spoken, lead = whole[spans[-1].start : spans[-1].end], self._find_lead(spans[-1].before)
        asked, tail = self._renderer.render_messages(said[:-1], speak=True), "" if cut else self._tail
        ids = self._encoder.encode_after(asked, lead + spoken + tail)[:]
        if not (cut or tail):
            ids.append(self.end_id)
        kept = not lead or lead == self._history_lead
        return EncodedReply(ids, text if kept else (lead + spoken).replace(CUT, ""))

    def _round_trip(self, spoken: str) -> str:
        """Encode a text and decode it again. If a leading space gets lost on its own, the text is encoded in its
        place."""
        back = self.decode_ids(self.encode(spoken))
        if spoken.startswith(" ") and back == spoken.replace(CUT, "")[1:]:
            back = self.decode_ids(self.encode("." + CUT + spoken)).removeprefix(".")
        return back

    @property
    def end_id(self) -> int:
        """The id that ends an assistant message: the one that the template writes there, else the tokenizer's end of
        text."""
        if self._end is not None:
            return self._end
        end = self.tokenizer.eos_token_id
        if not isinstance(end, int):
            raise UserError(
                f"model: got {self.label!r}, whose messages have no end token; allowed: a chat model with one"
            )
        return end

    # --- scores ------------------------------------------------------------------------------------------------------

    def encode_probe(self, probe: Probe) -> ScoredIds:
        """Encode a probe's messages up to the last token that counts.

        The last message is encoded together with the template's text around it, unless it was sampled. The tokenizer's
        offsets tell which tokens overlap the span.
        """
        if not self.tokenizer.is_fast:
            raise UserError(
                f"model: got {self.label!r}, whose tokenizer gives no offsets; allowed: a fast one, to score"
            )
        said, last = self._guard_messages(probe.messages), len(probe.messages) - 1
        sampled = self._find_sampled(probe.messages)
        text = self._renderer.render_messages(said, speak=False)
        spans = self._locate_spans(said, text, {*sampled, last}, speak=False)
        if spans is None:  # history is rewritten
            sampled = {i: c for i, c in sampled.items() if i == last}
            spans = self._locate_spans(said, text, {last}, speak=False)
        if spans is None or spans[-1].message != last:
            raise UserError(
                f"probe: messages: the chat template of {self.label!r} does not show the last message unchanged, "
                f"{probe.messages[-1].content!r}; allowed: text that the template leaves unchanged"
            )
        if last in sampled:
            return self._score_ids(probe, text, spans, sampled)
        return self._score_text(probe, text, spans, sampled)

    def _score_text(
        self, probe: Probe, text: str, spans: Sequence[MessageSpan], sampled: Mapping[int, Completion]
    ) -> ScoredIds:
        """Positions in a last message that is shown as text."""
        *earlier, last = spans
        before, rest = self._encode_to_last_special(text[: last.start], earlier, sampled)
        form = text[last.start : last.end]
        encoded = self._encoder.encode_with_offsets(rest + form + text[last.end :])
        start, end = len(rest), len(rest) + len(form)
        a, b = (start + at for at in _find_places(form, probe.messages[-1].content, probe.span_bounds))
        places = [i for i, (left, right) in enumerate(encoded.offsets) if max(left, a) < min(right, b)]
        ids = encoded.ids
        if probe.ending:
            after = next((i for i, at in enumerate(encoded.offsets) if at[0] >= end), len(ids))
            places.append(self._find_ending(ids, after))
        return self._cut_ids(before + ids, [len(before) + i for i in places])

    def _encode_to_last_special(
        self, text: str, spans: Sequence[MessageSpan], sampled: Mapping[int, Completion]
    ) -> tuple[array[int], str]:
        """Encode a text up to its last special token; returns the ids and the remaining text."""
        ids, rest = self._encode_up_to_last(text, spans, sampled)
        rest = CUT + rest if ids else rest  # the rest follows these ids
        at = self._encoder.find_last_special(rest)
        return ids + self._encoder.encode_by_parts(rest[:at]), rest[at:]

    def _score_ids(
        self, probe: Probe, text: str, spans: Sequence[MessageSpan], sampled: Mapping[int, Completion]
    ) -> ScoredIds:
        """Positions in a last message that this model sampled, by the ids that it sampled."""
        own = sampled[spans[-1].message].ids
        ids = self._join_ids(text, spans, sampled)
        start = len(
            self._join_ids(text[: spans[-1].start], spans[:-1], sampled, lead=self._find_lead(spans[-1].before))
        )
        texts = [self.decode_ids(own[:i]) for i in range(len(own) + 1)]  # an id may end inside a character
        before = max(0, texts[-1].find(probe.messages[-1].content))
        a, b = (before + at for at in probe.span_bounds)
        places = [i for i, (x, y) in enumerate(pairwise(texts)) if max(len(x.rstrip("\ufffd")), a) < min(len(y), b)]
        if probe.ending:
            places.append(self._find_ending(ids, start + len(own) - (own[-1] in self.ends)) - start)
        return self._cut_ids(ids, [start + i for i in places])

    def _find_ending(self, ids: array[int], at: int) -> int:
        """The position, from `at` on, where the last message ends. If the mark of the next role ends messages, it is
        appended."""
        if self._ends_later and at == len(ids):
            ids.append(self.end_id)
        end_at = next((i for i in range(at, len(ids)) if ids[i] in self.ends), None)
        if end_at is None:
            raise UserError(
                f"probe: ending: got True, but the chat template of {self.label!r} ends no message with a token"
            )
        return end_at

    def _cut_ids(self, ids: array[int], places: list[int]) -> ScoredIds:
        """Cut the ids behind the last position, since nothing after it matters. The first token has no probability."""
        if 0 in places:
            raise UserError(
                f"probe: messages: the chat template of {self.label!r} shows nothing before the last message"
            )
        return ScoredIds(ids[: max(places, default=-1) + 1], array("i", places))

    # --- messages in the text ----------------------------------------------------------------------------------------

    def _guard_messages(self, messages: Sequence[Message]) -> Said:
        guard = self._encoder.guard
        roles = [m.role for m in messages]
        if self._call_mark is not None:
            roles[1:] = ["tool" if _has_calls(m) else role for m, role in zip(messages, roles[1:], strict=False)]
        return tuple((role, guard(m.content, m.role)) for m, role in zip(messages, roles, strict=True))

    def _find_sampled(self, messages: Sequence[Message]) -> dict[int, Completion]:
        """The completions of messages that this model sampled and whose text equals the message."""
        completions = ((i, m.completion, m.content) for i, m in enumerate(messages))
        return {i: c for i, c, text in completions if c and c.ids and c.model == self.label and c.text == text}

    def _locate_spans(self, said: Said, text: str, needed: Collection[int], *, speak: bool) -> list[MessageSpan] | None:
        """Where the needed messages stand: found among all messages, or else alone."""
        if not needed:
            return []
        spans = self._renderer.locate_messages(said, text, range(len(said)), speak=speak)
        if spans is None:
            return self._renderer.locate_messages(said, text, needed, speak=speak)
        return [span for span in spans if span.message in needed]

    def _find_lead(self, before: str) -> str:
        """What the template writes between the generation prompt and the reply; it counts as part of the reply."""
        return before.removeprefix(self._opening) if before.startswith(self._opening) else ""

    # --- ids around what was sampled ---------------------------------------------------------------------------------

    def _join_ids(
        self, text: str, spans: Sequence[MessageSpan], sampled: Mapping[int, Completion], *, lead: str = ""
    ) -> array[int]:
        """Encode a text, with the sampled ids where their messages stand, and without `lead` at its end."""
        ids, rest = self._encode_up_to_last(text, spans, sampled)
        rest = rest.removesuffix(lead)
        return ids + (self._encoder.encode_inside(rest) if ids else self.encode(rest))

    def _encode_up_to_last(
        self, text: str, spans: Sequence[MessageSpan], sampled: Mapping[int, Completion]
    ) -> tuple[array[int], str]:
        """Encode a text up to its last sampled message; returns the ids and the text after it, which is yet to be
        encoded."""
        ids, at = array("i"), 0
        for span in spans:
            piece = text[at : span.start - len(self._find_lead(span.before))]
            ids += self._encoder.encode_inside(piece) if ids else self.encode(piece)
            own, at = self._close_sampled(sampled[span.message], text, span.end)
            ids += own
        return ids, text[at:]

    def _close_sampled(self, c: Completion, text: str, at: int) -> tuple[array[int], int]:
        """The part of sampled ids that stays before the template's text from `at` on, and where in that text to
        continue. The template writes the token that ends a message; if it writes another one than was sampled, history
        has the template's."""
        ids, last = c.ids, c.ids[-1]
        if last not in self.ends and not (c.finish == "stop" and last in self._encoder.special):
            return ids, at
        content = self._encoder.contents.get(last)
        if content and text.startswith(content, at):
            return ids[:-1], at
        controls = list(self._encoder.find_leading(text, at))
        same = next((start for start, _, token in controls if token == last), None)
        if same is not None:
            return ids[:-1], same
        return (ids[:-1] if controls else ids), at

    def _previous_ids(self, messages: Sequence[Message]) -> array[int]:
        """Prompt and completion of the latest completion, rebuilt along the chain; empty if its start is missing or
        another model sampled it."""
        ids, known = array("i"), True
        for c in (m.completion for m in messages if m.completion):
            known = bool(c.ids) and c.model == self.label and (c.shared == 0 or (known and c.shared <= len(ids)))
            del ids[c.shared :]
            ids += c.prompt_ids
            ids += c.ids
        return ids if known else array("i")

    # --- the template's own tokens -----------------------------------------------------------------------------------

    def _settle_structure(self, known: Set[int]) -> None:
        """Find out how the template asks for a reply and how it ends one. `known` are ids that end messages in any
        case."""
        layout = self._renderer.layout_of
        asked, said = layout("user", speak=True), layout("user", "assistant", speak=False)
        history, instructed = layout("user", "assistant", "user", speak=False), layout("system", "user", speak=False)
        self._encoder.mark_structure([text for found in (said, history, instructed) if found for text in found.pieces])
        self._opening = asked.pieces[-1] if asked else ""
        final = said.pieces[-1] if said else ""
        *_, before, later, _ = history.pieces if history and history.order == (0, 1, 2) else ("", final, "")
        self._history_lead = self._find_lead(before)
        self._end = self._find_end(final, later, known)
        """The id that the template puts behind an assistant message, None if there is none."""
        self.ends = frozenset(known if self._end is None else {*known, self._end})
        """Ids that end an assistant message."""
        stops = (stop for _, stop, i in self._encoder.find_leading(final) if i == self._end)
        self._tail = final[: next(stops, 0)]
        """What the template puts behind the last message, up to its end."""
        self._ends_later = self._end is not None and not self._tail

    def _find_end(self, final: str, later: str, known: Set[int]) -> int | None:
        """The token that ends a reply, from what the template writes behind the last message and behind earlier ones. A
        token that is known to end messages comes first. Otherwise: the last token that follows both; else the first
        behind the last message; else the first behind earlier messages, which is the mark of the next role."""
        apart = next((i for i, (a, b) in enumerate(zip(final, later, strict=False)) if a != b), None)
        both = min(final, later, key=len) if apart is None else final[:apart]
        for text, place in ((both, -1), (final, 0), (later, 0)):
            if ids := [i for _, _, i in self._encoder.find_leading(text)]:
                return next((i for i in ids if i in known), ids[place])
        return None


def _has_calls(message: Message) -> bool:
    return message.completion is not None and bool(message.completion.calls)


def _find_places(form: str, content: str, bounds: tuple[int, int]) -> list[int]:
    """Where these characters of a message stand in the form in which the template shows it: trimmed, or with cuts."""
    places = [i for i, c in enumerate(form) if c != CUT]
    skipped = max(0, content.find(form.replace(CUT, "")))
    return [[*places, len(form)][min(max(at - skipped, 0), len(places))] for at in bounds]


def common_prefix_length(a: array[int], b: array[int]) -> int:
    """Length of the longest common prefix.

    >>> common_prefix_length(array("i", [1, 2, 3]), array("i", [1, 2, 9, 3]))
    2
    """
    n = min(len(a), len(b))
    if a[:n] == b[:n]:  # the usual case, and thirty times faster to check
        return n
    same = np.frombuffer(a, np.intc, n) == np.frombuffer(b, np.intc, n)
    return n if same.all() else int(same.argmin())
