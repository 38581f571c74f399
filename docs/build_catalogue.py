"""Write `docs/catalogue.md` from the registry: every environment, agent, user and model, as they describe themselves.

    python docs/build_catalogue.py

Nothing on that page is written by hand. What a turn tells in `info` is collected from episodes played with legal and
with hostile answers (`sonde.testing.Probe`). `tests/docs/test_catalogue.py` fails when the page is out of date.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sonde
from sonde import reference
from sonde.core import Configured, Env, Rng, Turn, View
from sonde.core.model import CAPABILITIES
from sonde.core.registry import summary
from sonde.core.types import Json
from sonde.testing import Probe
from sonde.testing.probe import mixed, sensible

PAGE = Path(__file__).parent / "catalogue.md"
HEAD = """# Catalogue

<!-- Written by `python docs/build_catalogue.py`; do not edit. -->

Everything that `sonde.make` knows by name, as it describes itself. The column `public` names what a prior may see of a
task. Where floor and reference carry numbers, they are mean returns on the test split with 95 % intervals
(`python -m sonde.reference`).
"""
PRESET_COLUMNS = (
    *("preset", "source", "turns", "train, test tasks", "`public`", "rewards", "prior's support"),
    *("floor", "reference"),
)
EPISODES, TURNS = 40, 4000
"""Where episodes are long, fewer of them are played, at least 8."""
_LONGEST = 60


def catalogue() -> str:
    """The page."""
    parts = [HEAD, "## Environments\n"]
    parts += [_environment(name) for name in sonde.names("envs")]
    for kind, title in (("agents", "Agents"), ("users", "Users"), ("models", "Models")):
        if found := sonde.names(kind):
            parts.append(f"## {title}\n")
            parts += [_leaf(kind, name) for name in found]
    return "\n".join(parts)


def _environment(name: str) -> str:
    cls: Any = sonde.find(name)
    made: list[Env[Any]] = [sonde.make(name, preset=preset) for preset in cls.presets]
    first = made[0]
    parts = [f"### {name}\n", f"{summary('envs', name)}\n", _presets(made), _facts(first)]
    parts.append(_arguments(cls))
    parts.append(f"`env.task(hidden)`: {_flat(cls.task.__doc__ or inspect.getdoc(cls.task) or '')}\n")
    parts.append("What `turn.info` holds, by its `result`:\n\n" + _table(("result", "facts"), _info(made)))
    return "\n".join(part for part in parts if part)


def _presets(made: list[Env[Any]]) -> str:
    return _table(PRESET_COLUMNS, map(_preset, made))


def _preset(env: Env[Any]) -> tuple[str, ...]:
    spec = env.spec
    sizes = ", ".join(f"{len(env.tasks(split)):,}" for split in env.splits)
    low, high = spec.reward_range
    found = reference.entries().get(reference.fingerprint(env)) if spec.reference else None
    floor, top = (_score(found, role, getattr(spec, role)) for role in ("floor", "reference"))
    public = ", ".join(sorted(env.tasks("train")[0].public)) or "-"
    told = (spec.source, str(spec.max_turns), sizes, public, f"{low:g} to {high:g}", spec.support)
    return (f"`{spec.preset}`", *told, floor, top)


def _score(entry: Mapping[str, Json] | None, role: str, agent: str) -> str:
    """The policy, with its mean return and interval where they were measured."""
    if entry is None:
        return f"`{agent}`" if agent else "none"
    score = entry[role]["score"]
    return f"`{agent}`: {score['mean']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _facts(env: Env[Any]) -> str:
    spec = env.spec
    rows = [f"- Version {spec.version}; at most {spec.max_new_tokens:,} new tokens per reply by default."]
    others = {seat: policy for seat, policy in spec.seats.items() if seat != sonde.AGENT}
    rows += [f"- Seat `{seat}`: {f'`{policy}`' if policy else 'bring a policy'}." for seat, policy in others.items()]
    rows += [f"- Departure: {text}." for text in spec.departures]
    return "\n".join(rows) + "\n"


def _arguments(cls: type[Configured]) -> str:
    fields = [f for f in dataclasses.fields(cls) if f.init and f.metadata.get("config", True)]  # type: ignore[arg-type]
    shown = [f"`{f.name}`" if (d := _default(f)) is None else f"`{f.name}={d}`" for f in fields]
    return f"Arguments: {', '.join(shown)}.\n" if shown else "No arguments.\n"


def _default(field: dataclasses.Field[Any]) -> str | None:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return None if field.default_factory is dataclasses.MISSING else repr(field.default_factory())


def _info(made: Iterable[Env[Any]]) -> list[tuple[str, str]]:
    """Every `result` that turned up, with one example of the other facts beside it."""
    found: dict[str, dict[str, Json]] = {}
    for env in made:
        for turn in _turns(Probe(env=env, episodes=max(8, min(EPISODES, TURNS // env.spec.max_turns)))):
            facts = {k: v for k, v in turn.info.items() if v is not None}
            found.setdefault(str(facts.pop("result", "")), {}).update(facts)
    return [(f"`{result}`", _example(facts)) for result, facts in sorted(found.items())]


def _turns(probe: Probe) -> Iterator[Turn]:
    """Turns of legal play, of legal and hostile play, of play that repeats itself, and of the reference."""
    for i in range(probe.episodes):
        for reply in (sensible, mixed, _repeating):
            yield from probe.play(i, reply, "catalogue").turns
    if policy := probe.reference:
        act = policy.act_now
        for i in range(probe.episodes // 8):
            yield from probe.play(i, lambda view, _: act(view).text).turns


def _repeating(view: View, rng: Rng) -> str:
    """What was said last, every third time."""
    said = [m.content for m in view.messages if m.role == "assistant"]
    return said[-1] if said and rng.random() < 1 / 3 else sensible(view, rng)


def _example(facts: Mapping[str, Json]) -> str:
    return ", ".join(f"`{key}`: `{_short(value)}`" for key, value in facts.items()) or "-"


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _leaf(kind: str, name: str) -> str:
    cls = sonde.find(f"{kind}:{name}")
    parts = [f"### {kind}:{name}\n", f"{summary(kind, name)}\n", _arguments(cls)]
    can = [who.replace(name, what) for what, all_ in CAPABILITIES.items() for who in all_ if who.split()[0] == name]
    if kind == "models" and can:
        parts.append(f"Can: {', '.join(can)}.\n")
    return "\n".join(parts)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(head), *(tuple(row) for row in rows)]
    lines.insert(1, tuple("---" for _ in lines[0]))
    return "".join("| " + " | ".join(_flat(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _flat(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(catalogue(), "utf-8")
