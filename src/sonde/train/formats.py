"""Exchange formats for training sets: rows for TRL's trainers, `datasets`, conversations; and back.

| rows (TRL 1.16) | columns | who masks |
|---|---|---|
| `sft_rows` | `input_ids`, `labels` (-100 off agent tokens) | sonde: TRL keeps existing labels |
| `sft_rows(mask="completion_mask")` | `input_ids`, `completion_mask` | TRL, where `completion_only_loss` is on |
| `preference_ids` | `prompt_ids`, `chosen_ids`, `rejected_ids`, two masks | nobody: its collator drops our masks |
| `message_rows` | `messages` | TRL, where `assistant_only_loss` is on and it knows the template |
| `preference_rows` | `prompt`, `chosen`, `rejected`, as messages | nobody |

*Nobody* means that TRL's DPOTrainer counts everything after the first prompt as the completion, including what the
environment said; ours counts only agent tokens. Rows of messages hold text only: the sampled ids and their
probabilities are lost. `read_demonstrations` and `read_preferences` convert such rows to samples, with this tokenizer's
tokens for the text in this template's prompts. An assistant message with `"weight": 0` (OpenAI's form) or `"train":
false` (axolotl's) is context and is not trained on, like those in a `prompt`. The rows hold no rewards either:
demonstrations and chosen conversations count as wins of score 1, rejected ones as losses of score 0.

Source: the dataset formats of TRL's SFTTrainer and DPOTrainer, whose collators the tests run on these rows; `weight` as
in OpenAI's fine-tuning format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple, cast

from sonde.core import (
    AGENT,
    EMPTY,
    Completion,
    Episode,
    Message,
    Trajectory,
    UserError,
    build_recorded,
    content_hash,
    invalid,
)
from sonde.models.chat.chat import Chat

from .data import chain_rows, encode_completion
from .types import Pair, Row, Sample

Columns = dict[str, Any]
Mask = Literal["labels", "completion_mask"]
IGNORED = -100
"""The label of ignored tokens in torch and transformers."""

_ROLES = ("system", "user", "assistant")
_MARKS = {"weight": "0 or 1", "train": "true or false"}
"""Message fields that mark whether it is trained on."""


def to_dataset(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Convert rows to a `datasets.Dataset`."""
    try:
        datasets = import_module("datasets")
    except ModuleNotFoundError as e:
        raise UserError("datasets: not installed; pip install datasets") from e
    records = [dict(row) for row in rows]
    if not records:
        raise invalid("rows", "none", "one or more")
    return datasets.Dataset.from_list(records)


# --- tokens ----------------------------------------------------------------------------------------------------------


def sft_rows(samples: Iterable[Sample], *, mask: Mask = "labels") -> Iterator[Columns]:
    """Every row of every sample, for TRL's SFTTrainer, with exactly our token ids and mask."""
    masked: Mapping[str, Callable[[Row], list[int]]] = {"labels": _mask_labels, "completion_mask": _agent_mask}
    if mask not in masked:
        raise invalid("mask", mask, ", ".join(masked))
    for sample in samples:
        for row in sample.rows:
            yield {"input_ids": row.ids.tolist(), mask: masked[mask](row)}


def preference_ids(pairs: Iterable[Pair]) -> Iterator[Columns]:
    """Pairs for TRL's DPOTrainer, in its tokenised form. `chosen_mask` and `rejected_mask` mark agent tokens; its
    collator (1.16) ignores them. Both samples must consist of one row and begin with the same prompt."""
    for chosen, rejected in pairs:
        a, b = (_only_row(sample) for sample in (chosen, rejected))
        n = a.agent.index(1)
        if a.ids[:n] != b.ids[:n] or any(b.agent[:n]):
            raise UserError(f"pair: got {chosen.trajectory} and {rejected.trajectory}, allowed: two with one prompt")
        yield {
            "prompt_ids": a.ids[:n].tolist(),
            "chosen_ids": a.ids[n:].tolist(),
            "rejected_ids": b.ids[n:].tolist(),
            "chosen_mask": list(a.agent[n:]),
            "rejected_mask": list(b.agent[n:]),
        }


def _mask_labels(row: Row) -> list[int]:
    return [i if chosen else IGNORED for i, chosen in zip(row.ids, row.agent, strict=True)]


def _agent_mask(row: Row) -> list[int]:
    return list(row.agent)


def _only_row(sample: Sample) -> Row:
    if len(sample.rows) != 1:
        raise invalid(f"sample {sample.trajectory}: rows", len(sample.rows), "1: the format has no place for more")
    return sample.rows[0]


# --- messages --------------------------------------------------------------------------------------------------------


def message_rows(trajectories: Iterable[Trajectory], *, seat: str = AGENT, system: str = "") -> Iterator[Columns]:
    """`messages`: each game as the seat's conversation, from a system prompt (if any) to its last message."""
    for t in trajectories:
        yield {"messages": [m.to_json() for m in _collect_messages(t, seat, system)]}


def preference_rows(
    preferences: Iterable[tuple[Trajectory, Trajectory]], *, seat: str = AGENT, system: str = ""
) -> Iterator[Columns]:
    """`prompt`, `chosen` and `rejected`: the messages before the seat's first one, and all later ones of either game.
    TRL masks none of the latter: it also trains on what the environment said."""
    for preference in preferences:
        (prompt, chosen), (same, rejected) = (_split_prompt(_collect_messages(t, seat, system)) for t in preference)
        if prompt != same:
            ids = " and ".join(t.id for t in preference)
            raise UserError(f"pair: got {ids}, which begin differently; allowed: two of one task in one world")
        yield {"prompt": prompt, "chosen": chosen, "rejected": rejected}


def _collect_messages(t: Trajectory, seat: str, system: str) -> list[Message]:
    """The seat's conversation up to its last message."""
    heard = Episode.replay(build_recorded(t.env), t).messages.get(seat, ())
    last = max((i for i, m in enumerate(heard) if m.role == "assistant"), default=-1)
    if last < 0:
        raise UserError(f"trajectory {t.id}: seat {seat!r} says nothing")
    return [*([Message("system", system)] if system else []), *heard[: last + 1]]


def _split_prompt(messages: Sequence[Message]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Split the messages before the first assistant message."""
    first = next(i for i, m in enumerate(messages) if m.role == "assistant")
    plain = [m.to_json() for m in messages]
    return plain[:first], plain[first:]


# --- reading conversations -------------------------------------------------------------------------------------------


def read_demonstrations(rows: Iterable[Mapping[str, Any]], chat: Chat) -> list[Sample]:
    """Convert rows with `messages`, or with `prompt` and `completion`, to samples. All assistant messages are trained
    except those in a `prompt` and those marked with `weight` 0 or `train` false."""
    samples: list[Sample] = []
    for n, row in enumerate(rows):
        before = _read_prompt(n, row)
        after = _read_messages(n, row, "completion" if "prompt" in row else "messages")
        samples.append(_read_conversation(n, chat, before, after, won=True))
    return samples


def read_preferences(rows: Iterable[Mapping[str, Any]], chat: Chat) -> list[Pair]:
    """Convert rows with `chosen`, `rejected` and `prompt` to pairs. Without a `prompt`, it is the common beginning of
    both up to the first assistant message."""
    pairs: list[Pair] = []
    for n, row in enumerate(rows):
        before = _read_prompt(n, row)
        chosen, rejected = (_read_messages(n, row, side) for side in ("chosen", "rejected"))
        pairs.append(
            Pair(
                _read_conversation(n, chat, before, chosen, won=True),
                _read_conversation(n, chat, before, rejected, won=False),
            )
        )
    return pairs


class _MarkedMessage(NamedTuple):
    """A message, and whether it is trained on."""

    message: Message
    trained: bool


def _read_prompt(n: int, row: Mapping[str, Any]) -> list[_MarkedMessage]:
    """The prompt; none of it is trained on."""
    return [said._replace(trained=False) for said in _read_messages(n, row, "prompt")] if "prompt" in row else []


def _read_messages(n: int, row: Mapping[str, Any], column: str) -> list[_MarkedMessage]:
    """Read a column of messages; anything else (text, images, tool calls) is refused."""
    given: object = row.get(column)
    if not isinstance(given, list | tuple):
        raise invalid(f"row {n}: {column}", given, "a list of messages")
    return [_read_message(f"row {n}: {column}[{i}]", m) for i, m in enumerate(cast("Sequence[object]", given))]


def _read_message(field: str, given: object) -> _MarkedMessage:
    values: Mapping[Any, Any] = cast("Mapping[Any, Any]", given) if isinstance(given, Mapping) else {}
    role, content = values.get("role"), values.get("content")
    if role not in _ROLES or not isinstance(content, str):
        raise invalid(field, given, f"a role ({', '.join(_ROLES)}) and text as content")
    marks = {name: values.get(name) for name in _MARKS if values.get(name) is not None}
    for name, mark in marks.items():
        if mark not in (0, 1):
            raise invalid(f"{field}: {name}", mark, _MARKS[name])
        if mark and role != "assistant":
            raise invalid(f"{field}: {name}", mark, f"{_MARKS[name]} on assistant messages, the only ones trained on")
    return _MarkedMessage(Message(role, content), role == "assistant" and all(marks.values()))


def _read_conversation(
    n: int, chat: Chat, before: Sequence[_MarkedMessage], after: Sequence[_MarkedMessage], *, won: bool
) -> Sample:
    """Convert one conversation to a sample."""
    try:
        calls = list(_encode_replies(chat, [*before, *after]))
    except UserError as e:
        raise UserError(f"row {n}: {e}") from e
    if not calls:
        raise invalid(f"row {n}", [said.message.role for said in after], "an assistant message to train on")
    plain = [said.message.to_json() for said in (*before, *after)]
    first = next(i for i, said in enumerate((*before, *after)) if said.trained)
    score = float(won)
    return Sample(
        rows=chain_rows(enumerate(calls)),
        trajectory=content_hash(plain),
        group=content_hash(plain[:first]),
        task=content_hash(plain[:first]),
        env="",
        kind="win" if won else "loss",
        score=score,
        rewards=(*(0.0 for _ in calls[1:]), score),
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
