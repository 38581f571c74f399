"""Write the pages of what else `sonde.make` knows by name: agents, and users and models, as they describe themselves.

    python docs/build_catalogue.py

Nothing on these pages is written by hand (environments: `build_environments.py`). `tests/docs/test_catalogue.py` fails
when one is out of date.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

import sonde
from sonde.core.model import CAPABILITIES
from sonde.core.registry import summary

DOCS = Path(__file__).parent
WRITTEN = runpy.run_path(str(DOCS / "written.py"))
prose, arguments = WRITTEN["prose"], WRITTEN["arguments"]

NOTE = "<!-- Written by `python docs/build_catalogue.py`; do not edit. -->"


def pages() -> dict[str, str]:
    """The pages by their path below `docs/`."""
    return {"agents/index.md": agents(), "users-and-models.md": users_and_models()}


def agents() -> str:
    """Every policy of the agent's seat: what it does, its source, where it is floor or reference."""
    roles = _roles()
    parts = [
        f"# Agents\n\n{NOTE}\n\nEvery policy for the agent's seat, as its module describes it; those with a page of "
        "their own are linked. How to write one: [Add an agent](../add-an-agent.md).\n"
    ]
    for name in sonde.names("agents"):
        parts += [_heading(name), *_described("agents", name)]
        parts += [f"{role}: {', '.join(envs)}.\n" for role, envs in roles.get(name, {}).items()]
    return "\n".join(parts)


def _heading(name: str) -> str:
    own = (DOCS / "agents" / f"{name}.md").is_file()
    return f"## {name}\n" + (f"\n[Formula, a run and when to use it]({name}.md).\n" if own else "")


def _described(kind: str, name: str) -> list[str]:
    """A leaf by its module's docstring."""
    cls = sonde.find(f"{kind}:{name}")
    return [f"{prose(sys.modules[cls.__module__].__doc__ or '')}\n", arguments(cls)]


def _roles() -> Mapping[str, Mapping[str, list[str]]]:
    """Where an agent is the floor or the reference, with links."""
    found: dict[str, dict[str, list[str]]] = {}
    for env in sonde.names("envs"):
        spec = sonde.make(env).spec
        for role, agent in (("Floor of", spec.floor), ("Reference of", spec.reference)):
            if agent and agent != "random":
                found.setdefault(agent, {}).setdefault(role, []).append(f"[{env}](../environments/{env}.md)")
    return found


def users_and_models() -> str:
    """The other seats, and what language models run on."""
    parts = [f"# Users and models\n\n{NOTE}\n\nWho else `sonde.make` knows by name.\n"]
    for kind, title in (("users", "Users, opponents, judges"), ("models", "Models")):
        parts.append(f"## {title}\n")
        for name in sonde.names(kind):
            parts += [f"### {kind}:{name}\n", f"{summary(kind, name)}\n", arguments(sonde.find(f"{kind}:{name}"))]
            told = [
                who.replace(name, what) for what, all_ in CAPABILITIES.items() for who in all_ if who.split()[0] == name
            ]
            if kind == "models" and told:
                parts.append(f"Can: {', '.join(told)}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).write_text(text, "utf-8")
