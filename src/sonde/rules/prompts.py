"""Prompts live beside the environments as Markdown, one file each; a line `## name` starts the piece called `name`.

Pieces are `str.format` templates. They are written for sonde: rules and answer syntax follow the papers, the words do
not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def pieces(name: str) -> Mapping[str, str]:
    """The pieces of `envs/prompts/NAME.md`, loaded once per process."""
    text = files("sonde.envs").joinpath("prompts", f"{name}.md").read_text("utf-8")
    parts = text.split("\n## ")
    return {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts[1:])}
