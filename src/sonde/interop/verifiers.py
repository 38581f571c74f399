"""Every environment as a taskset and an env of verifiers (0.4, the v1 API), and by it in whatever consumes that.

    vf-eval sonde-verifiers -m MODEL -n 20 -r 4 --no-push --env.taskset.env wordle

The taskset says which tasks: `env`, its constructor's `arguments`, `split`, and the world `seed` of them all; a rollout
of task i is the episode of that task and seed, with a sample number of its own (`session.py`). The env plays it: the
seat `agent` is the model, what is told is the next user turn. The other seats are sonde's own policies, so no agent of
verifiers plays them and none of them is trained.

On the trace: the reward `return` (the sum of rewards), metrics `success`, `score`, `turns` and one per kind of outcome,
and in `info` the rewards of every turn (`turn_rewards`, the key that prime-rl's credit per turn reads), their facts,
the outcome, and what was told at the end, when nobody was asked again (`ending`). Neither row nor trace holds the
hidden setup. `sonde_verifiers` is the package that verifiers loads by name; it exports these classes.

Departure: the agent's runtime is a process of its own by default, for the usual default of verifiers is a cloud.
"""

# Types are checked without this extra too.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, get_args

from sonde.core import Env, make
from sonde.core.extras import lacking
from sonde.core.types import Kind

from .session import Heard, Session

try:
    import verifiers.v1 as vf
except ModuleNotFoundError as e:
    raise lacking("sonde.interop.verifiers", "verifiers") from e


class Row(vf.TaskData):
    """What of a task may be known: its number and the seed of the world."""

    index: int
    seed: int


class SondeTask(vf.Task[Row, vf.State, vf.TaskConfig]):
    """A task of an environment; the environment itself rewards."""


class SondeTasksetConfig(vf.TasksetConfig):
    """Under `--env.taskset.*`; see the module."""

    env: str = "wordle"
    arguments: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)
    split: str = "train"
    seed: int = 0

    def made(self) -> Env[Any]:
        return make(self.env, **self.arguments)


class SondeTaskset(vf.Taskset[SondeTask, SondeTasksetConfig]):
    """The tasks of a split, in order."""

    def load(self) -> Iterator[SondeTask]:
        c = self.config
        for index in range(len(c.made().tasks(c.split))):
            row = Row(name=f"{c.env} {c.split}[{index}]", index=index, seed=c.seed)
            yield SondeTask(row, c.task)


class SondeEnvConfig(vf.EnvConfig):
    """One seat for a model."""

    agent: vf.AgentConfig = vf.AgentConfig.model_validate(
        {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}
    )


class SondeEnv(vf.Env[SondeEnvConfig]):
    """One task is one episode; see the module."""

    def __init__(self, config: SondeEnvConfig) -> None:
        super().__init__(config)
        taskset: SondeTasksetConfig = self.taskset.config
        self._env, self._split, self._samples = taskset.made(), taskset.split, count()

    async def run(self, task: Any, agents: Any) -> None:
        session = Session(self._env, split=self._split, gains=True)
        heard = await session.areset(task.data.seed, index=task.data.index, sample=next(self._samples))
        turns: list[Heard] = []
        async with agents.agent.interaction(task) as exchange:
            while not heard.done:
                segment = await exchange.turn(heard.text)
                if segment.terminated:
                    break
                heard = await session.asay(segment.last_reply or "")
                turns.append(heard)
            _record(exchange.trace, turns)


def _record(trace: Any, turns: list[Heard]) -> None:
    """What came of the episode. One that the model's side ended too early is an `error` without a reward."""
    end = turns[-1].outcome if turns else None
    kind = "error" if end is None else end["kind"]
    rewards = [heard.reward for heard in turns]
    if end is not None:
        trace.record_reward("return", sum(rewards))
    trace.record_metrics(
        {
            "success": float(end is not None and kind == "win" and end["judged"] is not False),
            "score": 0.0 if end is None else end["score"],
            "turns": len(turns),
            **{name: float(kind == name) for name in get_args(Kind)},
        }
    )
    trace.info["turn_rewards"] = rewards
    trace.info["turn_gains"] = [heard.gain for heard in turns]
    trace.info["turn_facts"] = [dict(heard.facts) for heard in turns]
    trace.info["outcome"] = None if end is None else dict(end)
    trace.info["ending"] = turns[-1].text if end is not None else ""


__all__ = ["SondeEnv", "SondeTaskset"]
