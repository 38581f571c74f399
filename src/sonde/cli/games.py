"""What is played, on the command line: the same options and paths in every command that plays.

`-o env.KEY=VALUE` sets an argument of the environment, `-o seats.NAME...` the player of a seat. Given to several
environments (a suite, say), each takes those that it has a place for; one that none has a place for is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sonde.core import AGENT, build, invalid, names, unknown
from sonde.core.types import Json
from sonde.runs.games import env_fields
from sonde.runs.task_files import has_splits

from . import options as opt
from .overrides import apply_overrides, parse_assignment


@dataclass(frozen=True, kw_only=True)
class GameOptions:
    """The options of every command that plays: which environments, which tasks, and who takes other seats."""

    preset: opt.PresetOpt = None
    max_turns: opt.TurnsOpt = None
    split: opt.SplitOpt = None
    tasks_files: opt.FilesOpt = None
    n_tasks: opt.TasksOpt = None
    user: opt.UserOpt = None
    judge: opt.JudgeOpt = None
    user_url: opt.UserUrlOpt = None
    overrides: opt.OverrideOpt = None


class Fit(NamedTuple):
    """The assignments that an environment has a place for, and its seats."""

    overrides: list[str]
    seats: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()


def env_and_preset(spec: str, preset: str | None) -> tuple[str, str | None]:
    """An environment given as NAME or NAME:PRESET; a plug-in's name has a colon of its own.

    >>> env_and_preset("maze:pairs", None), env_and_preset("mine:Game", "easy")
    (('maze', 'pairs'), ('mine:Game', 'easy'))
    """
    short, _, own = spec.partition(":")
    return (short, own or preset) if short in names("envs") else (spec, preset)


def env_config(spec: str, preset: str | None, max_turns: int | None = None) -> dict[str, Json]:
    """The configuration of an environment given as NAME or NAME:PRESET."""
    name, chosen = env_and_preset(spec, preset)
    given = {"preset": chosen, "max_turns": max_turns}
    return {"name": name, **{key: value for key, value in given.items() if value is not None}}


def tasks_file_of(files: Sequence[str] | None, config: Mapping[str, Json]) -> str:
    """The file of tasks of an environment, from FILE (of all environments) or ENV=FILE; empty if none is given."""
    name, preset = str(config["name"]), config.get("preset")
    found = ""
    for text in files or ():
        of, sign, file = text.partition("=")
        if not sign or of.partition(":")[0] not in names("envs"):
            found = text
        elif of in (name, f"{name}:{preset}"):
            return file
    return found


def check_tasks_files(
    files: Sequence[str] | None, configs: Sequence[Mapping[str, Json]], split: str | None = None
) -> None:
    """Raise `UserError` for a file of an environment that is not played, for several for all of them, and for a
    `split` (None: none was given) where every file is a list without splits."""
    played = {n for c in configs for n in (str(c["name"]), f"{c['name']}:{c.get('preset')}")}
    of_all: list[str] = []
    for text in files or ():
        of, sign, _ = text.partition("=")
        if not sign or (of.partition(":")[0] not in names("envs") and Path(text).exists()):
            of_all.append(text)
        elif of not in played:
            raise unknown("--tasks-file", of, played)
    if len(of_all) > 1:
        raise invalid("--tasks-file", of_all, "one FILE, or several as ENV=FILE")
    read = [tasks_file_of(files, config) for config in configs]
    if split is not None and read and all(file and Path(file).is_file() and not has_splits(file) for file in read):
        raise invalid("--split", split, f"no split: all tasks of {read[0]} are played, it is a list without splits")


def fit_overrides(config: Mapping[str, Json], overrides: Sequence[str] | None) -> Fit:
    """The assignments that an environment has a place for: its own arguments, the players of its seats, and all that
    are about neither."""
    arguments = env_fields(config)
    own = [given for given in overrides or () if _name_below("env", given) in (None, *arguments)]
    made = apply_overrides({"env": config}, [o for o in own if is_about_env(o)], names=("env",))
    seats = frozenset(build(made["env"]).spec.seats)
    return Fit([given for given in own if _name_below("seats", given) in (None, *seats)], seats, arguments)


def check_places(fits: Sequence[Fit], overrides: Sequence[str] | None, seats: Collection[str]) -> None:
    """Raise `UserError` for an assignment that no environment has a place for, and for a seat that none has."""
    every_seat = frozenset(seat for fit in fits for seat in fit.seats)
    for given in overrides or ():
        if not any(given in fit.overrides for fit in fits):
            name = _name_below("env", given)
            known = {argument for fit in fits for argument in fit.arguments} if name else every_seat
            raise unknown("-o env" if name else "-o seats", name or _name_below("seats", given), known)
    for seat in seats:
        if seat not in every_seat:
            raise unknown("seats", seat, every_seat)


def is_about_env(assignment: str) -> bool:
    """Whether an assignment sets an argument of the environment."""
    return parse_assignment(assignment).path[0] == "env"


def _name_below(part: str, assignment: str) -> str | None:
    """The argument or seat that an assignment is about; None if it is about something else, or all of them."""
    path = parse_assignment(assignment).path
    return path[1] if path[0] == part and len(path) > 1 else None


def override_env(config: Mapping[str, Json], overrides: Sequence[str]) -> dict[str, Any]:
    """The environment's configuration with the assignments that are about it."""
    about = [given for given in overrides if is_about_env(given)]
    return dict(apply_overrides({"env": config}, about, names=("env",))["env"])


def partners_of(seats: Mapping[str, Any], fit: Fit) -> dict[str, Any]:
    """The players of other seats that the environment has."""
    return {seat: policy for seat, policy in seats.items() if seat != AGENT and seat in fit.seats}
