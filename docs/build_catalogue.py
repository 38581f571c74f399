"""Write the page of users and models that `sonde.make` knows by name, as they describe themselves.

    python docs/build_catalogue.py

Nothing on it is written by hand (environments: `build_environments.py`, agents: `build_agents.py`).
`tests/docs/test_catalogue.py` fails when it is out of date.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import sonde
from sonde.core.model import CAPABILITIES
from sonde.core.registry import read_summary

DOCS = Path(__file__).parent
WRITTEN = runpy.run_path(str(DOCS / "written.py"))
arguments = WRITTEN["arguments"]

NOTE = "<!-- Written by `python docs/build_catalogue.py`; do not edit. -->"


def pages() -> dict[str, str]:
    """The pages by their path below `docs/`."""
    return {"users-and-models.md": users_and_models()}


def users_and_models() -> str:
    """The other seats, and what language models run on."""
    parts = [
        f"# Users and models\n\n{NOTE}\n\nThe users, opponents, judges and models that `sonde.make` finds by name.\n"
    ]
    for kind, title in (("users", "Users, opponents, judges"), ("models", "Models")):
        parts.append(f"## {title}\n")
        for name in sonde.names(kind):
            parts += [
                f"### {kind}:{name}\n",
                f"{read_summary(kind, name)}\n",
                arguments(sonde.core.find(f"{kind}:{name}")),
            ]
            told = [
                who.replace(name, what) for what, all_ in CAPABILITIES.items() for who in all_ if who.split()[0] == name
            ]
            if kind == "models" and told:
                parts.append(f"Capabilities: {', '.join(told)}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).write_text(text, "utf-8")
