"""LMRL-Gym's files, in the forms that its loaders read: what is kept, how it is played again, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sonde.core import AGENT, Episode, Trajectory, UserError, build
from sonde.datasets import ImportResult, compute_statistics, find_dataset, import_file, make_card
from sonde.datasets.transcripts import Transcript
from sonde.envs.maze.grid import MAPS, wall_directions
from sonde.envs.wordle.env import Wordle
from sonde.runs.store import Run

GOAL = "The goal is at position 8, 6."
WORDS = {"up": "above you", "down": "below you", "left": "to your left", "right": "to your right"}


def describe_place(row: int, col: int) -> str:
    return f"{GOAL} Your current position is at position {row}, {' '.join(str(col))}. There are walls above you.\n"


def describe_walls(row: int, col: int) -> str:
    return f"There are walls {', '.join(WORDS[way] for way in wall_directions(MAPS['double_t'], (row, col)))}.\n"


def make_move(state: str, action: str, reward: float, done: bool = False) -> dict[str, Any]:
    return {"state": state, "action": f"move {action}\n", "reward": reward, "done": done}


HOME = [make_move(describe_place(7, 6), "left", -1.0), make_move(describe_place(7, 6), "down", 0.0, True)]
CUT = [make_move(describe_place(1, 11), "left", -1), make_move(describe_place(1, 10), "left", -1)]


def write_lines(tmp_path: Path, *rows: Any) -> Path:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def load_rows(task: str, tmp_path: Path, *rows: Any) -> ImportResult:
    return import_file(task, write_lines(tmp_path, *rows), tmp_path / "run")


def list_rewards(t: Trajectory) -> list[float]:
    return [turn.rewards.get(AGENT, 0.0) for turn in t.turns]


def replay_all(run: Run) -> list[Trajectory]:
    """All trajectories, each played again."""
    for t in run:
        Episode.replay(build(t.env), t)
    return list(run)


# --- played again by our rules ---------------------------------------------------------------------------------------


def test_mazes_are_walked_again(tmp_path: Path) -> None:
    found = load_rows("maze", tmp_path, HOME, CUT, HOME)
    home, cut, again = replay_all(found.run)
    assert not found.left_out
    assert [turn.text for turn in home.turns] == ["move left", "move down"] and list_rewards(home) == [-1.0, 0.0]
    assert home.outcome is not None and home.outcome.success and home.tags == {"from": "line 1"}
    assert cut.outcome is not None and cut.outcome[0] == "out_of_turns" and cut.outcome.truncated == "turns"
    assert (again.task, again.sample) == (home.task, 1) and len({home.id, cut.id, again.id}) == 3


def test_a_walk_that_our_maze_contradicts_is_left_out(tmp_path: Path) -> None:
    through = [make_move(describe_place(1, 1), "up", -1), make_move(describe_place(1, 2), "up", -1)]
    spoken = [make_move(describe_place(1, 1), "over there", -4), make_move(describe_place(1, 1), "up", -1)]
    beyond = [*HOME, make_move(describe_place(8, 6), "up", -1)]
    found = load_rows("maze", tmp_path, HOME, through, spoken, beyond)
    assert len(found.run) == 1
    assert found.left_out == {"a move leads elsewhere": 1, "a reward of -4": 1, "it goes on after its end": 1}
    assert found.first.endswith("data.jsonl: line 2: a move leads elsewhere")


def test_a_maze_partially_observed_begins_where_all_that_is_told_can_be(tmp_path: Path) -> None:
    told = [describe_walls(4, 9), describe_walls(5, 9), describe_walls(5, 8)]
    row = {"text_history": [told[0], "move down\n", told[1], "move left\n", told[2]], "rewards": [0, -1, 0, -1, 0]}
    (t,) = replay_all(load_rows("maze_partial", tmp_path, {**row, "dones": [False] * 5}).run)
    assert t.task.hidden["start"] == (2, 9) or t.task.hidden["start"] == (4, 9)
    assert list_rewards(t) == [-1.0, -1.0] and "start" not in t.task.public
    lost = {
        "text_history": [describe_walls(4, 9), "move up\n", describe_walls(1, 1)],
        "rewards": [-1],
        "dones": [False],
    }
    other = import_file("maze_partial", write_lines(tmp_path, lost), tmp_path / "lost")
    assert other.left_out == {"no place to begin explains what is told": 1}


def wordle_row(*turns: tuple[str, str, float]) -> dict[str, Any]:
    sequence: list[list[Any]] = [["Wordle:\n", 0.0]]
    for guess, marks, _ in turns:
        sequence += [[f"{' '.join(guess)}\n", 1.0], [f"{' '.join(marks)}\n", 0.0]]
    return {"sequence": sequence, "reward": [r for *_, reward in turns for r in (reward, 0.0)], "done": True}


def test_wordle_gets_the_first_word_that_explains_the_marks(tmp_path: Path) -> None:
    won = wordle_row(("crane", "byybb", -1.0), ("labor", "ggggg", 0.0))
    cut = wordle_row(("crane", "byybb", -1.0))
    wrong = wordle_row(("crane", "byybb", -1.0), ("labor", "bbbbb", -1.0))
    found = load_rows("wordle", tmp_path, won, cut, wrong)
    assert found.left_out == {"no word of the list explains the marks": 1}
    t, short = replay_all(found.run)
    assert t.task.hidden == "labor" and list_rewards(t) == [-1.0, 0.0]
    assert list_rewards(short) == [-1.0] and short.outcome is not None and short.outcome.truncated == "turns"
    env = Wordle(preset="lmrl")
    assert env.mark_guess(short.task.hidden, "crane") == "byybb"


# --- kept word for word ----------------------------------------------------------------------------------------------


def test_questions_are_kept_word_for_word(tmp_path: Path) -> None:
    won = {"lines": ["Is it big? Red? No.", "Is it a cat? Yes."], "correct": True, "word": ["Cat"]}
    lost = {"lines": ["Is it alive? No."] * 20, "correct": False, "word": ["Pen"]}
    file = tmp_path / "all.json"
    file.write_text(json.dumps([won, lost], indent=1))
    for task in ("twenty_questions", "guess_my_city"):
        first, second = replay_all(import_file(task, file, tmp_path / task).run)
        assert [(turn.text, turn.told) for turn in first.turns] == [
            ("Is it big? Red?", "No."),
            ("Is it a cat?", "Yes."),
        ]
        assert list_rewards(first) == [-1.0, 0.0] and sum(list_rewards(second)) == -20.0
        assert first.outcome is not None and first.outcome.success
        assert second.outcome is not None and second.outcome.truncated == "turns"


def test_text_nav_is_kept_word_for_word(tmp_path: Path) -> None:
    row = {"text_history": ["A hall.\n", "go west", "A kitchen.", "close fridge", "Done."], "dones": [False, True]}
    (t,) = replay_all(load_rows("text_nav", tmp_path, {**row, "rewards": [0, 1]}).run)
    assert [(turn.text, turn.told) for turn in t.turns] == [("go west", "A kitchen."), ("close fridge", "Done.")]
    assert list_rewards(t) == [0.0, 1.0] and t.outcome is not None and t.outcome.success
    env = Transcript()
    assert Episode.begin(env, t.task).view().messages[0].content == "A hall."
    assert Episode.begin(env, t.task).step("go east").outcome == ("loss", 0.0, None, None, "")


def make_talk(*said: tuple[str, str], **output: Any) -> dict[str, Any]:
    heard = [{"role": role, "text": text} for role, text in said]
    return {"lines": heard, "buyer_info": {"budget": 30_000}, "output": output}


def test_sellers_get_the_reward_of_the_papers_code(tmp_path: Path) -> None:
    """27,000 over the mean of 30,000 and 24,000 is 1; of 20,000, 10,000 less than the budget, nothing sold is -0.5."""
    sold = make_talk(
        ("Seller", "Hello."), ("Seller", "A car?"), ("Buyer", "Yes."), ("Dealer", "$27,000."), ("Buyer", "Fine."),
        car_bought=True, msrp=24_000, buy_price=27_000,
    )  # fmt: skip
    unsold = make_talk(("Buyer", "Hi."), ("Seller", "Hello."), car_bought=False, msrp=20_000, buy_price=None)
    cut = {"lines": unsold["lines"], "buyer_info": {"budget": 30_000}}
    first, second, third = replay_all(load_rows("car_dealer", tmp_path, sold, unsold, cut).run)
    assert list_rewards(third) == [0.0] and third.outcome is not None and third.outcome.truncated == "turns"
    assert [turn.text for turn in first.turns] == ["Hello. A car?", "$27,000."] and list_rewards(first) == [0.0, 1.0]
    assert list_rewards(second) == [-0.5] and second.outcome is not None and second.outcome.kind == "loss"


# --- what is no such file --------------------------------------------------------------------------------------------

QUESTIONS = {"lines": ["Is it alive? No."], "correct": False, "word": []}
WRONG: Sequence[tuple[str, Any, str]] = (
    ("maze", [{**HOME[0], "reward": "no"}], r'line 2: move 0: reward: got "no", allowed: int or float'),
    ("maze", [{**HOME[0], "state": "Here."}], "line 2: move 0: state: got .* allowed: a text that tells"),
    ("maze", {"lines": []}, "line 2: episode: got .* allowed: a list of moves"),
    ("maze_partial", {"text_history": ["a"], "rewards": []}, "line 2: text_history: got .* two or more"),
    ("maze_partial", {"text_history": ["a", "b"], "rewards": [1, 2, 3]}, "line 2: rewards: got .* 1 numbers"),
    ("text_nav", {"text_history": ["a", 1], "rewards": [1]}, r"line 2: text_history\[1\]: got 1, allowed: str"),
    (
        "text_nav",
        {"text_history": ["a", "go east", "b", "take x", "end"], "rewards": [0, 0, 0, 0, 1.0]},
        r"line 2: rewards\[4\]: got 1.0, allowed: 0, since it stands on a text of the environment",
    ),
    (
        "wordle",
        {"sequence": [["c r a n e\n", 1.0], ["b b y b b\n", 0.0]], "reward": [-1.0, -7.0], "done": True},
        r"line 2: reward\[1\]: got -7.0, allowed: 0",
    ),
    ("wordle", {"sequence": [["a", 0.0], ["b", 0.0]], "reward": []}, "line 2: sequence: got"),
    ("wordle", {"sequence": ["a"], "reward": []}, r"line 2: sequence\[0\]: got"),
    ("wordle", {**wordle_row(("crane", "bbbbb", -1)), "reward": []}, "line 2: reward: got"),
    ("twenty_questions", {**QUESTIONS, "lines": ["Alive!"]}, r'line 2: lines\[0\]: got "Alive!", allowed: a question'),
    ("twenty_questions", {**QUESTIONS, "correct": "yes"}, 'line 2: correct: got "yes", allowed: bool'),
    ("guess_my_city", {**QUESTIONS, "lines": []}, "line 2: lines: got"),
    ("car_dealer", make_talk(("Judge", "No.")), r'line 2: lines\[0\].role: got "Judge", allowed: Seller'),
    ("car_dealer", {**make_talk(("Seller", "Hi.")), "output": 2}, "line 2: output: got 2, allowed: dict"),
    ("car_dealer", make_talk(("Seller", "Hi."), car_bought=1), "line 2: output: car_bought: got 1, allowed: bool"),
)
FINE = {
    "maze": HOME,
    "maze_partial": {"text_history": [describe_walls(7, 6), "move down\n", describe_walls(8, 6)], "rewards": [0]},
    "text_nav": {"text_history": ["A hall.", "look"], "rewards": [0]},
    "wordle": wordle_row(("crane", "byybb", -1.0), ("labor", "ggggg", 0.0)),
    "twenty_questions": QUESTIONS,
    "guess_my_city": QUESTIONS,
    "car_dealer": make_talk(("Seller", "Hi."), car_bought=False, msrp=1),
}


@pytest.mark.parametrize(("task", "row", "message"), WRONG)
def test_a_mistake_is_named_with_file_line_and_field(task: str, row: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"data\.jsonl: {message}"):
        load_rows(task, tmp_path, FINE[task], row)
    assert len(Run.load(tmp_path / "run")) == 1, "what was read before is kept"


def test_files_that_are_not_json_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(f"{json.dumps(QUESTIONS)}\n{{\n")
    with pytest.raises(UserError, match=r"data\.jsonl: line 2: not JSON"):
        import_file("twenty_questions", file, tmp_path / "run")
    file.write_bytes(b'{"lines": ["\xff"]}')
    with pytest.raises(UserError, match=r"data\.jsonl: line 1: not UTF-8"):
        import_file("twenty_questions", file, tmp_path / "bytes")
    file.write_text('[{"lines": ')
    with pytest.raises(UserError, match=r"data\.jsonl: not JSON"):
        import_file("twenty_questions", file, tmp_path / "list")
    with pytest.raises(UserError, match="task: unknown name 'go'"):
        import_file("go", file, tmp_path / "go")


@pytest.mark.parametrize("task", list(FINE))
@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_what_is_nested_too_deep_is_refused_in_one_line(task: str, depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    for i, text in enumerate((deep, f'{{"lines": {deep}}}', f'[{{"sequence": {deep}, "reward": {deep}}}]')):
        (tmp_path / "data.jsonl").write_text(text)
        with pytest.raises(UserError, match=r"data\.jsonl: .*") as caught:
            import_file(task, tmp_path / "data.jsonl", tmp_path / str(i))
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize("task", list(FINE))
def test_a_byte_order_mark_and_ends_of_lines_are_no_part_of_it(task: str, tmp_path: Path) -> None:
    plain, marked = (tmp_path / name for name in ("plain.jsonl", "data.jsonl"))
    plain.write_text(json.dumps(FINE[task]) + "\n")
    marked.write_bytes((json.dumps(FINE[task]) + "\r\n").encode("utf-8-sig"))
    one, other = (import_file(task, file, tmp_path / file.stem).run for file in (plain, marked))
    assert [t.id for t in one] == [t.id for t in other]


def test_a_file_is_read_once_and_another_one_is_refused(tmp_path: Path) -> None:
    before = load_rows("maze", tmp_path, HOME, CUT, HOME)
    assert len(import_file("maze", tmp_path / "data.jsonl", tmp_path / "run").run) == len(before.run) == 3
    with pytest.raises(UserError, match=r"started with another configuration: config\.imported\.sha256"):
        load_rows("maze", tmp_path, HOME)


def test_the_card_of_a_file(tmp_path: Path) -> None:
    found = load_rows("maze", tmp_path, HOME, CUT)
    assert compute_statistics(found.run).mean_return == -1.5
    part = make_card("maze", find_dataset("maze"), {"train": found.run})["parts"]["train"]
    assert part["imported"]["task"] == "lmrl maze" and part["size"] == 2
