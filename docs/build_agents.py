"""Write the agents' pages, with their curves, and the list of all agents.

    python docs/build_agents.py                          # pages and pictures
    python docs/build_agents.py --measure [NAME ...]     # plays first, and writes docs/agents/curves.json

How an agent plays comes from its module's docstring; when to use it, and which games its curve shows, from
`agents/when.toml`. The figures look as those of a report. `tests/docs/test_catalogue.py` fails when a page is out of
date.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import runpy
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sonde
from sonde.core import Env
from sonde.evaluation import regret
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.metrics import Estimate
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.viewer.figures.axes import DASHES, AgentStyle, figure_axes, label_ends, plot_estimates, set_turn_ticks
from sonde.viewer.figures.svg import Drawing

DOCS = Path(__file__).parent
WRITTEN = runpy.run_path(str(DOCS / "written.py"))
FOLDER = DOCS / "agents"
DATA = FOLDER / "curves.json"
NOTE = "<!-- Written by `python docs/build_agents.py`; do not edit. -->"
KINDS = {
    "won": ("turns", "episodes won (%)", "Share of episodes won within n turns"),
    "unknown": ("turns", "still unknown (bits)", "Mean posterior entropy in bits after each turn"),
    "regret": ("sub-episodes", "cumulative regret", "Mean cumulative regret"),
}
"""The kinds of curves: labels of the axes, and a description of the curve."""
GROUPS = ("For many environments", "With a language model", "Made of other policies", "For one environment")
PARTS = {"player", "policies", "policy", "first"}
"""Settings that hold another policy."""


def load_notes() -> dict[str, dict[str, Any]]:
    """Each agent's notes: when to use it, and what its curve shows."""
    return tomllib.loads((FOLDER / "when.toml").read_text("utf-8"))


# --- pages ----------------------------------------------------------------------------------------------------------


def pages() -> dict[str, str]:
    """The pages by file name, and the index of them."""
    return {
        "index.md": overview(),
        **{f"{name}.md": _page(name, told) for name, told in load_notes().items() if "when" in told},
    }


def overview() -> str:
    """The index: all agents by what they need, each with a link to its page, the first line of that page, and the
    environments of which it is the floor or the reference."""
    roles = _roles()
    groups: dict[str, list[tuple[str, str, str]]] = {title: [] for title in GROUPS}
    for name in sonde.names("agents"):
        row = (f"[{name}]({name}.md)", _read_docstring(name)[0], ", ".join(roles.get(name, ())))
        groups[_group(sonde.core.find(f"agents:{name}"))].append(row)
    return (
        f"# Agents\n\n{NOTE}\n\nAll policies for the agent's seat. Each page says how the agent plays and when to use "
        "it, and shows a measured curve; agents that need a language model play with a tiny one that comes with "
        "sonde, or with a scripted one that makes no mistakes. To write your own, see "
        "[Add an agent](../add-an-agent.md).\n\n"
        + "\n".join(f"## {title}\n\n{_agent_table(rows)}" for title, rows in groups.items())
    )


def _agent_table(rows: Sequence[tuple[str, str, str]]) -> str:
    """A table of agents; the last column is omitted if it is empty."""
    head = ("agent", "how it plays", "role on the scale")
    wide = any(row[-1] for row in rows)
    return WRITTEN["table"](head if wide else head[:-1], rows if wide else (row[:-1] for row in rows))


def _group(cls: type[Any]) -> str:
    """The group of an agent, one of `GROUPS`, by its module and its settings."""
    fields = {field.name for field in dataclasses.fields(cls)}
    general, model, composed, own = GROUPS
    if cls.__module__.startswith("sonde.envs."):
        return own
    return model if "model" in fields else composed if fields & PARTS else general


def _read_docstring(name: str) -> tuple[str, str]:
    """The first paragraph of an agent's module docstring, and the rest."""
    return WRITTEN["split_summary"](sys.modules[sonde.core.find(f"agents:{name}").__module__].__doc__ or "")


def _roles() -> Mapping[str, list[str]]:
    """Map each agent to the environments of which it is the floor or the reference, as links."""
    found: dict[str, list[str]] = {}
    for env in sonde.names("envs"):
        spec = sonde.make(env).spec
        for role, agent in (("floor", spec.floor), ("reference", spec.reference)):
            if agent and agent != "random":
                found.setdefault(agent, []).append(f"{role} of [{env}](../environments/{env}.md)")
    return found


def _page(name: str, told: Mapping[str, Any]) -> str:
    first, rest = _read_docstring(name)
    cls = sonde.core.find(f"agents:{name}")
    parts = [
        f"# {name}\n\n{NOTE}\n\n{first}\n",
        f"## When to use it\n\n{WRITTEN['flat'](told['when'])}\n\n{_roles_of(name)}{_command(name, cls, told)}",
        f"## How it plays\n\n{WRITTEN['prose'](rest)}\n" if rest.strip() else "",
        f"## Curve\n\n{describe_curve(name, told) if 'env' in told else WRITTEN['flat'](told['curveless'])}\n",
        f"## Settings\n\n{WRITTEN['arguments'](cls)}",
    ]
    return "\n".join(part for part in parts if part)


def _roles_of(name: str) -> str:
    found = _roles().get(name)
    return f"It is the {', the '.join(found)}.\n\n" if found else ""


def _command(name: str, cls: type[Any], told: Mapping[str, Any]) -> str:
    """The command that plays the agent, if it needs nothing but an environment."""
    needed = [p for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    if needed or "env" not in told:
        return ""
    preset = f" --preset {told['preset']}" if "preset" in told else ""
    return f"```sh\nsonde eval {told['env']}{preset} --agent {name}\n```\n"


def describe_curve(name: str, told: Mapping[str, Any]) -> str:
    """The picture of a curve, with a description of the games."""
    _, _, what = KINDS[told["kind"]]
    env = sonde.make(told["env"], **_preset(told))
    n, k = told["tasks"], told.get("k", 1)
    played = f"{n} test tasks" + (f", {k} games of each" if k > 1 else ", a game of each")
    bands = {"won": ", with 95 % intervals by task", "unknown": "", "regret": ", with one standard error"}
    return (
        f"![{name}: {what.lower()}]({name}.svg)\n\n{what} of [{env.name}](../environments/{env.name}.md), preset "
        f"{env.spec.preset}: {played}{bands[told['kind']]} (`python docs/build_agents.py --measure {name}`)."
    )


def _preset(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in ("preset", "max_turns") if name in told}


# --- curves ---------------------------------------------------------------------------------------------------------


def curves() -> dict[str, str]:
    """The curves by the name of their agent, as standalone pictures."""
    data, found = json.loads(DATA.read_text("utf-8")), load_notes()
    return {
        name: WRITTEN["standing"](_draw_curve(name, told, data[name])) for name, told in found.items() if "env" in told
    }


def _draw_curve(name: str, told: Mapping[str, Any], lines: Mapping[str, Sequence[Sequence[float]]]) -> str:
    env = sonde.make(told["env"], **_preset(told))
    x, y, what = KINDS[told["kind"]]
    first, scale = (0, 1) if told["kind"] == "unknown" else (1, 100 if told["kind"] == "won" else 1)
    with figure_axes(height=2.6, right=0.76) as ax:
        ends: list[tuple[float, AgentStyle]] = []
        for agent, points in zip(_cast(env, list(lines)), lines.values(), strict=True):
            found = [Estimate(mean, low, high, 1) for mean, low, high in points]
            plot_estimates(ax, agent, found, at=range(first, first + len(found)), scale=scale)
            ends.append((scale * found[-1].mean, agent))
        ax.set(xlabel=x, ylabel=y)
        ax.set_ylim(**({"bottom": -3, "top": 103} if told["kind"] == "won" else {"bottom": 0}))
        set_turn_ticks(ax, first, first + max(map(len, lines.values())) - 1)
        label_ends(ax, ends)
        return Drawing(ax.figure, f"{what} of {env.name}: {', '.join(lines)}").to_svg(name)


def _cast(env: Env[Any], names: Sequence[str]) -> Iterator[AgentStyle]:
    """The agents' styles, as on the pages of runs: floor and reference are grey and black."""
    turn = 0
    for number, name in enumerate(names):
        if name == env.spec.floor or name == "random":
            yield AgentStyle.for_role(number, name, "floor")
        elif name == env.spec.reference:
            yield AgentStyle.for_role(number, name, "reference")
        else:
            look = AgentStyle.from_number(number, name, turn)
            yield replace(look, dash=DASHES[turn % len(DASHES)])
            turn += 1


def measure(name: str, told: Mapping[str, Any]) -> dict[str, list[list[float]]]:
    """Every line of an agent's curve: mean, low and high at every turn."""
    env = sonde.make(told["env"], **_preset(told))
    tasks = env.tasks("test")[: told["tasks"]]
    found: dict[str, list[list[float]]] = {}
    for label, config in _players(name, told).items():
        played = collect_trajectories(env, {"agent": sonde.core.build(config)}, tasks, Plan(k=told.get("k", 1)))
        found[label] = [[round(v, 3) for v in point] for point in _points(told["kind"], env, played)]
    return found


def _players(name: str, told: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The players' configurations, by the label in the notes or by their own name."""
    listed = told.get("players", [name])
    named = listed if isinstance(listed, dict) else {player: {} for player in listed}
    return {label: {"name": f"agents:{label}", **config} for label, config in named.items()}


def _points(kind: str, env: Env[Any], played: Sequence[Any]) -> Iterator[tuple[float, float, float]]:
    if kind == "regret":
        rows = regret.cumulative_regret(regret.regret_table(env, played))
        return ((m, m - e, m + e) for m, e in zip(rows.mean, rows.error, strict=True))
    found = evaluate(played, gains=kind == "unknown")
    if kind == "unknown":
        return ((bits, bits, bits) for bits in found.entropy or ())
    return ((e.mean, e.low, e.high) for e in found.within)


def _lines(data: Mapping[str, Any]) -> str:
    """JSON with one agent per line."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(data[name])}" for name in sorted(data)) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="*", help="play for the curves of these agents, of none: of all")
    asked = parser.parse_args().measure
    if asked is not None:
        data = json.loads(DATA.read_text("utf-8")) if DATA.is_file() else {}
        for name, told in load_notes().items():
            if "env" in told and (not asked or name in asked):
                data[name] = measure(name, told)
                print(name, {label: points[-1] for label, points in data[name].items()}, flush=True)
                DATA.write_text(_lines(data), "utf-8")
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    for name, svg in curves().items():
        (FOLDER / f"{name}.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
