"""Identify the weights that a server uses, from outside: by its answers to a fixed probe.

A server keeps its name when its weights change: a training published new ones, or the server was restarted with another
folder. An imprint distinguishes two states: it holds the version that the server reports for its weights, if any, and
the log-probabilities of the tokens of `make_weight_probe`. Equal weights give equal values up to rounding; weights
that a training has changed do not. The checksums that some servers give of their tensors would be exact, but a server
that repacks its weights gives those of empty tensors (vLLM 0.32 on a CPU), and checksums of quantised weights match
nothing else.

Source: ours.
"""

from __future__ import annotations

import dataclasses
import statistics
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from sonde.core import EMPTY, UserError, freeze
from sonde.core.types import Json

from ..chat.chat import ScoredIds

TOKENS = 48
"""Length of the probe: long enough to cover every part of the vocabulary, short enough to cost nothing."""
SAME = 0.05
"""Nats per token: the most by which one model's log-probabilities differ between two starts of a server, or between two
GPUs, in bfloat16. In float32 it is 1e-5."""
RENAMED = 0.005
"""The same limit if the server reports another version than before, as it does after a training published new weights.
A server restarted with the published weights reports its own version again."""


def make_weight_probe(tokenizer: Any) -> ScoredIds:
    """Token ids spread evenly over the vocabulary, without special ones; all but the first are scored."""
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    plain = [i for i in range(len(tokenizer)) if i not in special] or list(range(len(tokenizer)))
    ids = array("i", (plain[len(plain) * i // TOKENS] for i in range(TOKENS)))
    return ScoredIds(ids, array("i", range(1, TOKENS)))


def mean_distance(a: Sequence[float], b: Sequence[float]) -> float:
    """The mean of |a - b| over the tokens.

    >>> mean_distance([-1.0, -2.0], [-1.5, -2.0])
    0.25
    """
    return statistics.fmean(abs(x - y) for x, y in zip(a, b, strict=True))


@runtime_checkable
class ServedModel(Protocol):
    """A model whose weights belong to a server, so that its configuration does not identify them."""

    model: str
    imprint: Mapping[str, Json]

    async def take_imprint(self) -> Mapping[str, Json]: ...


def served_models(part: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ServedModel]]:
    """The served models in policies, at any depth, each with its path in the configuration."""
    if isinstance(part, ServedModel):
        yield path, part
    elif isinstance(part, Mapping):
        for name, inner in cast("Mapping[str, object]", part).items():
            yield from served_models(inner, (*path, str(name)))
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        for field in dataclasses.fields(part):
            yield from served_models(getattr(part, field.name), (*path, field.name))


def saved_imprint(config: Json, path: Sequence[str]) -> Mapping[str, Json]:
    """The imprint that a saved configuration has for the model at this path; empty if it has none."""
    for name in (*path, "imprint"):
        config = config.get(name, EMPTY) if isinstance(config, Mapping) else EMPTY
    return cast("Mapping[str, Json]", config) if isinstance(config, Mapping) else EMPTY


async def tie_weights(model: ServedModel, kept: Mapping[str, Json], work: str, *, ask: bool = True) -> None:
    """Take the imprint of a model and check it against `kept`; without `ask`, adopt `kept` unchecked."""
    if not ask:
        object.__setattr__(model, "imprint", freeze(kept))
        return
    now = await model.take_imprint()
    if kept:
        check_imprint(kept, now, model.model, work)


def check_imprint(kept: Mapping[str, Json], now: Mapping[str, Json], server: str, work: str) -> None:
    """Raise `UserError` if two imprints belong to different weights. `server` names the model, `work` the run that
    began with the weights of `kept`. Only what both imprints contain is compared."""
    versions = [str(imprint.get("version", "")) for imprint in (kept, now)]
    rows: list[Sequence[float]] = [imprint.get("logprobs", ()) for imprint in (kept, now)]
    comparable = bool(rows[0]) and len(rows[0]) == len(rows[1])
    apart = mean_distance(*rows) if comparable else 0.0
    bound = SAME if versions[0] == versions[1] else RENAMED
    if apart <= bound and (comparable or bound == SAME):
        return
    difference = f"weights {versions[1]!r}, not {versions[0]!r}" if versions[0] != versions[1] else "other weights"
    raise UserError(
        f"{server}: the server holds {difference}: the log-probabilities of a fixed probe differ by {apart:.3f} nats "
        f"per token from those at the start of {work}; allowed: the same weights (restart the server with its own "
        "folder after a training), or a new start (--fresh, or another folder)"
    )
