"""How far what is trained has moved from what played: other arithmetic on a server, and weights of some steps ago.

`ratio` means pi_start / pi_sampled of a token, pi_start being the policy at the start of the steps on a rollout. A
server that computes as this process does has ratio 1 and divergence 0 where nothing was played ahead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from sonde.core import UserError

from .groups import Sums
from .types import Row, Sample

VERSION = "step-"
"""Before the number of optimizer steps, in the version of weights."""


def drift(samples: Iterable[Sample]) -> Sums:
    """Over agent tokens: the mean of the ratio, and of ratio - 1 - log ratio, which estimates how far pi_sampled is
    from pi_start. Rows carry `proximal`."""
    logs = [x for sample in samples for row in sample.rows for x in _log_ratios(row)]
    ratios = [math.exp(max(-20.0, min(20.0, x))) for x in logs]
    n = float(len(logs))
    kl = math.fsum(r - 1 - x for r, x in zip(ratios, logs, strict=True))
    return {"engine_ratio": (math.fsum(ratios), n), "engine_kl": (kl, n)}


def _log_ratios(row: Row) -> Iterator[float]:
    assert row.proximal is not None and row.logprobs is not None
    columns = zip(row.agent, row.proximal, row.logprobs, strict=True)
    return (now - then for agent, now, then in columns if agent)


def lag(samples: Sequence[Sample], step: int, most: int) -> Sums:
    """The mean, over agent tokens, of how many optimizer steps ago the weights that sampled were those of the model.
    Raises `UserError` where that is more than `most`, or not known."""
    total = n = 0
    for sample in samples:
        for row in sample.rows:
            assert row.weights is not None
            ago = [_ago(version, step, most) for version in row.versions]
            drawn = [ago[i] for i in row.weights if i >= 0]
            total, n = total + sum(drawn), n + len(drawn)
    return {"lag": (float(total), float(n))}


def _ago(version: str, step: int, most: int) -> int:
    number = version.removeprefix(VERSION)
    if not version.startswith(VERSION) or not number.isdecimal() or not 0 <= step - int(number) <= most:
        allowed = f"{VERSION}{step}" if most == 0 else f"{VERSION}{max(0, step - most)} to {VERSION}{step}"
        raise UserError(
            f"online: server: weights {version!r} sampled at step {step}, allowed: {allowed}; does another training "
            "use this server, or was it started anew?"
        )
    return step - int(number)
