"""Regret over sub-episodes and exploration metrics of bandit research, from trajectories and the true world.

Source: Toward Efficient Exploration by LLM Agents, section 2 (regret) and appendix B.1
(suffix failures and minimum action frequency, after Krishnamurthy et al. 2024); PAPRIKA, appendix J (bandit regret).

The regret of sub-episode k is `V*(s_1) - V^k(s_1)`, where V^k is the value of the policy played in it. Only that
policy's actions are recorded; both estimates below have its regret as their expectation:

    expected   sum over the steps h of  V*_h(s_h) - Q*_h(s_h, a_h)        (for a bandit: the gap of the arm pulled)
    realised   V*(s_1) - sum of the rewards                               (noisier, can be negative)

An answer that names no action costs `V*_h(s_h) - r_h - V*_{h+1}(s_{h+1})`. After an episode ends because it is solved,
the regret is zero; after an unreadable answer, it is V* in every missed sub-episode. If `max_turns` cuts a last
sub-episode short, only the played steps count. Environments need a finite `decision_problem`
(`envs/_shared/finite.py`); the true world comes from replaying the reset.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sonde.core import Env, Rng, Trajectory, UserError, unknown
from sonde.envs._shared.finite import FiniteEnv, FiniteProblem, Floats, World

Kind = Literal["expected", "realised"]
_KINDS = ("expected", "realised")
NO_ACTION = -1
"""Represents an answer that names no action."""


class MeanCurve(NamedTuple):
    """A mean at every sub-episode with its standard error over `n` trials (NaN for one trial)."""

    mean: Floats
    error: Floats
    n: int


class SolvedWorld(NamedTuple):
    """The problem of a trajectory and the tables of its world; `values_HS` = V*_h(s) has a row of zeros at its end."""

    problem: FiniteProblem
    world: World
    q_HSA: Floats
    values_HS: Floats


def solve_truth(env: Env[Any], trajectory: Trajectory) -> SolvedWorld:
    """The problem of a trajectory, solved in its true world."""
    task = trajectory.task
    problem: FiniteProblem | None = env.decision_problem(task.public)
    if problem is None:
        raise UserError(f"regret: {env.name} has no finite model; allowed: an environment with one")
    finite = cast("FiniteEnv", env)
    world = finite.world(env.reset(task, Rng(trajectory.seed, "reset", task.id)))
    q = world.action_values(problem.horizon)
    return SolvedWorld(problem, world, q, np.vstack([q.max(axis=2), np.zeros(len(problem.states))]))


# --- one trajectory --------------------------------------------------------------------------------------------------


def episode_regrets(env: Env[Any], trajectory: Trajectory, kind: Kind = "expected") -> Floats:
    """The regret of every sub-episode, shape `(K,)`."""
    if kind not in _KINDS:
        raise unknown("regret: kind", kind, _KINDS)
    outcome = trajectory.outcome
    if trajectory.error or outcome is None or outcome.kind == "error":
        raise UserError(
            f"regret: trajectory {trajectory.id} did not end by itself ({trajectory.error or 'unfinished'})"
        )
    known = solve_truth(env, trajectory)
    rows = np.zeros(known.problem.sub_episodes)
    for turn in trajectory.turns:
        rows[turn.info["sub_episode"]] += _step_regret(known, turn.info, kind)
    if outcome.is_broken_off:
        rows += _missed_value(known, trajectory)
    return rows


def total_regret(env: Env[Any], trajectory: Trajectory) -> float | None:
    """The expected regret of a whole episode, over all its sub-episodes (for a bandit: the sum of the gaps of the arms
    pulled); None where the environment has no finite model, or the episode did not end by itself."""
    return float(episode_regrets(env, trajectory).sum()) if _has_regret(env, trajectory) else None


def turn_regrets(env: Env[Any], trajectory: Trajectory) -> list[float] | None:
    """The expected regret of every turn; None where `total_regret` is. What a broken-off episode missed after its last
    turn is in `total_regret` alone."""
    if not _has_regret(env, trajectory):
        return None
    known = solve_truth(env, trajectory)
    return [_step_regret(known, turn.info, "expected") for turn in trajectory.turns]


def _has_regret(env: Env[Any], trajectory: Trajectory) -> bool:
    """Whether the environment has a finite model, and the episode ended by itself."""
    outcome = trajectory.outcome
    if trajectory.error or outcome is None or outcome.kind == "error" or not hasattr(env, "world"):
        return False
    return env.decision_problem(trajectory.task.public) is not None


def _step_regret(known: SolvedWorld, info: Mapping[str, Any], kind: Kind) -> float:
    """The regret of one step. Realised steps telescope: V*_h(s_h) - r_h - V*_{h+1}(s_{h+1}) sums to V*(s_1) -
    return."""
    problem, h = known.problem, info["step"]
    s = problem.states.index(info["state"])
    if kind == "expected" and info["action"] is not None:
        return float(known.values_HS[h, s] - known.q_HSA[h, s, problem.actions.index(info["action"])])
    if info["result"] == "unreadable":
        return 0.0
    after = known.values_HS[h + 1, problem.states.index(info["next"])]
    return float(known.values_HS[h, s] - info["reward"] - after)


def _missed_value(known: SolvedWorld, trajectory: Trajectory) -> Floats:
    """The value left when the episode broke off, by sub-episode: from the state in which its last answer could not be
    parsed, or from the state that this answer led to; all of it if the first prompt was too long for the model."""
    problem = known.problem
    rows = np.full(problem.sub_episodes, known.values_HS[0, problem.states.index(problem.start)])
    if trajectory.turns:
        info = trajectory.turns[-1].info
        h, state = (info["step"], info["state"]) if info["result"] == "unreadable" else (info["step"] + 1, info["next"])
        rows[: info["sub_episode"]] = 0.0
        rows[info["sub_episode"]] = known.values_HS[h, problem.states.index(state)]
    return rows


def chosen_actions(env: Env[Any], trajectory: Trajectory) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The index of the action of every turn (`NO_ACTION` if none was named), and whether it was optimal."""
    known = solve_truth(env, trajectory)
    chosen = np.full(len(trajectory.turns), NO_ACTION)
    optimal = np.zeros(len(trajectory.turns), np.bool_)
    for i, info in enumerate(turn.info for turn in trajectory.turns):
        if info["action"] is not None:
            q = known.q_HSA[info["step"], known.problem.states.index(info["state"])]
            chosen[i] = known.problem.actions.index(info["action"])
            optimal[i] = q[chosen[i]] >= q.max() - 1e-12
    return chosen, optimal


def episodes_to_solve(trajectory: Trajectory) -> int | None:
    """The number of sub-episodes that it took to solve a problem that ends when solved; None if it was not solved."""
    won = trajectory.outcome is not None and trajectory.outcome.success
    return int(trajectory.turns[-1].info["sub_episode"]) + 1 if won else None


class CallCost(NamedTuple):
    """Model calls and tokens of one kind of sub-call."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


def cost_by_call(trajectory: Trajectory) -> dict[str, CallCost]:
    """Calls and tokens by the name of the sub-call. A call made in `finish` comes after the last act and is not
    counted."""
    found: dict[str, CallCost] = {}
    for turn in trajectory.turns:
        for c in turn.acts[0].action.completions:
            old = found.get(c.name, CallCost())
            found[c.name] = CallCost(old.calls + 1, old.prompt + c.usage.prompt, old.completion + c.usage.completion)
    return found


def tokens_per_episode(trajectory: Trajectory, sub_episodes: int) -> Floats:
    """Tokens processed (prompts and completions) in every sub-episode, shape `(K,)`."""
    rows = np.zeros(sub_episodes)
    for turn in trajectory.turns:
        spent = sum(c.usage.prompt + c.usage.completion for c in turn.acts[0].action.completions)
        rows[turn.info["sub_episode"]] += spent
    return rows


# --- many trials -----------------------------------------------------------------------------------------------------


def regret_table(env: Env[Any], trajectories: Sequence[Trajectory], kind: Kind = "expected") -> Floats:
    """`episode_regrets` of every trial, shape `(N, K)`."""
    if not trajectories:
        raise UserError("regret: got no trajectories, allowed: at least one")
    return np.stack([episode_regrets(env, t, kind) for t in trajectories])


def cumulative_regret(rows_NK: npt.ArrayLike) -> MeanCurve:
    """Mean cumulative regret after every sub-episode, with the standard error over trials.

    >>> cumulative_regret([[1.0, 1.0], [1.0, 0.0]]).mean.tolist()
    [1.0, 1.5]
    """
    return mean_curve(np.cumsum(np.asarray(rows_NK, np.float64), axis=1))


def mean_curve(rows_NK: npt.ArrayLike) -> MeanCurve:
    """Mean and standard error over trials of every column."""
    rows = np.asarray(rows_NK, np.float64)
    n = len(rows)
    error = rows.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(rows.shape[1], math.nan)
    return MeanCurve(rows.mean(axis=0), error, n)


def suffix_failures(optimal_NT: npt.ArrayLike) -> MeanCurve:
    """At every period t, the share of trials in which no optimal action was taken in periods t to T.

    >>> suffix_failures([[True, False], [False, True]]).mean.tolist()
    [0.0, 0.5]
    """
    ahead = np.flip(np.logical_or.accumulate(np.flip(np.asarray(optimal_NT, np.bool_), axis=1), axis=1), axis=1)
    return mean_curve(~ahead)


def minimum_action_frequency(actions_NT: npt.ArrayLike, n_actions: int) -> MeanCurve:
    """At every period t, the frequency of the least-chosen action in periods 1 to t, times the number of actions, which
    gives values in [0, 1].

    >>> minimum_action_frequency([[0, 1, 1, 0]], 2).mean.tolist()
    [0.0, 1.0, 0.6666666666666666, 1.0]
    """
    chosen = np.asarray(actions_NT, np.int64)
    least = np.stack([np.cumsum(chosen == a, axis=1) for a in range(n_actions)]).min(axis=0)
    return mean_curve(n_actions * least / np.arange(1, chosen.shape[1] + 1))


class SolveRate(NamedTuple):
    """Share of trials that solved the problem, with its standard error, and the mean number of sub-episodes they took
    (NaN if none did)."""

    rate: float
    error: float
    sub_episodes: float
    n: int


def solve_rate(took: Sequence[int | None]) -> SolveRate:
    """The share of solved trials, from the values of `episodes_to_solve`.

    >>> solve_rate([2, 4, None, None])[:3]
    (0.5, 0.28867513459481287, 3.0)
    """
    if not took:
        raise UserError("solved: got no trials, allowed: at least one")
    wins = [k for k in took if k is not None]
    rate = mean_curve([[float(k is not None)] for k in took])
    mean = sum(wins) / len(wins) if wins else math.nan
    return SolveRate(float(rate.mean[0]), float(rate.error[0]), mean, rate.n)


class BanditReport(NamedTuple):
    """The three curves that the papers show for a bandit agent."""

    regret: MeanCurve
    suffix_failures: MeanCurve
    minimum_action_frequency: MeanCurve


def bandit_report(env: Env[Any], trajectories: Sequence[Trajectory]) -> BanditReport:
    """Cumulative regret, suffix failures and minimum action frequency of trials that were played to the end."""
    rows = regret_table(env, trajectories)
    played = [chosen_actions(env, t) for t in trajectories]
    if any(len(chosen) < rows.shape[1] for chosen, _ in played):
        raise UserError("bandit_report: got a trial that ended before its last pull, allowed: trials of full length")
    n_actions = len(solve_truth(env, trajectories[0]).problem.actions)
    frequency = minimum_action_frequency([chosen for chosen, _ in played], n_actions)
    return BanditReport(cumulative_regret(rows), suffix_failures([optimal for _, optimal in played]), frequency)
