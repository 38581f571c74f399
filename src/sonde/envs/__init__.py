"""Environments: one file each, found by name (`sonde.make("wordle")`). `parse_answer`, `read_answer` and `tag_answer`
serve new ones."""

from ._shared.answer import parse_answer, read_answer, tag_answer

__all__ = ["parse_answer", "read_answer", "tag_answer"]
