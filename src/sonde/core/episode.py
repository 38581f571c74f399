"""An episode is an immutable value: `ep.step(action)` returns a new one; the old one can be kept, forked and replayed.

    ep = Episode.begin(env, task, seed=0)
    while ep.to_act is not None:
        ep = ep.step(policy.act_now(ep.view(ep.to_act)))

`advance_to_agent` lets other seats play until the agent must act; `SeatedPolicies` is the synchronous one-agent view
for scripts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from sonde._util.argument_checks import check_call
from sonde._util.by_name import call_by_name
from sonde._util.frozen import Frozen, as_frozen
from sonde._util.sync import run_sync

from .belief import Belief, Filter, Gain, information_gains, rule_reply
from .env import Env, seat_error
from .errors import ContractError, ReplayError, Unanswerable, UserError, invalid, unknown
from .policy import AnyPolicy, EpisodePolicy, Policy, ProgramPolicy
from .record import Trajectory
from .registry import make
from .seeding import Rng, check_seeds
from .types import AGENT, EMPTY, Act, Action, Json, Message, Outcome, Step, Task, Turn, content_hash, hash_texts
from .view import View

_USER, _ASSISTANT = "user", "assistant"
CUT: Mapping[str, Outcome] = Frozen(
    context=Outcome("out_of_turns", truncated="context"), filter=Outcome("error", truncated="filter")
)
"""The outcome of an episode that the agent cannot continue, by cause. A full context counts as running out of turns,
because the conversation fills it; a host's content filter counts as a failure of the outside world."""


class Episode(NamedTuple):
    """One trial in one world, up to now. Compare by identity; `id` is a content hash.

    `opening` holds acts of other seats before the agent's first; everything later is in `turns`. `known` caches the
    latest filter and the number of turns it covers.
    """

    env: Env[Any]
    task: Task
    seed: int
    sample: int
    state: Hashable
    to_act: str | None
    messages: Mapping[str, tuple[Message, ...]]
    memory: Mapping[str, Json]
    opening: tuple[Act, ...]
    turns: tuple[Turn, ...]
    n_acts: int
    outcome: Outcome | None
    known: list[tuple[int, Filter | None]]

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__

    def _repr_html_(self) -> str:
        """For notebooks: the conversation, with the bits of every turn."""
        return call_by_name("viewer.notebook:show_episode", self)

    @classmethod
    def begin(cls, env: Env[Any], task: Task, *, seed: int = 0, sample: int = 0) -> Episode:
        """The episode before its first act. `seed` is the world seed, `sample` numbers the episodes in one world."""
        if not isinstance(env, Env):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("env", env, Env.words)
        if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("task", task, "a Task, such as env.tasks('test')[0] or env.task(...)")
        check_seeds(seed, sample)
        for name, got, own in (("env", task.env, env.name), ("preset", task.preset, env.spec.preset)):
            if got != own:
                raise UserError(f"task.{name}: got {got!r}, allowed: {own!r}")
        state = env.reset(task, Rng(seed, "reset", task.id))
        if (to_act := env.to_act(state)) not in env.spec.seats:
            raise _explain_seat(env, to_act, " in the first state")
        messages = {seat: _append_told((), env.intro(state, seat)) for seat in env.spec.seats}
        return cls(env, task, seed, sample, state, to_act, messages, EMPTY, (), (), 0, None, [])

    def step(self, action: Action | str) -> Episode:
        """The episode after the seat to act has said `action`."""
        env, task, seed, sample, state, seat, messages, memory, opening, turns, n, _, known = self
        if seat is None:
            raise UserError("step: the episode is over")
        if isinstance(action, str):
            action = Action(action)
        elif not isinstance(action, Action):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("action", action, "an Action or text")
        action = action.check_storable()
        stepped = env.step(state, action.text, Rng(seed, "step", task.id, n))
        state, told, rewards, info, outcome = _check_step(env, stepped)
        act = Act(seat, action, as_frozen(told), as_frozen(rewards), as_frozen(info))
        if outcome is not None:
            to_act, outcome = None, _flag_truncated(outcome, action)
        elif (to_act := env.to_act(state)) not in messages:
            raise _explain_seat(env, to_act, ", but the last step had no outcome")
        if seat == AGENT:
            turns = (*turns, Turn(len(turns), (act,)))
        elif turns:
            turns = (*turns[:-1], Turn(turns[-1].index, (*turns[-1].acts, act)))
        else:
            opening = (*opening, act)
        if action.memory is not None or seat in memory:
            memory = Frozen({**memory, seat: action.memory})
        messages = _append_messages(messages, seat, action, told)
        return Episode(
            env, task, seed, sample, state, to_act, messages, memory, opening, turns, n + 1, outcome, known[:]
        )

    def view(self, seat: str = AGENT) -> View:
        """What the policy in `seat` may know at this point."""
        if seat not in self.messages:
            raise unknown("seat", seat, self.messages)
        return View(seat, self.memory.get(seat), self)

    def cut_short(self, by: Literal["context", "filter"]) -> Episode:
        """End the episode here because the agent cannot continue; `by` is one of `CUT`. No environment ends an episode
        this way."""
        if self.to_act != AGENT:
            raise UserError(f"cut: {self.to_act or 'nobody'} is to act, allowed: when the agent is")
        return self._replace(to_act=None, outcome=CUT[by], known=self.known[:])

    @property
    def acts(self) -> tuple[Act, ...]:
        """All acts of all seats in order."""
        return (*self.opening, *(act for turn in self.turns for act in turn.acts))

    @property
    def id(self) -> str:
        """Content hash of the world and everything said in it; forks of one prefix share the prefix's id."""
        value = content_hash([self.env.config, self.task.id, self.seed])
        for act in self.acts:
            value = hash_texts(value, act.seat, act.action.text)
        return value

    def fork(self, *, sample: int) -> Episode:
        """The same point of the episode, with new randomness for the policies from here on. The world is shared."""
        check_seeds(self.seed, sample)
        return self._replace(sample=sample, known=self.known[:])

    # --- what could be known -----------------------------------------------------------------------------------------

    def filter(self) -> Filter | None:
        """The exact filter after every finished turn, updated incrementally and cached; None if there is none."""
        finished = self._finished_turns
        n, known = self.known[0] if self.known else (0, self.env.filter(self.task.public))
        for turn in finished[n:]:
            known = known and known.observe(rule_reply(turn))
        self.known[:] = [(len(finished), known)]
        return known

    @property
    def _finished_turns(self) -> tuple[Turn, ...]:
        """The turns in which no seat will speak again."""
        return self.turns if self.to_act in (AGENT, None) else self.turns[:-1]

    def posterior(self) -> Belief | None:
        """The exact posterior over hypotheses; None (n/a) if the environment has no filter."""
        known = self.filter()
        return known and known.belief()

    def gains(self, *, expected: bool = False) -> tuple[Gain, ...] | None:
        """The information in bits of every finished turn; `expected` also compares each action with the best
        question."""
        prior = self.env.filter(self.task.public)
        return prior and information_gains(
            prior, self._finished_turns, self.env.hypothesis(self.state), expected=expected
        )

    def information_gain(self) -> tuple[float, ...] | None:
        """Realised bits per turn, H(b_{t-1}) - H(b_t); None (n/a) if the environment has no filter."""
        rows = self.gains()
        return None if rows is None else tuple(g.realised for g in rows)

    # --- the record --------------------------------------------------------------------------------------------------

    def to_trajectory(
        self,
        *,
        policies: Mapping[str, AnyPolicy] = EMPTY,
        group: str = "",
        error: str = "",
        tags: Mapping[str, str] = EMPTY,
    ) -> Trajectory:
        """The record of this episode; with `error` set, the episode may be unfinished."""
        _check_recorded(policies, tags)
        return Trajectory(
            id=content_hash([self.id, self.sample]),
            group=group or content_hash([self.env.config, self.task.id, self.seed]),
            env=self.env.config,
            version=self.env.spec.version,
            task=self.task,
            seed=self.seed,
            sample=self.sample,
            opening=self.opening,
            turns=self.turns,
            outcome=_recorded_outcome(self, error),
            policies={seat: {"fingerprint": p.fingerprint, **p.config} for seat, p in policies.items()},
            privileged=any(p.privileged for p in policies.values()),
            error=error,
            tags=tags,
        )

    @classmethod
    def replay(cls, env: Env[Any], trajectory: Trajectory) -> Episode:
        """Rebuild the episode of a recorded trajectory by feeding its acts to the environment; no policy is called."""
        *_, last = cls.stages(env, trajectory)
        return last

    @classmethod
    def stages(cls, env: Env[Any], trajectory: Trajectory) -> Iterator[Episode]:
        """The replayed episode at its beginning and after every act."""
        if not isinstance(trajectory, Trajectory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("trajectory", trajectory, "a Trajectory, such as one of Run.load(folder)")
        if trajectory.env.get("name") != env.config["name"]:
            raise ReplayError(f"recorded on {trajectory.env.get('name')}, this is {env.config['name']}")
        if trajectory.version != env.spec.version:
            raise ReplayError(f"recorded on {env.name} version {trajectory.version}, this is {env.spec.version}")
        if trajectory.env != env.config:
            raise ReplayError(f"recorded with configuration {trajectory.env}, this environment has {env.config}")
        _check_public(env, trajectory.task)
        acts = trajectory.acts
        ep = cls.begin(env, trajectory.task, seed=trajectory.seed, sample=trajectory.sample)
        yield ep if acts else (ep := _apply_recorded_cut(trajectory, ep))
        for n, act in enumerate(acts):
            ep = _replay_act(ep, n, act)
            if n + 1 == len(acts):
                ep = _apply_recorded_cut(trajectory, ep)
            yield ep
        if trajectory.outcome != _recorded_outcome(ep, trajectory.error):
            raise ReplayError(f"recorded outcome {trajectory.outcome}, replay ended with {ep.outcome}")

    def __repr__(self) -> str:
        end = self.outcome.kind if self.outcome else f"{self.to_act} to act"
        where = f"{self.env.name}/{self.task.split}[{self.task.index}]"
        return f"<Episode {where} seed {self.seed}: {self.n_acts} acts, {end}>"


def _check_step(env: Env[Any], step: Any) -> Step:
    """`step`, or `ContractError` if it is none, or a part of it is no mapping, such as one number as the reward."""
    if not isinstance(step, Step):
        raise ContractError(f"{env.name}: step: got {step!r}, allowed: a Step")
    for name, part in (("told", step.told), ("rewards", step.rewards), ("info", step.info)):
        if not isinstance(part, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ContractError(f"{env.name}: step.{name}: got {part!r}, allowed: a mapping")
    return step


def _explain_seat(env: Env[Any], seat: str | None, when: str) -> ContractError:
    """The error for a `to_act` that is no seat."""
    if seat is None:
        return ContractError(f"{env.name}: nobody is to act{when}")
    return ContractError(f"{env.name}: to_act: got {seat!r}, allowed: a seat of the spec ({', '.join(env.spec.seats)})")


def _check_public(env: Env[Any], task: Task) -> None:
    """Raise `ReplayError` for a recorded task that this environment cannot have. `public` follows from a hidden setup,
    or has the same types in all tasks that draw theirs."""
    try:
        own = (env.tasks(task.split)[0] if task.hidden is None else env.task(task.hidden)).public
    except UserError as e:
        raise ReplayError(f"task: {e}") from e
    same = own == task.public if task.hidden is not None else _value_types(own) == _value_types(task.public)
    if not same:
        raise ReplayError(f"task: recorded public {dict(task.public)!r}, this environment has {dict(own)!r}")


def _value_types(public: Mapping[str, Json]) -> dict[str, type]:
    return {name: type(value) for name, value in public.items()}


def _check_recorded(policies: Mapping[str, AnyPolicy], tags: Mapping[str, str]) -> None:
    if not (isinstance(policies, Mapping) and all(isinstance(p, AnyPolicy) for p in policies.values())):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("trajectory: policies", policies, "a policy for every seat named")
    for name, value in tags.items():
        if not (isinstance(name, str) and isinstance(value, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("trajectory: tags", {name: value}, "text for text")


def _recorded_outcome(ep: Episode, error: str) -> Outcome | None:
    """The outcome stored in a record, if any."""
    return Outcome("error") if ep.outcome is None and error else ep.outcome


def _replay_act(ep: Episode, n: int, act: Act) -> Episode:
    """The episode after its n-th recorded act; raises `ReplayError` if the result differs from the record."""
    if ep.to_act != act.seat:
        raise ReplayError(f"act {n}: recorded seat {act.seat!r}, replay expects {ep.to_act!r}")
    ep = ep.step(act.action)
    again = ep.turns[-1].acts[-1] if ep.turns else ep.opening[-1]
    if again.told != act.told:
        raise ReplayError(f"act {n}: recorded {dict(act.told)!r}, replay told {dict(again.told)!r}")
    if again.rewards != act.rewards:
        raise ReplayError(f"act {n}: recorded rewards {dict(act.rewards)}, replay gave {dict(again.rewards)}")
    return ep


def _apply_recorded_cut(trajectory: Trajectory, ep: Episode) -> Episode:
    """The episode after its last recorded act, cut short if the record says so."""
    by = trajectory.outcome.truncated if trajectory.outcome else ""
    return ep.cut_short(by) if by in ("context", "filter") and ep.to_act == AGENT else ep


def _append_messages(
    messages: Mapping[str, tuple[Message, ...]], seat: str, action: Action, told: Mapping[str, str]
) -> Mapping[str, tuple[Message, ...]]:
    """The messages of all seats after one seat has spoken and seats were told the result."""
    said, _, completions = action
    after = {**messages}
    after[seat] += (Message(_ASSISTANT, said, completions[-1] if completions else None),)
    for other, text in told.items():
        if text:
            after[other] = _append_told(after[other], text)
    return after


def _append_told(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Append text told to a seat; consecutive texts join into one message, so roles alternate strictly."""
    if not text:
        return messages
    if messages and messages[-1].role == _USER:
        return (*messages[:-1], Message(_USER, messages[-1].content + "\n\n" + text))
    return (*messages, Message(_USER, text))


def _flag_truncated(outcome: Outcome, action: Action) -> Outcome:
    """Mark an unreadable episode as truncated if the token limit cut the answer."""
    if outcome.kind == "unreadable" and action.completions and action.completions[-1].finish == "length":
        return outcome._replace(truncated="tokens")
    return outcome


async def play_act(ep: Episode, policies: Mapping[str, AnyPolicy]) -> Episode:
    """The episode after one act of the seat to act."""
    seat = ep.to_act
    if seat is None:
        return ep
    policy = policies.get(seat)
    if policy is None:
        raise seat_error(seat, ep.messages)
    try:
        if isinstance(policy, EpisodePolicy):
            action = await policy.choose_action(ep, {s: p for s, p in policies.items() if isinstance(p, Policy)})
        else:
            action = await policy.act(ep.view(seat))
    except Unanswerable as e:
        e.seat = e.seat or seat  # the innermost seat of nested policies
        raise
    return ep.step(action)


async def advance_to_agent(ep: Episode, policies: Mapping[str, AnyPolicy]) -> Episode:
    """Play the other seats until the agent must act or the episode is over."""
    while ep.to_act not in (AGENT, None):
        ep = await play_act(ep, policies)
    return ep


def advance_to_agent_now(ep: Episode, policies: Mapping[str, AnyPolicy]) -> Episode:
    """Synchronous `advance_to_agent`: programs answer at once; an event loop (or a thread, inside a running loop) is
    started only for other policies."""
    while ep.to_act not in (AGENT, None) and isinstance(policy := policies.get(str(ep.to_act)), ProgramPolicy):
        ep = ep.step(policy.act_now(ep.view(str(ep.to_act))))
    return ep if ep.to_act in (AGENT, None) else run_sync(advance_to_agent(ep, policies))


def default_policies(env: Env[Any]) -> dict[str, AnyPolicy]:
    """The default policies of `env.spec` for the other seats."""
    return {seat: make(name) for seat, name in env.spec.seats.items() if name is not None}


class SeatedPolicies:
    """A synchronous view of one agent's seat: `reset` and `step` for scripts, notebooks and other protocols.

    Also works inside a running event loop (a notebook): other seats' policies then run in a separate thread.
    """

    @check_call
    def __init__(self, env: Env[Any], policies: Mapping[str, AnyPolicy] | None = None) -> None:
        self.env = env
        self.policies = {**default_policies(env), **(policies or {})}
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The current episode."""
        if self._episode is None:
            raise UserError("step: no episode is running; call reset() first")
        return self._episode

    def reset(self, task: Task, *, seed: int = 0, sample: int = 0) -> View:
        """Begin an episode and return the agent's first view."""
        self._episode = advance_to_agent_now(Episode.begin(self.env, task, seed=seed, sample=sample), self.policies)
        return self._episode.view()

    def step(self, action: Action | str) -> tuple[View, float, bool, Mapping[str, Any]]:
        """Act as the agent: `(view, reward, done, info)`, where reward and info are those of the finished turn."""
        self._episode = advance_to_agent_now(self.episode.step(action), self.policies)
        turn = self._episode.turns[-1]
        return self._episode.view(), turn.rewards.get(AGENT, 0.0), self._episode.outcome is not None, turn.info
