"""Every environment as a task of Inspect AI (0.3.285): Inspect's models and logs, our environments and outcomes.

    inspect eval sonde/wordle --model openai/... -T preset=lmrl --epochs 4
    inspect_ai.eval(make_task("wordle", preset="lmrl"), model=..., epochs=4)

An Inspect sample is a task of a split, an epoch is a sample of its group: sample i, epoch k is the episode of task i,
world seed `seed` and sample k - 1, as in `sonde eval`. Other seats are filled as described in `session.py`; they are
not Inspect's models. The score of a sample is a value per name: `success`, `score`, `return` (the sum of rewards),
`turns`, one for every kind of outcome (`win`, `loss`, `format`, `timeout`, `error`), `cut` (the limit on turns), and
with `gains`, if the environment has a filter, `gain`, the bits gained in total. Inspect requires the same names for
every sample of a task, so an episode that ended before its first turn has 0 bits and a return of 0. Each value gets its
mean and standard error, clustered by task. Each turn's reward and facts are in the sample's store under `sonde`;
neither sample nor log contains the hidden setup.

As with `agents:llm`, an answer that the token limit cut is marked as such, and reasoning does not reach the
environment. If Inspect's own limits (messages, tokens, time) end a sample, its outcome is `error`.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from sonde._util.extras import missing_extra
from sonde.core import EMPTY, Action, AnyPolicy, Completion, Env, names
from sonde.core.types import Kind
from sonde.models.chat.reasoning import split_completion

from ..session import SeatObservation, Session, resolve_env
from ..session import find_task as chosen

try:
    from inspect_ai import Task, task
    from inspect_ai._util.registry import registry_info
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.inspect", "inspect-ai") from e

_STORE = "sonde"
_FINISH: Mapping[str, Literal["stop", "length", "filter"]] = {
    "max_tokens": "length", "model_length": "length", "content_filter": "filter",
}  # fmt: skip


def make_task(
    env: Env[Any] | str,
    *,
    split: str = "test",
    indices: Sequence[int] | None = None,
    seed: int = 0,
    gains: bool = False,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    **config: Any,
) -> Task:
    """An environment, or a name with constructor arguments, as a task of Inspect: all tasks of the split, or those in
    `indices`."""
    made = resolve_env(env, config)
    tasks = made.tasks(split)
    rows = [
        Sample(
            id=f"{split}-{i}",
            input=f"{made.name}, preset {made.spec.preset}: {split}[{i}], world seed {seed}",
            metadata={"task": chosen(made, split, seed, i).id, "index": i, "seed": seed},
        )
        for i in (range(len(tasks)) if indices is None else indices)
    ]
    return Task(
        dataset=MemoryDataset(rows, name=f"{made.name}/{made.spec.preset}/{split}"),
        solver=play(lambda: Session(made, policies, split=split, gains=gains)),
        scorer=outcome(gains=gains and any(made.filter(t.public) is not None for t in tasks)),
        metadata={"env": made.config, "version": made.spec.version},
    )


@solver
def play(seat: Callable[[], Session]) -> Solver:
    """The game loop: the environment's text becomes a user message, the model's answer goes to the environment."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session, place = seat(), state.metadata
        heard = await session.reset_async(place["seed"], index=place["index"], sample=state.epoch - 1)
        state.messages = [ChatMessageUser(content=heard.text)]
        played: dict[str, Any] = {"turns": [], "outcome": None}
        state.store.set(_STORE, played)  # filled turn by turn: one of Inspect's limits may end the sample at any time
        while not heard.done:
            state = await generate(state)
            heard = await session.say_async(_read_answer(state.output))
            played["turns"].append(_turn_record(heard))
            played["outcome"] = heard.outcome
            if heard.text:
                state.messages.append(ChatMessageUser(content=heard.text))
        state.completed = True
        return state

    return solve


def _read_answer(output: ModelOutput) -> Action:
    finish = _FINISH.get(output.stop_reason, "stop")
    completion, answer = split_completion(Completion(text=output.completion, finish=finish, model=output.model))
    return Action(answer, completions=(completion,))


def _turn_record(heard: SeatObservation) -> dict[str, Any]:
    row = dataclasses.asdict(heard)
    return {name: row[name] for name in ("reward", "facts", "gain", "truth_gain")}


@scorer(metrics={"*": [mean(), stderr(cluster="task")]})
def outcome(gains: bool = False) -> Scorer:
    """The outcome of the episode as numbers, with `gains` also the bits gained; see the module."""

    async def score(state: TaskState, target: Target) -> Score:
        found = state.store.get(_STORE) or {"turns": [], "outcome": None}
        turns, end = found["turns"], found["outcome"] or {"kind": "error", "score": 0.0, "judged": None}
        value: dict[str, float] = {
            "success": float(end["kind"] == "win" and end["judged"] is not False),
            "score": float(end["score"]),
            "return": float(sum(turn["reward"] for turn in turns)),
            "turns": float(len(turns)),
            **{kind: float(end["kind"] == kind) for kind in get_args(Kind)},
            "cut": float(end.get("truncated") == "turns"),
        }
        if gains:
            value["gain"] = float(sum(turn["gain"] or 0.0 for turn in turns))
        return Score(value=dict(value), explanation=f"{end['kind']} after {len(turns)} turns", metadata=found)

    return score


def _register_task(name: str) -> Callable[..., Task]:
    def build_task(split: str = "test", seed: int = 0, gains: bool = False, **config: Any) -> Task:
        return make_task(name, split=split, seed=seed, gains=gains, **config)

    build_task.__name__ = build_task.__qualname__ = name
    build_task.__doc__ = f"The environment {name}."
    found = task(name=name)(build_task)
    if registry_info(found).name == name:  # in an editable install, Inspect omits the package
        found = task(name=f"sonde/{name}")(build_task)
    return found


TASKS: Mapping[str, Callable[..., Task]] = {name: _register_task(name) for name in names()}
"""The tasks that `inspect eval sonde/NAME` finds."""
