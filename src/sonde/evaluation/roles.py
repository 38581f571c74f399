"""A score per role of LLM-PSRL: every call of updater, sampler and policy graded against what is exactly right.

Regret says that an agent explores badly, not which of its three language models is to blame (Toward Efficient
Exploration by LLM Agents, section 3.2; its appendices C and D name forgetting, slow concentration, misread numbers and
planning by anecdote, without measuring them). Here each call is judged by what *it* was handed, so that a role does not
pay for another's mistakes; where a column is about the truth instead, it says so.

    updater   distance    Hellinger distance of its text to the exact posterior of the agent's own prior, 0 to 1
              own         the same, to the exact update of the text that this call was handed
              forgotten   share of the steps so far whose evidence the text lacks
              invented    evidence in it that was never observed, as a share of the steps so far
              excess      bits of entropy above (too vague) or below (too sure) the exact posterior
    sampler   possible    share of samples that the beliefs they were drawn from allow
              consistent  share of samples that agree with everything observed, as the exact posterior has it
              error       Kolmogorov distance of all samples' ranks from uniform, 0 to 1: 0 is drawn as believed
              spread      12 times the ranks' mean squared distance from 1/2: 1 is right, 0 always the middle (greedy)
              true error  the first distance, of ranks in the exact posterior: what updater and sampler come to together
    policy    optimal     share of its actions that are optimal in the world it was given
              regret      mean loss of value there, V*(s) - Q*(s, a)

Unreadable is a call that was given up, or a text that `written_posteriors` cannot read, which no reference judges.
An episode's last update, made after its last act, is on no record. A policy that was handed no readable world is not
graded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, cast

from sonde.core import Completion, Env, Episode, Rng, Trajectory, Turn, UserError, View
from sonde.core.types import Json
from sonde.envs._shared.sub_episodes import Experience, list_experiences, prior_support
from sonde.models._shared.json_beliefs import MOST_CODES, optimal_values, update_belief

from . import metrics
from .metrics import Estimate
from .posteriors import (
    Belief,
    Posterior,
    World,
    compare_evidence,
    excess_bits,
    is_possible,
    posterior_distance,
    sample_ranks,
    to_posterior,
)
from .written_posteriors import read_belief, read_prior, read_world

UPDATER, SAMPLER, POLICY = "posterior_update", "posterior_sample", "policy"
_SAME = 1e-9


class UpdateGrade(NamedTuple):
    """An update. `steps`: how many it should account for. Numbers are NaN where nothing can be compared."""

    turn: int
    steps: int
    distance: float
    own: float
    forgotten: float
    invented: float
    excess: float


class SampleGrade(NamedTuple):
    """A sample: whether the beliefs and the exact posterior allow it, and its ranks in both (see `sample_ranks`), none
    where the beliefs do not allow it."""

    turn: int
    possible: bool
    consistent: bool
    ranks: tuple[float, ...]
    true_ranks: tuple[float, ...]


class PolicyGrade(NamedTuple):
    """An action: what it loses in the world that the policy was given."""

    turn: int
    regret: float

    @property
    def optimal(self) -> bool:
        return self.regret <= _SAME


class RoleGrades(NamedTuple):
    """The grades of an episode. `calls`: calls by role; `unread`: of them, those that were given up, or not readable
    here."""

    updates: tuple[UpdateGrade, ...]
    samples: tuple[SampleGrade, ...]
    policies: tuple[PolicyGrade, ...]
    calls: Mapping[str, int]
    unread: Mapping[str, int]


# --- one episode -----------------------------------------------------------------------------------------------------


def grade_roles(env: Env[Any], trajectory: Trajectory) -> RoleGrades:
    """Grade every call of an episode that `agents:llm_psrl` played. Raises `UserError` for one of another agent, and
    where the prior is prose."""
    if not has_roles(trajectory):
        first = _first_memory(trajectory)
        got = "a prior in prose" if "beliefs" in first and "hypothesis" in first else "another agent's"
        raise UserError(
            f"roles: trajectory {trajectory.id}: got {got}, allowed: agents:llm_psrl and a prior with a JSON block"
        )
    view = Episode.replay(env, trajectory).view()
    prior = list_candidates(cast("Belief", read_prior(_first_memory(trajectory)["beliefs"])), view)
    return _Grader(trajectory, list_experiences(view), prior, view.problem.horizon).grade_episode()


def has_roles(trajectory: Trajectory) -> bool:
    """Whether `grade_roles` can grade an episode."""
    first = _first_memory(trajectory)
    return "hypothesis" in first and read_prior(first.get("beliefs", "")) is not None


def _first_memory(trajectory: Trajectory) -> Mapping[str, Any]:
    return _memory_of(trajectory.turns[0]) if trajectory.turns else {}


def _memory_of(turn: Turn) -> Mapping[str, Any]:
    memory = turn.acts[0].action.memory
    return memory if isinstance(memory, Mapping) else {}


def list_candidates(prior: Belief, view: View) -> Belief:
    """A prior over codes too many to list, with those that the environment draws from."""
    if prior["kind"] != "code" or "candidates" in prior:
        return prior
    many = math.perm(len(prior["symbols"]), prior["length"]) > MOST_CODES
    return {**prior, "candidates": list(prior_support(view))} if many else prior


class _Grader:
    """Walks through an episode with the exact posterior after every step."""

    def __init__(self, trajectory: Trajectory, steps: Sequence[Experience], prior: Belief, horizon: int) -> None:
        self.trajectory, self.steps, self.prior, self.horizon = trajectory, steps, prior, horizon
        self.updates: list[UpdateGrade] = []
        self.samples: list[SampleGrade] = []
        self.policies: list[PolicyGrade] = []
        self.calls: dict[str, int] = dict.fromkeys((UPDATER, SAMPLER, POLICY), 0)
        self.unread = dict(self.calls)
        self._exact: list[Belief] = [prior]

    def grade_episode(self) -> RoleGrades:
        before: Mapping[str, Any] = {"beliefs": "", "absorbed": 0}
        for turn in self.trajectory.turns:
            memory = _memory_of(turn)
            if "beliefs" not in memory:
                continue
            for name, completion in _last_calls(turn).items():
                self.calls[name] += 1
                graded = not completion.unread and self._grade_call(name, turn, before, memory)
                self.unread[name] += not graded
            before = memory
        return RoleGrades(tuple(self.updates), tuple(self.samples), tuple(self.policies), self.calls, self.unread)

    def _grade_call(self, name: str, turn: Turn, before: Mapping[str, Any], memory: Mapping[str, Any]) -> bool:
        """Grade a call; whether it could be read. A policy without a readable world is not graded."""
        if name == UPDATER:
            return self._grade_update(turn.index, before, memory)
        world = read_world(memory["hypothesis"], self.prior)
        if name == POLICY:
            return world is None or self._grade_policy(turn, world)
        return world is not None and self._grade_sample(turn.index, memory, world)

    def _grade_update(self, turn: int, before: Mapping[str, Any], memory: Mapping[str, Any]) -> bool:
        said = read_belief(memory["beliefs"], self.prior)
        if said is None:
            return False
        n = memory["absorbed"]
        written, exact = to_posterior(said), to_posterior(self._exact_after(n))
        evidence = compare_evidence(written, exact)
        forgotten, invented = evidence or (math.nan, math.nan)
        own = self._own_distance(written, before, n)
        distance = posterior_distance(written, exact)
        excess = excess_bits(written, exact)
        self.updates.append(UpdateGrade(turn, n, distance, own, forgotten / n, invented / n, excess))
        return True

    def _own_distance(self, written: Posterior, before: Mapping[str, Any], n: int) -> float:
        handed = read_belief(before["beliefs"], self.prior)
        if handed is None:
            return math.nan
        for step in self.steps[before["absorbed"] : n]:
            handed = _update(handed, step)
        return posterior_distance(written, to_posterior(handed))

    def _grade_sample(self, turn: int, memory: Mapping[str, Any], world: World) -> bool:
        handed = read_belief(memory["beliefs"], self.prior)
        if handed is None:
            return False
        truth = self._exact_after(memory["absorbed"])
        exact, believed = to_posterior(truth), to_posterior(handed)
        possible = is_possible(believed, handed, world)
        ranks, true_ranks = (
            tuple(sample_ranks(of, world, Rng(self.trajectory.seed, "rank", self.trajectory.id, turn)))
            if possible
            else ()
            for of in (believed, exact)
        )
        self.samples.append(SampleGrade(turn, possible, is_possible(exact, truth, world), ranks, true_ranks))
        return True

    def _grade_policy(self, turn: Turn, world: World) -> bool:
        action = turn.info["action"]
        if action is None:
            return False
        self.policies.append(PolicyGrade(turn.index, self._action_regret(turn, world, action)))
        return True

    def _action_regret(self, turn: Turn, world: World, action: str) -> float:
        step = turn.info["step"]
        if "code" in world:
            entered = [t.info["action"] for t in self.trajectory.turns[turn.index - step : turn.index]]
            lost = entered != list(world["code"][:step])
            return 0.0 if lost else float(world["code"][step] != action)
        if "means" in world:
            return max(world["means"].values()) - world["means"][action]
        values = optimal_values(world, self.horizon - step)[turn.info["state"]]
        return max(values.values()) - values[action]

    def _exact_after(self, n: int) -> Belief:
        while len(self._exact) <= n:
            self._exact.append(_update(self._exact[-1], self.steps[len(self._exact) - 1]))
        return self._exact[n]


def _update(belief: Belief, step: Experience) -> Belief:
    return belief if step.action is None else update_belief(belief, step.to_json() | {"step": step.step})


def _last_calls(turn: Turn) -> dict[str, Completion]:
    """The last reply of each role in an act: earlier ones of that role were asked for again."""
    return {c.name: c for c in turn.acts[0].action.completions if c.name in (UPDATER, SAMPLER, POLICY)}


# --- a run -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RoleScore:
    """A role of a run: calls, the share that is unreadable, and its measures by name; None where nothing was
    measured."""

    role: str
    calls: int
    unreadable: float | None
    measures: Mapping[str, Estimate | None]


@dataclass(frozen=True, kw_only=True)
class RoleScores:
    """All roles. `sampler_ranks` are the ranks behind `error`, sorted; `episodes` those that were graded."""

    episodes: int
    roles: tuple[RoleScore, ...]
    sampler_ranks: tuple[float, ...]

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def score_roles(graded: Iterable[tuple[str, RoleGrades]]) -> RoleScores:
    """The scores of a run from (task, grades) pairs. Intervals resample tasks; those of distances between
    distributions, too."""
    rows = list(graded)
    if not rows:
        raise UserError("roles: got no episode of agents:llm_psrl, allowed: at least one")
    return RoleScores(
        episodes=len(rows),
        roles=(
            _score_role("updater", UPDATER, rows, _UPDATE_MEASURES),
            _score_role("sampler", SAMPLER, rows, _SAMPLE_MEASURES),
            _score_role("policy", POLICY, rows, _POLICY_MEASURES),
        ),
        sampler_ranks=tuple(sorted(_pool_ranks([g for _, g in rows], "ranks"))),
    )


def grade_run(env: Env[Any], trajectories: Iterable[Trajectory]) -> list[tuple[str, RoleGrades]]:
    """(Task, grades) of every episode that was played to its end."""
    return [(t.task.id, grade_roles(env, t)) for t in trajectories if not t.error and t.turns]


Rows = Sequence[tuple[str, RoleGrades]]
Measure = Callable[[Rows], Estimate | None]


def _score_role(role: str, call: str, rows: Rows, measures: Mapping[str, Measure]) -> RoleScore:
    calls = sum(g.calls[call] for _, g in rows)
    unread = sum(g.unread[call] for _, g in rows)
    found = {name: measure(rows) for name, measure in measures.items()}
    return RoleScore(role=role, calls=calls, unreadable=unread / calls if calls else None, measures=found)


def _mean_of(calls: Callable[[RoleGrades], Iterable[float]], *bounds: float) -> Measure:
    """The mean over an episode's calls, then over episodes."""

    def measure(rows: Rows) -> Estimate | None:
        values = [(task, [v for v in calls(g) if not math.isnan(v)]) for task, g in rows]
        limits = (bounds[0], bounds[1]) if bounds else (-math.inf, math.inf)
        return metrics.mean_by_task(((task, math.fsum(v) / len(v)) for task, v in values if v), bounds=limits)

    return measure


def _make_pooled_measure(kind: str, of: Callable[[Sequence[float]], float], high: float) -> Measure:
    """A number of all ranks together; its interval by the jackknife over tasks."""

    def measure(rows: Rows) -> Estimate | None:
        tasks = list(dict.fromkeys(task for task, _ in rows))
        if not (ranks := _pool_ranks([g for _, g in rows], kind)):
            return None
        value = of(ranks)
        left = [_pool_ranks([g for task, g in rows if task != out], kind) for out in tasks]
        found = [of(r) for r in left if r]
        n = len(found)
        if n < 2:
            return Estimate(value, 0.0, high, n)
        middle = math.fsum(found) / n
        error = metrics.student_t(n - 1) * math.sqrt((n - 1) / n * math.fsum((x - middle) ** 2 for x in found))
        return Estimate(value, max(0.0, value - error), min(high, value + error), n)

    return measure


def _pool_ranks(grades: Iterable[RoleGrades], kind: str) -> list[float]:
    return [rank for g in grades for sample in g.samples for rank in getattr(sample, kind)]


def rank_error(ranks: Sequence[float]) -> float:
    """Kolmogorov distance of numbers in 0..1 from the uniform distribution.

    >>> rank_error([0.5]), rank_error([0.25, 0.75])
    (0.5, 0.25)
    """
    ordered, n = sorted(ranks), len(ranks)
    return max(max((i + 1) / n - r, r - i / n) for i, r in enumerate(ordered))


def rank_spread(ranks: Sequence[float]) -> float:
    """12 times the mean squared distance from 1/2, which is 1 for uniform ranks and 3 for ranks at the ends.

    >>> rank_spread([0.0, 1.0])
    3.0
    """
    return 12.0 * math.fsum((r - 0.5) ** 2 for r in ranks) / len(ranks)


_UPDATE_MEASURES: Mapping[str, Measure] = {
    "distance": _mean_of(lambda g: [u.distance for u in g.updates], 0.0, 1.0),
    "own": _mean_of(lambda g: [u.own for u in g.updates], 0.0, 1.0),
    "forgotten": _mean_of(lambda g: [u.forgotten for u in g.updates], 0.0, 1.0),
    "invented": _mean_of(lambda g: [u.invented for u in g.updates], 0.0, math.inf),
    "excess": _mean_of(lambda g: [u.excess for u in g.updates]),
}
_SAMPLE_MEASURES: Mapping[str, Measure] = {
    "possible": _mean_of(lambda g: [float(s.possible) for s in g.samples], 0.0, 1.0),
    "consistent": _mean_of(lambda g: [float(s.consistent) for s in g.samples], 0.0, 1.0),
    "error": _make_pooled_measure("ranks", rank_error, 1.0),
    "spread": _make_pooled_measure("ranks", rank_spread, 3.0),
    "true error": _make_pooled_measure("true_ranks", rank_error, 1.0),
}
_POLICY_MEASURES: Mapping[str, Measure] = {
    "optimal": _mean_of(lambda g: [float(p.optimal) for p in g.policies], 0.0, 1.0),
    "regret": _mean_of(lambda g: [p.regret for p in g.policies], 0.0, math.inf),
}
