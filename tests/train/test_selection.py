"""Selection of training episodes: rules by hand, with and without the paper's defects, and table 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde import UserError
from sonde.core import AGENT, Act, Action, Frozen, Outcome, Trajectory
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.data import pair_samples
from sonde.train.selection import (
    HEADINGS,
    PAPRIKA,
    Counts,
    Limits,
    PairRule,
    SFTRule,
    ShareRule,
    compute_statistics,
    count_share,
    env_limits,
    episode_cost,
    first_reveal,
    select_pairs,
    select_share,
    select_successes,
    top_share,
)
from tests.cases import each

from .trajectories import ERROR, FORMAT, LOSS, TIMEOUT, WIN, act, played, trajectory, with_tokens

UNDONE = Outcome("win", 1.0, claimed=True, judged=False)


def group(*ends: tuple[int, Outcome], **more: Any) -> list[Trajectory]:
    """Samples of one task: turns and outcome of each."""
    return [played(n, outcome, sample=i, **more) for i, (n, outcome) in enumerate(ends)]


def ids(found: Sequence[Trajectory]) -> list[int]:
    return [t.sample for t in found]


# --- supervised ------------------------------------------------------------------------------------------------------

GAMES = group((7, WIN), (4, WIN), (12, TIMEOUT), (4, WIN), (9, WIN), (5, UNDONE), (7, WIN), (3, FORMAT))


def test_one_success_of_each_number_of_turns_best_first() -> None:
    found = select_successes(GAMES)
    assert ids(found.trajectories) == [1, 0, 4]
    assert found.counts == Counts(tasks=1, trajectories=8, solved=1)


def test_within_some_turns_of_the_best() -> None:
    assert ids(select_successes(GAMES, SFTRule(within=3)).trajectories) == [1, 0]
    assert ids(select_successes(GAMES, SFTRule(within=0)).trajectories) == [1]


def test_all_of_the_shortest() -> None:
    """Delta-Belief-RL, appendix E.1: the wins in fewest turns, ties included."""
    assert ids(select_successes(GAMES, SFTRule(distinct=False, within=0)).trajectories) == [1, 3]
    assert ids(select_successes(GAMES, SFTRule(distinct=False)).trajectories) == [1, 3, 0, 6, 4]


def test_order_of_arrival_does_not_matter() -> None:
    assert ids(select_successes(GAMES[::-1]).trajectories) == [1, 0, 4]


def test_tasks_are_apart_and_so_are_their_worlds() -> None:
    games = [*group((4, WIN)), *group((4, WIN), task=1), *group((4, WIN), seed=1), *group((2, LOSS), task=2)]
    found = select_successes(games)
    assert [t.id for t in found.trajectories] == ["mastermind-0-0-0", "mastermind-1-0-0", "mastermind-0-1-0"]
    assert (found.counts.tasks, found.counts.solved) == (4, 3)


def test_long_ones_are_left_out_before_the_best_is_sought() -> None:
    games = [with_tokens(t, n) for t, n in zip(group((3, WIN), (5, WIN), (6, ERROR)), (101, 100, 1), strict=True)]
    found = select_successes(games, SFTRule(within=0, max_tokens=100))
    assert ids(found.trajectories) == [1]
    assert found.counts == Counts(tasks=1, trajectories=3, failed=1, too_long=1, solved=1)
    with pytest.raises(UserError, match=r"trajectory mastermind-0-0-0: max_tokens needs token ids.*as_sampled"):
        select_successes(GAMES, SFTRule(max_tokens=100))


def test_an_episode_in_which_the_agent_said_nothing_is_short_and_never_rejected() -> None:
    silent = trajectory([], Outcome("out_of_turns", truncated="context"), sample=2)
    won, lost = with_tokens(played(2), 50), with_tokens(played(2, LOSS, sample=1), 50)
    assert select_successes([silent, won], SFTRule(max_tokens=100)).counts.too_long == 0
    [pair] = select_pairs([won, lost, silent], PairRule(per_task=2, max_tokens=100)).pairs
    assert pair.rejected is lost


def test_the_best_share_of_all() -> None:
    games = [earned(0, -3.0), earned(1, -1.0, WIN), earned(2, -2.0), earned(3, -1.0), earned(4, -9.0, ERROR)]
    assert ids(select_share(games, ShareRule()).trajectories) == [0, 1, 2, 3]
    assert ids(select_share(games, ShareRule(top=0.5)).trajectories) == [1, 3]
    assert ids(select_share(games, ShareRule(top=0.6)).trajectories) == [1, 2, 3]  # 2.4, rounded up
    assert ids(select_share(games, ShareRule(top=0.01)).trajectories) == [1]  # of equal ones the first
    assert ids(select_share(games, ShareRule(success=True)).trajectories) == [1]
    assert select_share(games, ShareRule(top=0.5)).counts.failed == 1
    assert select_share([], ShareRule()).trajectories == ()


def test_the_last_rounds_of_an_online_training() -> None:
    """Rounds are steps at which was played, compared as numbers; as in LMRL-Gym's table 10."""
    steps = (0, 9, 10, 10, 2)
    games = [replace(earned(i, 0.0), tags={"step": str(step)}) for i, step in enumerate(steps)]
    assert ids(select_share(games, ShareRule(last_rounds=1)).trajectories) == [2, 3]
    assert ids(select_share(games, ShareRule(last_rounds=2)).trajectories) == [1, 2, 3]
    assert ids(select_share(games, ShareRule(last_rounds=9)).trajectories) == [0, 1, 2, 3, 4]
    with pytest.raises(UserError, match="rule: last_rounds: got 2, allowed: None, or the episodes of an online"):
        select_share([trajectory([[act()]])], ShareRule(last_rounds=2))


def test_of_equal_returns_every_task_has_its_share() -> None:
    wins = [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    assert top_share(wins, 4 / 9) == [(0, 0), (0, 1), (1, 1), (2, 0)]
    assert top_share([[2.0, 1.0, 3.0], [1.0, 2.5]], 0.4) == [(0, 2), (1, 1)]
    assert top_share([], 0.5) == top_share([[], []], 0.5) == []


def test_a_share_that_is_a_whole_number_is_not_rounded_up() -> None:
    """0.07 * 100 is above 7 in floating point."""
    hundredths = ((k, n) for k in range(1, 101) for n in range(300))
    assert all(count_share(k / 100, n) == -(-k * n // 100) for k, n in hundredths)
    assert len(top_share([[float(i) for i in range(100)]], 0.07)) == 7


def earned(sample: int, reward: float, outcome: Outcome = LOSS) -> Trajectory:
    return trajectory([[act(reward=reward)]], outcome, sample=sample)


@each("wrong", [{"top": 0.0}, {"top": 1.1}, {"max_tokens": 0}, {"last_rounds": 0}])
def test_bad_shares_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match=r"got .*allowed"):
        ShareRule(**wrong)  # type: ignore[arg-type]


def test_nothing_in_nothing_out() -> None:
    assert select_successes([]).counts == select_pairs([]).counts == Counts()
    assert select_successes(group((3, LOSS))).trajectories == select_pairs(group((3, LOSS))).pairs == ()


# --- preferences -----------------------------------------------------------------------------------------------------


def rejected(games: Sequence[Trajectory], rule: PairRule | None = None, n: int = 200) -> set[int]:
    """The samples that are rejected under some seed; the chosen one is always the same."""
    drawn = [select_pairs(games, rule, seed).pairs for seed in range(n)]
    assert len({ids([p.chosen for p in row])[0] for row in drawn}) == 1
    return {i for row in drawn for i in ids([p.rejected for p in row])}


def test_the_best_over_what_is_clearly_lower() -> None:
    """Best: sample 1, 4 turns. Lower: a loss, a timeout, a win that was taken back, and wins in 4 + 3 turns or more."""
    games = group((7, WIN), (4, WIN), (12, TIMEOUT), (4, WIN), (6, WIN), (5, UNDONE), (9, WIN), (3, FORMAT), (8, LOSS))
    assert {p.chosen.sample for p in select_pairs(games).pairs} == {1}
    assert rejected(games) == {0, 2, 5, 6, 8}
    assert rejected(games, PairRule(slower=5)) == {2, 5, 6, 8}
    assert rejected(games, PairRule(negatives=("loss", "unreadable"))) == {0, 5, 6, 7, 8}
    assert rejected(games, PairRule(negatives=())) == {0, 6}


def test_the_turns_that_are_many_depend_on_the_environment() -> None:
    for env, slower in {"mastermind": 3, "wordle": 2, "battleship": 4, "another": 4}.items():
        games = group((2, WIN), (1 + slower, WIN), (2 + slower, WIN), env=env)
        assert rejected(games, n=20) == {2}


def test_the_draw_is_even_and_depends_on_seed_task_and_world() -> None:
    games = group((2, WIN), (9, LOSS), (9, LOSS), (9, LOSS), (9, LOSS))
    counts = Counter(select_pairs(games, seed=s).pairs[0].rejected.sample for s in range(1000))
    assert set(counts) == {1, 2, 3, 4}
    assert sum((n - 250) ** 2 / 250 for n in counts.values()) < 16.3  # chi-squared, 3 degrees of freedom, p = .001
    assert ids([p.rejected for p in select_pairs(games, seed=5).pairs]) == ids(
        [p.rejected for p in select_pairs(games, seed=5).pairs]
    )
    many = [t for task in range(30) for t in group((2, WIN), *[(9, LOSS)] * 4, task=task % 10, seed=task // 10)]
    found = select_pairs(many, seed=3)
    assert len(found.pairs) == found.counts.tasks == 30
    assert len({(p.chosen.task.index, p.rejected.sample) for p in found.pairs}) > 15
    assert [p.rejected.id for p in select_pairs(many[::-1], seed=3).pairs[::-1]] == [p.rejected.id for p in found.pairs]


def test_a_draw_never_changes() -> None:
    """A change here makes every recorded run select differently."""
    games = group((2, WIN), *[(9, LOSS)] * 20)
    assert [select_pairs(games, seed=s).pairs[0].rejected.sample for s in range(4)] == [19, 2, 12, 4]


def test_more_pairs_per_task_share_the_chosen_and_are_distinct() -> None:
    games = group((2, WIN), (9, LOSS), (9, LOSS), (9, TIMEOUT))
    found = select_pairs(games, PairRule(per_task=2)).pairs
    assert [p.chosen.sample for p in found] == [0, 0]
    assert len({p.rejected.sample for p in found}) == 2
    assert sorted(ids([p.rejected for p in select_pairs(games, PairRule(per_task=9)).pairs])) == [1, 2, 3]


def test_never_against_itself() -> None:
    found = select_pairs([*group((2, WIN), (3, WIN)), *group((2, WIN), (2, LOSS), task=1)])
    assert [(p.chosen.task.index, p.rejected.sample) for p in found.pairs] == [(1, 1)]
    assert found.one_sided == 1


def test_by_the_code_pairs_with_itself_and_drops_what_a_judge_calls_invalid() -> None:
    paper = PairRule(rules="code")
    (alone,) = select_pairs(group((2, WIN), (20, WIN)), paper).pairs
    assert alone.chosen is alone.rejected
    accused = Outcome("loss", claimed=True, judged=False)
    assert rejected(group((2, WIN), (21, WIN), (22, WIN), (3, UNDONE), (4, accused), (9, TIMEOUT)), paper) == {2, 5}
    assert rejected(group((2, WIN), (3, LOSS), (9, TIMEOUT), env="minesweeper"), paper) == {2}
    assert rejected(group((2, WIN), (3, LOSS), (9, TIMEOUT), env="wordle"), paper) == {1, 2}


def test_by_the_code_best_arm_counts_pulls_that_paid() -> None:
    games = [pulled([1, 0, 0], 0), pulled([1, 1, 1], 1), pulled([1, 1, 0], 2), pulled([1, 1, 0], 3)]
    assert [episode_cost(t) for t in games] == [4, 4, 4, 4]
    assert [episode_cost(t, "code") for t in games] == [-1, -3, -2, -2]
    assert ids(select_successes(games).trajectories) == [0]
    assert ids(select_successes(games, SFTRule(rules="code")).trajectories) == [1, 2, 0]
    assert ids(select_successes(games, SFTRule(rules="code", within=1)).trajectories) == [1, 2]


def test_pulls_that_paid_in_a_real_game() -> None:
    env = sonde.make("best_arm")
    (t,) = collect_trajectories(env, {AGENT: sonde.make("agents:random")}, env.tasks("train")[:1], Plan())
    assert episode_cost(t) == 21
    assert episode_cost(t, "code") == -sum(turn.info["reward"] for turn in t.turns[:20]) < 0


def pulled(paid: Sequence[int], sample: int) -> Trajectory:
    """A game of best arm: what each pull paid, then the decision."""
    turns = [*(Act(AGENT, Action(""), Frozen(), Frozen(), Frozen(reward=r)) for r in paid), act(result="right")]
    return trajectory([[turn] for turn in turns], env="best_arm", sample=sample)


# --- minesweeper -----------------------------------------------------------------------------------------------------


def reveal(n: int, outcome: Outcome, sample: int, cell: tuple[int, int] | None, result: str = "safe") -> Trajectory:
    return played(n, outcome, env="minesweeper", sample=sample, info={"result": result, "cell": cell})


def test_minesweeper_pairs_begin_with_the_same_reveal() -> None:
    games = [
        reveal(3, WIN, 0, (0, 0)), reveal(9, LOSS, 1, (1, 1)), reveal(4, WIN, 2, (1, 1)), reveal(9, WIN, 3, (2, 2)),
        reveal(9, TIMEOUT, 4, None, "invalid"),
    ]  # fmt: skip
    (pair,) = select_pairs(games).pairs  # the best of all has no equal beginning; of those that have one, the best
    assert (pair.chosen.sample, pair.rejected.sample) == (2, 1)
    assert rejected(games, PairRule(same_first_move=())) == {1, 3, 4}
    assert rejected(games, PairRule(rules="code")) == {4}


def test_the_first_reveal_of_a_real_game() -> None:
    env = sonde.make("minesweeper")
    games = collect_trajectories(env, {"agent": sonde.make("agents:minesweeper")}, env.tasks("test")[:4], Plan(k=3))
    assert all(first_reveal(t) == t.turns[0].info["cell"] for t in games)
    assert {len(first_reveal(t)) for t in games} == {2}  # type: ignore[arg-type]
    stored = [Trajectory.from_json(t.to_json()) for t in games]
    assert [first_reveal(t) for t in stored] == [first_reveal(t) for t in games]


# --- any set ---------------------------------------------------------------------------------------------------------

OUTCOMES = st.sampled_from([WIN, WIN, LOSS, TIMEOUT, FORMAT, ERROR, UNDONE])
SETS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9), OUTCOMES), max_size=20)


@given(games=SETS, seed=st.integers(0, 9), published=st.booleans())
def test_what_is_selected_keeps_the_rules(games: list[tuple[int, int, Outcome]], seed: int, published: bool) -> None:
    found = [played(n, end, task=task, sample=i) for i, (task, n, end) in enumerate(games)]
    chosen = select_successes(found)
    assert len({(t.group, len(t.turns)) for t in chosen.trajectories}) == len(chosen.trajectories)
    won = [t for t in found if t.outcome and t.outcome.success]
    assert {(t.group, len(t.turns)) for t in chosen.trajectories} == {(t.group, len(t.turns)) for t in won}
    drawn = select_pairs(found, PairRule(rules="code" if published else "paper"), seed)
    assert len({p.chosen.group for p in drawn.pairs}) == len(drawn.pairs) == drawn.counts.solved - drawn.one_sided
    for best, lower in drawn.pairs:
        assert best.group == lower.group and best in won
        assert len(best.turns) == min(len(t.turns) for t in won if t.group == best.group)
        assert (best is lower) <= published
        assert lower.outcome and lower.outcome.kind not in ("unreadable", "error")
        assert best is lower or lower not in won or len(lower.turns) - len(best.turns) >= (20 if published else 3)


# --- settings --------------------------------------------------------------------------------------------------------


@each(
    "rule, options, message",
    [
        (SFTRule, {"within": -1}, "within: got -1, allowed: 0 or more"),
        (SFTRule, {"max_tokens": 0}, "max_tokens: got 0, allowed: 1 or more"),
        (PairRule, {"slower": 0}, "slower: got 0, allowed: 1 or more"),
        (PairRule, {"per_task": 0}, "per_task: got 0, allowed: 1 or more"),
        (PairRule, {"negatives": ("win",)}, "negatives: got 'win', allowed: loss, unreadable, out_of_turns"),
        (PairRule, {"same_first_move": ("wordle",)}, "same_first_move: got 'wordle', allowed: minesweeper"),
    ],
)
def test_bad_settings_are_errors(rule: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        rule(**options)


def test_the_table_names_environments_that_exist() -> None:
    assert set(PAPRIKA) <= set(sonde.core.names("envs"))
    assert {env for env, row in PAPRIKA.items() if row.samples != 20} == {"mastermind"}
    assert env_limits("mastermind") == Limits(3, 100)
    assert env_limits("nowhere") == Limits(4, 20)


# --- statistics ------------------------------------------------------------------------------------------------------


def test_statistics_by_hand() -> None:
    games = [
        *(with_tokens(t, 10 * (i + 1)) for i, t in enumerate(group((2, WIN), (4, WIN), (6, LOSS), (9, ERROR)))),
        *group((12, TIMEOUT), (12, TIMEOUT), task=1),
        *group((3, WIN), (3, WIN), env="wordle"),
    ]
    table = compute_statistics(games)
    one, two = table.lines
    assert one.to_json() == {
        "name": "mastermind", "tasks": 2, "trajectories": 6, "failed": 1, "success": 2 / 5, "best_of_k": 1 / 2,
        "sft": 2, "pairs": 1, "turns": 36 / 5, "tokens": 20.0,
    }  # fmt: skip
    assert (two.success, two.best_of_k, two.sft, two.pairs, two.turns, two.tokens) == (1.0, 1.0, 1, 0, 3.0, None)
    assert (table.total.tasks, table.total.sft, table.total.pairs) == (3, 3, 1)
    assert (table.total.success, table.total.turns) == (4 / 7, 6.0)
    assert table.to_json()["total"]["trajectories"] == 8
    headings, *lines = table.format_rows()
    assert headings == tuple(HEADINGS.values())
    assert lines[0] == ("mastermind", "2", "6", "1", "40.0%", "50.0%", "2", "1", "7.2", "20.0")
    assert lines[1][-1] == "n/a" and lines[-1][0] == "total"


def test_statistics_follow_the_rules_and_group_by_any_tag() -> None:
    games = [*group((2, WIN), (9, LOSS), tags={"difficulty": "easy"}), *group((2, WIN), (4, WIN), task=1)]
    table = compute_statistics(games, SFTRule(within=0), PairRule(rules="code"), by="difficulty")
    assert [(line.name, line.sft, line.pairs) for line in table.lines] == [("easy", 1, 1), ("", 1, 1)]
    assert compute_statistics([]).total.success is None


def test_selected_pairs_become_samples() -> None:
    games = [with_tokens(t, 5) for t in group((2, WIN), (9, LOSS))]
    ((chosen, other),), report = pair_samples(select_pairs(games).pairs)
    assert (chosen.success, other.success, report.rows) == (True, False, 2)
