"""Checks before training starts: bad data ends in a message that names the problem, not in a strange number."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sonde.core.errors import UserError, invalid, unknown

from .collate import collate
from .logprobs import token_logprobs, wrap_row
from .settings import FREE, TrainSettings, read_settings
from .token_rewards import token_rewards
from .training_folder import MODEL
from .types import Item, Objective, Pair, Row, item_rows, item_samples, longest_row

_ATTACHED = (
    ("advantage", "advantages"), ("sampled", "logprobs"), ("sampled", "temperatures"), ("return", "returns"),
    ("old_value", "values"),
)  # fmt: skip
"""Row fields checked where an objective needs them."""


def check_items(items: Sequence[Item], objective: Objective, settings: TrainSettings, model: Any) -> list[Item]:
    """Return the items if this objective can learn from them and this model can read them."""
    if not items:
        raise UserError(f"train: items: got none, allowed: at least one {_wanted_item(objective)}")
    _check_kinds(items, objective)
    _check_lengths(items, settings, model)
    _check_tokens(items, model)
    _check_attached(items, objective)
    return list(items)


def check_packing(settings: TrainSettings, model: Any) -> None:
    """Check that packed rows stay apart: that the attention kernel is known to respect row boundaries, and that the
    model passes them on to it."""
    kernel = str(model.config.get_text_config()._attn_implementation)
    if settings.packing and kernel not in ("sdpa", "eager") and "flash" not in kernel:
        raise UserError(f"train: packing: got attention {kernel!r}, allowed: sdpa, eager or flash attention")
    if settings.packing and kernel in ("sdpa", "eager") and _mixes_rows(model):
        raise UserError(
            f"train: packing: got {type(model).__name__}, whose rows see those before them in a line; allowed: false"
        )


def _mixes_rows(model: Any) -> bool:
    """Whether other tokens before a row, in the same line, change its log-probabilities by more than rounding."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            one, other = (_score_behind(model, neighbour) for neighbour in (0, 1))
    finally:
        model.train(was_training)
    rounding = 1e-3 if next(model.parameters()).dtype == torch.float32 else 0.05
    return not torch.allclose(one, other, rtol=0.0, atol=rounding)


def _score_behind(model: Any, neighbour: int) -> torch.Tensor:
    """The log-probabilities of a row that is packed behind three of these tokens."""
    rows = [
        Row(ids=array("i", ids), agent=b"\0" + b"\1" * (len(ids) - 1), turns=array("i", [-1] + [0] * (len(ids) - 1)))
        for ids in ((2,) * 6, (neighbour,) * 3, (2, 3, 2))
    ]
    tensors = collate([wrap_row(row) for row in rows], needs=frozenset(), pad_id=0, packed=True)
    moved = {name: x.to(model.device) if isinstance(x, torch.Tensor) else x for name, x in tensors.items()}
    return token_logprobs(model, moved)[-1]


def check_reports(names: Sequence[str]) -> None:
    """Check that transformers knows these loggers and that their packages are installed."""
    if not names:
        return
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    for name in names:
        if name not in INTEGRATION_TO_CALLBACK:
            raise unknown("train: report_to", name, INTEGRATION_TO_CALLBACK)
        try:
            INTEGRATION_TO_CALLBACK[name]()
        except (RuntimeError, ImportError) as e:
            raise UserError(f"train: report_to: {name}: {' '.join(str(e).split())}") from e


def check_resume(file: Path, settings: TrainSettings, *, resumed: bool) -> None:
    """A resumed run must have its original settings, except those in `FREE`."""
    if not (resumed and file.exists()):
        return
    before, now = read_settings(file).to_json(), settings.to_json()
    changed = [
        f"{name} ({before[name]} -> {now[name]})" for name in now if name not in FREE and before[name] != now[name]
    ]
    if changed:
        model = file.parent / MODEL
        anew = f", or a new training of {model} in another folder" if model.is_dir() else ""
        raise UserError(
            f"train: resume: {', '.join(changed)} differ from {file}; allowed: changes of {', '.join(FREE)}{anew}"
        )


def _wanted_item(objective: Objective) -> str:
    return "Pair" if objective.unit == "pair" else "Sample"


def _check_kinds(items: Sequence[Item], objective: Objective) -> None:
    wanted = _wanted_item(objective)
    wrong = [i for i, item in enumerate(items) if isinstance(item, Pair) != (wanted == "Pair")]
    if wrong:
        got = type(items[wrong[0]]).__name__
        raise invalid(f"train: items[{wrong[0]}]", got, f"a {wanted}: that is what {objective.name} learns from")


def _check_lengths(items: Sequence[Item], settings: TrainSettings, model: Any) -> None:
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    limits = [(settings.max_tokens, "max_tokens"), (context, "the model's context")]
    for limit, name in limits:
        over = [longest_row(item) for item in items if limit is not None and longest_row(item) > limit]
        if over:
            raise UserError(
                f"train: {len(over)} of {len(items)} items have rows beyond {name} ({limit} tokens; the longest has "
                f"{max(over)}); leave them out: -o settings.max_tokens={limit}, or in Python "
                f"`make_samples(..., max_tokens={limit})`"
            )


def _check_tokens(items: Sequence[Item], model: Any) -> None:
    rows, size = item_rows(items), model.get_input_embeddings().num_embeddings
    largest = max(int(np.frombuffer(row.ids, row.ids.typecode).max(initial=0)) for row in rows)
    if largest >= size:
        raise UserError(
            f"train: token id {largest} is not in the model's vocabulary of {size}: the rows were made with "
            "another tokenizer; play with this model, or make rows with `as_sampled`"
        )
    empty = sum(not any(row.n_agent for row in sample.rows) for item in items for sample in item_samples(item))
    if empty:
        raise UserError(f"train: {empty} samples contain no agent token; allowed: at least one in each")


def _check_attached(items: Sequence[Item], objective: Objective) -> None:
    if "reward" in objective.needs:
        for sample in (sample for item in items for sample in item_samples(item)):
            token_rewards(sample)
    for need, name in _ATTACHED:
        missing = sum(getattr(row, name) is None for row in item_rows(items)) if need in objective.needs else 0
        if missing:
            raise UserError(f"train: {objective.name} needs `{name}`, which {missing} rows do not carry")
