"""Read tasks from a file: your own hidden setups, or the papers' task files.

- `.json` with `train` and `eval`, rows of `{"agent": ..., "env": ...}`: PAPRIKA's game configurations (its repository,
  `game_configs/`). `train` gives its training tasks, `test` its evaluation tasks.
- `.json` with a list: hidden setups, each in the form that the environment's `task()` takes.
- `.txt`: one secret per line: ΔBelief-RL's word lists, `City, Country`, words for Wordle, codes for mastermind.

Files are UTF-8, with or without a byte order mark. Topics are matched by name, ignoring case, a leading article and
trailing punctuation ("The piano.").

The papers' data is not part of sonde. A topic outside sonde's knowledge becomes a scenario that only a language model
can play as the user (`public["foreign"]`); it has no exact beliefs. Nor has a topic of another preset, or a secret of
Wordle outside its list of answers. A file that mixes foreign topics with known ones gives an `UnknownTopicWarning`,
because they may be misspelt; one without any known topic gives it where the rules play the user. Of battleship,
minesweeper and the bandit PAPRIKA's files hold sizes and names of arms; ships, mines and means are drawn in every
episode.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from sonde._util.text_files import compose_text, read_text
from sonde.core import Env, Task, UserError, UserModel, invalid, unknown
from sonde.core.types import Json

SPLITS = {"train": "train", "test": "eval"}
"""Maps our splits to the keys of a game configuration."""

_AROUND = " .,;:!?\"'`“”‘’«»"
_ARTICLE = re.compile(r"^(?:the|an?) (?=.)", re.IGNORECASE)


class UnknownTopicWarning(UserWarning):
    """Some topics in a file are not known."""


def warn_of_rule_user(tasks: Sequence[Task], user: object) -> None:
    """Warn where the rules play the user in tasks of which they know none."""
    if isinstance(user, UserModel) and tasks and all(task.public.get("foreign") for task in tasks):
        warnings.warn(
            f"tasks_file: the rules know none of the {len(tasks)} topics, and play the user; "
            "only a language model can answer for them (--user)",
            UnknownTopicWarning,
            stacklevel=3,
        )


def _parse_city(text: str) -> Json:
    """`"Kyiv (Kiev), Ukraine"` as city and country."""
    city, _, country = text.rpartition(",")
    return {"city": city.strip() or country.strip(), "country": country.strip() if city else ""}


def _automaton_setup(rows: str) -> Json:
    """`"Input 1: 0 1 1\\nOutput 1: 1 1 0\\n\\nInput 2: ..."` as rows of cells."""
    found = {name: re.findall(rf"^{name} \d+:([ 01]+)$", rows, re.MULTILINE) for name in ("Input", "Output")}
    return {f"{name.lower()}s": [row.replace(" ", "") for row in found[name]] for name in found}


def _board_setup(size: str) -> Json:
    """`"grid size: 6"`: a board of battleship, whose ships every episode draws."""
    return {"size": _read_number(size.rpartition(" ")[2])}


def _mines_setup(sides: str) -> Json:
    """`"5 4"`: the rows and columns of a board, whose mines every episode draws."""
    return dict(zip(("rows", "cols"), map(_read_number, sides.split()), strict=False))


def _read_number(text: str) -> Json:
    return int(text) if text.isdecimal() else text


def _arms_setup(names: str) -> Json:
    """`"blue, green, red"`: the arms of a bandit, whose means every episode draws."""
    return {"arms": [name.strip() for name in names.split(",")]}


def _word_setup(word: str) -> Json:
    return {"word": word.lower()}


def _topic_setup(topic: str, category: str = "a noun") -> Json:
    return {"topic": topic, "category": category}


_ROWS: Mapping[str, Callable[[str, str], Json]] = {
    "twenty_questions": lambda shown, hidden: _topic_setup(hidden, shown),
    "guess_my_city": lambda shown, hidden: _parse_city(hidden),
    "customer_service": lambda shown, hidden: {"scenario": shown, "solution": hidden},
    "murder_mystery": lambda shown, hidden: {"scenario": shown, "solution": hidden},
    "battleship": lambda shown, hidden: _board_setup(hidden),
    "best_arm": lambda shown, hidden: _arms_setup(hidden),
    "minesweeper": lambda shown, hidden: _mines_setup(hidden),
    "cellular_automata": lambda shown, hidden: _automaton_setup(hidden),
    "mastermind": lambda shown, hidden: hidden,
    "wordle": lambda shown, hidden: _word_setup(hidden),
}
_LINES: Mapping[str, Callable[[str], Json]] = {
    "twenty_questions": _topic_setup, "guess_my_city": _parse_city, "mastermind": str, "wordle": _word_setup,
}  # fmt: skip


def read_tasks(path: Path | str, env: Env[Any], split: str = "test") -> list[Task]:
    """Read the tasks of a file, numbered in its order. Raises `UserError` naming a row or line that is not a task,
    counted from 1."""
    path = Path(path)
    if path.exists() and not path.is_file():  # a pipe or a device may be endless, and a record may name one
        raise invalid("tasks_file", str(path), "a file")
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise UserError(f"tasks_file: no file {path}") from None
    except UnicodeDecodeError as e:
        raise UserError(f"tasks_file: {path}: not UTF-8 ({e})") from e
    if path.suffix not in (".json", ".txt"):
        raise invalid("tasks_file", path.name, "a file ending in .json or .txt")
    setups = _from_json(text, path, env, split) if path.suffix == ".json" else _from_lines(text, path, env, split)
    if not setups:
        raise UserError(f"tasks_file: {path} holds no tasks")
    tasks = [_make_task(env, setup, where, i) for i, (where, setup) in enumerate(setups)]
    _warn_of_unknown(env, tasks, [setup for _, setup in setups], path)
    return tasks


def has_splits(path: Path | str) -> bool:
    """Whether a file has tasks to train on and others to test on, as PAPRIKA's game configurations do."""
    path = Path(path)
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        return isinstance(json.loads(read_text(path)), Mapping)
    except (ValueError, RecursionError):
        return False


def _check_split(env: Env[Any], split: str, path: Path) -> None:
    """Raise `UserError` for a split that the environment does not have: a list has none of its own."""
    if split not in env.splits:
        raise unknown(f"tasks_file: {path} is a list without splits; split", split, env.splits)


def _from_json(text: str, path: Path, env: Env[Any], split: str) -> Sequence[tuple[str, Json]]:
    """The hidden setups, each with its place in the file."""
    try:
        found = compose_text(json.loads(text))
    except (ValueError, RecursionError) as e:
        raise UserError(f"tasks_file: {path}: {e}") from e
    if isinstance(found, list):
        _check_split(env, split, path)
        return [(f"{path}: row {n}", setup) for n, setup in enumerate(cast("list[Json]", found), start=1)]
    key = SPLITS.get(split, split)
    if not isinstance(found, Mapping) or not isinstance(found.get(key), list):
        lists = [name for name, rows in found.items() if isinstance(rows, list)] if isinstance(found, Mapping) else []
        got = f"the lists {', '.join(lists)}" if lists else "no list"
        raise UserError(f"tasks_file: {path}: got {got}, allowed: a list of setups, or a mapping with a list {key!r}")
    rows = [(f"{path}: row {n}", row) for n, row in enumerate(found[key], start=1)]
    return [(where, _parse_row(env, row, where)) for where, row in rows]


def _parse_row(env: Env[Any], row: Json, where: str) -> Json:
    """The hidden setup of a row of a game configuration."""
    if env.name not in _ROWS:
        raise UserError(f"tasks_file: {env.name} reads no game configurations; allowed: {', '.join(_ROWS)}")
    if not isinstance(row, Mapping) or not all(isinstance(row.get(k), str) for k in ("agent", "env")):
        raise invalid(f"tasks_file: {where}", row, 'texts "agent" (shown) and "env" (hidden)')
    return _ROWS[env.name](row["agent"], row["env"])


def _from_lines(text: str, path: Path, env: Env[Any], split: str) -> Sequence[tuple[str, Json]]:
    if env.name not in _LINES:
        raise UserError(f"tasks_file: {env.name} reads no word lists; allowed: {', '.join(_LINES)}")
    _check_split(env, split, path)
    lines = enumerate(map(str.strip, text.split("\n")), start=1)
    return [(f"{path}: line {n}", _LINES[env.name](line)) for n, line in lines if line]


def _make_task(env: Env[Any], setup: Json, where: str, i: int) -> Task:
    try:
        return replace(_find_known_task(env, setup) or env.task(setup), index=i)
    except UserError as e:
        raise UserError(f"tasks_file: {where}: {e}") from e


def _find_known_task(env: Env[Any], setup: Json) -> Task | None:
    """The task of a topic that the environment knows; None for any other setup."""
    topic = setup.get("topic") if isinstance(setup, Mapping) else None
    for name in _possible_spellings(env, topic) if isinstance(topic, str) else ():
        with suppress(UserError):
            return env.task(name)
    return None


def _possible_spellings(env: Env[Any], topic: str) -> Iterator[str]:
    """The topic as written, then other spellings under which it may be known, most likely first."""
    written = " ".join(topic.split())
    bare = written.strip(_AROUND)
    for name in (written, bare, _ARTICLE.sub("", bare)):
        yield from (name, name.lower(), *_topic_names(env).get(name.casefold(), ()))


@cache
def _topic_names(env: Env[Any]) -> Mapping[str, Sequence[str]]:
    """The names of all topics, by their case-folded form."""
    found: dict[str, list[str]] = {}
    for name in getattr(env, "topic_names", ()):
        found.setdefault(name.casefold(), []).append(name)
    return found


def _warn_of_unknown(env: Env[Any], tasks: Sequence[Task], setups: Sequence[Json], path: Path) -> None:
    unknown = [setup for task, setup in zip(tasks, setups, strict=True) if task.public.get("foreign")]
    if 0 < len(unknown) < len(tasks):
        shown = json.dumps(unknown[0], ensure_ascii=False)
        needs = "only a language model can answer for them (--user), and " if "user" in env.spec.seats else ""
        warnings.warn(
            f"tasks_file: {path}: the rules do not know {len(unknown)} of {len(tasks)} topics, the first {shown}; "
            f"{needs}they have no exact beliefs",
            UnknownTopicWarning,
            stacklevel=3,
        )
