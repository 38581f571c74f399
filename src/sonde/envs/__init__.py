"""Environments: one file each, found by name (`sonde.make("wordle")`). `parse_answer`, `read_answer` and `tagged` serve
new ones."""

from ._shared.answer import parse_answer, read_answer, tagged

__all__ = ["parse_answer", "read_answer", "tagged"]
