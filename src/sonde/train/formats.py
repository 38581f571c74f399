"""Exchange formats for training sets: rows for TRL's trainers, `datasets`, conversations.

| rows (TRL 1.16) | columns | who masks |
|---|---|---|
| `sft_rows` | `input_ids`, `labels` (-100 off agent tokens) | sonde: TRL keeps existing labels |
| `sft_rows(mask="completion_mask")` | `input_ids`, `completion_mask` | TRL, where `completion_only_loss` is on |
| `preference_ids` | `prompt_ids`, `chosen_ids`, `rejected_ids`, two masks | nobody: its collator drops our masks |
| `message_rows` | `messages` | TRL, where `assistant_only_loss` is on and it knows the template |
| `preference_rows` | `prompt`, `chosen`, `rejected`, as messages | nobody |

*Nobody* means that TRL's DPOTrainer counts everything after the first prompt as the completion, including what the
environment said; ours counts only agent tokens. Rows of messages hold text only: the sampled ids and their
probabilities are lost. `train.conversations` reads them back.

Source: the dataset formats of TRL's SFTTrainer and DPOTrainer, whose collators the tests run on these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from sonde.core import AGENT, Episode, Message, Trajectory, UserError, build_recorded, invalid

from .types import Pair, Row, Sample

Columns = dict[str, Any]
Mask = Literal["labels", "completion_mask"]
IGNORED = -100
"""The label of ignored tokens in torch and transformers."""


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
