"""Evaluations in experiment trackers, by their own clients: W&B (`wandb`) and trackio.

    report_evaluation(evaluation, "wandb", project="sonde")        # sonde eval ... --track wandb

One run per evaluation. Its configuration is what was played: environment, agent, split, seed, numbers of tasks and
samples, without the addresses of endpoints. Step t holds `won_within` (the share of episodes won within t turns) and
`entropy` (mean bits left after t turns); the last step also the metrics, with the bounds of their 95 % intervals as
`NAME_low` and `NAME_high`, and the share of each outcome. Training has trackers of its own (`TrainSettings.report_to`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Iterator
from contextlib import redirect_stdout
from typing import Any

from sonde._util.extras import require_extra
from sonde.core import identity, unknown
from sonde.core.types import Json

from .evaluate import Evaluation

TRACKERS = ("wandb", "trackio")
"""Clients with the same three calls: `init`, `log` and `finish`."""


def check_trackers(names: Collection[str]) -> None:
    """Raise `UserError` for a tracker that is unknown or not installed."""
    for name in names:
        if name not in TRACKERS:
            raise unknown("track", name, TRACKERS)
        require_extra(f"track: {name}", name)


def report_evaluation(evaluation: Evaluation, tracker: str, *, project: str = "sonde") -> None:
    """Write an evaluation to a tracker, as one run of the project."""
    check_trackers([tracker])
    client: Any = importlib.import_module(tracker)
    name = f"{evaluation.env_name} {evaluation.preset} {evaluation.players}"
    with redirect_stdout(sys.stderr):  # where clients talk about themselves
        client.init(project=project, name=name, config=_describe_evaluation(evaluation))
        try:
            for step, values in enumerate(tracked_values(evaluation)):
                client.log(values, step=step)
        finally:
            client.finish()


def tracked_values(evaluation: Evaluation) -> Iterator[dict[str, float]]:
    """The values of each step; see the module."""
    for turn in range(evaluation.max_turns + 1):
        values = {} if turn == 0 else {"won_within": evaluation.within[turn - 1].mean}
        if evaluation.entropy is not None:
            values["entropy"] = evaluation.entropy[turn]
        if turn == evaluation.max_turns:
            values |= _final_values(evaluation)
        yield values


def _final_values(evaluation: Evaluation) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, estimate in evaluation.metrics.items():
        if estimate is not None:
            values |= {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    played = sum(evaluation.kinds.values())
    return values | {f"outcome/{kind}": n / played for kind, n in evaluation.kinds.items() if played}


def _describe_evaluation(evaluation: Evaluation) -> dict[str, Json]:
    what = {"env": identity(evaluation.env), "agent": identity(evaluation.agent), "others": dict(evaluation.others)}
    size = {name: getattr(evaluation, name) for name in ("split", "seed", "k", "n_tasks", "seconds")}
    return {**what, **size, "notes": list(evaluation.notes)}
