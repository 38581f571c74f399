"""How the contract plays: sampled tasks, seeded replies, and a program in every seat but the agent's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from sonde.core import (
    AGENT,
    EMPTY,
    Action,
    ContractError,
    Env,
    Episode,
    ProgramPolicy,
    Rng,
    TabularEnv,
    Task,
    UserError,
    View,
    content_hash,
    default_policies,
)
from sonde.core.types import Json
from sonde.evaluation.scale import make_agent

from .hostile import hostile_reply, legal_answer

Rule = TypeVar("Rule")
Reply = Callable[[View, Rng], str | Action]


def require(condition: object, message: str) -> None:
    """Raise `ContractError` with this message unless the condition holds."""
    if not condition:
        raise ContractError(message)


def check_rules(rules: Mapping[str, Rule], check: Callable[[Rule], None], summarise: Callable[[str], str]) -> None:
    """Check every rule, then raise one `ContractError` that names all violated ones. `summarise` makes its first line
    from a count such as `2 of 25 rules`."""
    broken: dict[str, Exception] = {}
    for name, rule in rules.items():
        try:
            check(rule)
        except Exception as e:  # whatever a rule raises is its finding
            broken[name] = e
    if broken:
        lines = [f"{name}: {e if isinstance(e, ContractError) else repr(e)}" for name, e in broken.items()]
        head = summarise(f"{len(broken)} of {len(rules)} rules")
        raise ContractError("\n  ".join([head, *lines])) from next(iter(broken.values()))


def mixed_reply(view: View, rng: Rng) -> str:
    """Twice as many legal answers as hostile replies, if legal answers are listed."""
    return legal_answer(view, rng) if rng.random() < 2 / 3 and view.legal else hostile_reply(view, rng)


def sensible_reply(view: View, rng: Rng) -> str:
    """A legal answer if they are listed, otherwise any reply."""
    return legal_answer(view, rng) if view.legal else hostile_reply(view, rng)


@dataclass(frozen=True, kw_only=True)
class EnvProbe:
    """An environment under test. `policies` play the seats for which `env.spec` names no program."""

    env: Env[Any]
    episodes: int = 100
    seed: int = 0
    policies: Mapping[str, ProgramPolicy] = EMPTY

    def rng(self, *path: str | int) -> Rng:
        return Rng(self.seed, "check", self.env.name, *path)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """As many tasks as episodes, drawn with replacement, alternating between the splits."""
        rng, splits = self.rng("tasks"), [self.env.tasks(s) for s in self.env.splits]
        chosen = (splits[i % len(splits)] for i in range(self.episodes))
        return tuple(tasks[rng.randrange(len(tasks))] for tasks in chosen)

    @cached_property
    def _seat_policies(self) -> Mapping[str, Any]:
        return {**default_policies(self.env), **self.policies}

    def begin_episode(self, i: int) -> Episode:
        """The i-th episode, at the agent's first act."""
        return self.play_others(Episode.begin(self.env, self.tasks[i], seed=i))

    def play_others(self, ep: Episode) -> Episode:
        """`ep` after the other seats have acted."""
        while ep.to_act not in (AGENT, None):
            policy = self._seat_policies.get(str(ep.to_act))
            require(isinstance(policy, ProgramPolicy), f"seat {ep.to_act!r}: check_env needs a ProgramPolicy for it")
            ep = ep.step(policy.act_now(ep.view(str(ep.to_act))))  # type: ignore[union-attr]
        return ep

    def say_text(self, ep: Episode, text: str | Action) -> Episode:
        """`ep` at the agent's next act."""
        return self.play_others(ep.step(text))

    def next_turn(self, ep: Episode, reply: Reply, *path: str | int) -> Episode:
        """`ep` after the reply to its view, which depends only on `path` and the turn."""
        return self.say_text(ep, reply(ep.view(), self.rng(*path, len(ep.turns))))

    def walk_episode(self, i: int, reply: Reply, *path: str | int) -> Iterator[Episode]:
        """The i-th episode before every act of the agent, and at its end, which must come within `max_turns`."""
        ep, limit = self.begin_episode(i), self.env.spec.max_turns
        yield ep
        while ep.to_act is not None:
            require(len(ep.turns) < limit, f"the episode goes on after spec.max_turns = {limit} turns")
            ep = self.next_turn(ep, reply, *path, i)
            yield ep

    def play_episode(self, i: int, reply: Reply, *path: str | int) -> Episode:
        """The i-th episode at its end."""
        *_, ep = self.walk_episode(i, reply, *path)
        return ep

    @cached_property
    def reference(self) -> ProgramPolicy | None:
        """The reference agent, if `env.spec` names a program."""
        name = self.env.spec.reference
        policy = make_agent(name) if name else None
        return policy if isinstance(policy, ProgramPolicy) else None

    def sibling_worlds(self, i: int, n: int) -> list[Episode]:
        """Up to n episodes whose tasks share the public part of the i-th task, each with its own hidden setup."""
        env, task = self.env, self.tasks[i]
        if isinstance(env, TabularEnv):
            setups = _draw_setups(env, task, n, self.rng("worlds", i))
            tasks = [Task(env.name, task.preset, task.split, k, task.public, h) for k, h in enumerate(setups)]
        else:
            tasks = [t for t in self.tasks if t.public == task.public][:n]
        return [self.play_others(Episode.begin(env, t, seed=k)) for k, t in enumerate(tasks)]


def _draw_setups(env: TabularEnv[Any], task: Task, n: int, rng: Rng) -> list[Json]:
    try:
        rows = env.prior(task.public)
    except UserError:  # not finite
        return [env.draw(task.public, rng) for _ in range(n)]
    return rng.choices([hidden for _, hidden in rows], [p for p, _ in rows], k=n)


def to_transcript(ep: Episode) -> Json:
    """Everything that happened in an episode, as JSON: texts, rewards, infos, outcome."""
    acts = [[a.seat, a.action.text, dict(a.told), dict(a.rewards), dict(a.info)] for a in ep.acts]
    heard = {seat: [m.to_json() for m in messages] for seat, messages in ep.messages.items()}
    return [ep.task.id, ep.seed, acts, heard, ep.outcome and ep.outcome._asdict()]


def digest_env(env: Env[Any], *, episodes: int = 20, seed: int = 0) -> str:
    """A content hash of `episodes` random episodes and one of the reference agent, equal in every process and on every
    machine."""
    probe = EnvProbe(env=env, episodes=episodes, seed=seed)
    played = [to_transcript(probe.play_episode(i, mixed_reply, "digest")) for i in range(episodes)]
    policy = probe.reference
    if policy is not None:
        played.append(to_transcript(probe.play_episode(0, lambda view, _: policy.act_now(view))))
    return content_hash(played)
