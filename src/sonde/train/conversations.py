"""Read rows of others as training items: TRL's forms, and conversations such as WildChat's.

| form | columns | for |
|---|---|---|
| conversation | `messages`, or `conversation` (WildChat) | `sft`, `bc` |
| prompt and completion | `prompt`, `completion` | `sft`, `bc` |
| text | `text` | `sft`, `bc` |
| preference | `chosen`, `rejected`, with or without a `prompt` | `dpo`, `rpo`, ...; each side alone for `kto`, `rwr` |
| labelled | `prompt`, `completion`, `label` (true or false) | `kto`, `rwr` |

A column is a list of messages, or a plain text. Messages become this template's prompts with this tokenizer's tokens
for the text; a plain text is encoded as it is, without a template, and the tokenizer's end of text is put behind it, as
TRL does. All assistant messages are trained on except those in a `prompt`, and those with `"weight": 0` (OpenAI's form)
or `"train": false` (axolotl's), which are context. Without a `prompt`, a preference's prompt is what both sides begin
with: their common messages, or their common text; also beside a `prompt` that is the text of one of these messages.
Rows hold no rewards: demonstrations, chosen and well-labelled rows count as wins of score 1, the others as losses of
score 0. What a row holds that would be lost (tools, images, calls of tools) is an error; columns of other names are
ignored.

Source: the dataset formats of TRL 1.16 (`docs/dataset_formats`), and `extract_prompt` there for implicit prompts;
`weight` as in OpenAI's fine-tuning format; `conversation` as in WildChat (Zhao et al. 2024).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from sonde.core import EMPTY, Completion, Message, UserError, content_hash, invalid
from sonde.models.chat.chat import Chat, common_prefix_length

from .data import RowReport, chain_rows, encode_completion, split_calls
from .types import Item, Learns, Pair, Row, Sample, item_samples, longest_row

TextRow = Mapping[str, Any]
_ROLES = ("system", "user", "assistant")
_MARKS = {"weight": "0 or 1", "train": "true or false"}
"""Message fields that mark whether it is trained on."""
_LOST_COLUMNS = ("tools", "images", "image", "audio", "videos", "chat_template_kwargs")
_LOST_FIELDS = ("tool_calls", "function_call", "thinking", "reasoning_content")
"""Columns, and fields of messages, that say something of the conversation which no item could hold."""
_MESSAGES = ("messages", "conversation")


class Records(NamedTuple):
    """Rows of a file or a folder, and its name, for errors."""

    name: str
    rows: Iterable[TextRow]


class ReadItems(NamedTuple):
    """Training items, and what was counted on the way; rows that are too long are left out and counted."""

    items: tuple[Item, ...]
    report: RowReport


def read_items(
    learns: Learns, records: Sequence[Records], chat: Chat, *, max_tokens: int | None = None, by_turn: bool = False
) -> ReadItems:
    """The items that an objective learns from. Raises `UserError` naming file, row and field."""
    if learns not in _READERS:
        allowed = "run folders: values are learned from rewards"
        raise invalid("records", [record.name for record in records], allowed)
    if by_turn and learns == "pairs":
        raise invalid("learning: by_turn", True, "false for pairs")
    items: list[Item] = []
    report = RowReport()
    for record in records:
        try:
            for item in _READERS[learns](record.rows, _RowReader(chat, by_turn)):
                counted = _count_item(item, max_tokens)
                report += counted
                items += [] if counted.too_long else [item]
        except UserError as e:
            raise UserError(f"{record.name}: {e}") from e
    return ReadItems(tuple(items), report)


def _count_item(item: Item, max_tokens: int | None) -> RowReport:
    samples = item_samples(item)
    if max_tokens is not None and longest_row(item) > max_tokens:
        return RowReport(trajectories=len(samples), too_long=len(samples))
    rows = [row for sample in samples for row in sample.rows]
    return RowReport(
        trajectories=len(samples),
        rows=len(rows),
        tokens=sum(map(len, rows)),
        agent_tokens=sum(row.n_agent for row in rows),
    )


# --- forms -----------------------------------------------------------------------------------------------------------


def _read_demonstrations(rows: Iterable[TextRow], reader: _RowReader) -> Iterator[Sample]:
    for row in map(reader.take, rows):
        column = next((name for name in _MESSAGES if name in row), "")
        if "prompt" in row and "messages" not in row:
            yield from reader.make_samples(reader.read(row, "prompt"), reader.read(row, "completion"))
        elif not column and isinstance(row.get("text"), str):
            yield from reader.make_samples("", row["text"])
        else:
            yield from reader.make_samples([], reader.read_messages(row, column or "messages"))


def _read_preferences(rows: Iterable[TextRow], reader: _RowReader) -> Iterator[Pair]:
    for row in map(reader.take, rows):
        prompt, chosen, rejected = reader.read_sides(row)
        (won,), (lost,) = reader.make_samples(prompt, chosen), reader.make_samples(prompt, rejected, won=False)
        yield Pair(won, lost)


def _read_labelled(rows: Iterable[TextRow], reader: _RowReader) -> Iterator[Sample]:
    for row in map(reader.take, rows):
        if "chosen" in row or "rejected" in row:
            prompt, chosen, rejected = reader.read_sides(row)
            yield from reader.make_samples(prompt, chosen)
            yield from reader.make_samples(prompt, rejected, won=False)
            continue
        label = row.get("label")
        if label not in (True, False):
            raise invalid(f"{reader.at}: label", label, "true or false, or else chosen and rejected")
        prompt = reader.read(row, "prompt") if "prompt" in row else None
        said = reader.read(row, "completion") if prompt is not None else reader.read_messages(row, "messages")
        yield from reader.make_samples(said[:0] if prompt is None else prompt, said, won=bool(label))


_READERS: Mapping[Learns, Callable[[Iterable[TextRow], _RowReader], Iterator[Item]]] = {
    "successes": _read_demonstrations, "share": _read_demonstrations, "pairs": _read_preferences,
    "samples": _read_labelled,
}  # fmt: skip


# --- rows ------------------------------------------------------------------------------------------------------------


class _MarkedMessage(NamedTuple):
    """A message, and whether it is trained on."""

    message: Message
    trained: bool


Said = str | list[_MarkedMessage]
"""A column: a plain text, or messages."""


@dataclass
class _RowReader:
    """Reads the columns of one row after the other, and says in errors which, counted from 1 as lines are."""

    chat: Chat
    by_turn: bool
    n: int = field(default=0, init=False)

    @property
    def at(self) -> str:
        return f"row {self.n}"

    def take(self, row: TextRow) -> TextRow:
        """Go on to the next row. A column that is null is not there: files of several forms fill theirs so."""
        self.n += 1
        if not isinstance(row, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(self.at, row, "an object with columns by name")
        for name in _LOST_COLUMNS:
            if row.get(name):
                raise invalid(f"{self.at}: {name}", row[name], "none: items hold text alone")
        return {name: value for name, value in row.items() if value is not None}

    def read(self, row: TextRow, column: str) -> Said:
        """A column that is a text or a list of messages; of a prompt nothing is trained on."""
        given = row.get(column)
        if isinstance(given, str):
            return given
        said = self.read_messages(row, column, "a text or a list of messages")
        return [one._replace(trained=False) for one in said] if column == "prompt" else said

    def read_messages(self, row: TextRow, column: str, allowed: str = "a list of messages") -> list[_MarkedMessage]:
        given: object = row.get(column)
        if given is None:
            raise UserError(f"{self.at}: no column {column!r}, allowed: {allowed}; there: {', '.join(row) or 'none'}")
        if not isinstance(given, list | tuple):
            raise invalid(f"{self.at}: {column}", given, allowed)
        messages = enumerate(cast("Sequence[object]", given))
        return [_read_message(f"{self.at}: {column}[{i}]", message) for i, message in messages]

    def read_sides(self, row: TextRow) -> tuple[Said, Said, Said]:
        """The prompt of a preference and its two sides behind it."""
        chosen, rejected = self.read(row, "chosen"), self.read(row, "rejected")
        if type(chosen) is not type(rejected):
            raise UserError(f"{self.at}: rejected: got another form than chosen, allowed: two texts, or two lists")
        n = _common_length(chosen, rejected)
        before = chosen[:n]
        if "prompt" in row and not _says(before, prompt := self.read(row, "prompt")):
            return prompt, chosen, rejected
        untrained = before if isinstance(before, str) else [one._replace(trained=False) for one in before]
        return untrained, chosen[n:], rejected[n:]

    def make_samples(self, before: Said, after: Said, *, won: bool = True) -> list[Sample]:
        """One sample, or with `by_turn` one of every message that is trained on."""
        try:
            if isinstance(before, str) and isinstance(after, str):
                return [_make_text_sample(self.chat, before, after, won)]
            if isinstance(before, str) or isinstance(after, str):
                raise UserError("prompt: got another form than what follows it, allowed: both texts, or both lists")
            return _make_samples(self.chat, [*before, *after], won, self.by_turn)
        except UserError as e:
            raise UserError(f"{self.at}: {e}") from e


def _read_message(place: str, given: object) -> _MarkedMessage:
    values: Mapping[Any, Any] = cast("Mapping[Any, Any]", given) if isinstance(given, Mapping) else {}
    role, content = values.get("role"), values.get("content")
    for name in _LOST_FIELDS:
        if values.get(name):
            raise invalid(f"{place}: {name}", values[name], "none: items hold text alone")
    if role not in _ROLES or not isinstance(content, str):
        raise invalid(place, given, f"a role ({', '.join(_ROLES)}) and text as content")
    marks = {name: values.get(name) for name in _MARKS if values.get(name) is not None}
    for name, mark in marks.items():
        if mark not in (0, 1):
            raise invalid(f"{place}: {name}", mark, _MARKS[name])
        if mark and role != "assistant":
            raise invalid(f"{place}: {name}", mark, f"{_MARKS[name]} on assistant messages, the only ones trained on")
    return _MarkedMessage(Message(role, content), role == "assistant" and all(marks.values()))


def _says(before: Said, prompt: Said) -> bool:
    """Whether a prompt is a text that one of these messages holds, so that it is not said again."""
    if isinstance(before, str) or not isinstance(prompt, str):
        return False
    return any(said.message.content.strip() == prompt.strip() for said in before)


def _common_length(a: Said, b: Said) -> int:
    """The length of the implicit prompt of two sides. A text is not cut between a space and the word behind it."""
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return n - 1 if n and isinstance(a, str) and a[n - 1] == " " else n


# --- samples ---------------------------------------------------------------------------------------------------------


def _make_samples(chat: Chat, conversation: Sequence[_MarkedMessage], won: bool, by_turn: bool) -> list[Sample]:
    calls = list(_encode_replies(chat, conversation))
    if not calls:
        raise invalid("messages", [said.message.role for said in conversation], "an assistant message to train on")
    plain = [said.message.to_json() for said in conversation]
    first = next(i for i, said in enumerate(conversation) if said.trained)
    parts = [(row,) for row in split_calls(enumerate(calls))] if by_turn else [chain_rows(enumerate(calls))]
    return [_make_sample(rows, plain[:first], plain, len(calls), won) for rows in parts]


def _make_text_sample(chat: Chat, before: str, after: str, won: bool) -> Sample:
    """A text behind another, encoded together. A token that lies on the border is the second text's."""
    if not after:
        raise invalid("text", after, "a text to train on")
    start, ids = (array("i", _encode_text(chat, text)) for text in (before, before + after))
    named = chat.tokenizer.eos_token_id
    end = named if isinstance(named, int) else chat.end_id
    if ids[-1:] != array("i", [end]):
        ids.append(end)
    n = common_prefix_length(start, ids)
    kept = after.removesuffix(getattr(chat.tokenizer, "eos_token", None) or "").strip()
    if not (back := chat.decode_ids(ids[n:]).strip()).endswith(kept):
        raise invalid("text", after, f"text that the tokenizer reproduces; it makes {back!r} of it")
    agent = bytes(n) + b"\1" * (len(ids) - n)
    row = Row(ids=ids, agent=agent, turns=array("i", [-1] * n + [0] * (len(ids) - n)))
    return _make_sample((row,), before, [before, after], 1, won)


def _encode_text(chat: Chat, text: str) -> Sequence[int]:
    """A text as the tokenizer encodes it by itself, with the token that begins texts where it has one; a text that
    spells this token already (a rendered conversation) gets no second one."""
    begin = getattr(chat.tokenizer, "bos_token", None)
    return chat.tokenizer.encode(text, add_special_tokens=not (begin and text.startswith(begin))) if text else []


def _make_sample(rows: tuple[Row, ...], prompt: Any, whole: Any, turns: int, won: bool) -> Sample:
    """A sample of these rows; those with one prompt are a group."""
    score, group = float(won), content_hash(prompt)
    return Sample(
        rows=rows,
        trajectory=content_hash(whole),
        group=group,
        task=group,
        env="",
        kind="win" if won else "loss",
        score=score,
        rewards=(*(0.0 for _ in range(turns - 1)), score),
        tags=EMPTY,
    )


def _encode_replies(chat: Chat, conversation: Sequence[_MarkedMessage]) -> Iterator[Completion]:
    """The completions that a model would have recorded, had it said the trained messages."""
    history: list[Message] = []
    for message, trained in conversation:
        completion = encode_completion(chat, history, message.content) if trained else None
        if completion is not None:
            yield completion
        history.append(message._replace(completion=completion))
