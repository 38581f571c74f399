"""`sonde dataset mtp`: tasks of Multi-Turn Puzzles from a file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from sonde.core import invalid
from sonde.core.types import Json
from sonde.datasets import GAMES, read_puzzles

from . import options as opt
from .terminal import out, print_written


def _complete_games(incomplete: str) -> list[str]:
    return [name for name in GAMES if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class PuzzlesCommand:
    """Read tasks of Multi-Turn Puzzles from a file, and write them as a file for --tasks-file.

    The paper's release names its fields in its own way: give each part that has another name there with --name.
    """

    game: Annotated[str, Argument(help=f"One of {', '.join(GAMES)}.", autocompletion=_complete_games)]
    file: Annotated[Path, Option("--from", help="JSON: one object per line, or a list of them.")]
    to: Annotated[Path, Option("--out", help="The file of tasks to write.")]
    names: Annotated[
        list[str] | None,
        Option("--name", metavar="PART=NAME", help="What the file calls a part; dots lead into inner objects."),
    ] = None
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        if self.to.suffix != ".json":
            raise invalid("--out", str(self.to), "a file ending in .json")
        opt.check_writable("--out", self.to)
        found = read_puzzles(self.game, self.file, _split_names(self.names or []))
        found.write_file(self.to)
        command = shlex.join(
            ["sonde", "eval", self.game, "--tasks-file", str(self.to), *_spell_overrides(found.changes)]
        )
        data = {"game": self.game, "tasks": len(found.setups), "env": found.env.config, "command": command}
        if self.as_json:
            out.print_json(json.dumps(data))
            return
        shown = f"{self.game}: {len(found.setups):,} tasks\nplay them: {command}"
        out.print(shown, markup=False, highlight=False, soft_wrap=True)
        print_written(self.to)


def _split_names(given: list[str]) -> dict[str, str]:
    parts: dict[str, str] = {}
    for text in given:
        part, equals, name = text.partition("=")
        if not (part and equals and name):
            raise invalid("--name", text, "PART=NAME, such as secret=metadata.target")
        parts[part] = name
    return parts


def _spell_overrides(changes: Mapping[str, Json]) -> list[str]:
    """The settings as words of a command."""
    return [
        word
        for name, value in changes.items()
        for word in ("-o", f"env.{name}={json.dumps(value, separators=(',', ':'))}")
    ]
