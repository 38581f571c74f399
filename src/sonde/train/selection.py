"""What is worth learning from: which trajectories supervised training gets, and which pairs preference training gets.

Source: PAPRIKA (arXiv 2502.17543), section 3.2 and appendix C. Trajectories of one task in one world are compared, and
fewer turns are better. *SFT*: the successes with distinct numbers of turns. *Pairs*: the success in fewest turns over
one drawn at random from those that are clearly lower, failures and successes that took many more turns; one pair per
task, because more of them made the likelihood of the chosen fall. Episodes that the world failed are never used, nor
are those that ended because an answer could not be read (the paper filters them away; `negatives` can admit them).

Departures, each undone by `as_published=True`. A game that was lost by its rules (a mine, a wrong accusation) is a
legitimate negative; the paper's code drops it, because its judge calls the end invalid. A trajectory is never paired
with itself; that code pairs the best with itself where nothing lower exists. How many more turns are many depends on
the environment (`trials.PAPRIKA`); its scripts ask for 20, so that only failures qualify. In best-arm identification
every game takes the same turns; that code counts the pulls that paid instead, which prefers luck to identification. In
minesweeper, where the first reveal decides where mines lie, both of a pair must begin with the same reveal; the paper
says that its pairs should have been filtered so.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, get_args

from sonde._util.argument_checks import Checked
from sonde.core import Rng, Trajectory, invalid
from sonde.core.types import Kind

from .trials import FIRST_MOVES, PUBLISHED_SLOWER, by_world, cost, ended, first_move, limits, score, success, tokens

# --- supervised ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SFTRule(Checked):
    """Which successes are learnt from.

    `distinct`: one of each number of turns (False: all). `within`: only those within this many turns of the best of
    their task (None: any number, as in the paper). Delta-Belief-RL (appendix E.1) takes all of the shortest, that is
    `distinct=False, within=0`. `max_tokens`: longer trajectories are left out first; None does not look at tokens,
    which trajectories without token ids need (the paper's number is `data.SFT_TOKENS`). `as_published` counts pulls
    that paid in best-arm identification.
    """

    called = "rule"

    distinct: bool = True
    within: int | None = None
    max_tokens: int | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        _check("within", self.within, 0)
        _check("max_tokens", self.max_tokens, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a selection looked at: episodes that the world `failed` (or that never ended) and those `too_long` are left
    out before anything else; a *task* is a task in one world; `solved` tasks have a success."""

    tasks: int = 0
    trajectories: int = 0
    failed: int = 0
    too_long: int = 0
    solved: int = 0

    def to_json(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Selection:
    """The trajectories that were chosen, task by task, best first."""

    trajectories: tuple[Trajectory, ...]
    counts: Counts


def sft_set(trajectories: Iterable[Trajectory], rule: SFTRule | None = None) -> Selection:
    """Per task, one success of each number of turns, fewest first; of several with equal turns the first sample."""
    rule = rule or SFTRule()
    groups, counts = _groups(trajectories, rule.max_tokens)
    found = tuple(t for group in groups for t in _learnt(group, rule))
    return Selection(trajectories=found, counts=counts)


def _learnt(group: Sequence[Trajectory], rule: SFTRule) -> Iterator[Trajectory]:
    best, before = 0.0, None
    for t in _successes(group, rule.as_published):
        needed = cost(t, rule.as_published)
        if before is None:
            best = needed
        near = rule.within is None or needed - best <= rule.within
        if near and not (rule.distinct and needed == before):
            yield t
        before = needed


@dataclass(frozen=True, kw_only=True)
class ShareRule(Checked):
    """Which episodes are imitated, of a whole set, as LMRL-Gym (section 5, appendix E) has it: all (behavioural
    cloning), the `top` share by return, or the successes; both: the top share of the successes. Lost games and those
    that broke the format count as any other. `max_tokens` as in `SFTRule`."""

    called = "rule"

    top: float = 1.0
    success: bool = False
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.top <= 1:
            raise invalid("top", self.top, "above 0, at most 1")
        _check("max_tokens", self.max_tokens, 1)


def best_share(trajectories: Iterable[Trajectory], rule: ShareRule) -> Selection:
    """The episodes that the rule admits, in their order; equal returns are taken from as many tasks as have them."""
    groups, counts = _groups(trajectories, rule.max_tokens)
    found = [[t for t in group if success(t) or not rule.success] for group in groups]
    kept = top_share([[score(t) for t in group] for group in found], rule.top)
    return Selection(trajectories=tuple(found[i][j] for i, j in kept), counts=counts)


def top_share(scores: Sequence[Sequence[float]], share: float) -> list[tuple[int, int]]:
    """The places (group, sample) of the highest scores, in their order: a share of all, rounded up.

    Of equal scores those of first samples come first, then those of second ones: where rewards say no more than win or
    lose, taking them group by group would learn from a few tasks alone.
    """
    places = [(-value, j, i) for i, group in enumerate(scores) for j, value in enumerate(group)]
    return sorted((i, j) for _, j, i in sorted(places)[: math.ceil(share * len(places))])


# --- preferences -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PairRule(Checked):
    """Which trajectory is preferred to which.

    `slower`: a success is lower than the best if it took at least this many more turns; None takes the environment's
    (`trials.PAPRIKA`). `per_task`: pairs per task, all with the same chosen one. `negatives`: outcomes of failures
    that may be rejected. `same_first_move`: environments in which both of a pair must begin with the same reveal.
    `max_tokens` as in `SFTRule` (the paper's number is `data.RPO_TOKENS`). `as_published`: see the module; it has its
    own `slower`, and asks for no equal first move.
    """

    called = "rule"

    slower: int | None = None
    per_task: int = 1
    negatives: tuple[Kind, ...] = ("loss", "timeout")
    same_first_move: tuple[str, ...] = ("minesweeper",)
    max_tokens: int | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        _check("slower", self.slower, 1)
        _check("per_task", self.per_task, 1)
        _check("max_tokens", self.max_tokens, 1)
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
    """The pairs, task by task. `one_sided` tasks have a success but nothing lower to set against it."""

    pairs: tuple[Preference, ...]
    counts: Counts
    one_sided: int = 0


def pairs(trajectories: Iterable[Trajectory], rule: PairRule | None = None, seed: int = 0) -> PairSelection:
    """Per task, the best success over a lower trajectory drawn by `(seed, "pair", task id, world seed)`."""
    rule = rule or PairRule()
    groups, counts = _groups(trajectories, rule.max_tokens)
    drawn = [_drawn(group, rule, seed) for group in groups]
    found = tuple(pair for row in drawn for pair in row)
    return PairSelection(pairs=found, counts=counts, one_sided=counts.solved - sum(map(bool, drawn)))


def _drawn(group: Sequence[Trajectory], rule: PairRule, seed: int) -> list[Preference]:
    """The pairs of one task: of the games that may be compared, those whose best is best of all."""
    rng = Rng(seed, "pair", group[0].task.id, group[0].seed)
    for best, lower in _comparable(group, rule):
        if lower:
            return [Preference(best, t) for t in rng.sample(lower, min(rule.per_task, len(lower)))]
        if rule.as_published:
            return [Preference(best, best)]
    return []


def _comparable(group: Sequence[Trajectory], rule: PairRule) -> Iterator[tuple[Trajectory, list[Trajectory]]]:
    """For each way to begin, fewest turns first: the best success and everything lower."""
    move = first_move(group[0].task.env if not rule.as_published else "", rule.same_first_move)
    seen: set[Hashable] = set()
    for best in _successes(group, rule.as_published):
        begun = move(best)
        if begun not in seen:
            seen.add(begun)
            yield best, [t for t in group if move(t) == begun and _lower(t, best, rule)]


def _lower(t: Trajectory, best: Trajectory, rule: PairRule) -> bool:
    """Whether `t` may be rejected in favour of `best`."""
    if success(t):
        slower = PUBLISHED_SLOWER if rule.as_published else limits(t.task.env).slower
        more = cost(t, rule.as_published) - cost(best, rule.as_published)
        return more >= (slower if rule.slower is None else rule.slower)
    return failure(t) in rule.negatives and not (rule.as_published and _invalid_end(t))


def failure(t: Trajectory) -> str:
    """The kind of a failure; a win that a judge took back is a loss."""
    kind = t.outcome.kind if t.outcome else "error"
    return "loss" if kind == "win" else kind


def _invalid_end(t: Trajectory) -> bool:
    """Whether the paper's code would drop it: the game says that its goal is reached, and the judge that it is not."""
    outcome = t.outcome
    assert outcome is not None
    claimed = bool(outcome.claimed) and not outcome.success
    return claimed or (t.task.env == "minesweeper" and outcome.kind == "loss")


def _groups(trajectories: Iterable[Trajectory], max_tokens: int | None) -> tuple[list[list[Trajectory]], Counts]:
    """Usable trajectories by group, each sorted by sample; groups without any are dropped."""
    found = list(trajectories)
    whole = [t for t in found if ended(t)]
    short = [t for t in whole if max_tokens is None or tokens(t) <= max_tokens]
    groups = [sorted(group, key=lambda t: t.sample) for group in by_world(short).values()]
    counts = Counts(
        tasks=len(by_world(found)),
        trajectories=len(found),
        failed=len(found) - len(whole),
        too_long=len(whole) - len(short),
        solved=sum(any(map(success, group)) for group in groups),
    )
    return groups, counts


def _successes(group: Sequence[Trajectory], as_published: bool) -> list[Trajectory]:
    """Fewest turns first, of equal ones the first sample."""
    return sorted(filter(success, group), key=lambda t: (cost(t, as_published), t.sample))


def _check(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise invalid(name, value, f"{least} or more")
