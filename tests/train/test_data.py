"""Rows of tokens: every sampled token once, after exactly the prompt it was sampled from."""

from __future__ import annotations

import math
import subprocess
import sys
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde import Completion, UserError
from sonde.agents.llm import LLM
from sonde.core import AGENT, Act, Message, Outcome, Trajectory
from sonde.models import fake
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.data import RowReport, make_rows, make_samples, pair_samples
from sonde.train.types import Row
from tests.cases import each

from .trajectories import ERROR, LOSS, TIMEOUT, WIN, act, call, trajectory

TWO = [[act(call([3, 2], [9, 9], weights="a"))], [act(call([4, 2], [8], 4, weights="b"), reward=1.0)]]


def one(t: Trajectory, **options: Any) -> tuple[Row, ...]:
    ((sample,), _) = make_samples([t], **options)
    return sample.rows


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_turns_that_extend_each_other_are_one_row() -> None:
    (row,) = one(trajectory(TWO))
    assert row.ids.tolist() == [9, 9, 3, 2, 8, 4, 2]
    assert list(row.agent) == [0, 0, 1, 1, 0, 1, 1]
    assert row.turns.tolist() == [-1, -1, 0, 0, -1, 1, 1]
    assert row.weights is not None and row.weights.tolist() == [-1, -1, 0, 0, -1, 1, 1]
    assert row.versions == ("a", "b")
    assert row.logprobs is not None
    assert [None if math.isnan(v) else v for v in row.logprobs] == [None, None, -0.375, -0.25, None, -0.5, -0.25]
    assert (row.advantages, row.reference) == (None, None)


def test_a_prompt_that_does_not_extend_begins_a_row_and_is_counted() -> None:
    turns = [*TWO, [act(call([5, 2], [7, 7], 3))]]
    ((sample,), report) = make_samples([trajectory(turns)])
    first, second = sample.rows
    assert first.ids.tolist() == [9, 9, 3, 2, 8, 4, 2]
    assert second.ids.tolist() == [9, 9, 3, 7, 7, 5, 2]
    assert list(second.agent) == [0, 0, 0, 0, 0, 1, 1]  # the 3 was sampled before, and is trained there
    assert second.turns.tolist() == [-1, -1, -1, -1, -1, 2, 2]
    assert report == RowReport(trajectories=1, rows=2, forked=1, tokens=14, agent_tokens=6)


def test_what_a_limit_on_turns_ended_is_cut() -> None:
    found, _ = make_samples([trajectory(TWO, outcome, task=i) for i, outcome in enumerate((WIN, LOSS, TIMEOUT))])
    assert [sample.cut for sample in found] == [False, False, True]


def test_every_turn_a_sample() -> None:
    found, report = make_samples([trajectory(TWO)], by_turn=True)
    assert [[row.ids.tolist() for row in sample.rows] for sample in found] == [[[9, 9, 3, 2]], [[9, 9, 3, 2, 8, 4, 2]]]
    assert [list(sample.rows[0].agent) for sample in found] == [[0, 0, 1, 1], [0, 0, 0, 0, 0, 1, 1]]
    assert [sample.rows[0].versions for sample in found] == [("a",), ("b",)]
    assert (report.rows, report.forked, report.agent_tokens) == (2, 0, 4)
    (short,), report = make_samples([trajectory(TWO)], by_turn=True, max_tokens=4)
    assert (len(short.rows[0]), report.trajectories, report.too_long, report.rows) == (4, 1, 1, 1)


def test_the_end_token_that_the_template_adds_to_a_cut_answer_is_not_the_agents() -> None:
    (row,) = one(trajectory([[act(call([3, 4], [9], finish="length"))], [act(call([5, 2], [2, 8], 3))]]))
    assert row.ids.tolist() == [9, 3, 4, 2, 8, 5, 2]
    assert list(row.agent) == [0, 1, 1, 0, 0, 1, 1]


def test_unknown_log_probabilities_are_nan_or_left_out() -> None:
    bare = array("f")
    (row,) = one(trajectory([[act(call([3], [9], logprobs=bare))], [act(call([4], [8], 2))]]))
    assert row.logprobs is not None
    assert [None if math.isnan(v) else v for v in row.logprobs] == [None, None, None, -0.5]
    (row,) = one(trajectory([[act(call([3], [9], logprobs=bare))]]))
    assert row.logprobs is None


SUB_CALLS = [
    [
        act(
            call([3], [9], name="note"),
            call([4], [8], name="policy", unread="malformed"),
            call([5], [7], 2, name="policy"),
        )
    ],
    [act(call([6], [8, 8], name="policy"))],
]


def test_sub_calls_are_chains_of_their_own() -> None:
    ((sample,), report) = make_samples([trajectory(SUB_CALLS)])
    assert [row.ids.tolist() for row in sample.rows] == [[9, 3], [8, 4, 7, 5], [8, 8, 6]]
    assert [list(row.agent) for row in sample.rows] == [[0, 1], [0, 1, 0, 1], [0, 0, 1]]
    assert [row.turns.tolist() for row in sample.rows] == [[-1, 0], [-1, 0, -1, 0], [-1, -1, 1]]
    assert (report.rows, report.forked) == (3, 2)


def test_only_the_named_sub_calls_are_trained() -> None:
    ((sample,), report) = make_samples([trajectory(SUB_CALLS)], names=("policy",))
    assert [row.ids.tolist() for row in sample.rows] == [[8, 4, 7, 5], [8, 8, 6]]
    assert [list(row.agent) for row in sample.rows] == [[0, 0, 0, 1], [0, 0, 1]]
    assert report.agent_tokens == 2
    with pytest.raises(UserError, match=r"names: unknown name 'polcy' \(did you mean 'policy'"):
        make_samples([trajectory(SUB_CALLS)], names=("polcy",))


def test_a_sample_says_what_became_of_the_game() -> None:
    opening = [act(call([1], [2]), seat="user", reward=0.5)]
    t = trajectory(TWO, Outcome("win", 7.0, claimed=True, judged=False), opening=opening, tags={"group": "g"}, seed=3)
    ((sample,), _) = make_samples([t])
    assert (sample.kind, sample.success) == ("loss", False)  # a judge took the win back
    assert (sample.rewards, sample.score, sample.turns) == ((0.0, 1.0), 1.0, 2)
    assert (sample.trajectory, sample.group) == ("mastermind-0-3-0", "mastermind-0-3")
    assert (sample.task, sample.env, sample.tags) == (t.task.id, "mastermind", {"group": "g"})
    ((user,), report) = make_samples([t], seat="user")
    assert [row.turns.tolist() for row in user.rows] == [[-1, 0]]
    assert (user.rewards, user.score) == ((0.5, 0.0), 0.5)
    assert report.without_ids == 0


# --- left out --------------------------------------------------------------------------------------------------------


def test_what_is_left_out_is_counted() -> None:
    short, failed, unfinished = trajectory(TWO), trajectory(TWO, ERROR), trajectory(TWO, None)
    mixed = trajectory([*TWO, [act()]])
    long = trajectory([*TWO, [act(call([5], [1], 7))]], LOSS)
    found, report = make_samples([short, failed, unfinished, mixed, long], max_tokens=8)
    assert [s.rows[0].n_agent for s in found] == [4, 4]
    assert report == RowReport(
        trajectories=5, rows=2, errors=2, too_long=1, without_ids=1, tokens=14, agent_tokens=8
    )  # fmt: skip
    assert make_samples([long], max_tokens=9)[1].too_long == 0
    with pytest.raises(UserError, match="max_tokens: got 0"):
        make_samples([], max_tokens=0)


def test_a_seat_that_says_nothing_is_silent() -> None:
    assert make_samples([trajectory(TWO)], seat="judge") == ([], RowReport(trajectories=1, silent=1))


def test_reports_add_up() -> None:
    both = make_samples([trajectory(TWO), trajectory(SUB_CALLS)])[1]
    assert make_samples([trajectory(TWO)])[1] + make_samples([trajectory(SUB_CALLS)])[1] == both
    assert both.to_json()["agent_tokens"] == 8


def test_pairs_lose_both_when_one_is_left_out_and_count_each_trajectory_once() -> None:
    good, bad, long = trajectory(TWO), trajectory(TWO[:1], LOSS), trajectory([*TWO, [act(call([5], [1], 7))]], LOSS)
    found, report = pair_samples([(good, bad), (good, long)], max_tokens=7)
    assert [(p.chosen.rows[0].n_agent, p.rejected.rows[0].n_agent) for p in found] == [(4, 2)]
    assert (report.trajectories, report.rows, report.too_long) == (3, 2, 1)


@each(
    "turns, message",
    [
        ([[act()], [act(Completion(text="from an endpoint"))]], "no act of seat 'agent' carries token ids.*as_sampled"),
        ([[act(call([1]))], [act(call([2], model="other"))]], r"completion.model: got \['m', 'other'\], allowed: one"),
        ([[act(call([1], [2]))], [act(call([3], [], 4))]], "completion.shared: got 4, allowed: 0 to 2"),
        ([[act(call([1], [2]))], [act(Completion(text=""), call([3], [], 1))]], "completion.shared: got 1.*0 to 0"),
        ([[act(call([1], [2], logprobs=array("f", [0, 0])))]], "completion.logprobs: got '2 of them', allowed: none"),
        ([[act(call([1], [2])), act(call([3], [4], name="a"), call([5], [6], 2, name="b"))]], "completion.name: got"),
    ],
)
def test_bad_records_are_errors_that_say_why(turns: Sequence[Sequence[Act]], message: str) -> None:
    with pytest.raises(UserError, match=rf"trajectory mastermind-0-0-0.*{message}"):
        make_samples([trajectory(turns)])


# --- any chain -------------------------------------------------------------------------------------------------------


class Said(NamedTuple):
    """A call as the model saw it."""

    prompt: list[int]
    ids: list[int]
    extends: bool


TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@st.composite
def chains(draw: st.DrawFn) -> list[Said]:
    """Calls whose prompts extend the call before, or share some of it, or nothing that is known of."""
    whole: list[int] = []
    found: list[Said] = []
    for _ in range(draw(st.integers(1, 6))):
        kept = draw(st.sampled_from([len(whole), len(whole), draw(st.integers(0, len(whole)))]))
        prompt, ids = whole[:kept] + draw(TOKENS), draw(TOKENS)
        found.append(Said(prompt, ids, bool(whole) and prompt[: len(whole)] == whole))
        whole = prompt + ids
    return found


def recorded(calls: Sequence[Said]) -> list[Completion]:
    """The completions of these calls, by the definition of `shared`: the longest common prefix."""
    whole: list[int] = []
    found: list[Completion] = []
    for n, said in enumerate(calls):
        pairs = zip(said.prompt, whole, strict=False)
        shared = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(said.prompt), len(whole)))
        logprobs = array("f", (-n - i / 8 for i, _ in enumerate(said.ids)))
        found.append(call(said.ids, said.prompt[shared:], shared, logprobs=logprobs, weights=f"w{n // 2}"))
        whole = said.prompt + said.ids
    return found


def check_said(row: Row, n: int, said: Said) -> None:
    """Turn n stands in the row after its own prompt, as it was sampled."""
    start, end = len(said.prompt), len(said.prompt) + len(said.ids)
    assert row.ids[:end].tolist() == said.prompt + said.ids
    assert [i for i, turn in enumerate(row.turns) if turn == n] == list(range(start, end))
    assert row.logprobs is not None and row.weights is not None
    assert row.logprobs[start:end].tolist() == [-n - i / 8 for i, _ in enumerate(said.ids)]
    assert {row.versions[w] for w in row.weights[start:end]} == {f"w{n // 2}"}


@given(calls=chains(), split=st.booleans())
def test_every_sampled_token_is_trained_once_after_its_own_prompt(calls: list[Said], split: bool) -> None:
    t = trajectory([[act(c)] for c in recorded(calls)])
    found, report = make_samples([t], by_turn=split)
    made = [row for sample in found for row in sample.rows]
    assert len(found) == (len(calls) if split else 1)
    for n, said in enumerate(calls):
        (row,) = (row for row in made if n in row.turns)
        check_said(row, n, said)
    forks = sum(not said.extends for said in calls[1:])
    assert len(made) == report.rows == (len(calls) if split else 1 + forks)
    assert report.forked == forks
    assert report.agent_tokens == sum(row.n_agent for row in made) == sum(len(said.ids) for said in calls)
    assert report.tokens == sum(map(len, made))
    for row in made:
        assert len(row.agent) == len(row.turns) == len(row.ids)
        assert [turn >= 0 for turn in row.turns] == [bool(a) for a in row.agent]
        assert row.logprobs is not None
        assert [not math.isnan(v) for v in row.logprobs] == [bool(a) for a in row.agent]


# --- played ----------------------------------------------------------------------------------------------------------

THOUGHT = "<think>hm</think><Answer>reveal 0 0</Answer>"
"""Said four times: the first is safe, the others are repeats, which cost a turn."""


def play(**options: Any) -> Trajectory:
    """Four turns of minesweeper by the fake model."""
    script = options.pop("script", THOUGHT.partition("</think>")[2])
    policy = LLM(model=fake.Fake(script=(script,)), **options)
    env = sonde.make("minesweeper", max_turns=4)
    (t,) = collect_trajectories(env, {AGENT: policy}, [env.tasks("test")[0]], Plan())
    assert len(t.turns) == 4
    return t


def prompts(t: Trajectory, policy: LLM) -> list[list[int]]:
    """What the fake model was shown at each turn, by its own template."""
    ep = sonde.Episode.begin(sonde.make("minesweeper", max_turns=4), t.task, seed=t.seed, sample=t.sample)
    found: list[list[int]] = []
    for turn in t.turns:
        found.append(fake.render_prompt(policy.build_prompt(ep.view())).tolist())
        ep = ep.step(turn.acts[0].action)
    return found


def check_played(t: Trajectory, n_rows: int, **options: Any) -> None:
    seen = prompts(t, LLM(model=fake.Fake(script=("",)), **options))
    ((sample,), report) = make_samples([t])
    assert (report.rows, report.forked) == (n_rows, n_rows - 1)
    for n, turn in enumerate(t.turns):
        (c,) = turn.acts[0].action.completions
        (row,) = (row for row in sample.rows if n in row.turns)
        start = row.turns.index(n)
        assert row.ids[:start].tolist() == seen[n]
        assert row.ids[start : start + len(c.ids)] == c.ids


def test_a_whole_history_is_one_row() -> None:
    t = play()
    check_played(t, 1)
    assert make_rows(t)[0].n_agent == sum(len(turn.acts[0].action.completions[0].ids) for turn in t.turns)


def test_a_rendered_history_is_a_row_per_turn() -> None:
    check_played(play(context="render"), 4, context="render")


def test_a_window_of_turns_is_one_row_while_it_holds_everything() -> None:
    check_played(play(context="last:2"), 2, context="last:2")


def test_thinking_that_is_dropped_from_the_history_is_a_row_per_turn() -> None:
    check_played(play(script=THOUGHT), 4)


def test_thinking_that_is_kept_is_one_row() -> None:
    t = play(script=THOUGHT, keep_thinking=True)
    check_played(t, 1, keep_thinking=True)


def test_a_cut_reply_that_is_played_has_its_end_token_from_the_template() -> None:
    policy = LLM(model=fake.Fake(script=("<Answer>reveal 0 0</Answer> and so on",)), max_new_tokens=28)
    env = sonde.make("minesweeper", max_turns=2)
    (t,) = collect_trajectories(env, {AGENT: policy}, [env.tasks("test")[0]], Plan())
    (row,) = make_rows(t)
    ends = [i for i, token in enumerate(row.ids) if token == fake.END and row.turns[i - 1] >= 0]
    assert t.turns[0].acts[0].action.completions[0].finish == "length"
    assert len(ends) == 1 and not row.agent[ends[0]]


def test_a_foreign_message_in_the_history_is_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples in front of the game are in the prompt, and no agent tokens."""
    del monkeypatch
    t = play()
    with_system = play(system="You look for mines.")
    assert make_rows(with_system)[0].n_agent == make_rows(t)[0].n_agent
    assert (
        len(make_rows(with_system)[0]) - len(make_rows(t)[0])
        == len(fake.render_prompt((Message("system", "You look for mines."),))) - 1
    )


def test_an_agent_of_sub_calls_that_asks_again() -> None:
    """Psrl, with a model that is often unreadable: every sampled token once, retries in the row of what they retry."""
    model = fake.Fake(pattern=("Action: {1|2|3|4}", "nonsense", "Hypothesis: 123"))
    env = sonde.make("combination_lock")
    played = collect_trajectories(
        env, {AGENT: sonde.make("agents:llm_psrl", model=model)}, env.tasks("test")[:2], Plan()
    )
    said = [c for t in played for a in t.acts for c in a.action.completions]
    found, report = make_samples(played)
    assert report.agent_tokens == sum(len(c.ids) for c in said)
    assert report.rows == sum(c.shared == 0 for c in said) < len(said)
    chosen, kept = make_samples(played, names=("policy",))
    named = [c for c in said if c.name == "policy" and not c.unread]
    assert 0 < kept.agent_tokens == sum(len(c.ids) for c in named) < report.agent_tokens
    assert sum(len(s.rows) for s in chosen) < sum(len(s.rows) for s in found)


def test_no_module_of_data_imports_torch() -> None:
    names = ("data", "selection", "formats", "credit", "rewards", "presets", "by_name", "online.groups")
    code = f"import sys; {'; '.join(f'import sonde.train.{name}' for name in names)}; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_trajectories_of_another_run_carry_over() -> None:
    """What a store gives back makes the same rows."""
    t = play()
    again = Trajectory.from_json(t.to_json())
    for one_, other in zip(make_rows(t), make_rows(again), strict=True):
        assert (one_.ids, one_.agent, one_.turns, one_.weights) == (other.ids, other.agent, other.turns, other.weights)
    assert make_samples([replace(again, outcome=WIN)])[1].rows == 1
