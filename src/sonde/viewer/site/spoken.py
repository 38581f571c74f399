"""What was said in the episodes of a run, as a script that does nothing but hand it to the page that searches it.

A page in a folder may not read another file, but may run a script that lies beside it: so the texts are one. They are
JSON in it, with whatever hides or reverses text shown by its code, so nothing that was said can become a program.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from sonde._util.escaping import plain
from sonde.core import Trajectory

from .library import Shelf
from .search import said


def spoken(shelf: Shelf, episodes: Iterable[Trajectory]) -> str:
    """The script that `search.js` reads: who played what, and of every episode its id, task, sample, outcome, texts."""
    told = [
        [
            t.id, t.task.index, t.sample, t.outcome.kind if t.outcome else "error",
            [[turn, plain(seat), plain(words)] for turn, seat, words in said(t) if words],
        ]
        for t in episodes
    ]  # fmt: skip
    run = {"env": str(shelf.env_config["name"]), "agent": plain(shelf.agent), "episodes": told}
    return f"(globalThis.said ??= {{}})[{_literal(shelf.name)}] = {_literal(run)};\n"


def _literal(value: object) -> str:
    """JSON that is the same as a script, and no end of one should it ever stand in a page."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
