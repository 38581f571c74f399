"""Shared parts of the prompts of language-model agents: problem, situation, experience, actions.

The problem is described to the sub-calls as it was to the agent: its first message. Where it is a finite problem of
several sub-episodes, states are shown by their labels and steps as JSON, which costs fewer tokens than the messages of
the environment and says the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sonde.core import Action, Rng, View
from sonde.core.types import Json
from sonde.envs._shared.finite import FiniteProblem
from sonde.envs._shared.sub_episodes import (
    LABELLED,
    Experience,
    Position,
    current_observation,
    current_position,
    current_state,
    list_experiences,
    problem_horizon,
    rules_text,
)

from .calls import Calls, Role, Say, action_reader, json_block, load_prompts


class ActContext(NamedTuple):
    """The context of one act."""

    view: View
    problem: FiniteProblem | None
    horizon: int
    now: Position
    observation: str
    say: Say = load_prompts

    @property
    def problem_kind(self) -> str:
        return "plain" if self.problem is None else self.problem.kind

    @property
    def legal(self) -> Sequence[str] | None:
        """The actions that are listed. Conversations list none: anything may be said, and a list would reveal what to
        ask."""
        return None if self.problem_kind == "case" else self.view.legal

    @property
    def observation_text(self) -> str:
        """The current observation, in the form that `Experience` uses."""
        labelled = self.problem is not None and self.problem_kind in LABELLED
        return current_state(self.view, self.problem) if labelled and self.problem else self.observation

    @property
    def state(self) -> str:
        """The key of the current state in a cache."""
        if self.problem is None:
            return self.observation
        label = current_state(self.view, self.problem)
        return label if self.problem_kind in LABELLED else f"{label}, step {self.now.step}"

    def problem_text(self) -> str:
        """The problem, as it was described to the agent."""
        return self.say("calls")["problem"].format(description=rules_text(self.view))

    def situation_block(self, call: str, **more: Json) -> str:
        """The JSON block that identifies this sub-call and its step."""
        problem, at = self.problem, self.now
        facts: dict[str, Json] = {
            "call": call,
            "kind": self.problem_kind,
            "sub_episode": at.sub_episode,
            "step": at.step,
        }
        if problem is not None:
            facts |= {
                "state": current_state(self.view, problem),
                "horizon": problem.horizon,
                "sub_episodes": problem.sub_episodes,
            }
        return json_block(situation=facts | more)

    def history_text(self) -> str:
        """The history of this sub-episode, for prompts that show one observation; empty at its start."""
        told_by_state = self.now.step == 0 or self.problem_kind in LABELLED
        rows = [] if told_by_state else list_experiences(self.view, self.view.turn - self.now.step)
        return self.say("calls")["sofar"].format(experience=steps_block(rows)) + "\n\n" if rows else ""

    def action_list(self) -> str:
        """The list of actions, if there is one."""
        legal = self.legal
        return self.say("calls")["available"].format(actions=", ".join(legal)) + "\n\n" if legal else ""

    def prompt_fields(self) -> dict[str, str]:
        """The fields that fill in the prompts of a policy."""
        said = {"sofar": self.history_text(), "observation": self.observation, "available": self.action_list()}
        return said | {"situation": self.situation_block("policy")}


def read_scene(view: View, say: Say = load_prompts) -> ActContext:
    """The context of the next act, described in these texts."""
    problem, horizon = view.problem, problem_horizon(view)
    return ActContext(view, problem, horizon, current_position(view, horizon), current_observation(view), say)


def steps_block(rows: Iterable[Experience]) -> str:
    """Steps as a fenced JSON list. A long text is not repeated as the observation of the next step."""
    shown: list[dict[str, Json]] = []
    before = None
    for row in rows:
        entry = row.to_json()
        if not row.labelled and row.observation == before:
            del entry["observation"]
        shown.append(entry)
        before = row.next
    return json_block(experience=shown)


def trajectory_text(rows: Iterable[Experience], say: Say = load_prompts) -> str:
    """Steps with an introduction."""
    return say("calls")["trajectory"].format(experience=steps_block(rows))


def group_by_sub_episode(rows: Sequence[Experience]) -> dict[int, list[Experience]]:
    """Steps by sub-episode, in order."""
    found: dict[int, list[Experience]] = {}
    for row in rows:
        found.setdefault(row.sub_episode, []).append(row)
    return found


async def choose_action(at: ActContext, calls: Calls, role: Role, system: str, user: str) -> str:
    """The action chosen by a policy call. Fallback: a random legal action; if none are listed, the last reply as it is,
    which the environment then judges."""
    found = await calls.ask_model(role, system, user, action_reader(at.legal))
    if found is not None:
        return found
    legal = at.legal
    if legal:
        return legal[Rng(at.view.seed, "fallback").randrange(len(legal))]
    return calls.completions[-1].text


class PolicyCache(NamedTuple):
    """Appendix C's policy cache: one policy call per state and sub-episode. `rows` is kept in the memory."""

    on: bool
    rows: Mapping[str, str]

    @classmethod
    def from_memory(cls, on: bool, memory: Mapping[str, Any], fresh: bool) -> PolicyCache:
        """The cache at this act, cleared at the start of a sub-episode."""
        return cls(on, {} if fresh or not on else memory.get("cache", {}))

    def cached_action(self, at: ActContext) -> str | None:
        """The action cached for the current state, if still legal."""
        known = self.rows.get(at.state)
        return known if known is not None and (at.legal is None or known in at.legal) else None

    def to_memory(self, at: ActContext, chosen: str) -> dict[str, Json]:
        """The memory fields of the cache after this choice."""
        return {"cache": {**self.rows, at.state: chosen}} if self.on else {}


def finish_act(view: View, chosen: str, calls: Calls, **memory: Json) -> Action:
    """Finish the act: its calls go on the record, the counts into the memory."""
    kept = {**memory, "calls": calls.counts} if calls.counts else memory
    return Action(view.say(chosen), memory=kept or None, completions=tuple(calls.completions))
