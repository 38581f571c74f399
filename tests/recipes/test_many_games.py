"""`recipes/tiny/many.py`: one small model of many games, from play to measurement, where it goes on, and its card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sonde

pytest.importorskip("torch")

from tests.cases import each

from .loading import RECIPES

GAMES = ("bernoulli_bandit-informative", "best_arm-small")
MODULES = ("vocab", "games", "corpus", "learn", "gate", "card", "many", "ship_many")


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    single = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(RECIPES / "tiny" / script), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=single)


@pytest.mark.thorough
def test_a_model_of_two_games_is_made_and_measured(tmp_path: Path) -> None:
    """On a hundredth of its episodes."""
    quick = ("--to", str(tmp_path), "--quick", "--games", *GAMES)
    said = run("many.py", *quick, "--steps", "100").stdout
    rows = {row["game"]: row for row in json.loads((tmp_path / "games.json").read_text())}
    assert set(rows) == set(GAMES) and "| bernoulli_bandit-informative |" in said
    bounds = rows["bernoulli_bandit-informative"]
    assert bounds["reference"][0] == 1.0 > bounds["floor"][0]
    assert all(0.0 <= row["1.0"][0] <= 1.0 for row in rows.values())
    assert all(row["tasks"] * row["k"] == row["episodes"] == 4 for row in rows.values())
    made = json.loads((tmp_path / "model" / "training.json").read_text())
    assert made["rows"] == 60 + 160 * 4 and made["phrases"] > 50 and made["tokens"] > 0
    assert made["steps"] == [1] and made["threads"] == 1
    played = sorted((tmp_path / "play").rglob("trajectories-*"))
    before = [file.stat().st_mtime_ns for file in played]
    run("many.py", *quick, "--only", "play")
    assert [file.stat().st_mtime_ns for file in played] == before, "what was played is not played again"


@pytest.fixture(scope="module")
def recipe() -> Iterator[SimpleNamespace]:
    """The modules of recipes/tiny, which import each other by bare names, as they do when run."""
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    sys.path.insert(0, str(RECIPES / "tiny"))
    try:
        yield SimpleNamespace(**{name: import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(RECIPES / "tiny"))
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def measured(game: str, model: float, tasks: int = 60) -> dict[str, Any]:
    """A row of a game in which random play wins a tenth and the reference nine tenths."""
    around = {name: [mean, mean - 0.05, mean + 0.05] for name, mean in (("floor", 0.1), ("reference", 0.9))}
    won = [model, model - 0.05, model + 0.05]
    return {
        "game": game,
        "tasks": tasks,
        "k": 2,
        "episodes": 2 * tasks,
        **around,
        "1.0": won,
        "0.7": won,
        "readable": 0.99,
    }


def test_bounds_are_kept_until_the_model_is_measured(recipe: SimpleNamespace, tmp_path: Path) -> None:
    many, whole = recipe.many, measured("maze-pairs", 0.5)
    bounds = {name: value for name, value in whole.items() if name not in ("1.0", "0.7", "readable")}
    game = next(game for game in many.GAMES if game.name == "maze-pairs")
    many.save_row(tmp_path, bounds)
    assert many.load_row(tmp_path, game, 60) == bounds and many.load_row(tmp_path, game, 100) == {}
    assert many.load_complete_rows(tmp_path) == []
    many.save_row(tmp_path, measured("minesweeper-paprika", 0.1))
    many.save_row(tmp_path, whole)
    assert [row["game"] for row in many.load_complete_rows(tmp_path)] == ["minesweeper-paprika", "maze-pairs"]


def test_what_a_game_repeats_is_one_token_and_cells_are_read_one_by_one(
    recipe: SimpleNamespace, tmp_path: Path
) -> None:
    many = recipe.many
    game = next(game for game in many.GAMES if game.name == "minesweeper-paprika")
    chats = many.list_conversations(game, tmp_path, 40, 0)
    phrases = many.find_phrases(chats)
    assert phrases == many.find_phrases(chats)
    tokenizer = many.make_tokenizer((m.content for chat in chats for m in chat.messages), phrases, 512)
    opening, answer = (m.content for m in chats[0].messages[:2])
    pieces = [tokenizer.decode([i]) for i in tokenizer.encode(opening)]
    assert "".join(pieces) == opening and " Revealing a mine loses the game." in pieces
    board = pieces[pieces.index("\nThe board now:") + 1 :][:9]
    assert all(len(piece.strip()) <= 1 for piece in board) and "#" in "".join(board), board
    said = [tokenizer.decode([i]) for i in tokenizer.encode(answer)]
    assert (said[0], said[-1]) == ("<Answer>", "</Answer>")
    row = recipe.corpus.Encoder(tokenizer).encode_row(chats[0].messages)
    shown = [{"role": m.role, "content": m.content} for m in chats[0].messages]
    assert list(row.ids) == list(tokenizer.apply_chat_template(shown, tokenize=True, return_dict=True)["input_ids"])


def test_every_game_is_read_as_much(recipe: SimpleNamespace) -> None:
    """In tokens, whatever the length of its episodes."""
    many, corpus = recipe.many, recipe.corpus
    long, short = ([many.Row([3 + i] * n, [corpus.SAID] * n)] * 3 for i, n in enumerate((200, 10)))
    batches = many.generate_batches([long, short], 0, sonde.Rng(0))
    ids = [i for batch in islice(batches, 60) for i in batch.ids_BT.flatten().tolist()]
    assert 0.8 < ids.count(3) / ids.count(4) < 1.25


@each("name, first", [("best_arm-small", "10."), ("minesweeper-paprika", "Turns left: 20."), ("maze-pairs", "")])
def test_a_game_is_read_as_an_agent_sees_it(recipe: SimpleNamespace, tmp_path: Path, name: str, first: str) -> None:
    """But for the space before an answer of its own. Half of the play is the strongest."""
    many = recipe.many
    game = next(game for game in many.GAMES if game.name == name)
    chats = many.list_conversations(game, tmp_path, 40, 0)
    env = sonde.make(game.env, preset=game.preset)
    agent = sonde.make("agents:llm", model=sonde.make("models:fake", script=("?",)), context=game.context)
    seen = {agent.build_prompt(sonde.Episode.begin(env, task).view())[0].content for task in env.tasks("train")}
    openings = [chat.messages[0].content for chat in chats if first in chat.messages[0].content]
    assert len(openings) > 3 and set(openings) <= seen
    assert {len(chat.messages) for chat in chats} == {2} or game.context == "full"
    assert 0.3 < sum(chat.strong for chat in chats) / len(chats) < 0.7
    said = [m.content for chat in chats for m in chat.messages if m.role == "assistant"]
    assert all(text.startswith("<Answer> ") for text in said if "<Answer>" in text)


def test_a_row_says_how_well_a_game_is_played(recipe: SimpleNamespace) -> None:
    rows = [measured("maze-pairs", 0.5), measured("minesweeper-paprika", 0.12), measured("best_arm-small", 0.85)]
    judge = recipe.ship_many.judge_row
    assert [judge(row) for row in rows] == ["novice", "no better than random", "as the reference"]
    assert [game.name for game in recipe.ship_many.list_played(rows)] == ["best_arm-small", "maze-pairs"]


def test_the_difference_of_two_rates_is_judged_by_newcombe(recipe: SimpleNamespace) -> None:
    """56 of 70 against 48 of 80, an example of Newcombe's: the interval of method 10 is 0.0524 to 0.3339."""
    one, other = [0.8, 0.6918, 0.8769], [0.6, 0.4904, 0.7003]
    for less, above in ((0.0, True), (0.052, True), (0.053, False)):
        assert recipe.ship_many.is_above([value - less for value in one], other) == above


def test_a_card_names_the_games_that_are_not_learned(recipe: SimpleNamespace) -> None:
    known = {"seed": 0, "parameters": 1_000_000, "words": 2048, "phrases": 1000, "steps": [10, 15], "rows": 7,
             "tokens": 99, "loss": 0.5, "cpu_seconds": 120, "threads": 2}  # fmt: skip
    card = recipe.ship_many.write_card(known, [measured("maze-pairs", 0.5), measured("minesweeper-paprika", 0.12)])
    assert "--threads 2 --steps 15`, after the same with 10." in card
    assert "plays 1 games of sonde, most of them like a novice: maze-pairs." in card and "1,000,000 parameters" in card
    assert "| maze-pairs | 0.10 [0.05, 0.15] | 0.50 [0.45, 0.55] |" in card and "| 120 | novice |" in card
    assert "Played no better than at random: minesweeper-paprika." in card
