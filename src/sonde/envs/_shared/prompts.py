"""Prompts are Markdown files in their environment's folder; a line `## name` begins the piece called `name`.

Pieces are `str.format` templates, written for sonde: rules and answer syntax follow the papers, the wording does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sonde.core.registry import env_folder


@cache
def load_pieces(name: str) -> Mapping[str, str]:
    """The pieces of `envs/FOLDER/prompts/NAME.md`, loaded once per process."""
    text = env_folder(name).joinpath("prompts", f"{name}.md").read_text("utf-8")
    parts = text.split("\n## ")
    return {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts[1:])}
