"""Import tasks of Multi-Turn Puzzles from a file: hidden setups for `--tasks-file`.

The authors released tasks and prompts without an environment (`arianhosseini/mt_puzzles` on the Hugging Face hub). What
a task consists of is in the paper (section 2.1, appendix A); which names the release gives to these parts is not, and
it could not be looked up where this was written. So a file is read by names: every part below may have another name in
the file, with dots where it lies in an inner object (`names={"secret": "metadata.target"}`).

    word_guess                 vocabulary    the listed words
                               secret        one of them
    movie_recommendation       seen, unseen  a row of scores per movie: a list, or an object of attributes, of which
                                             texts (a title) are left out; or an object of such rows by title
                               weights       of the user: a list, or an object of the same attributes
    circuit_decoding           circuits      a truth table (outputs in counting order) or an expression per circuit
                               gates         the totals of AND, OR and NOT gates that the model is told
    word_chaining              lexicon       the allowed words
                               first         who begins: model, agent or assistant; user, opponent or environment
    twenty_questions_answerer  words         an object of hypernyms by noun, or a list of {"word", "hypernyms"}; a list
                                             of nouns of our own pool

A file is one object per line or one list of them. A part may be JSON written as a text, as tables on the hub have it;
words may be a text with commas, spaces or lines between them. Upper case becomes lower case.

Attributes and movies get our names, in the order of the file: a linear taste has no use for their meaning. A user of
the paper compares movies; ours may also be asked to rate one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sonde.core import AGENT, Env, UserError, make, unknown
from sonde.core.types import Json

from .files import JsonObject, read_objects

Parts = Mapping[str, Any]
"""The parts of a task, by our names."""

_BEGINNERS = {
    **dict.fromkeys(("agent", "assistant", "model"), AGENT),
    **dict.fromkeys(("opponent", "user", "environment"), "opponent"),
}
_MOST_DECIMALS = 2


@dataclass(frozen=True)
class PuzzleTasks:
    """Tasks that were read. `env` holds them as a configuration: other sizes than the preset's, where the file has
    them; `setups` are their hidden setups, in the order of the file."""

    env: Env[Any]
    setups: Sequence[Json]

    @property
    def changes(self) -> dict[str, Json]:
        """What differs from the environment's preset `mtp`."""
        usual = make(self.env.name).config
        return {name: value for name, value in self.env.config.items() if value != usual[name]}

    def write_file(self, file: Path) -> None:
        """Write the setups as a file for `--tasks-file`."""
        file.write_text(json.dumps(self.setups, ensure_ascii=False, indent=0), "utf-8")


def read_puzzles(game: str, file: Path, names: Mapping[str, str] | None = None) -> PuzzleTasks:
    """Read the tasks of a game. `names`: what the file calls a part, where it is not our name.

    Raises `UserError` for a name that is not a part's, and for a row that is no task, with its line and part.
    """
    if game not in GAMES:
        raise unknown("game", game, GAMES)
    reader, renamed = GAMES[game], dict(names or {})
    if others := set(renamed) - set(reader.parts):
        raise unknown(f"{game}: name", min(others), reader.parts)
    rows = list(read_objects(file))
    if not rows:
        raise UserError(f"{file}: got no tasks, allowed: one object or more")
    parts = [{part: _get_part(row, renamed.get(part, part)) for part in reader.parts} for row in rows]
    setups = [reader.make_setup(JsonObject(found, row.where)) for row, found in zip(rows, parts, strict=True)]
    env = make(game, **reader.find_sizes(setups))
    finished = [reader.finish_setup(env, setup) for setup in setups]
    for row, setup in zip(rows, finished, strict=True):
        try:
            env.task(setup)
        except UserError as e:
            raise UserError(f"{row.where}: {e}") from e
    return PuzzleTasks(env, finished)


def _get_part(row: JsonObject, path: str) -> Any:
    """The value at a dotted path; JSON in a text is read."""
    value = row.value
    for key in path.split("."):
        value = _read_json_text(value)
        if not isinstance(value, Mapping) or key not in value:
            there = ", ".join(map(str, cast("Mapping[str, Any]", value))) if isinstance(value, Mapping) else "no object"
            raise UserError(f"{row.where}: {path}: no {key!r}; there: {there}; give its name in the file")
        value = value[key]
    return _read_json_text(value)


def _read_json_text(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


# --- parts -----------------------------------------------------------------------------------------------------------


def _read_words(row: JsonObject, part: str) -> list[str]:
    """A list of words, or a text of them, in lower case."""
    given = row.value[part]
    words = re.split(r"[\s,;]+", given.strip()) if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in cast("list[Any]", words)):
        row.raise_invalid(part, given, "a list of words, or a text of words")
    return [word.strip().lower() for word in cast("list[str]", words)]


def _read_scores(row: JsonObject, part: str, given: Any) -> list[float]:
    """Numbers in a list, or those of an object, whose texts (a title) are left out."""
    values = list(given.values()) if isinstance(given, Mapping) else given
    numbers = [v for v in values if not isinstance(v, str)] if isinstance(given, Mapping) else values
    if not isinstance(numbers, list) or not numbers or not all(type(v) in (int, float) for v in numbers):
        row.raise_invalid(part, given, "numbers in a list, or by attribute")
    return [float(v) for v in numbers]


def _read_table(row: JsonObject, part: str) -> list[list[float]]:
    given = row.value[part]
    movies = list(given.values()) if isinstance(given, Mapping) else given
    if not isinstance(movies, list) or not movies:
        row.raise_invalid(part, given, "a row of scores per movie")
    return [_read_scores(row, f"{part}[{i}]", movie) for i, movie in enumerate(movies)]


def _check_attributes(row: JsonObject) -> None:
    """Objects of one task name the same attributes in the same order, so that a score keeps its weight."""
    weights, tables = row.value["weights"], [row.value["seen"], row.value["unseen"]]
    movies = [movie for t in tables for movie in (t.values() if isinstance(t, Mapping) else t)]
    listed = [tuple(k for k, v in m.items() if not isinstance(v, str)) for m in movies if isinstance(m, Mapping)]
    names = tuple(weights) if isinstance(weights, Mapping) else None
    for found in listed:
        if found != (names or listed[0]):
            row.raise_invalid("attributes", found, f"{', '.join(names or listed[0])}, in this order")


# --- games -----------------------------------------------------------------------------------------------------------


def _keep_sizes(setups: Sequence[Any]) -> dict[str, Json]:
    return {}


def _keep_setup(env: Env[Any], setup: Any) -> Json:
    return setup


@dataclass(frozen=True)
class Reader:
    """How the tasks of a game are read: their parts, a setup from a row's parts, the configuration that fits all
    setups, and what a setup lacks until that is known."""

    parts: Sequence[str]
    make_setup: Callable[[JsonObject], Any]
    find_sizes: Callable[[Sequence[Any]], dict[str, Json]] = _keep_sizes
    finish_setup: Callable[[Env[Any], Any], Json] = _keep_setup


def _make_word_guess(row: JsonObject) -> Json:
    secret = row.get_field("secret", str).strip().lower()
    return {"vocabulary": _read_words(row, "vocabulary"), "secret": secret}


def _make_movies(row: JsonObject) -> Any:
    _check_attributes(row)
    return {
        "movies": {part: _read_table(row, part) for part in ("seen", "unseen")},
        "weights": _read_scores(row, "weights", row.value["weights"]),
    }


def _find_movie_sizes(setups: Sequence[Any]) -> dict[str, Json]:
    """Sizes of the first task, and ranges that hold those of all."""
    tables = {part: [setup["movies"][part] for setup in setups] for part in ("seen", "unseen")}
    scores = {part: [x for table in found for movie in table for x in movie] for part, found in tables.items()}
    weights = [w for setup in setups for w in setup["weights"]]
    low, high = min(weights), max(weights)
    least = min(min(found) for found in scores.values())
    return {
        "attributes": len(setups[0]["weights"]),
        "weights": (low, high) if high > low else (round(low - 0.1, 1), round(high + 0.1, 1)),
        "seen": len(tables["seen"][0]),
        "unseen": len(tables["unseen"][0]),
        "decimals": tuple(_count_decimals(found) for found in scores.values()),
        "min_credit": 1 if least >= 1 else 0,
    }


def _count_decimals(values: Iterable[float]) -> int:
    return max(next((n for n in range(_MOST_DECIMALS) if round(v, n) == v), _MOST_DECIMALS) for v in values)


def _name_weights(env: Env[Any], setup: Any) -> Json:
    """Our names of the attributes, in the order of the file."""
    names, weights = env.tasks("train")[0].hidden["weights"], setup["weights"]
    if len(names) != len(weights):
        return {**setup, "weights": {str(i): w for i, w in enumerate(weights)}}
    return {**setup, "weights": dict(zip(names, weights, strict=True))}


def _make_circuits(row: JsonObject) -> Any:
    circuits = [_read_circuit(row, i, given) for i, given in enumerate(row.get_list("circuits", str, list))]
    gates = {str(name).lower(): n for name, n in row.get_field("gates", dict).items()}
    if set(gates) != {"and", "or", "not"}:
        row.raise_invalid("gates", row.value["gates"], 'numbers of "AND", "OR" and "NOT" gates')
    return {"circuits": circuits, "gates": gates}


def _read_circuit(row: JsonObject, i: int, given: str | list[Any]) -> str:
    """A table as bits, or an expression in lower case."""
    if isinstance(given, str):
        return given.strip().lower()
    if not all(bit in (0, 1) for bit in given):
        row.raise_invalid(f"circuits[{i}]", given, "outputs, each 0 or 1")
    return "".join(str(int(bit)) for bit in given)


def _find_circuit_sizes(setups: Sequence[Any]) -> dict[str, Json]:
    """The sizes and totals of the first task; other totals are in the setups."""
    first = setups[0]
    table = first["circuits"][0]
    inputs = len(table).bit_length() - 1 if set(table) <= {"0", "1"} else len(set(re.findall(r"\b[a-d]\b", table)))
    return {
        "circuits": len(first["circuits"]),
        "inputs": inputs,
        "ands": first["gates"]["and"],
        "nots": first["gates"]["not"],
    }


def _make_chaining(row: JsonObject) -> Json:
    first = row.get_field("first", str).strip().lower()
    if first not in _BEGINNERS:
        row.raise_invalid("first", first, ", ".join(_BEGINNERS))
    return {"lexicon": _read_words(row, "lexicon"), "first": _BEGINNERS[first]}


def _make_answerer(row: JsonObject) -> Json:
    given = row.value["words"]
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, list) and all(isinstance(each, Mapping) for each in given):
        nouns = row.get_objects("words")
        return {noun.get_field("word", str): noun.get_list("hypernyms", str) for noun in nouns}
    return _read_words(row, "words")


GAMES: Mapping[str, Reader] = {
    "word_guess": Reader(("vocabulary", "secret"), _make_word_guess),
    "movie_recommendation": Reader(("seen", "unseen", "weights"), _make_movies, _find_movie_sizes, _name_weights),
    "circuit_decoding": Reader(("circuits", "gates"), _make_circuits, _find_circuit_sizes),
    "word_chaining": Reader(("lexicon", "first"), _make_chaining),
    "twenty_questions_answerer": Reader(("words",), _make_answerer),
}
"""The five games of the paper."""
