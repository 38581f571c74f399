"""Run folders as the page needs them: the numbers, what every turn came to, and the few episodes to show in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde._util.escaping import plain
from sonde.core import AGENT, Env, Trajectory, UserError, build_recorded, content_hash
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.rows import Row
from sonde.runs.run import EVALUATION, load_evaluation
from sonde.runs.store import Run

from .svg import FLOOR, PALETTE, REFERENCE, VARIABLES
from .text import compact

DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Agent:
    """One agent's look, the same all over the page."""

    number: int
    name: str
    colour: str
    dash: Any
    marker: str

    @property
    def short(self) -> str:
        """The name for the margin of a figure: what is in its brackets, cut in the middle.

        >>> Agent(0, "llm (SmolLM2-135M-Instruct)", "", "-", "o").short
        'SmolLM…nstruct'
        """
        head, bracket, rest = self.name.partition(" (")
        inner = rest[: rest.index(")")] + rest[rest.index(")") + 1 :] if bracket and ")" in rest else ""
        name = inner or head
        return name if len(name) <= 14 else f"{name[:6]}…{name[-7:]}"

    @property
    def variable(self) -> str:
        return VARIABLES[self.colour]


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """One run folder. `results` holds `info["result"]` of every turn by trajectory id, `shown` the chosen episodes;
    `source` has all of them."""

    source: Source

    evaluation: Evaluation
    env: Env[Any]
    saved: Mapping[str, Any]
    results: Mapping[str, Sequence[str]]
    shown: Mapping[str, Trajectory]
    agent: Agent
    has_filter: bool

    @property
    def rows(self) -> Sequence[Row]:
        return self.evaluation.rows

    @property
    def episodes(self) -> Iterator[Trajectory]:
        """The episodes that the evaluation is about, read again from disk."""
        wanted = {row.trajectory for row in self.rows}
        return (t for t in self.source.run if t.id in wanted)

    @property
    def role(self) -> str:
        """`floor` or `reference` where this agent is one of the ends of the environment's scale."""
        return _role(self.env, self.evaluation)

    @property
    def version(self) -> str:
        """Of the environment, when the episodes were played."""
        return str(self.saved["config"].get("version", "unknown"))


@dataclass(frozen=True)
class Source:
    """A run folder's numbers and configuration, before its episodes are read."""

    folder: Path
    evaluation: Evaluation
    run: Run
    env: Env[Any]


def open_source(folder: Path) -> Source:
    """Raises `UserError` if the folder is no run or has no evaluation."""
    evaluation = load_evaluation(folder)
    return Source(folder, evaluation, Run.load(folder), build_recorded(evaluation.env))


def read(source: Source, wanted: Sequence[str], agent: Agent) -> Loaded:
    """Everything of a run, in one pass over its episodes; `wanted` are the ids of those to keep whole."""
    missing = {row.trajectory for row in source.evaluation.rows}
    keep, results, shown = set(wanted), {}, {}
    has_filter = False
    for t in source.run:
        if t.id in missing:
            missing.discard(t.id)
            results[t.id] = [str(turn.info.get("result", "")) for turn in t.turns]
            has_filter = has_filter or source.env.filter(t.task.public) is not None
            if t.id in keep:
                shown[t.id] = t
    if missing:
        raise UserError(
            f"{source.folder}: {EVALUATION} speaks of {len(missing)} episodes that the folder lacks; "
            f"`sonde rescore {source.folder}` writes it anew"
        )
    saved = {name: getattr(source.run, name) for name in ("version", "commit", "fingerprint", "config")}
    return Loaded(
        source=source,
        evaluation=source.evaluation,
        env=source.env,
        saved=saved,
        results=results,
        shown=shown,
        agent=agent,
        has_filter=has_filter,
    )


def cast_agents(sources: Sequence[Source]) -> list[Agent]:
    """An agent per run. Runs of one name share it; the ends of the scale are grey and black wherever they play."""
    names = _names(sources)
    found: dict[str, Agent] = {}
    for source, name in zip(sources, names, strict=True):
        if name in found:
            continue
        number, role = len(found), _role(source.env, source.evaluation)
        if role == "floor":
            found[name] = Agent(number, name, FLOOR, (0, (2, 1.5)), "x")
        elif role == "reference":
            found[name] = Agent(number, name, REFERENCE, "-", "o")
        else:
            turn = sum(a.colour in PALETTE for a in found.values())
            cycle, colour = divmod(turn, len(PALETTE))
            dash = DASHES[(turn + cycle) % len(DASHES)] if cycle else "-"
            found[name] = Agent(number, name, PALETTE[colour], dash, MARKERS[turn % len(MARKERS)])
    return [found[name] for name in names]


def _role(env: Env[Any], evaluation: Evaluation) -> str:
    if evaluation.others:  # the ends of the scale were measured against the environment's own policies
        return ""
    name = str(evaluation.agent.get("name", "")).removeprefix("agents:")
    return {env.spec.reference: "reference", env.spec.floor: "floor"}.get(name, "") if name else ""


def _names(sources: Sequence[Source]) -> list[str]:
    """The labels; with the settings in which agents of one label differ, where such agents meet in an environment."""
    settings = [_settings(source) for source in sources]
    keys: dict[str, set[str]] = {}
    for a, mine in zip(sources, settings, strict=True):
        for b, other in zip(sources, settings, strict=True):
            if a.evaluation.label == b.evaluation.label and a.evaluation.env == b.evaluation.env:
                differing = {k for k in {*mine, *other} if mine.get(k) != other.get(k)}
                keys.setdefault(a.evaluation.label, set()).update(differing)
    names: list[str] = []
    for source, mine in zip(sources, settings, strict=True):
        label = source.evaluation.label
        parts = [f"{k.rpartition('.')[2]}={compact(mine.get(k), 24)}" for k in sorted(keys[label])]
        names.append(" ".join([plain(label), *parts]))
    return names


def _settings(source: Source) -> dict[str, Any]:
    """What makes a run's agent, whom it meets, split or world another one, flat. Settings of the environment are not
    among them."""
    e = source.evaluation
    flat = _flat(e.agent, "")
    flat.pop("fingerprint", None)
    own = {seat: str(name).removeprefix("users:") for seat, name in source.env.spec.seats.items() if seat != AGENT}
    return {**flat, **own, **e.others, "split": e.split, "seed": e.seed}


def _flat(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {k: v for key, inner in value.items() for k, v in _flat(inner, f"{path}.{key}" if path else key).items()}
    return {path: value}


@dataclass(frozen=True)
class Section:
    """All runs in one environment."""

    anchor: str
    env: Env[Any]
    runs: Sequence[Loaded]

    @property
    def title(self) -> str:
        return self.env.spec.name.replace("_", " ")

    @property
    def max_turns(self) -> int:
        return self.env.spec.max_turns


def sections(runs: Sequence[Loaded]) -> list[Section]:
    """Runs by environment, in the order in which they were given."""
    grouped: dict[str, list[Loaded]] = {}
    for run in runs:
        grouped.setdefault(content_hash(run.env.config), []).append(run)
    return [Section(f"env-{i}", group[0].env, tuple(group)) for i, group in enumerate(grouped.values())]
