"""Whether a server plays with the weights that are trained: one probe is scored here and there after each publish.

A server may take new weights and play with others: one whose embeddings are tied may keep the old output head (vLLM
0.32 on a CPU does), an adapter may lie on another base, a name may stand for another model. All of them answer a
publish with "success". So both score the tokens of `served_weights.probe_of`, and their log-probabilities
have to agree as far as arithmetic lets them. How far that is, the first publish of a training tells, whose weights are
those that the server began with, or near them: engines in float32 are 1e-5 apart, in bfloat16 some .05, quantised ones
more.

Source: ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde._util.folders import write_atomically
from sonde.core import UserError
from sonde.models.remote.served_weights import mean_distance

from .folder import AGREEMENT

FAR = 0.3
"""Nats per token: no arithmetic that is fit to learn from differs by more."""
FLOOR = 1e-3
"""Nats per token that are never too much."""
TIMES = 4.0
"""How many times as far as at first the two may be later: logits grow while a model learns, and their rounding too."""


class EngineWarning(UserWarning):
    """A server plays otherwise than the settings of a training, or its weights, would have it."""


@dataclass
class Agreement:
    """See the module. `first` is the distance of the first publish, None before it; it is kept in the folder, for when
    the training is resumed."""

    folder: Path
    first: float | None = None
    warned: bool = False

    def check(self, version: str, here: Sequence[float], there: Sequence[float]) -> None:
        """Raise `UserError` where the server does not play with the weights of this version."""
        apart = mean_distance(here, there)
        self.first = self._begun() if self.first is None else self.first
        bound = FAR if self.first is None else min(FAR, max(FLOOR, TIMES * self.first))
        if not apart <= bound:
            raise UserError(
                f"online: server: after {version!r} was published, its log-probabilities of a fixed probe are "
                f"{apart:.2g} nats per token from those here, allowed: {bound:.2g}: it does not play with the weights "
                "that are trained; is its model the one that is trained? vLLM on a CPU keeps the old output head of a "
                "model with tied embeddings: train an adapter (settings.lora), or a model whose head is stored apart"
            )
        if self.first is None:
            self.first = apart
            write_atomically(self.folder / AGREEMENT, json.dumps({"first": apart}) + "\n")

    def warning(self, noted: Mapping[str, tuple[float, float]]) -> str:
        """What is wrong with the numbers of `drift` and `lag` of a rollout, where no weights moved in between; empty if
        nothing is, or it was said before."""
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

    def _begun(self) -> float | None:
        try:
            return float(json.loads((self.folder / AGREEMENT).read_text("utf-8"))["first"])
        except FileNotFoundError:
            return None
