"""Play episodes: one, many at once, k samples per world, resumed after an interruption.

    trajectories = collect_trajectories(env, {"agent": policy}, env.tasks("test")[:50], Plan(k=4))

A failure of the outside world (`WorldError`) ends its episode and is stored in the trajectory. An agent whose context
is full, or whose host refuses the conversation (`Unanswerable`), also ends it, with an outcome (`Episode.cut_short`)
and without an error, because retrying would not help. Any other exception is a defect in code or a configuration error,
and stops the run at once. So does an endpoint that fails many episodes in a row (`limits.Breaker`): finished episodes
are delivered, and a later call plays the rest. Completion order never changes what is recorded, because every random
number of an episode derives from its own seeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sonde._util.argument_checks import Checked, check_call
from sonde._util.garbage import collect_garbage_rarely
from sonde.core import (
    AGENT,
    AnyPolicy,
    ContentRefused,
    Env,
    Episode,
    Policy,
    ProgramPolicy,
    Task,
    Trajectory,
    Unanswerable,
    UserError,
    WorldError,
    default_policies,
    invalid,
    play_act,
    run_sync,
)
from sonde.core.config import configured_parts
from sonde.models.remote.adapting import EndpointForm, Refusal, recall_forms, store_forms

from .limits import Breaker, Meter, ended_by_outage
from .store import Run, RunWriter, discard_unplayed

Seats = Mapping[str, AnyPolicy]
Key = tuple[str, int, int]
"""Identifies an episode of a run: task id, world seed, sample."""
OnDone = Callable[[Trajectory], None]
OnAct = Callable[[Episode], None]

STOPS = 2
"""The rank of an episode that stops the run (`_rank`)."""
FEW = 16
"""Concurrent episodes of programs that share no work: their data fits into the processor's cache, which makes long
episodes a third faster than with hundreds at a time."""


class Job(NamedTuple):
    """One episode to play."""

    task: Task
    seed: int
    sample: int

    @property
    def key(self) -> Key:
        return (self.task.id, self.seed, self.sample)


@dataclass(frozen=True, kw_only=True)
class Plan(Checked):
    """Which episodes to play and how many at once. The k samples of a task share its world (`seed`).

    `span` replaces `k`: episodes are numbered sample by sample, starting with one for every task, and those from its
    first number up to but excluding its second are played. This gives any number of episodes, spread evenly over the
    tasks.

    `budget` is a number of model tokens, prompt and completion together, as endpoints report them (local models count
    their own). It is checked after every act: once it is used up, no episode starts or continues, so it is exceeded by
    at most one act per running episode. Episodes that were cut off are not recorded (`BudgetWarning`). A reply without
    usage is a `UserError`, because it cannot be counted.

    `share` splits a plan over several processes, or machines that share a folder: of n shares, the i-th (from 0) has
    every n-th episode and is writer i of the run.
    """

    called = "plan"

    k: int = 1
    seed: int = 0
    concurrency: int = 256
    budget: int | None = None
    span: tuple[int, int] | None = None
    share: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        for name in ("k", "concurrency"):
            if getattr(self, name) < 1:
                raise invalid(name, getattr(self, name), "1 or more")
        if not 0 <= self.seed < 2**64:
            raise invalid("seed", self.seed, "0 to 2**64 - 1")
        if self.budget is not None and self.budget < 1:
            raise invalid("budget", self.budget, "1 or more tokens")
        if self.span is not None and not 0 <= self.span[0] <= self.span[1]:
            raise invalid("span", self.span, "two numbers, 0 or more, the second not below the first")
        if not 0 <= self.share[0] < self.share[1]:
            raise invalid("share", self.share, "two numbers, the first from 0 to below the second")

    def list_jobs(self, tasks: Sequence[Task], skip: Collection[Key] = frozenset()) -> Iterator[Job]:
        """The episodes of this share, task by task, without those already played. A duplicate task is a `UserError`,
        because its identical episodes would be played and paid for twice."""
        _check_distinct(tasks)
        if self.span is None:
            found = (Job(task, self.seed, sample) for task in tasks for sample in range(self.k))
        else:
            numbers = (divmod(i, len(tasks)) for i in range(*self.span))
            found = (Job(tasks[index], self.seed, sample) for sample, index in numbers)
        mine = found if self.share[1] == 1 else islice(found, self.share[0], None, self.share[1])
        return (job for job in mine if job.key not in skip) if skip else mine

    def count_episodes(self, tasks: Sequence[Task], held: Collection[Key]) -> int:
        """The number of episodes when all shares are played, including those that are `held` already."""
        if not held:
            return len(tasks) * self.k if self.span is None else self.span[1] - self.span[0]
        return len(held) + sum(1 for _ in replace(self, share=(0, 1)).list_jobs(tasks, held))


def _check_distinct(tasks: Sequence[Task]) -> None:
    places: dict[str, int] = {}
    for i, task in enumerate(tasks):
        if (first := places.setdefault(task.id, i)) != i:
            twice = f"{task.env}/{task.split}[{task.index}] at {first} and {i}"
            raise UserError(f"tasks: got {twice}, allowed: each task once; `k` plays it several times")


def fill_seats(env: Env[Any], policies: Seats, *, but: str = "") -> dict[str, AnyPolicy]:
    """`policies` completed with the environment's defaults. Every seat must be filled, except `but`, which the caller
    plays."""
    full = {**default_policies(env), **policies}
    missing = [seat for seat in env.spec.seats if seat not in full and seat != but]
    if missing:
        raise UserError(f"policies: no policy for seat {missing[0]!r} of {env.name}")
    foreign = [seat for seat in full if seat not in env.spec.seats]
    if foreign:
        raise UserError(f"policies: {env.name} has no seat {foreign[0]!r}; seats: {', '.join(env.spec.seats)}")
    return full


@check_call
async def play_episode(env: Env[Any], policies: Seats, task: Task, *, seed: int = 0, sample: int = 0) -> Trajectory:
    """Play one episode from start to end. The environment's defaults play the seats that `policies` leaves out."""
    begun = Episode.begin(env, task, seed=seed, sample=sample)
    played = await _play_on(begun, fill_seats(env, policies), Meter[Job](iter(()), None))
    assert played is not None, "there is no budget"
    return played


async def _play_on(ep: Episode, policies: Seats, meter: Meter[Job], on_act: OnAct | None = None) -> Trajectory | None:
    """Play an episode to its end from its current state and return its record; None if the budget ran out."""
    error = ""
    try:
        while ep.to_act is not None:
            if meter.is_spent and not isinstance(policies.get(ep.to_act), ProgramPolicy):
                return None
            ep = await play_act(ep, policies)
            meter.count_tokens((ep.turns[-1].acts if ep.turns else ep.opening)[-1].action)
            if on_act is not None:
                on_act(ep)
        await _finish(ep, policies)
    except WorldError as e:
        ep, error = _end_by_failure(ep, e)
    return ep.to_trajectory(policies=policies, error=error)


def _end_by_failure(ep: Episode, failure: WorldError) -> tuple[Episode, str]:
    """The episode that a failure ended, and the error to record: none if the agent itself could not continue. If the
    context is full before the agent has spoken, it is too small, which is not the agent's fault."""
    if isinstance(failure, Unanswerable) and failure.seat == ep.to_act == AGENT:
        if isinstance(failure, ContentRefused):
            return ep.cut_short("filter"), ""
        if ep.turns:
            return ep.cut_short("context"), ""
    whose = f"{failure.seat}: " if isinstance(failure, Unanswerable) and failure.seat else ""
    return ep, f"{type(failure).__name__}: {whose}{failure}"


async def _finish(ep: Episode, policies: Seats) -> None:
    for seat, policy in policies.items():
        if type(policy).finish is not Policy.finish:
            await policy.finish(ep.view(seat))


@check_call
async def stream_trajectories(
    env: Env[Any],
    policies: Seats,
    tasks: Sequence[Task],
    plan: Plan | None = None,
    *,
    skip: Collection[Key] = frozenset(),
    on_act: OnAct | None = None,
) -> AsyncGenerator[Trajectory, None]:
    """Play `plan` over `tasks` and yield each trajectory as its episode ends. Closing the iterator cancels the rest.
    `on_act` receives every episode after every act, except where programs fill all seats."""
    plan = plan or Plan()
    policies = fill_seats(env, policies)
    meter, breaker = Meter[Job](plan.list_jobs(tasks, skip), plan.budget), Breaker()
    programs = all(isinstance(p, ProgramPolicy) for p in policies.values())
    stream = (
        _play_in_lockstep(env, policies, meter, plan)
        if programs
        else _play_concurrently(env, policies, meter, plan, on_act)
    )
    with collect_garbage_rarely():
        async with aclosing(stream):
            async for trajectory in stream:
                yield trajectory
                breaker.count_failure(trajectory)
    meter.report_unplayed()


def count_tokens(trajectory: Trajectory) -> int:
    """Model tokens of all seats, prompt and completion."""
    usages = [c.usage for act in trajectory.acts for c in act.action.completions]
    return sum(u.prompt + u.completion for u in usages)


async def _play_concurrently(
    env: Env[Any], policies: Seats, meter: Meter[Job], plan: Plan, on_act: OnAct | None
) -> AsyncGenerator[Trajectory, None]:
    """Play a fixed number of episodes concurrently, one coroutine each."""
    running: set[asyncio.Task[Trajectory | None]] = set()
    ended: asyncio.Queue[asyncio.Task[Trajectory | None]] = asyncio.Queue()
    try:
        while True:
            while len(running) < plan.concurrency and (job := meter.next_job()) is not None:
                task = asyncio.create_task(_play_on(_begin_job(env, job), policies, meter, on_act))
                task.add_done_callback(ended.put_nowait)  # `asyncio.wait` would scan all running tasks each time
                running.add(task)
            if not running:
                return
            done = [await ended.get(), *(ended.get_nowait() for _ in range(ended.qsize()))]
            if any(_rank(task) == STOPS for task in done):  # deliver everything that was played first
                done = [task for task in running if task.done()]
            running.difference_update(done)
            for task in sorted(done, key=_rank):
                played = task.result()
                meter.end_episode(played and count_tokens(played))
                if played is not None:
                    yield played
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _begin_job(env: Env[Any], job: Job) -> Episode:
    return Episode.begin(env, job.task, seed=job.seed, sample=job.sample)


def _rank(task: asyncio.Task[Trajectory | None]) -> int:
    """The order of episodes that ended together: played ones first, one that stops the run last."""
    if task.cancelled() or task.exception() is not None:
        return STOPS
    played = task.result()
    return int(played is not None and ended_by_outage(played))


async def _play_in_lockstep(
    env: Env[Any], policies: Seats, meter: Meter[Job], plan: Plan
) -> AsyncGenerator[Trajectory, None]:
    """For programs only: all running episodes act together, so that a policy can share work between them."""
    running: list[Episode] = []
    at_once = plan.concurrency if _shares_work(policies) else min(plan.concurrency, FEW)
    while True:
        while len(running) < at_once and (job := meter.next_job()) is not None:
            running.append(_begin_job(env, job))
        if not running:
            return
        running, alone = _act_together(running, policies)
        for ep in (*alone, *(ep for ep in running if ep.outcome is not None)):
            played = await _play_on(ep, policies, meter)
            meter.end_episode(played and count_tokens(played))
            if played is not None:
                yield played
        running = [ep for ep in running if ep.outcome is None]
        await asyncio.sleep(0)


def _shares_work(policies: Seats) -> bool:
    return any(getattr(type(p), "act_many", None) is not ProgramPolicy.act_many for p in policies.values())


def _act_together(episodes: list[Episode], policies: Seats) -> tuple[list[Episode], list[Episode]]:
    """The episodes after one act each, and those that must continue alone because the group call failed."""
    stepped: list[Episode] = []
    alone: list[Episode] = []
    for seat in dict.fromkeys(str(ep.to_act) for ep in episodes):
        policy, mine = policies[seat], [ep for ep in episodes if ep.to_act == seat]
        assert isinstance(policy, ProgramPolicy)
        try:
            actions = policy.act_many([ep.view(seat) for ep in mine])
        except WorldError:
            alone += mine
        else:
            stepped += [ep.step(action) for ep, action in zip(mine, actions, strict=True)]
    return stepped, alone


@check_call
def collect_trajectories(
    env: Env[Any],
    policies: Seats,
    tasks: Sequence[Task],
    plan: Plan | None = None,
    *,
    on_done: OnDone | None = None,
    keep_open: bool = False,
) -> list[Trajectory]:
    """All trajectories of a plan, in memory, task by task in its order, sorted by sample. Also works inside a running
    event loop.

    `keep_open` leaves the policies open, for the caller to close, so that a local model stays loaded for the next call.
    """
    plan = plan or Plan()
    rows: list[Trajectory] = []
    run_sync(_distribute(env, policies, tasks, plan, frozenset(), [rows.append, on_done], keep_open=keep_open))
    order = {task: i for i, task in enumerate(dict.fromkeys(job.task.id for job in plan.list_jobs(tasks)))}
    return sorted(rows, key=lambda t: (order[t.task.id], t.sample))


@check_call
def record_plan(
    env: Env[Any],
    policies: Seats,
    tasks: Sequence[Task],
    plan: Plan,
    folder: Path | str,
    config: Mapping[str, Any] | None = None,
    *,
    on_done: OnDone | None = None,
    on_act: OnAct | None = None,
    keep_open: bool = False,
) -> Run:
    """Play a plan into a run folder and return it. `config` identifies the run; by default it is the environment and
    its version, the policies and the seed.

    Finished episodes in the folder are not played again; failed and cut-off ones are. So calling this again after an
    interruption continues where it stopped, and sends requests in the form that the endpoints accepted before
    (`models.remote.adapting`). If nothing was recorded, the folder is removed. `on_act` as in `stream_trajectories`,
    `keep_open` as in `collect_trajectories`.
    """
    folder, full = Path(folder), fill_seats(env, policies)
    seats = {seat: policy.config for seat, policy in full.items()}
    own = {"env": env.config, "version": env.spec.version, "seats": seats, "seed": plan.seed}
    tied = own if config is None else config
    endpoints, writer = _known_endpoints(full), plan.share[0]

    async def write_share() -> None:
        with RunWriter.open(folder, tied, writer=writer) as run:
            run.plan_episodes(plan.count_episodes(tasks, run.finished_keys))
            recall_forms(folder, endpoints)

            def note_endpoints(_: Trajectory) -> None:
                store_forms(folder, writer, endpoints)

            await _distribute(
                env,
                full,
                tasks,
                plan,
                run.finished_keys,
                [run.append_trajectory, on_done, note_endpoints],
                on_act=on_act,
                keep_open=keep_open,
            )

    try:
        run_sync(write_share())
    except BaseException:
        if plan.share[1] == 1:  # otherwise others may be about to write to it
            discard_unplayed(folder)
        raise
    return Run.load(folder)


def _known_endpoints(policies: Seats) -> list[EndpointForm]:
    """What is known about the endpoints that the policies use."""
    parts = (part for seat, policy in policies.items() for _, part in configured_parts(policy, seat))
    return [known for part in parts if isinstance(known := getattr(part, "adapted", None), EndpointForm)]


async def _distribute(
    env: Env[Any],
    policies: Seats,
    tasks: Sequence[Task],
    plan: Plan,
    skip: Collection[Key],
    receivers: Sequence[OnDone | None],
    *,
    on_act: OnAct | None = None,
    keep_open: bool = False,
) -> None:
    """Pass every trajectory to all receivers as it arrives. On any exit, everything is stopped and closed."""
    policies = fill_seats(env, policies)
    try:
        async with aclosing(stream_trajectories(env, policies, tasks, plan, skip=skip, on_act=on_act)) as stream:
            async for trajectory in stream:
                for receive in receivers:
                    if receive is not None:
                        receive(trajectory)
    except Refusal as e:
        raise _locate_refusal(e, policies) from e
    finally:
        if not keep_open:
            await close(policies)


def _locate_refusal(refusal: Refusal, policies: Seats) -> Refusal:
    """The refusal with the path of the refused model, so that the suggested remedies can be typed as they are."""
    parts = (found for seat, policy in policies.items() for found in configured_parts(policy, f"seats.{seat}"))
    return refusal.at_path(next((path for path, part in parts if part is refusal.asker), ""))


async def close(policies: Seats) -> None:
    """Release what the policies hold."""
    for policy in policies.values():
        await policy.close()
