"""Elicited beliefs compared with the exact posterior, as pure functions.

Notation: p_t is the exact posterior over K candidates after t turns, q_t the elicited belief over the same candidates,
h the true hypothesis. A `Course` holds both over one episode. Every number comes with an interval clustered by task
(`sonde.evaluation.metrics`), and `split_by_outcome` computes all of them separately for wins and losses (ΔBelief-RL,
figure 2).

    KL                 sum_i p_t(i) log2(p_t(i) / q_t(i)), in bits: the cost of using q_t in place of p_t
    total variation    half of sum_i |p_t(i) - q_t(i)|, in [0, 1]: the greatest error in the probability of any event
    ΔBelief            ln b_t - ln b_{t-1} of the truth, in nats, as elicited: b need not be normalised (eq. 1), so it
                       also rises when a model learns how hypotheses are written; `among` the candidates, with ln q_t,
                       it does not
    correlation        Pearson's, of ΔBelief (nats) with a turn's exact truth gain or realised gain (bits)
    calibration        over all pairs (turn, candidate): how often candidates believed with q are true
    updating factor    slope of elicited on exact changes of log-odds

The updating factor. Let an agent that updates by a tempered rule raise each likelihood to the power a: q_t(i) is
proportional to q_{t-1}(i) L_t(i)^a. Whatever its prior, the log-odds between any two candidates then change by a times
the exact change,

    Δ ln q(i)/q(j)  =  a (ln L(i) - ln L(j))  =  a Δ ln p(i)/p(j),

a line through the origin: without evidence there is no change, so no intercept is fitted. a = 1 is Bayes, less is
under-updating, more over-updating (the regression of Grether 1980, "Bayes rule as a descriptive model"). The exact side
is known without error, so noise in the elicited side does not bias the slope; the reverse regression would be biased.
Two slopes:

    pairs    over all pairs of candidates that are possible before and after the turn, each pair of n weighted 1/n;
             exactly a under the rule above, for any K. None if replies only ever rule candidates out: then no such
             pair changes
    truth    over the log-odds of the truth against all others together, ln p(h)/(1 - p(h)), where 0 < p(h) < 1 before
             and after. Exactly a for two candidates; for more an average, because the odds among the others move too

Calibration bins have equal counts, not equal widths: with K candidates most probabilities are near 1/K or 0, and bins
of equal width would put nearly all of them into one bin. Equal probabilities stay together, so bins may differ in size.
ECE is the mean over pairs of the distance between a bin's mean q and its share of truths. It is biased upwards in small
samples; `exact` (the bin's mean p, which the share estimates) is the less noisy standard there.

The belief after the turn that ended a game is excluded: that turn's message often names the truth, and the paper gives
it no reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sonde.core import UserError
from sonde.evaluation.metrics import Bounds, Estimate, estimate_of_sums, mean

Floats = npt.NDArray[np.float64]
BINS = 10
_LN2 = math.log(2.0)
_DIGITS = 12
"""Decimal digits to which probabilities count as equal in `reliability_curve`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """The beliefs of one episode, b_0 to b_T, one row each.

    `target` holds ln b_t of the truth as elicited, `(T+1,)`. With candidates, `elicited` holds ln q_t, normalised,
    shape `(T+1, K)`, and `truth` is the column of the true one. With an exact filter, `exact` holds p_t over the same
    candidates, `entropy` the bits of the whole posterior and `exact_truth` its probability of the truth, `(T+1,)`.
    `over` says that the last row is the belief after the game had ended.
    """

    task: str
    won: bool
    target: Floats
    elicited: Floats | None = None
    exact: Floats | None = None
    truth: int = 0
    entropy: Floats | None = None
    exact_truth: Floats | None = None
    over: bool = True

    def __post_init__(self) -> None:
        n = len(self.target)
        for name in ("elicited", "exact", "entropy", "exact_truth"):
            rows = getattr(self, name)
            if rows is not None and len(rows) != n:
                raise UserError(f"course: {name}: got {len(rows)} rows, allowed: as many as target has, {n}")

    @property
    def held_count(self) -> int:
        """The number of beliefs held while the game was running: b_0 to b_{n-1}."""
        return len(self.target) - self.over

    @property
    def compared_beliefs(self) -> tuple[Floats, Floats] | None:
        """p and ln q over the candidates while the game was running; None if either is missing."""
        if self.elicited is None or self.exact is None:
            return None
        return self.exact[: self.held_count], self.elicited[: self.held_count]


def normalise_logprobs(logprobs: Any) -> Floats:
    """Normalise logarithms of unnormalised probabilities along the last axis.

    >>> np.exp(normalise_logprobs([math.log(0.1), math.log(0.3)])).round(2).tolist()
    [0.25, 0.75]
    """
    rows = np.asarray(logprobs, np.float64)
    return rows - _log_sum_exp(rows)


def _log_sum_exp(rows: Floats) -> Floats:
    top = rows.max(axis=-1, keepdims=True)
    return top + np.log(np.exp(rows - top).sum(axis=-1, keepdims=True))


# --- one belief against another --------------------------------------------------------------------------------------


def kl_divergence(exact: Any, elicited: Any) -> Floats:
    """KL(p || q) in bits of p and ln q along the last axis.

    >>> float(kl_divergence([0.5, 0.5], np.log([0.25, 0.75])).round(4))
    0.2075
    """
    p, log_q = np.asarray(exact, np.float64), np.asarray(elicited, np.float64)
    log_p = np.log(p, out=np.zeros_like(p), where=p > 0.0)
    terms = np.where(p > 0.0, p * (log_p - np.where(p > 0.0, log_q, 0.0)), 0.0)
    return np.maximum(terms.sum(axis=-1), 0.0) / _LN2


def total_variation(exact: Any, elicited: Any) -> Floats:
    """Half the sum of |p - q| of p and ln q along the last axis, in [0, 1].

    >>> float(total_variation([0.5, 0.5], np.log([0.25, 0.75])))
    0.25
    """
    return 0.5 * np.abs(np.asarray(exact, np.float64) - np.exp(np.asarray(elicited, np.float64))).sum(axis=-1)


# --- curves ----------------------------------------------------------------------------------------------------------


def mean_by_turn(
    courses: Iterable[Course],
    values: Callable[[Course], Any | None],
    *,
    bounds: Bounds = (-math.inf, math.inf),
) -> tuple[Estimate, ...]:
    """The mean of a value after 0, 1, ... turns, over the episodes still running; ended episodes are not carried
    forward. `values` gives one number per turn, or None."""
    rows = [(c.task, found) for c in courses if (found := values(c)) is not None]
    most = max((len(found) for _, found in rows), default=0)
    curve: list[Estimate] = []
    for t in range(most):
        table: dict[str, list[float]] = {}
        for task, found in rows:
            if t < len(found):
                table.setdefault(task, []).append(float(found[t]))
        curve.append(mean(list(table.values()), bounds=bounds))
    return tuple(curve)


# --- calibration -----------------------------------------------------------------------------------------------------


class CalibrationBin(NamedTuple):
    """Pairs of a turn and a candidate with beliefs near `believed` (their mean): the share of true ones, and the mean
    exact posterior."""

    believed: float
    true: Estimate
    exact: float
    n: int


@dataclass(frozen=True)
class Reliability:
    """A reliability curve, and the expected calibration error against the truth and against the posterior."""

    bins: tuple[CalibrationBin, ...]
    ece: Estimate
    ece_exact: Estimate


def reliability_curve(courses: Sequence[Course]) -> Reliability | None:
    """The calibration of all candidates at all turns; None if nothing can be compared."""
    rows = [(c.task, c.truth, found) for c in courses if (found := c.compared_beliefs) is not None and c.held_count]
    if not rows:
        return None
    believed = np.concatenate([np.exp(log_q).ravel() for _, _, (_, log_q) in rows])
    exact = np.concatenate([p.ravel() for _, _, (p, _) in rows])
    true = np.concatenate([_one_hot(p.shape, truth).ravel() for _, truth, (p, _) in rows])
    number = {task: i for i, task in enumerate(dict.fromkeys(task for task, _, _ in rows))}
    task = np.concatenate([np.full(p.size, number[name]) for name, _, (p, _) in rows])
    sums = _sum_by_bin(assign_bins(believed, BINS), task, np.stack([np.ones_like(true), believed, true, exact]))
    whole = sums.sum(axis=0)  # (bins, 4)
    return Reliability(
        tuple(_make_bin(sums[:, b], whole[b]) for b in range(len(whole))),
        _calibration_error(sums, 2),
        _calibration_error(sums, 3),
    )


def assign_bins(believed: Floats, bins: int) -> npt.NDArray[np.int64]:
    """The bin of each probability: equal counts, except that equal probabilities stay together."""
    _, place, counts = np.unique(believed.round(_DIGITS), return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2.0
    wanted = np.minimum(np.floor(bins * middle / len(believed)), bins - 1)
    return np.unique(wanted, return_inverse=True)[1][place].astype(np.int64)  # without empty ones


def _one_hot(shape: tuple[int, ...], column: int) -> Floats:
    rows = np.zeros(shape)
    rows[:, column] = 1.0
    return rows


def _sum_by_bin(place: Any, task: Any, values: Floats) -> Floats:
    """Sums per task and bin of each of some values, shape `(tasks, bins, values)`."""
    sums = np.zeros((int(task.max()) + 1, int(place.max()) + 1, len(values)))
    np.add.at(sums, (task, place), values.T)
    return sums


def _make_bin(sums_TS: Floats, whole: Floats) -> CalibrationBin:
    n, believed, _, exact = (float(x) for x in whole)
    share = estimate_of_sums(sums_TS[sums_TS[:, 0] > 0], lambda s: s[..., 2] / s[..., 0], bounds=(0.0, 1.0))
    assert share is not None, "no bin is empty"
    return CalibrationBin(believed / n, share, exact / n, int(n))


def _calibration_error(sums: Floats, standard: int) -> Estimate:
    """The calibration error relative to the value columns in `standard`; the bins are those of all tasks."""
    n_tasks, n_bins, n_values = sums.shape

    def mean_distance(flat: Any) -> Any:
        rows = flat.reshape(*flat.shape[:-1], n_bins, n_values)
        return np.abs(rows[..., 1] - rows[..., standard]).sum(axis=-1) / rows[..., 0].sum(axis=-1)

    found = estimate_of_sums(sums.reshape(n_tasks, -1), mean_distance, bounds=(0.0, 1.0))
    assert found is not None, "there are pairs"
    return found


# --- changes of belief -----------------------------------------------------------------------------------------------


def delta_belief(course: Course, *, among: bool = False) -> Floats | None:
    """ΔBelief of every turn except the one that ended the game, in nats. `among` the candidates uses ln q_t of the
    truth instead of ln b_t, which removes what all of them gained together; None without candidates."""
    if not among:
        return np.diff(course.target[: course.held_count])
    return None if course.elicited is None else np.diff(course.elicited[: course.held_count, course.truth])


def exact_gains(course: Course) -> tuple[Floats, Floats] | None:
    """Exact truth gain and realised gain of the same turns, in bits; None without a filter."""
    if course.exact_truth is None or course.entropy is None:
        return None
    return np.diff(np.log2(course.exact_truth[: course.held_count])), -np.diff(course.entropy[: course.held_count])


def belief_correlation(courses: Iterable[Course], *, realised: bool = False, among: bool = False) -> Estimate | None:
    """Pearson correlation of ΔBelief (nats), as elicited or `among` the candidates, with the truth gain or the realised
    gain (bits); None if either is constant."""
    rows = [
        (c.task, change, found[realised])
        for c in courses
        if (found := exact_gains(c)) is not None and (change := delta_belief(c, among=among)) is not None
    ]
    sums = _sum_by_task((task, np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])) for task, x, y in rows)
    return estimate_of_sums(sums, _pearson_correlation, bounds=(-1.0, 1.0))


def _pearson_correlation(s: Any) -> Any:
    n, x, y, xx, yy, xy = (s[..., i] for i in range(6))
    spread = (n * xx - x * x) * (n * yy - y * y)
    scale = np.maximum(n * xx * n * yy, 1e-300)
    return np.where(spread > 1e-18 * scale, (n * xy - x * y) / np.sqrt(np.maximum(spread, 1e-300)), np.nan)


def updating_factor(courses: Iterable[Course], *, pairs: bool = False) -> Estimate | None:
    """The updating factor, for the truth or for all pairs of candidates; None if no evidence determines it."""
    rows = [(c, found) for c in courses if (found := c.compared_beliefs) is not None]
    changes = _pair_products if pairs else _truth_odds_products
    sums = _sum_by_task((c.task, changes(p, log_q, c.truth)) for c, (p, log_q) in rows)
    return estimate_of_sums(sums, lambda s: np.where(s[..., 0] > 1e-12, s[..., 1] / s[..., 0], np.nan))


def _truth_odds_products(p: Floats, log_q: Floats, truth: int) -> Floats:
    """Squared changes of the truth's exact log-odds, and their products with the elicited changes, `(2, turns)`."""
    known = (p[:, truth] > 0.0) & (p[:, truth] < 1.0)
    usable = known[:-1] & known[1:]
    others = np.delete(np.arange(p.shape[1]), truth)
    if not len(others) or not usable.any():
        return np.zeros((2, 0))
    rest = p[:, others].sum(axis=1)
    elicited = log_q[:, truth] - _log_sum_exp(log_q[:, others])[:, 0]
    with np.errstate(all="ignore"):  # undefined where the truth is certain
        exact = np.log(p[:, truth]) - np.log(rest)
        x, y = np.diff(exact)[usable], np.diff(elicited)[usable]
    return np.stack([x * x, x * y])


def _pair_products(p: Floats, log_q: Floats, truth: int) -> Floats:
    """The same sums over the pairs of candidates that are possible before and after a turn, divided by their number:
    sum_{i<j} (x_i - x_j) (y_i - y_j) / n = sum_i (x_i - mean x) (y_i - mean y)."""
    rows: list[tuple[float, float]] = []
    for t in range(len(p) - 1):
        alive = (p[t] > 0.0) & (p[t + 1] > 0.0)
        if alive.sum() > 1:
            x, y = np.log(p[t + 1, alive] / p[t, alive]), (log_q[t + 1] - log_q[t])[alive]
            x, y = x - x.mean(), y - y.mean()
            rows.append((float(x @ x), float(x @ y)))
    return np.array(rows, np.float64).reshape(-1, 2).T


def _sum_by_task(rows: Iterable[tuple[str, Floats]]) -> Floats:
    """Sums over the last axis of `(values, turns)`, one row per task that has any."""
    sums: dict[str, Floats] = {}
    for task, values in rows:
        if values.shape[1]:
            sums[task] = sums.get(task, np.zeros(len(values))) + values.sum(axis=1)
    return np.array(list(sums.values()))


# --- summary ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BeliefSummary:
    """All figures for some episodes. Curves are over turns; unavailable curves are empty and unavailable values
    None."""

    episodes: int
    reached: tuple[int, ...]
    """Number of episodes still running after each number of turns."""
    target: tuple[Estimate, ...]
    """ln b_t of the truth, as elicited, in nats."""
    believed: tuple[Estimate, ...]
    """q_t of the truth among the candidates."""
    exact: tuple[Estimate, ...]
    """p_t of the truth among the candidates."""
    divergence: tuple[Estimate, ...]
    """KL(p_t || q_t) in bits."""
    variation: tuple[Estimate, ...]
    reliability: Reliability | None
    correlation_truth: Estimate | None
    correlation_among: Estimate | None
    """ΔBelief among the candidates, correlated with the truth gain."""
    correlation_realised: Estimate | None
    updating_truth: Estimate | None
    updating_pairs: Estimate | None


def summarise_beliefs(courses: Sequence[Course]) -> BeliefSummary:
    """Compute every figure of this module for these episodes."""
    share, most = (0.0, 1.0), max((c.held_count for c in courses), default=0)
    return BeliefSummary(
        episodes=len(courses),
        reached=tuple(sum(t < c.held_count for c in courses) for t in range(most)),
        target=mean_by_turn(courses, lambda c: c.target[: c.held_count]),
        believed=mean_by_turn(courses, _truth_column("elicited", np.exp), bounds=share),
        exact=mean_by_turn(courses, _truth_column("exact", np.asarray), bounds=share),
        divergence=mean_by_turn(courses, _compare_with(kl_divergence), bounds=(0.0, math.inf)),
        variation=mean_by_turn(courses, _compare_with(total_variation), bounds=share),
        reliability=reliability_curve(courses),
        correlation_truth=belief_correlation(courses),
        correlation_among=belief_correlation(courses, among=True),
        correlation_realised=belief_correlation(courses, realised=True),
        updating_truth=updating_factor(courses),
        updating_pairs=updating_factor(courses, pairs=True),
    )


def split_by_outcome(courses: Sequence[Course]) -> Mapping[str, BeliefSummary]:
    """Summaries for `all`, `won` and `lost` episodes."""
    parts = {"all": courses, "won": [c for c in courses if c.won], "lost": [c for c in courses if not c.won]}
    return {name: summarise_beliefs(part) for name, part in parts.items()}


def _truth_column(name: str, form: Callable[[Any], Any]) -> Callable[[Course], Any | None]:
    """The truth's column of the candidates, while the game was running."""

    def column_values(course: Course) -> Any | None:
        rows = getattr(course, name)
        return None if rows is None else form(rows[: course.held_count, course.truth])

    return column_values


def _compare_with(measure: Callable[[Any, Any], Any]) -> Callable[[Course], Any | None]:
    def compared_values(course: Course) -> Any | None:
        return None if course.compared_beliefs is None else measure(*course.compared_beliefs)

    return compared_values
