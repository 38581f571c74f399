"""Word lists of English (`english.txt`), rows of data files, and an index of phrases by their first word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from sonde._util.folders import data_file

_HEADING = re.compile(r"\[\w+\]")


@cache
def _english_lists() -> Mapping[str, str]:
    text = files("sonde.envs._shared.english").joinpath("english.txt").read_text("utf-8")
    return parse_sections(text)


def parse_sections(text: str) -> Mapping[str, str]:
    """The parts of a text under headings in brackets; lines that start with # are comments.

    >>> parse_sections("# none\\n[a]\\nx y\\nz\\n[b]\\nw")
    {'a': 'x y\\nz', 'b': 'w'}
    """
    found: dict[str, list[str]] = {}
    rows = found.setdefault("", [])
    for line in text.splitlines():
        if _HEADING.fullmatch(line):
            rows = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            rows.append(line)
    return {name: "\n".join(rows) for name, rows in found.items() if name}


@cache
def read_rows(env: str, name: str) -> Sequence[Sequence[str]]:
    """The lines of an environment's data file, each split at " | "; lines that start with # are comments."""
    text = data_file(env, name).read_text("utf-8")
    return tuple(tuple(line.split(" | ")) for line in text.splitlines() if line and not line.startswith("#"))


@cache
def word_set(name: str) -> frozenset[str]:
    """A list of single words."""
    return frozenset(_english_lists()[name].split())


@cache
def word_list(name: str) -> Sequence[str]:
    """A list of phrases, in order."""
    return tuple(" ".join(part.split()) for part in _english_lists()[name].split(";") if part.strip())


def index_phrases(texts: Iterable[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
    """The texts as words, indexed by their first word, the longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for text in sorted(texts, key=lambda t: -len(t.split())):
        found.setdefault(text.split()[0], []).append(tuple(text.split()))
    return found


def match_length(words: Sequence[str], index: Mapping[str, Sequence[tuple[str, ...]]]) -> int:
    """The number of words of the longest indexed phrase at the start of the words; 0 without one."""
    found = index.get(words[0], ()) if words else ()
    return next((len(parts) for parts in found if tuple(words[: len(parts)]) == parts), 0)
