"""Hand-made trajectories for the tests of training data."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sonde.core import AGENT, Act, Action, Completion, Frozen, Outcome, Task, Trajectory, Turn

WIN, LOSS, TIMEOUT = Outcome("win", 1.0), Outcome("loss"), Outcome("out_of_turns", truncated="turns")
FORMAT, ERROR = Outcome("unreadable"), Outcome("error")


def call(ids: Iterable[int], prompt: Iterable[int] = (), shared: int = 0, **more: Any) -> Completion:
    """A completion that sampled these ids."""
    drawn = {"logprobs": array("f", (-i / 8 for i in ids)), "temperature": 1.0}
    more = {"text": "said", **drawn, "model": "m", "weights": "w0", **more}
    return Completion(ids=array("i", ids), prompt_ids=array("i", prompt), shared=shared, **more)


def act(*completions: Completion, seat: str = AGENT, reward: float = 0.0, **info: Any) -> Act:
    """An act with these completions."""
    rewards = Frozen({seat: reward}) if reward else Frozen[float]()
    return Act(seat, Action("said", completions=completions), Frozen(), rewards, Frozen(info))


def trajectory(
    turns: Sequence[Sequence[Act]],
    outcome: Outcome | None = WIN,
    *,
    env: str = "mastermind",
    task: int = 0,
    seed: int = 0,
    sample: int = 0,
    opening: Sequence[Act] = (),
    tags: Mapping[str, str] | None = None,
) -> Trajectory:
    """A record of these turns."""
    made = Task(env, "paprika", "train", task, tags=tags or {})
    return Trajectory(
        id=f"{env}-{task}-{seed}-{sample}", group=f"{env}-{task}-{seed}", env={"name": env}, version="1", task=made,
        seed=seed, sample=sample, opening=tuple(opening),
        turns=tuple(Turn(i, tuple(acts)) for i, acts in enumerate(turns)), outcome=outcome,
    )  # fmt: skip


def played(n_turns: int, outcome: Outcome = WIN, *, info: Mapping[str, Any] | None = None, **more: Any) -> Trajectory:
    """A record of so many turns, without tokens; `info` is that of the first turn."""
    first = act(**(info or {}))
    return trajectory([[first], *([act()] for _ in range(n_turns - 1))], outcome, **more)


def with_tokens(t: Trajectory, n: int) -> Trajectory:
    """The same record, with one completion of a row of `n` tokens in its first turn."""
    first = t.turns[0]
    spoken = first.acts[0]._replace(action=Action("said", completions=(call([7], [5] * (n - 1)),)))
    return replace(t, turns=(Turn(0, (spoken, *first.acts[1:])), *t.turns[1:]))
