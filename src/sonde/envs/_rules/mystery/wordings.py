"""How detectives put things: the wordings in `data/murder_mystery/`, one file for each module that reads them.

A file has two or three tables of regular expressions over templates (`words`): `forms`, each a list of
alternatives; `says`, for those of which nothing but their presence matters; and `parts`, which the others name in
braces, `{worn}`. The parts of `shared.toml` are known in every file. A line break and the indentation after it count
for nothing. What is in `says` comes in rows, and a row may have `needs`: strings (apart by `|`) without one of which
none of its alternatives can be found, which is seen faster. Source: ours.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_BREAK = re.compile(r"\n *")
_PART = re.compile(r"\{([a-z_]+)\}")

Says = Callable[[str], bool]
"""Whether a text says something."""


class Wordings(NamedTuple):
    """The tables of a file, with the shared parts among its own."""

    parts: Mapping[str, str]
    forms: Mapping[str, Sequence[str]]
    says: Mapping[str, Sequence[Mapping[str, Any]]]

    def pattern(self, name: str) -> re.Pattern[str]:
        """A pattern that finds what any of the forms finds."""
        return self._any(self.forms[name])

    def patterns(self, name: str) -> tuple[re.Pattern[str], ...]:
        """One pattern for each of the forms."""
        return tuple(self._any([form]) for form in self.forms[name])

    def test(self, name: str) -> Says:
        """Whether a text has any of the forms of a name in `says`."""
        return _Test(tuple((_needed(row), self._any(row["forms"]).search) for row in self.says[name]))

    def _any(self, forms: Sequence[str]) -> re.Pattern[str]:
        return re.compile("|".join(map(self._whole, forms)))

    def _whole(self, form: str) -> str:
        """An expression with its parts in their places."""
        return _PART.sub(lambda found: f"(?:{self._whole(self.parts[found[1]])})", _BREAK.sub("", form))


class _Test(NamedTuple):
    """What may be looked for, and how, each."""

    rows: tuple[tuple[tuple[str, ...], Callable[[str], re.Match[str] | None]], ...]

    def __call__(self, text: str) -> bool:
        has = text.__contains__
        for needs, search in self.rows:  # noqa: SIM110  a generator would cost more than most searches
            if (not needs or any(map(has, needs))) and search(text):
                return True
        return False


def _needed(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_BREAK.sub("", row["needs"]).split("|")) if "needs" in row else ()


@cache
def wordings(name: str) -> Wordings:
    """The file of a name; read once."""
    raw, shared = _raw(name), _raw("shared")
    return Wordings({**shared["parts"], **raw.get("parts", {})}, raw.get("forms", {}), raw.get("says", {}))


@cache
def _raw(name: str) -> Mapping[str, Any]:
    text = files("sonde.envs").joinpath("data", "murder_mystery", f"{name}.toml").read_text("ascii")
    return tomllib.loads(text)
