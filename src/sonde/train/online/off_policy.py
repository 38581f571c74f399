"""Off-policy diagnostics: numerical mismatch with the server, weight lag, and the probe of published weights.

**Mismatch and lag.** The `ratio` of a token is pi_start / pi_sampled, where pi_start is the policy at the start of the
steps on a rollout. If a server computes exactly as this process does and nothing was played ahead, the ratio is 1 and
the divergence 0.

**Agreement.** A server may accept new weights and play with others: with tied embeddings it may keep the old output
head (vLLM 0.32 on a CPU does), an adapter may be applied to another base model, a name may refer to another model. All
of these report success when weights are published. So both sides score the tokens of
`sonde.models.remote.served_weights.make_weight_probe`, and their log-probabilities must agree up to rounding. The
tolerance comes from the first publish of a training, when the server still has the initial weights or nearly so:
engines in float32 are 1e-5 apart, in bfloat16 some .05, quantised ones more. Source: ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde._util.folders import write_atomically
from sonde.core import UserError
from sonde.models.remote.served_weights import mean_distance

from ..training_folder import AGREEMENT
from ..types import Row, Sample
from .groups import Sums

VERSION = "step-"
"""Prefix of weight versions, before the number of optimizer steps."""


# --- mismatch and lag ------------------------------------------------------------------------------------------------


def measure_mismatch(samples: Iterable[Sample]) -> Sums:
    """Over agent tokens: the mean ratio, and the mean of ratio - 1 - log ratio, which estimates the divergence of
    pi_start from pi_sampled. Rows carry `proximal`."""
    logs = [x for sample in samples for row in sample.rows for x in _log_ratios(row)]
    ratios = [math.exp(max(-20.0, min(20.0, x))) for x in logs]
    n = float(len(logs))
    kl = math.fsum(r - 1 - x for r, x in zip(ratios, logs, strict=True))
    return {"engine_ratio": (math.fsum(ratios), n), "engine_kl": (kl, n)}


def _log_ratios(row: Row) -> Iterator[float]:
    assert row.proximal is not None and row.logprobs is not None
    columns = zip(row.agent, row.proximal, row.logprobs, strict=True)
    return (now - then for agent, now, then in columns if agent)


def measure_lag(samples: Sequence[Sample], step: int, most: int) -> Sums:
    """The mean age, in optimizer steps, of the weights that sampled the agent tokens. Raises `UserError` if it is more
    than `most`, or unknown."""
    total = n = 0
    for sample in samples:
        for row in sample.rows:
            assert row.weights is not None
            ago = [_steps_since(version, step, most) for version in row.versions]
            drawn = [ago[i] for i in row.weights if i >= 0]
            total, n = total + sum(drawn), n + len(drawn)
    return {"lag": (float(total), float(n))}


def _steps_since(version: str, step: int, most: int) -> int:
    number = version.removeprefix(VERSION)
    if not version.startswith(VERSION) or not number.isdecimal() or not 0 <= step - int(number) <= most:
        allowed = f"{VERSION}{step}" if most == 0 else f"{VERSION}{max(0, step - most)} to {VERSION}{step}"
        raise UserError(
            f"online: server: weights {version!r} sampled at step {step}, allowed: {allowed}; does another training "
            "use this server, or was it started anew?"
        )
    return step - int(number)


# --- agreement -------------------------------------------------------------------------------------------------------


FAR = 0.3
"""Nats per token; a larger difference makes learning impossible."""
FLOOR = 1e-3
"""Nats per token that are always tolerated."""
TIMES = 4.0
"""The tolerance later in training, relative to the first distance: logits grow while a model learns, and so do rounding
errors."""


class EngineWarning(UserWarning):
    """A server plays differently than a training's settings or weights require."""


@dataclass
class Agreement:
    """Compares the log-probabilities of a probe; see the module. `first` is the distance at the first publish, None
    before it; it is stored in the folder for resuming."""

    folder: Path
    first: float | None = None
    warned: bool = False

    def check_version(self, version: str, here: Sequence[float], there: Sequence[float]) -> None:
        """Raise `UserError` if the server does not play with the weights of this version."""
        apart = mean_distance(here, there)
        self.first = self._read_first() if self.first is None else self.first
        bound = FAR if self.first is None else min(FAR, max(FLOOR, TIMES * self.first))
        if not apart <= bound:
            raise UserError(
                f"online: server: after {version!r} was published, its log-probabilities of a fixed probe are "
                f"{apart:.2g} nats per token from those here, allowed: {bound:.2g}: it does not play with the "
                "trained weights; is its model the one in training? vLLM on a CPU keeps the old output head of a model "
                "with tied embeddings: train an adapter (settings.lora), or a model with a separate head"
            )
        if self.first is None:
            self.first = apart
            write_atomically(self.folder / AGREEMENT, json.dumps({"first": apart}) + "\n")

    def explain_mismatch(self, noted: Mapping[str, tuple[float, float]]) -> str:
        """A warning if a rollout's `engine_kl` is too large although no weights moved in between; empty if there is
        nothing to report, or it was reported before."""
        kl, lag = (total / n if n else 0.0 for total, n in (noted["engine_kl"], noted["lag"]))
        bound = 4.0 * max(FLOOR, self.first or 0.0) ** 2
        if self.warned or lag > 0 or kl <= bound:
            return ""
        self.warned = True
        return (
            f"online: engine_kl is {kl:.2g} though the server had the weights of this step; rounding explains "
            f"{bound:.1g}: what it says of its tokens is not what the same weights say here (other weights, penalties, "
            "a quantised cache?); objective.cap weighs tokens by the difference"
        )

    def _read_first(self) -> float | None:
        try:
            return float(json.loads((self.folder / AGREEMENT).read_text("utf-8"))["first"])
        except FileNotFoundError:
            return None
