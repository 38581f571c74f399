"""Environments: one file each, found by name (`sonde.make("wordle")`). `read_answer` and `tagged` serve new ones."""

from ..rules.answer import read_answer, tagged

__all__ = ["read_answer", "tagged"]
