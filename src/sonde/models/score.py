"""Log-probabilities of given tokens: forward passes for what is not sampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sonde.core.errors import WorldError

from .batching import Ticket
from .chat import Scored


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Log-probabilities of the tokens at the places of every row."""

    rows: tuple[Scored, ...]


class Scorer:
    """Serves `Score` requests with `model`; `fits` says whether so many tokens fit, and fails the ticket if not."""

    def __init__(self, model: Any, fits: Callable[[Ticket[Any, Any], Sequence[int]], bool]) -> None:
        self.model, self.fits = model, fits

    def serve(self, tickets: Sequence[Ticket[Any, Any]]) -> int:
        """Settle these tickets; how many tokens were scored."""
        n = 0
        for ticket in tickets:
            rows: tuple[Scored, ...] = ticket.request.rows
            if not self.fits(ticket, max((row.ids for row in rows), key=len, default=())):
                continue
            found = [self._score(row) for row in rows]
            n += sum(map(len, found))
            if any(math.isnan(x) for row in found for x in row):
                ticket.fail(WorldError("the model's probabilities are not numbers"))
            else:
                ticket.finish(found)
        return n

    def _score(self, row: Scored) -> list[float]:
        if not row.places:
            return []
        device = self.model.device
        ids = torch.tensor(row.ids, device=device)
        places = torch.tensor(row.places, device=device)
        logits_TV = self.model(input_ids=ids[None], use_cache=False, logits_to_keep=places - 1).logits[0]
        logprobs_TV = torch.log_softmax(logits_TV.float(), -1)
        return logprobs_TV.gather(-1, ids[places][:, None])[:, 0].tolist()
