"""Import LMRL-Gym's published files as runs.

Source: the loaders of its repository (abdulhaim/LMRL-Gym, `llm_rl_scripts/*/env/data.py` and the training scripts).
One object per line (`.jsonl`), or one list of them:

    maze                [{"state": ..., "action": "move up\\n", "reward": -1, "done": false}, ...] per episode
    maze_partial        {"text_history": [told, said, told, ...], "rewards": [...], "dones": [...]}
    wordle              {"sequence": [["Wordle:\\n", 0.0], ["c r a n e\\n", 1.0], ["b b y b b\\n", 0.0], ...],
                        "reward": [...], "done": true}
    text_nav(_partial)  as maze_partial, the rewards one per command
    twenty_questions,   {"lines": ["Is it alive? No.", ...], "correct": false, "word": [...]}
    guess_my_city
    car_dealer          {"lines": [{"role": "Seller", "text": ...}, ...], "buyer_info": {"budget": ...}, "output":
                        {"car_bought": true, "msrp": ..., "buy_price": ...}}
    chess, endgames     {"from_state": FEN, "action": SAN, "reward": 0, "done": false} per move, an empty line after
                        a game that did not end; or, of value learning, a line per game, as maze, its states and actions
                        with spaces between the characters or without

Maze, wordle and chess are replayed by our rules: an episode is kept if every reply gets the reward, and leads to the
place, the marks or the position, that the file says; its texts are then those of our environment. A partially observed
walk begins at the first place, in reading order, that explains all that the file tells; a hidden word is the first of
the list that does. An episode that the file leaves unfinished ends there as a timeout. The other tasks, whose worlds
are not ours, are kept word for word (`transcripts.py`).

A file of another form raises a `UserError` with file, line and field, and nothing after that line is read. An episode
that contradicts our rules is left out and counted; the first of them is reported with its line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from sonde.core import AGENT, Env, Episode, Task, UserError, make, unknown
from sonde.core.types import Json, Rules
from sonde.runs.store import Run, RunWriter

from .files import JsonObject, hash_file, read_games, read_objects
from .transcripts import make_transcript

_PLACE = re.compile(r"current position is at position ([\d ]+), ([\d ]+)\.")
_GOAL = re.compile(r"goal is at position ([\d ]+), ([\d ]+)\.")
_WALLS = {"up": "above you", "down": "below you", "left": "to your left", "right": "to your right"}
_QUESTION = re.compile(r"(?P<said>.*\?) (?P<told>[^?]*)", re.DOTALL)
_SELLERS, _BUYER = ("Seller", "Dealer", "Agent"), "Buyer"


class Contradiction(Exception):
    """An episode of a file contradicts our rules; the message says how."""


@dataclass(frozen=True)
class ImportResult:
    """The result of an import: the run, how many episodes were left out by reason, and the first of those."""

    run: Run
    left_out: Mapping[str, int]
    first: str


def import_file(task: str, file: Path, folder: Path) -> ImportResult:
    """Import a file of LMRL-Gym into a run folder; continues an interrupted import."""
    if task not in READERS:
        raise unknown("dataset lmrl: task", task, READERS)
    reader, left_out, first, samples = READERS[task], Counter[str](), "", Counter[str]()
    player = {"name": f"LMRL-Gym: {file.name}"}
    config = {"imported": {"task": f"lmrl {task}", "file": file.name, "sha256": hash_file(file)}}
    with RunWriter.open(folder, config) as writer:
        before = writer.finished_keys
        for row in read_games(file) if reader is _read_chess else read_objects(file, nested=reader is _read_maze):
            try:
                found = reader(row, task)
            except Contradiction as e:
                left_out[str(e)] += 1
                first = first or f"{row.where}: {e}"
                continue
            found = found.fork(sample=samples[found.task.id])  # equal episodes get different numbers
            samples[found.task.id] += 1
            if (found.task.id, found.seed, found.sample) not in before:
                kept = found.to_trajectory(tags={"from": row.where.removeprefix(f"{file}: ")})
                writer.append_trajectory(replace(kept, policies=dict.fromkeys(found.env.spec.seats, player)))
    return ImportResult(Run.load(folder), left_out, first)


# --- played again by our rules ---------------------------------------------------------------------------------------


def _read_maze(row: JsonObject, task: str) -> Episode:
    if not isinstance(row.value, list) or not row.value:
        row.raise_invalid("episode", row.value, "a list of moves")
    steps = [JsonObject(step, f"{row.where}: move {i}") for i, step in enumerate(row.value)]
    told = [step.get_field("state", str) for step in steps]
    places = [_parse_cell(_PLACE, step, text) for step, text in zip(steps, told, strict=True)]
    said = [(step.get_field("action", str), float(step.get_field("reward", int, float))) for step in steps]
    goal = _parse_cell(_GOAL, steps[0], told[0])

    def fits_file(ep: Episode, i: int) -> bool:
        place = ep.turns[-1].info["position"] if ep.turns else ep.task.public["start"]
        return i == len(places) or tuple(place) == places[i]

    return _replay_walk("lmrl", {"start": list(places[0]), "goal": list(goal)}, said, fits_file)


def _parse_cell(pattern: re.Pattern[str], row: JsonObject, text: str) -> tuple[int, int]:
    """A cell as row and column. The digits of a number are separated by spaces."""
    found = pattern.search(text)
    if found is None:
        row.raise_invalid("state", text, "a text that tells goal and position")
    return int(found[1].replace(" ", "")), int(found[2].replace(" ", ""))


def _read_partial_maze(row: JsonObject, task: str) -> Episode:
    told, said = _read_history(row)
    walls = [{way for way, words in _WALLS.items() if words in text} for text in told]

    def fits_file(ep: Episode, i: int) -> bool:
        here = ep.turns[-1].info["walls"] if ep.turns else set(_WALLS) - set(ep.task.public["open"])
        return i >= len(walls) or (ep.outcome is not None and ep.outcome.success) or set(here) == walls[i]

    for start in make("maze", preset="lmrl_partial").tasks("test"):  # every start, in reading order
        with suppress(Contradiction):
            return _replay_walk(
                "lmrl_partial", {"start": start.hidden["start"], "goal": start.hidden["goal"]}, said, fits_file
            )
    raise Contradiction("no place to begin explains what is told")


def _replay_walk(
    preset: str, setup: Mapping[str, Json], said: Sequence[tuple[str, float]], fits: Callable[[Episode, int], bool]
) -> Episode:
    """The walk in our maze. `fits_file(ep, i)`: whether the file may tell after i moves what is so in `ep`. A walk
    that does not reach the goal has no more moves than it took."""

    def play_moves(max_turns: int | None) -> Episode:
        env = make("maze", preset=preset, max_turns=max_turns)
        ep = Episode.begin(env, _make_task(env, {"map": "double_t", **setup}))
        for i, (text, reward) in enumerate(said):
            if ep.outcome is not None:
                raise Contradiction("it goes on after its end")
            if not fits(ep, i):
                raise Contradiction("a move leads elsewhere")
            ep = _check_reward(ep.step(text.rstrip("\n")), reward)
        if not fits(ep, len(said)):
            raise Contradiction("a move leads elsewhere")
        return _check_end(ep)

    ep = play_moves(len(said))
    return play_moves(None) if ep.outcome is not None and ep.outcome.success else ep


def _read_wordle(row: JsonObject, task: str) -> Episode:
    sequence = [_check_pair(row, i, pair) for i, pair in enumerate(row.get_field("sequence", list))]
    if sequence and not sequence[0][1]:
        sequence = sequence[1:]
    said, told = sequence[::2], sequence[1::2]
    if not said or len(said) != len(told) or not all(a for _, a in said) or any(a for _, a in told):
        row.raise_invalid("sequence", row.value["sequence"], "guesses and marks in turn")
    given = row.get_list("reward", int, float)
    rewards = given[: 2 * len(said) : 2]
    if len(rewards) != len(said):
        row.raise_invalid("reward", row.value["reward"], f"{2 * len(said)} numbers, one per guess and one per answer")
    earned = range(0, 2 * len(said), 2)
    _check_no_other_rewards(row, "reward", given, earned)
    turns = [
        ("".join(guess.split()), "".join(marks.split()), float(reward))
        for (guess, _), (marks, _), reward in zip(said, told, rewards, strict=True)
    ]
    for rules in get_args(Rules):
        short = len(turns) if turns[-1][2] else None
        env = make("wordle", preset="lmrl", rules=rules, max_turns=short)
        word = _find_word(env, turns)
        if word is not None:
            with suppress(Contradiction):
                return _replay_guesses(env, word, turns)
    raise Contradiction("no word of the list explains the marks")


def _check_pair(row: JsonObject, i: int, pair: Any) -> tuple[str, bool]:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        row.raise_invalid(f"sequence[{i}]", pair, "a text and whether it is a guess")
    return pair[0], bool(pair[1])


def _find_word(env: Any, turns: Sequence[tuple[str, str, float]]) -> str | None:
    """The first word that explains all marks."""
    marked = [(guess, marks) for guess, marks, _ in turns if len(guess) == len(marks) == 5]
    return next((w for w in _answer_words() if all(env.mark_guess(w, guess) == marks for guess, marks in marked)), None)


@cache
def _answer_words() -> tuple[str, ...]:
    env = make("wordle", preset="lmrl")
    return tuple(word for _, word in env.prior(env.tasks("train")[0].public))


def _replay_guesses(env: Env[Any], word: str, turns: Sequence[tuple[str, str, float]]) -> Episode:
    ep = Episode.begin(env, env.task(word))
    for guess, marks, reward in turns:
        if ep.outcome is not None:
            raise Contradiction("it goes on after its end")
        ep = _check_reward(ep.step(" ".join(guess)), reward)
        if ep.turns[-1].info.get("feedback", "") != marks:
            raise Contradiction("the marks are others")
    return _check_end(ep)


def _read_chess(row: JsonObject, task: str) -> Episode:
    moves = [
        (_read_fen(move), move.get_field("action", str), float(move.get_field("reward", int, float)))
        for move in row.value
    ]
    if not moves:
        row.raise_invalid("game", row.value, "one move or more")
    preset = "full" if task == "chess" else "endgames"
    for published in (False, True):
        with suppress(Contradiction):
            return _replay_game(preset, moves, published)
    raise Contradiction("the moves lead to other positions or rewards")


def _read_fen(move: JsonObject) -> str:
    """The position of a move; its characters may be separated by spaces."""
    name = "state" if isinstance(move.value, Mapping) and "state" in move.value else "from_state"
    told = move.get_field(name, str).strip()
    return told[::2] if len(told) > 1 and not told[1::2].strip() else told


def _drop_clocks(fen: str) -> str:
    """A position without its clocks."""
    return fen.rsplit(" ", 2)[0]


def _replay_game(preset: str, moves: Sequence[tuple[str, str, float]], published: bool) -> Episode:
    def play_moves(limit: int | None) -> Episode:
        env = make("chess", preset=preset, rules="code" if published else "paper", max_turns=limit)
        ep = Episode.begin(env, _make_task(env, {"fen": moves[0][0]}))
        for i, (fen, san, reward) in enumerate(moves):
            if ep.to_act != AGENT or _drop_clocks(_state_of(ep).fen) != _drop_clocks(fen):
                raise Contradiction("a move leads elsewhere")
            ep = ep.step(env.say(san))
            if ep.to_act == "opponent":
                ep = _find_reply(ep, moves[i + 1][0] if i + 1 < len(moves) else None)
            if ep.to_act == AGENT or ep.outcome is not None:
                _check_reward(ep, reward)
        return ep

    ep = play_moves(None)
    if ep.outcome is None:
        ep = play_moves(_state_of(ep).turns if published else _state_of(ep).plies)
    return _check_end(ep)


def _find_reply(ep: Episode, wanted: str | None) -> Episode:
    """The episode after the opponent's move that leads to `wanted`, or, after the last move, that ends the game."""
    for san in ep.env.actions(ep.state) or ():
        after = ep.step(ep.env.say(san))
        fen = _state_of(after).fen
        if (after.outcome is not None) if wanted is None else _drop_clocks(fen) == _drop_clocks(wanted):
            return after
    if wanted is None:
        return ep
    raise Contradiction("no reply leads to the next position")


def _make_task(env: Env[Any], setup: Json) -> Task:
    try:
        return env.task(setup)
    except UserError as e:
        raise Contradiction(str(e)) from e


def _state_of(ep: Episode) -> Any:
    return ep.state


def _check_reward(ep: Episode, reward: float) -> Episode:
    if ep.turns[-1].rewards.get(AGENT, 0.0) != reward:
        raise Contradiction(f"a reward of {reward:g}")
    return ep


def _check_end(ep: Episode) -> Episode:
    if ep.outcome is None:
        raise Contradiction("it does not end")
    return ep


# --- kept word for word ----------------------------------------------------------------------------------------------


def _read_history(row: JsonObject) -> tuple[list[str], list[tuple[str, float]]]:
    """The texts of the environment, and the agent's replies with their rewards."""
    texts, rewards = row.get_list("text_history", str), row.get_list("rewards", int, float)
    told, said = texts[::2], texts[1::2]
    if not said:
        row.raise_invalid("text_history", texts, "texts of the environment and replies, alternating, two or more")
    if len(rewards) in (len(texts), len(texts) - 1) and len(rewards) > len(said):
        _check_no_other_rewards(row, "rewards", rewards, range(1, len(rewards), 2))
        rewards = rewards[1::2]
    if len(rewards) != len(said):
        row.raise_invalid(
            "rewards", row.value["rewards"], f"{len(said)} numbers, one per reply, or {len(texts)}, one per text"
        )
    return told, [(text, float(reward)) for text, reward in zip(said, rewards, strict=True)]


def _check_no_other_rewards(row: JsonObject, name: str, rewards: Sequence[float], earned: Collection[int]) -> None:
    """Refuse a reward on a text of the environment: it would be lost, since only replies earn rewards here."""
    for i, reward in enumerate(rewards):
        if reward and i not in earned:
            row.raise_invalid(
                f"{name}[{i}]", reward, "0, since it stands on a text of the environment and not on a reply"
            )


def _read_text_nav(row: JsonObject, task: str) -> Episode:
    told, said = _read_history(row)
    after = [*told[1:], ""][: len(said)]
    turns = [(text.strip(), reward, heard.strip()) for (text, reward), heard in zip(said, after, strict=True)]
    return make_transcript(told[0].strip(), turns, "win" if said[-1][1] > 0 else "out_of_turns")


def _read_questions(row: JsonObject, task: str) -> Episode:
    won, turns = row.get_field("correct", bool), list[tuple[str, float, str]]()
    for i, line in enumerate(row.get_list("lines", str)):
        found = _QUESTION.fullmatch(line.strip())
        if found is None:
            row.raise_invalid(f"lines[{i}]", line, "a question, a question mark, a space, and the answer")
        turns.append((found["said"], -1.0, found["told"]))
    if not turns:
        row.raise_invalid("lines", [], "one question or more")
    if won:
        turns[-1] = (turns[-1][0], 0.0, turns[-1][2])
    return make_transcript("Questions:", turns, "win" if won else "out_of_turns")


def _read_car_dealer(row: JsonObject, task: str) -> Episode:
    """The reward is that of the paper's code: the price over the mean of budget and list price, or, without a sale, the
    list price minus the budget, over the list price. A conversation without output did not end."""
    lines = [(line.get_field("role", str), line.get_field("text", str).strip()) for line in row.get_objects("lines")]
    opening, turns = ["Beginning of Conversation"], list[list[str]]()
    for i, (role, text) in enumerate(lines):
        if role not in (*_SELLERS, _BUYER):
            row.raise_invalid(f"lines[{i}].role", role, ", ".join((*_SELLERS, _BUYER)))
        if role == _BUYER:
            (turns[-1] if turns else opening).append(text)
        elif turns and len(turns[-1]) == 1:
            turns[-1][0] += f" {text}"
        else:
            turns.append([text])
    if not turns:
        row.raise_invalid("lines", row.value["lines"], "one line of the seller or more")
    done = [(said, 0.0, "\n".join(heard)) for said, *heard in turns]
    if "output" not in row.value:
        return make_transcript("\n".join(opening), done, "out_of_turns")
    bought, reward = _read_sale(row)
    done[-1] = (done[-1][0], reward, done[-1][2])
    return make_transcript("\n".join(opening), done, "win" if bought else "loss")


def _read_sale(row: JsonObject) -> tuple[bool, float]:
    output = JsonObject(row.get_field("output", dict), f"{row.where}: output")
    budget = JsonObject(row.get_field("buyer_info", dict), f"{row.where}: buyer_info").get_field("budget", int, float)
    bought, listed = output.get_field("car_bought", bool), output.get_field("msrp", int, float)
    if not listed:
        return bought, 0.0
    if not bought:
        return False, -(budget - listed) / listed
    price = output.value.get("buy_price")
    return True, 0.0 if price is None else output.get_field("buy_price", int, float) / ((budget + listed) * 0.5)


READERS: Mapping[str, Callable[[JsonObject, str], Episode]] = {
    "maze": _read_maze,
    "maze_partial": _read_partial_maze,
    "text_nav": _read_text_nav,
    "text_nav_partial": _read_text_nav,
    "wordle": _read_wordle,
    "chess": _read_chess,
    "endgames": _read_chess,
    "twenty_questions": _read_questions,
    "guess_my_city": _read_questions,
    "car_dealer": _read_car_dealer,
}
