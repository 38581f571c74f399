"""Evaluated runs by environment, each with the style of its agent: the input of figures, run pages and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde._util.escaping import make_visible
from sonde.core import AGENT, Env, Trajectory, UserError, content_hash
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.rows import Row
from sonde.evaluation.run_evaluation import EVALUATION, load_evaluation

from .figures.axes import AgentStyle
from .figures.svg import PALETTE
from .site.library import Shelf
from .templating import to_compact_json


@dataclass(frozen=True, kw_only=True)
class EvaluatedRun:
    """A run folder with its evaluation. `results` holds `info["result"]` of every turn by trajectory id."""

    shelf: Shelf
    evaluation: Evaluation
    style: AgentStyle
    results: Mapping[str, Sequence[str]]
    has_filter: bool

    @property
    def env(self) -> Env[Any]:
        return self.shelf.env

    @property
    def rows(self) -> Sequence[Row]:
        return self.evaluation.rows

    @property
    def episodes(self) -> Iterator[Trajectory]:
        """The evaluated episodes, read again from disk."""
        wanted = {row.trajectory for row in self.rows}
        return (t for t in self.shelf.run if t.id in wanted)

    @property
    def role(self) -> str:
        """`floor` or `reference` if this agent is an end of the environment's scale; otherwise empty."""
        return _find_role(self.env, self.evaluation)

    @property
    def version(self) -> str:
        """The version of the environment that was played."""
        return self.shelf.played_version


@dataclass(frozen=True)
class Section:
    """All runs in one environment."""

    anchor: str
    env: Env[Any]
    runs: Sequence[EvaluatedRun]

    @property
    def title(self) -> str:
        return self.env.spec.name.replace("_", " ")

    @property
    def max_turns(self) -> int:
        return self.env.spec.max_turns


def read_runs(folders: Sequence[Path], evaluate: Callable[[Path], Evaluation] = load_evaluation) -> list[EvaluatedRun]:
    """Read run folders, each once, with their evaluations. Raises `UserError` for a folder that is not a run or has no
    matching evaluation."""
    opened = [(evaluate(folder), Shelf(folder, str(i))) for i, folder in enumerate(dict.fromkeys(folders))]
    styles = assign_styles([(evaluation, shelf.env) for evaluation, shelf in opened])
    return [read_run(shelf, found, style) for (found, shelf), style in zip(opened, styles, strict=True)]


def read_run(shelf: Shelf, evaluation: Evaluation, style: AgentStyle) -> EvaluatedRun:
    """Read a run in one pass over its episodes. Raises `UserError` if evaluated episodes are missing."""
    missing = {row.trajectory for row in evaluation.rows}
    results: dict[str, Sequence[str]] = {}
    has_filter = False
    for t in shelf.run:
        if t.id in missing:
            missing.discard(t.id)
            results[t.id] = [str(turn.info.get("result", "")) for turn in t.turns]
            has_filter = has_filter or shelf.env.filter(t.task.public) is not None
    if missing:
        raise UserError(
            f"{shelf.folder}: {EVALUATION} has {len(missing)} episodes that the folder lacks; "
            f"`sonde rescore {shelf.folder}` writes it again"
        )
    return EvaluatedRun(shelf=shelf, evaluation=evaluation, style=style, results=results, has_filter=has_filter)


def group_by_environment(runs: Sequence[EvaluatedRun]) -> list[Section]:
    """Runs by environment, in the order in which they were given."""
    grouped: dict[str, list[EvaluatedRun]] = {}
    for run in runs:
        grouped.setdefault(content_hash(run.env.config), []).append(run)
    return [Section(f"env-{i}", group[0].env, tuple(group)) for i, group in enumerate(grouped.values())]


# --- styles -----------------------------------------------------------------------------------------------------------


def assign_styles(runs: Sequence[tuple[Evaluation, Env[Any]]]) -> list[AgentStyle]:
    """A style for every run. Runs with one name share it; floor and reference are always grey and black."""
    names = _name_agents(runs)
    found: dict[str, AgentStyle] = {}
    for (evaluation, env), name in zip(runs, names, strict=True):
        if name in found:
            continue
        if role := _find_role(env, evaluation):
            found[name] = AgentStyle.for_role(len(found), name, role)
        else:
            found[name] = AgentStyle.from_number(len(found), name, sum(s.colour in PALETTE for s in found.values()))
    return [found[name] for name in names]


def _find_role(env: Env[Any], evaluation: Evaluation) -> str:
    if evaluation.others:  # floor and reference were measured with the environment's own policies in the other seats
        return ""
    name = str(evaluation.agent.get("name", "")).removeprefix("agents:")
    return {env.spec.reference: "reference", env.spec.floor: "floor"}.get(name, "") if name else ""


def _name_agents(runs: Sequence[tuple[Evaluation, Env[Any]]]) -> list[str]:
    """The labels; agents that share a label in an environment are told apart by the settings in which they differ."""
    settings = [_flatten_settings(*run) for run in runs]
    keys: dict[str, set[str]] = {}
    for (a, _), mine in zip(runs, settings, strict=True):
        for (b, _), other in zip(runs, settings, strict=True):
            if a.label == b.label and a.env == b.env:
                differing = {k for k in {*mine, *other} if mine.get(k) != other.get(k)}
                keys.setdefault(a.label, set()).update(differing)
    names: list[str] = []
    for (evaluation, _), mine in zip(runs, settings, strict=True):
        parts = [f"{k.rpartition('.')[2]}={to_compact_json(mine.get(k), 24)}" for k in sorted(keys[evaluation.label])]
        names.append(" ".join([make_visible(evaluation.label), *parts]))
    return names


def _flatten_settings(evaluation: Evaluation, env: Env[Any]) -> dict[str, Any]:
    """The settings of the agent, the other seats, split and seed, but not those of the environment."""
    flat = _flatten_config(evaluation.agent, "")
    flat.pop("fingerprint", None)
    own = {seat: str(name).removeprefix("users:") for seat, name in env.spec.seats.items() if seat != AGENT}
    return {**flat, **own, **evaluation.others, "split": evaluation.split, "seed": evaluation.seed}


def _flatten_config(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {
            k: v
            for key, inner in value.items()
            for k, v in _flatten_config(inner, f"{path}.{key}" if path else key).items()
        }
    return {path: value}
