"""Select what to learn from: trajectories for supervised training, pairs for preference training, and a summary table.

Trajectories of one task in one world are compared; fewer turns are better. *SFT*: the successes with distinct numbers
of turns. *Pairs*: the success with the fewest turns against one drawn at random from the clearly worse trajectories,
which are failures and successes that took many more turns; one pair per task, because more of them lowered the
likelihood of the chosen one. Episodes that failed for outside reasons are never used, nor are those that ended with an
unreadable answer (the paper filters them out; `negatives` can admit them).

Departures, each undone by `rules="code"`. A game lost by its rules (a mine, a wrong accusation) is a legitimate
negative; the paper's code drops it, because its judge calls the end invalid. A trajectory is never paired with itself;
that code pairs the best with itself where nothing lower exists. How many more turns count as many depends on the
environment (`PAPRIKA`); its scripts ask for 20, so that only failures qualify. In best-arm identification every game
takes the same number of turns; that code counts the pulls that paid instead, which prefers luck to identification. In
minesweeper, where the first reveal decides where the mines lie, both games of a pair must begin with the same reveal;
the paper says that its pairs should have been filtered this way.

`compute_statistics` is the paper's table 4 (best of k, SFT trajectories and pairs per task group), plus tasks,
trajectories, success rate and mean turns and tokens (ours), grouped by environment or by any tag.

Source: PAPRIKA (arXiv 2502.17543), section 3.2, appendix C and table 4, and the defaults of its code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any, NamedTuple, cast, get_args

from sonde._util.argument_checks import Checked
from sonde.core import AGENT, Frozen, Rng, Trajectory, UserError, invalid
from sonde.core.types import Kind, Rules

from .data import has_ids, make_rows

# --- outcomes and costs ----------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """Settings per environment: `slower`, how many more turns make a success clearly worse, and `samples`, how many
    trajectories are sampled per task."""

    slower: int = 4
    samples: int = 20


PAPRIKA: Mapping[str, Limits] = Frozen(
    twenty_questions=Limits(4),
    guess_my_city=Limits(4),
    customer_service=Limits(4),
    murder_mystery=Limits(4),
    wordle=Limits(2),
    cellular_automata=Limits(2),
    mastermind=Limits(3, 100),
    battleship=Limits(4),
    minesweeper=Limits(4),
    best_arm=Limits(4),
)
"""PAPRIKA's task groups. Samples per task: appendix C. Turns: the default of its code, 4, for games of 20 turns; for
shorter games a fifth of their turns, rounded up, which is ours. Other environments get `Limits()`."""

PUBLISHED_SLOWER = 20
"""`slower` in the paper's scripts, the length of its longest games: no success is ever slow enough."""

FirstMove = Callable[[Trajectory], Hashable]


def env_limits(env: str) -> Limits:
    """The limits of an environment."""
    return PAPRIKA.get(env, Limits())


def is_success(t: Trajectory) -> bool:
    """Whether the game was won and no judge disagrees."""
    return t.outcome is not None and t.outcome.success


def has_ended(t: Trajectory) -> bool:
    """Whether the game ended by itself, rather than by an outside failure."""
    return t.outcome is not None and t.outcome.kind != "error"


def episode_return(t: Trajectory) -> float:
    """The return: the sum of the agent's rewards."""
    parts = [act.rewards.get(AGENT, 0.0) for act in t.opening] + [turn.rewards.get(AGENT, 0.0) for turn in t.turns]
    return math.fsum(parts)


def episode_cost(t: Trajectory, rules: Rules = "paper") -> float:
    """What to minimise: turns; by the paper's code, in best-arm identification, minus the pulls that paid."""
    if rules == "code" and t.task.env == "best_arm":
        return -sum(float(turn.info.get("reward", 0)) for turn in t.turns)
    return len(t.turns)


def count_longest_row(t: Trajectory) -> int:
    """The length of the longest row, to which length limits apply; 0 where the agent said nothing (its first prompt was
    too long for the model)."""
    if t.turns and not has_ids(t):
        raise UserError(
            f"trajectory {t.id}: max_tokens needs token ids, and its acts carry none; allowed: max_tokens=None, or "
            "the trajectory converted by sonde.train.data.as_sampled"
        )
    return max(map(len, make_rows(t)), default=0)


def group_by_world(trajectories: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    """Trajectories by group (one task in one world), in the order in which they first occur."""
    groups: dict[str, list[Trajectory]] = {}
    for t in trajectories:
        groups.setdefault(t.group, []).append(t)
    return groups


def first_reveal(t: Trajectory) -> Hashable:
    """Minesweeper: the first opened cell; None if there is none."""
    opened = (turn.info.get("cell") for turn in t.turns if turn.info.get("result") in ("safe", "mine", "win"))
    cell = next(opened, None)
    return None if cell is None else tuple(cast("Sequence[int]", cell))


FIRST_MOVES: Mapping[str, FirstMove] = Frozen[FirstMove](minesweeper=first_reveal)
"""Environments whose worlds depend on the first move, and how to find it."""


def first_move(env: str, asked: Collection[str]) -> FirstMove:
    """The first move of a game, if the environment is among those `asked` about; otherwise the same for all games."""
    return FIRST_MOVES[env] if env in asked else _no_first_move


def _no_first_move(t: Trajectory) -> Hashable:
    return None


# --- supervised ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SFTRule(Checked):
    """Which successes to learn from.

    `distinct`: one of each number of turns (False: all). `within`: only those within this many turns of the best of
    their task (None: any number, as in the paper). Delta-Belief-RL (appendix E.1) takes all of the shortest:
    `distinct=False, within=0`. `max_tokens`: longer trajectories are left out first; None sets no limit, as
    trajectories without token ids require (the paper's limit is `data.SFT_TOKENS`). `rules="code"` counts the pulls
    that paid in best-arm identification.
    """

    called = "rule"

    distinct: bool = True
    within: int | None = None
    max_tokens: int | None = None
    rules: Rules = "paper"

    def __post_init__(self) -> None:
        _check_least("within", self.within, 0)
        _check_least("max_tokens", self.max_tokens, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of a selection's input. Episodes that `failed` for outside reasons (or never ended) and those `too_long`
    are left out first; a *task* is a task in one world; `solved` tasks have a success."""

    tasks: int = 0
    trajectories: int = 0
    failed: int = 0
    too_long: int = 0
    solved: int = 0

    def to_json(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Selection:
    """The selected trajectories, task by task, best first."""

    trajectories: tuple[Trajectory, ...]
    counts: Counts


def select_successes(trajectories: Iterable[Trajectory], rule: SFTRule | None = None) -> Selection:
    """Per task, one success of each number of turns, fewest first; the first sample among equals."""
    rule = rule or SFTRule()
    groups, counts = _group_usable(trajectories, rule.max_tokens)
    chosen = tuple(t for group in groups for t in _pick_successes(group, rule))
    return Selection(trajectories=chosen, counts=counts)


def _pick_successes(group: Sequence[Trajectory], rule: SFTRule) -> Iterator[Trajectory]:
    best, before = 0.0, None
    for t in _sort_successes(group, rule.rules):
        needed = episode_cost(t, rule.rules)
        if before is None:
            best = needed
        near = rule.within is None or needed - best <= rule.within
        if near and not (rule.distinct and needed == before):
            yield t
        before = needed


@dataclass(frozen=True, kw_only=True)
class ShareRule(Checked):
    """Which share of a set to imitate, as in LMRL-Gym (section 5, appendix E): all episodes (behavioural cloning), the
    `top` share by return, or the successes; both: the top share of the successes. Lost games and those with unreadable
    answers count like any other. `max_tokens` as in `SFTRule`. `last_rounds`: of the episodes that an online training
    kept (`online.save_episodes`), only those of its last rounds of play, as in LMRL-Gym's table 10."""

    called = "rule"

    top: float = 1.0
    success: bool = False
    max_tokens: int | None = None
    last_rounds: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.top <= 1:
            raise invalid("top", self.top, "above 0, at most 1")
        _check_least("max_tokens", self.max_tokens, 1)
        _check_least("last_rounds", self.last_rounds, 1)


def select_share(trajectories: Iterable[Trajectory], rule: ShareRule) -> Selection:
    """The episodes that the rule admits, in their order; ties in return are spread over as many tasks as possible."""
    given = list(trajectories)
    if rule.last_rounds is not None:
        given = select_last_rounds(given, rule.last_rounds)
    groups, counts = _group_usable(given, rule.max_tokens)
    admitted = [[t for t in group if is_success(t) or not rule.success] for group in groups]
    kept = top_share([[episode_return(t) for t in group] for group in admitted], rule.top)
    return Selection(trajectories=tuple(admitted[i][j] for i, j in kept), counts=counts)


def select_last_rounds(trajectories: Sequence[Trajectory], n: int) -> list[Trajectory]:
    """The episodes of the last `n` rounds of play of an online training, which tags them with their step."""
    untold = next((t for t in trajectories if not t.tags.get("step", "").isdigit()), None)
    if untold is not None:
        allowed = "None, or the episodes of an online training (online.save_episodes)"
        raise invalid("rule: last_rounds", n, f"{allowed}: trajectory {untold.id} has no step")
    rounds = sorted({int(t.tags["step"]) for t in trajectories})[-n:]
    return [t for t in trajectories if int(t.tags["step"]) in rounds]


def top_share(scores: Sequence[Sequence[float]], share: float) -> list[tuple[int, int]]:
    """The positions (group, sample) of the highest scores, in their order: a share of all, rounded up.

    Among equal scores first samples come first, then second ones: with win-or-lose rewards, going group by group would
    learn from a few tasks only.
    """
    places = [(-value, j, i) for i, group in enumerate(scores) for j, value in enumerate(group)]
    return sorted((i, j) for _, j, i in sorted(places)[: count_share(share, len(places))])


def count_share(share: float, n: int) -> int:
    """How many a share of n is, rounded up; what floating point adds to a product does not count.

    >>> count_share(0.07, 100), count_share(0.07, 101)
    (7, 8)
    """
    return math.ceil(share * n * (1 - 1e-12))


# --- preferences -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PairRule(Checked):
    """Which trajectory is preferred to which.

    `slower`: a success is worse than the best if it took at least this many more turns; None is the environment's
    number (`PAPRIKA`). `per_task`: pairs per task, all with the same chosen one. `negatives`: outcomes of failures that
    may be rejected. `same_first_move`: environments in which both of a pair must begin with the same reveal.
    `max_tokens` as in `SFTRule` (the paper's limit is `data.RPO_TOKENS`). `rules="code"`: see the module; it has its
    own `slower` and does not require equal first moves.
    """

    called = "rule"

    slower: int | None = None
    per_task: int = 1
    negatives: tuple[Kind, ...] = ("loss", "out_of_turns")
    same_first_move: tuple[str, ...] = ("minesweeper",)
    max_tokens: int | None = None
    rules: Rules = "paper"

    def __post_init__(self) -> None:
        _check_least("slower", self.slower, 1)
        _check_least("per_task", self.per_task, 1)
        _check_least("max_tokens", self.max_tokens, 1)
        allowed = [kind for kind in get_args(Kind) if kind not in ("win", "error")]
        for kind in self.negatives:
            if kind not in allowed:
                raise invalid("negatives", kind, ", ".join(allowed))
        for env in self.same_first_move:
            if env not in FIRST_MOVES:
                raise invalid("same_first_move", env, ", ".join(FIRST_MOVES))


class Preference(NamedTuple):
    """Two trajectories of one task in one world."""

    chosen: Trajectory
    rejected: Trajectory


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairSelection:
    """The pairs, task by task. `one_sided` tasks have a success but nothing worse to pair it with."""

    pairs: tuple[Preference, ...]
    counts: Counts
    one_sided: int = 0


def select_pairs(trajectories: Iterable[Trajectory], rule: PairRule | None = None, seed: int = 0) -> PairSelection:
    """Per task, the best success over a worse trajectory drawn by `(seed, "pair", task id, world seed)`."""
    rule = rule or PairRule()
    groups, counts = _group_usable(trajectories, rule.max_tokens)
    drawn = [_draw_pairs(group, rule, seed) for group in groups]
    preferences = tuple(pair for row in drawn for pair in row)
    return PairSelection(pairs=preferences, counts=counts, one_sided=counts.solved - sum(map(bool, drawn)))


def _draw_pairs(group: Sequence[Trajectory], rule: PairRule, seed: int) -> list[Preference]:
    """The pairs of one task, from the comparable games that contain its best success."""
    rng = Rng(seed, "pair", group[0].task.id, group[0].seed)
    for best, lower in _list_candidates(group, rule):
        if lower:
            return [Preference(best, t) for t in rng.sample(lower, min(rule.per_task, len(lower)))]
        if rule.rules == "code":
            return [Preference(best, best)]
    return []


def _list_candidates(group: Sequence[Trajectory], rule: PairRule) -> Iterator[tuple[Trajectory, list[Trajectory]]]:
    """For each first move, fewest turns first: the best success and everything worse."""
    move = first_move(group[0].task.env if rule.rules == "paper" else "", rule.same_first_move)
    seen: set[Hashable] = set()
    for best in _sort_successes(group, rule.rules):
        begun = move(best)
        if begun not in seen:
            seen.add(begun)
            yield best, [t for t in group if move(t) == begun and _is_worse(t, best, rule)]


def _is_worse(t: Trajectory, best: Trajectory, rule: PairRule) -> bool:
    """Whether `t` may be rejected in favour of `best`; never where the agent said nothing."""
    if is_success(t):
        slower = PUBLISHED_SLOWER if rule.rules == "code" else env_limits(t.task.env).slower
        more = episode_cost(t, rule.rules) - episode_cost(best, rule.rules)
        return more >= (slower if rule.slower is None else rule.slower)
    negative = bool(t.turns) and failure_kind(t) in rule.negatives
    return negative and not (rule.rules == "code" and _invalid_end(t))


def failure_kind(t: Trajectory) -> str:
    """The kind of a failure; a win that a judge revoked is a loss."""
    kind = t.outcome.kind if t.outcome else "error"
    return "loss" if kind == "win" else kind


def _invalid_end(t: Trajectory) -> bool:
    """Whether the paper's code drops it: the game claims that its goal is reached, and the judge disagrees."""
    outcome = t.outcome
    assert outcome is not None
    claimed = bool(outcome.claimed) and not outcome.success
    return claimed or (t.task.env == "minesweeper" and outcome.kind == "loss")


def _group_usable(trajectories: Iterable[Trajectory], max_tokens: int | None) -> tuple[list[list[Trajectory]], Counts]:
    """Usable trajectories by group, sorted by sample; empty groups are dropped."""
    given = list(trajectories)
    whole = [t for t in given if has_ended(t)]
    short = [t for t in whole if max_tokens is None or count_longest_row(t) <= max_tokens]
    groups = [sorted(group, key=lambda t: t.sample) for group in group_by_world(short).values()]
    counts = Counts(
        tasks=len(group_by_world(given)),
        trajectories=len(given),
        failed=len(given) - len(whole),
        too_long=len(whole) - len(short),
        solved=sum(any(map(is_success, group)) for group in groups),
    )
    return groups, counts


def _sort_successes(group: Sequence[Trajectory], rules: Rules) -> list[Trajectory]:
    """The successes, fewest turns first, then by sample."""
    return sorted(filter(is_success, group), key=lambda t: (episode_cost(t, rules), t.sample))


def _check_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise invalid(name, value, f"{least} or more")


# --- the table -------------------------------------------------------------------------------------------------------


TOTAL = "total"
HEADINGS: Mapping[str, str] = {
    "name": "group",
    "tasks": "tasks",
    "trajectories": "trajectories",
    "failed": "failed",
    "success": "success",
    "best_of_k": "best of k",
    "sft": "SFT trajectories",
    "pairs": "pairs",
    "turns": "turns",
    "tokens": "tokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """One line of the table.

    `tasks` are counted per world; `failed` episodes (for outside reasons, or never ended) enter no rate or mean.
    `success` is the share of episodes that succeed, `best_of_k` the share of tasks with a success. `sft` and `pairs`
    count what the rules select. `turns` and `tokens` are means per episode, the latter over episodes with token ids,
    all rows together; None where there is nothing to average.
    """

    name: str
    tasks: int
    trajectories: int
    failed: int
    success: float | None
    best_of_k: float | None
    sft: int
    pairs: int
    turns: float | None
    tokens: float | None

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def format_cells(self) -> tuple[str, ...]:
        """The cells as text, in the order of `HEADINGS`."""
        shown = {
            **self.to_json(),
            "success": _format_percent(self.success),
            "best_of_k": _format_percent(self.best_of_k),
        }
        shown |= {"turns": _format_mean(self.turns), "tokens": _format_mean(self.tokens)}
        return tuple(f"{v:,}" if isinstance(v, int) else str(v) for v in (shown[h] for h in HEADINGS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The table: one line per group, and a total."""

    lines: tuple[TableLine, ...]
    total: TableLine

    def to_json(self) -> dict[str, Any]:
        return {"lines": [line.to_json() for line in self.lines], TOTAL: self.total.to_json()}

    def format_rows(self) -> list[tuple[str, ...]]:
        """Headings, lines and total as text."""
        return [tuple(HEADINGS.values()), *(line.format_cells() for line in (*self.lines, self.total))]


def compute_statistics(
    trajectories: Iterable[Trajectory],
    sft: SFTRule | ShareRule | None = None,
    pair: PairRule | None = None,
    *,
    by: str = "env",
) -> Statistics:
    """The table of trajectories under these rules (PAPRIKA's own by default), by environment or by a tag of the
    tasks."""
    given = list(trajectories)
    groups: dict[str, list[Trajectory]] = {}
    for t in given:
        groups.setdefault(_group_name(t, by), []).append(t)
    learned = _select_any(given, sft)
    chosen = [pair.chosen for pair in select_pairs(given, pair).pairs]
    n_sft, n_pairs = (Counter(_group_name(t, by) for t in found) for found in (learned, chosen))
    lines = tuple(_make_line(name, group, n_sft[name], n_pairs[name]) for name, group in groups.items())
    return Statistics(lines=lines, total=_make_line(TOTAL, given, len(learned), len(chosen)))


def _group_name(t: Trajectory, by: str) -> str:
    return t.task.env if by == "env" else t.task.tags.get(by, "")


def _select_any(trajectories: list[Trajectory], rule: SFTRule | ShareRule | None) -> tuple[Trajectory, ...]:
    """What supervised training under this rule learns from."""
    selected = select_share(trajectories, rule) if isinstance(rule, ShareRule) else select_successes(trajectories, rule)
    return selected.trajectories


def _make_line(name: str, trajectories: list[Trajectory], sft: int, pairs: int) -> TableLine:
    whole = [t for t in trajectories if has_ended(t)]
    solved = [any(map(is_success, group)) for group in group_by_world(whole).values()]
    return TableLine(
        name=name,
        tasks=len(group_by_world(trajectories)),
        trajectories=len(trajectories),
        failed=len(trajectories) - len(whole),
        success=_mean_or_none([float(is_success(t)) for t in whole]),
        best_of_k=_mean_or_none([float(s) for s in solved]),
        sft=sft,
        pairs=pairs,
        turns=_mean_or_none([float(len(t.turns)) for t in whole]),
        tokens=_mean_or_none([float(sum(map(len, make_rows(t)))) for t in whole if has_ids(t)]),
    )


def _mean_or_none(values: list[float]) -> float | None:
    return fmean(values) if values else None


def _format_percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f}%"


def _format_mean(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.1f}"
