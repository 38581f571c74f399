"""Which weights a server plays with, seen from outside: what it says of a fixed row of tokens.

A server keeps its name when its weights change: a training published others, or it was started anew from another
folder. An imprint holds what tells two states apart: the version that the server calls its weights by, where it says
one, and the log-probabilities of the tokens of `probe_of`. Equal weights give equal ones up to rounding; those that a
training has moved do not. Checksums that some servers give of their tensors would be exact, but a server that repacks
its weights gives those of empty tensors (vLLM 0.32 on a CPU), and quantised ones are nobody else's.

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

from ..chat.chat import Scored

TOKENS = 48
"""Of the probe: enough that each part of the vocabulary has some, few enough to cost nothing."""
SAME = 0.05
"""Nats per token: the most by which one model's log-probabilities differ from one start of a server to another, or from
one GPU to another, in bfloat16. In float32 it is 1e-5."""
RENAMED = 0.005
"""The same where the server calls them by another version than before, as it does once a training has published others;
one that is begun anew with what was published calls them by its own again."""


def probe_of(tokenizer: Any) -> Scored:
    """A row of tokens spread evenly over the vocabulary, special ones left out; all but the first are scored."""
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    plain = [i for i in range(len(tokenizer)) if i not in special] or list(range(len(tokenizer)))
    ids = array("i", (plain[len(plain) * i // TOKENS] for i in range(TOKENS)))
    return Scored(ids, array("i", range(1, TOKENS)))


def mean_distance(a: Sequence[float], b: Sequence[float]) -> float:
    """The mean of |a - b| over the tokens.

    >>> mean_distance([-1.0, -2.0], [-1.5, -2.0])
    0.25
    """
    return statistics.fmean(abs(x - y) for x, y in zip(a, b, strict=True))


@runtime_checkable
class ServedModel(Protocol):
    """A model whose weights its configuration does not tell, since they are a server's."""

    model: str
    imprint: Mapping[str, Json]

    async def take_imprint(self) -> Mapping[str, Json]: ...


def served_models(part: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ServedModel]]:
    """The models of servers in policies, however deep, each with the names that lead to it in the configuration."""
    if isinstance(part, ServedModel):
        yield path, part
    elif isinstance(part, Mapping):
        for name, inner in cast("Mapping[str, object]", part).items():
            yield from served_models(inner, (*path, str(name)))
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        for field in dataclasses.fields(part):
            yield from served_models(getattr(part, field.name), (*path, field.name))


def kept_imprint(config: Json, path: Sequence[str]) -> Mapping[str, Json]:
    """What a saved configuration says of the model at this path; empty where it says nothing."""
    for name in (*path, "imprint"):
        config = config.get(name, EMPTY) if isinstance(config, Mapping) else EMPTY
    return cast("Mapping[str, Json]", config) if isinstance(config, Mapping) else EMPTY


async def tie(model: ServedModel, kept: Mapping[str, Json], work: str, *, ask: bool = True) -> None:
    """Take the imprint of a model, which has to be of the weights that `kept` is of; without `ask`, take that one."""
    if not ask:
        object.__setattr__(model, "imprint", freeze(kept))
        return
    now = await model.take_imprint()
    if kept:
        check_imprint(kept, now, model.model, work)


def check_imprint(kept: Mapping[str, Json], now: Mapping[str, Json], server: str, work: str) -> None:
    """Raise `UserError` where two imprints are of different weights. `server` and `work` name what is asked, and what
    was begun with the weights that `kept` is of. What either of them does not say is not compared."""
    versions = [str(imprint.get("version", "")) for imprint in (kept, now)]
    rows: list[Sequence[float]] = [imprint.get("logprobs", ()) for imprint in (kept, now)]
    comparable = bool(rows[0]) and len(rows[0]) == len(rows[1])
    apart = mean_distance(*rows) if comparable else 0.0
    bound = SAME if versions[0] == versions[1] else RENAMED
    if apart <= bound and (comparable or bound == SAME):
        return
    told = f"weights {versions[1]!r}, not {versions[0]!r}" if versions[0] != versions[1] else "other weights"
    raise UserError(
        f"{server}: the server plays with {told}: the log-probabilities of a fixed probe are {apart:.3f} nats per "
        f"token from those with which {work} was begun; allowed: the same weights (start the server anew with its own "
        "folder after a training), or to begin anew (--fresh, or another folder)"
    )
