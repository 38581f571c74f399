"""Prompts are Markdown files beside their environment; a line `## name` begins the piece called `name`.

Pieces are `str.format` templates. They are written for sonde: rules and answer syntax follow the papers, the words do
not. An environment speaks by `Env.prompt_pieces`, so that they can be replaced (`core.prompts`).
"""

from __future__ import annotations

from sonde.core.env import load_pieces

__all__ = ["load_pieces"]
