"""The agent's seat of an episode, for hosts that exchange texts. Every outward adapter is built on it.

    session = Session("wordle", preset="lmrl")
    heard = session.reset(seed=7)
    heard = session.say("<Answer>toast</Answer>")         # .text .reward .terminated .truncated .facts .outcome

Users, opponents and judges play the other seats: the environment's defaults, or `policies`. `say` and `reset` are
synchronous, for seats filled by programs; `say_async` and `reset_async` are their asynchronous forms, for models.

**Which episode.** Hosts have seeds but no tasks. So `seed` is the world seed, and without an `index` the task is number
`seed % n` of the split's n tasks: seeds 0 to n - 1 give every task once, and equal seeds give the same episode, here
and in `Episode.begin`. A group is one seed (and index) with several sample numbers.

**The end.** `truncated`: the limit on turns ended the episode; `terminated`: anything else did.

**Reasoning.** Thoughts in a host's text are split off (`models/chat/reasoning.py`): only the answer reaches the
environment, so an answer that is only considered does not count. Hosts that know more about a reply pass an `Action`.

**Tools.** Hosts with tool calling offer the model `session.tool` (`core.tools`) and pass the calls of a reply on:
`session.call([ToolCall("say", '{"text": "Is it alive?"}')])`. The text of the observation is the tool's result. A reply
without a usable call counts as an empty answer, and the text then begins with the reason.

**What the host gets.** The text that the agent is told, and `turn.info`, which follows from it. The gain of a turn in
bits, on request, can serve as a reward; `truth_gain` depends on the hidden setup, so it is for training and scoring and
must not reach the player. The hidden setup itself stays in the episode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from sonde._util.argument_checks import check_call
from sonde.core import (
    AGENT,
    EMPTY,
    Action,
    AnyPolicy,
    Completion,
    Env,
    Episode,
    Outcome,
    Task,
    Trajectory,
    Turn,
    UserError,
    advance_to_agent,
    advance_to_agent_now,
    freeze,
    information_gains,
    invalid,
    make,
    run_sync,
    thaw,
)
from sonde.core.tools import Tool, ToolCall, explain_defect
from sonde.core.types import Json, Kind
from sonde.models.chat.reasoning import split_completion
from sonde.runs.rollout import close, fill_seats

COMPARED = 64
"""Tasks whose tools `common_tool` compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatObservation:
    """What the agent's seat receives, at the beginning and after each of its turns, in plain values.

    `reward` and `facts` are those of the turn that has just ended. `gain` is H(b_{t-1}) - H(b_t) in bits, `truth_gain`
    log2 b_t(h*) / b_{t-1}(h*) (`core.belief`); None unless gains are on and the environment has a filter.
    """

    text: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    facts: Mapping[str, Json]
    gain: float | None = None
    truth_gain: float | None = None
    outcome: Mapping[str, Json] | None = None

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated


def resolve_env(env: Env[Any] | str, config: Mapping[str, Any] = EMPTY) -> Env[Any]:
    """The given environment, or the one with this name and these constructor arguments."""
    if isinstance(env, str):
        made = make(env, **config)
        if not isinstance(made, Env):
            raise invalid("env", env, Env.words)
        return made
    if config:
        raise invalid("config", dict(config), f"nothing, since the environment is already built ({env.name})")
    return env


def find_task(env: Env[Any], split: str, seed: int, index: int | None = None) -> Task:
    """The task of a seed; see the module."""
    tasks = env.tasks(split)
    if index is None:
        if type(seed) is not int or seed < 0:
            raise invalid("seed", seed, "a whole number from 0 to 2**64 - 1")
        return tasks[seed % len(tasks)]
    if type(index) is not int or not 0 <= index < len(tasks):
        raise invalid("index", index, f"0 to {len(tasks) - 1}, the tasks of split {split!r} of {env.name}")
    return tasks[index]


def episode_rows(
    env: Env[Any] | str, n: int, *, seed: int = 0, split: str = "train", **config: Any
) -> Iterator[dict[str, Any]]:
    """The rows of a dataset that name n episodes, for world seeds from `seed` on: plain values, nothing hidden."""
    made = resolve_env(env, config)
    arguments = json.dumps({key: value for key, value in made.config.items() if key != "name"})
    for world in range(seed, seed + n):
        yield {"env": made.name, "config": arguments, "seed": world, "split": split}


def common_tool(env: Env[Any], split: str) -> Tool:
    """The agent's tool in the tasks of a split, for hosts that list tools once: arguments whose schema differs from
    task to task (the names of arms, the size of a board) only keep what all have in common."""
    tasks = env.tasks(split)
    tools = [env.tool(tasks[i].public) for i in range(min(len(tasks), COMPARED))]
    properties = {
        name: freeze(
            {key: value for key, value in shape.items() if all(_has_value(t, name, key, value) for t in tools)}
        )
        for name, shape in tools[0].parameters["properties"].items()
    }
    return tools[0]._replace(parameters=freeze({**tools[0].parameters, "properties": properties}))


def score_outcome(outcome: Mapping[str, Json] | None) -> dict[str, float]:
    """The outcome of an episode as metrics: `success`, `score`, and for each kind of outcome 1 or 0. An episode that
    the host ended early has none and counts as an `error`."""
    end = Outcome("error") if outcome is None else Outcome(**outcome)
    kinds = {kind: float(end.kind == kind) for kind in get_args(Kind)}
    return {"success": float(end.success), "score": float(end.score), **kinds}


def _has_value(tool: Tool, name: str, key: str, value: Json) -> bool:
    return tool.parameters["properties"][name].get(key) == value


def _strip_reasoning(text: str | Action) -> str | Action:
    """The part of a host's text that reaches the environment: all but the model's reasoning, which stays in the
    record."""
    if isinstance(text, Action):
        return text
    completion, answer = split_completion(Completion(text=text))
    return Action(answer, completions=(completion,)) if completion.reasoning else answer


def _add_reason(heard: SeatObservation, why: str) -> SeatObservation:
    return replace(heard, text=f"{why}\n\n{heard.text}".strip()) if why else heard


class Session:
    """See the module. One session plays one episode at a time; any number of sessions may share an environment."""

    @check_call
    def __init__(
        self,
        env: Env[Any] | str,
        policies: Mapping[str, AnyPolicy] = EMPTY,
        *,
        split: str = "train",
        gains: bool = False,
        **config: Any,
    ) -> None:
        self.env = resolve_env(env, config)
        if AGENT in policies:
            raise UserError(f"policies: got one for {AGENT!r}, which the host plays, allowed: the other seats")
        self.policies = fill_seats(self.env, policies, but=AGENT)
        self.split, self.gains = split, gains
        self.env.tasks(split)
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The episode being played."""
        if self._episode is None:
            raise UserError("session: no episode is running; call reset() first")
        return self._episode

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation of the agent's seat, in the form that chat templates and endpoints expect."""
        return [message.to_json() for message in self.episode.messages[AGENT]]

    def trajectory(self, **tags: str) -> Trajectory:
        """The record of the finished episode, to be stored, evaluated or trained on."""
        if self.episode.outcome is None:
            raise UserError("session: the episode is still running; only a finished one has a record")
        return self.episode.to_trajectory(policies=self.policies, tags=tags)

    # --- playing -----------------------------------------------------------------------------------------------------

    def reset(self, seed: int = 0, *, index: int | None = None, sample: int = 0) -> SeatObservation:
        """Begin an episode; the text has the rules, the first position, and what others said before the agent."""
        return self._observe_start(advance_to_agent_now(self._begin_episode(seed, index, sample), self.policies))

    async def reset_async(self, seed: int = 0, *, index: int | None = None, sample: int = 0) -> SeatObservation:
        """`reset`, awaiting the other seats."""
        return self._observe_start(await advance_to_agent(self._begin_episode(seed, index, sample), self.policies))

    def say(self, text: str | Action) -> SeatObservation:
        """Take the agent's turn, and play the other seats until it is the agent's turn again."""
        before = self.episode
        return self._observe_turn(before, advance_to_agent_now(before.step(_strip_reasoning(text)), self.policies))

    async def say_async(self, text: str | Action) -> SeatObservation:
        """`say`, awaiting the other seats."""
        before = self.episode
        return self._observe_turn(before, await advance_to_agent(before.step(_strip_reasoning(text)), self.policies))

    @property
    def tool(self) -> Tool:
        """The agent's action in this episode as a tool."""
        return self.env.tool(self.episode.task.public)

    def call(self, calls: Sequence[ToolCall], text: str = "") -> SeatObservation:
        """Take the agent's turn with the tool calls of a reply; `text` is what the model said beside them, and is only
        recorded."""
        action, why = self._read_calls(calls, text)
        return _add_reason(self.say(action), why)

    async def call_async(self, calls: Sequence[ToolCall], text: str = "") -> SeatObservation:
        """`call`, awaiting the other seats."""
        action, why = self._read_calls(calls, text)
        return _add_reason(await self.say_async(action), why)

    def _read_calls(self, calls: Sequence[ToolCall], text: str) -> tuple[Action, str]:
        answer, defect = self.env.read_calls(self.episode.task.public, calls)
        completion = Completion(text=text, calls=tuple(calls), call_defect=defect)
        return Action(answer, completions=(completion,)), explain_defect(self.tool, defect)

    def close(self) -> None:
        """Release what the other seats hold."""
        run_sync(self.close_async())

    async def close_async(self) -> None:
        await close(self.policies)

    def _begin_episode(self, seed: int, index: int | None, sample: int) -> Episode:
        task = find_task(self.env, self.split, seed, index)
        return Episode.begin(self.env, task, seed=seed, sample=sample)

    def _observe_start(self, ep: Episode) -> SeatObservation:
        self._episode = ep
        return SeatObservation(text=ep.messages[AGENT][-1].content, facts={})

    def _observe_turn(self, before: Episode, ep: Episode) -> SeatObservation:
        self._episode = ep
        turn, outcome = ep.turns[-1], ep.outcome
        cut = outcome is not None and outcome.truncated == "turns"
        gain, truth_gain = self._measure_gain(before, ep, turn) if self.gains else (None, None)
        return SeatObservation(
            text=turn.told,
            reward=float(turn.rewards.get(AGENT, 0.0)),
            terminated=outcome is not None and not cut,
            truncated=cut,
            facts=thaw(turn.info),
            gain=gain,
            truth_gain=truth_gain,
            outcome=None if outcome is None else outcome._asdict(),
        )

    def _measure_gain(self, before: Episode, ep: Episode, turn: Turn) -> tuple[float | None, float | None]:
        known = before.filter()
        if known is None:
            return None, None
        gained = information_gains(known, [turn], self.env.hypothesis(ep.state))[0]
        return gained.realised, gained.truth
