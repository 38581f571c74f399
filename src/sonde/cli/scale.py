"""`sonde scale`: measure the floor and the reference of an environment, and store them beside the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Group
from rich.text import Text
from typer import Option

from sonde.core import Env, UserError, build
from sonde.core.types import Json
from sonde.evaluation.scale import (
    ENDS,
    check_ends,
    entry_bounds,
    find_entry,
    is_scale,
    load_entries,
    measure_environment,
    samples_per_task,
    save_entry,
    scale_fingerprint,
)

from . import options as opt
from .commands import command_line
from .games import env_config, override_env
from .progress import episode_progress
from .result_table import ResultTable
from .terminal import out, print_result, print_written

WHERE = ("runs", "fresh", "as_json")
"""Fields that do not change what is measured."""


@dataclass(frozen=True, kw_only=True)
class ScaleCommand:
    """Measure the mean returns of random play and of the reference solver: 0 and 100 on an environment's scale.

    It writes scale.json beside the runs, where `sonde eval`, `rescore` and `report` find it. For an
    environment and preset of sonde it shows the scale that comes with sonde.
    """

    env: opt.EnvArg
    preset: opt.PresetOpt = None
    max_turns: opt.TurnsOpt = None
    floor: Annotated[
        str | None,
        Option(help="The policy that scores 0, where the environment names none.", show_default="random"),
    ] = None
    reference: Annotated[
        str | None, Option(help="The policy that scores 100, where the environment names none: NAME or MODULE:CLASS.")
    ] = None
    n_tasks: Annotated[
        int | None, Option("--tasks", "-n", help="Only the first N test tasks, for a quick estimate.")
    ] = None
    overrides: opt.OverrideOpt = None
    runs: Annotated[Path, Option(help="The folder of runs that the scale is for.")] = Path("runs")
    fresh: Annotated[bool, Option("--fresh", help="Measure again.")] = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        env = self._make_env()
        entry, file = self._known_entry(env), None
        if entry is None:
            entry = self._measure(env)
            file = save_entry(env, entry, self.runs)
        print_result(dict(entry), scale_table(env, entry), self.as_json)
        if file is not None and not self.as_json:
            out.print(Text("Earlier evaluations show it after `sonde rescore RUN`.", style="dim"))
            print_written(file)

    def _make_env(self) -> Env[Any]:
        config = override_env(env_config(self.env, self.preset, self.max_turns), self.overrides or ())
        env = build(config)
        if not isinstance(env, Env):
            raise UserError(f"env: {self.env!r} is not an environment; see `sonde list envs`")
        return env

    def _known_entry(self, env: Env[Any]) -> Mapping[str, Json] | None:
        """The stored measurement on at least as many tasks with the same policies; None if there is none. Raises
        `UserError` for policies that cannot measure this environment."""
        entry = load_entries().get(scale_fingerprint(env)) or (None if self.fresh else find_entry(env, self.runs))
        ends = {"floor": self.floor or env.spec.floor, "reference": self.reference or env.spec.reference}
        if entry is None or self.floor or self.reference:
            check_ends(env, self.floor or "", self.reference or "")
            if entry is None or any(agent != entry[end]["agent"] for end, agent in ends.items()):
                return None
        shipped = scale_fingerprint(env) in load_entries()
        return entry if shipped or entry["floor"]["score"]["n"] >= self._count_tasks(env) else None

    def _count_tasks(self, env: Env[Any]) -> int:
        return len(env.tasks("test")[: self.n_tasks])

    def _measure(self, env: Env[Any]) -> dict[str, Json]:
        total = self._count_tasks(env) * sum(samples_per_task(env, end) for end in ENDS)
        with episode_progress(env.name, total, 0) as on_done:
            return measure_environment(
                env, floor=self.floor or "", reference=self.reference or "", n_tasks=self.n_tasks,
                command=command_line("scale", self, without=WHERE), on_done=on_done,
            )  # fmt: skip


def scale_table(env: Env[Any], entry: Mapping[str, Json]) -> Group:
    """The mean returns of floor and reference, and a note where they make no scale."""
    columns = ("test tasks", "mean return", "95 % interval")
    table = ResultTable(("score", "policy"), columns, f"{env.name}, {env.spec.preset}")
    bounds = entry_bounds(entry)
    for score, end, found in zip(("0", "100"), ENDS, bounds, strict=True):
        played = f"{found.n}x{entry[end]['k']}"
        table.add_row(score, entry[end]["agent"], played, f"{found.mean:.3f}", f"{found.low:.3f} to {found.high:.3f}")
    n = len(env.tasks("test"))
    notes = [f"Measured on {bounds[0].n} of {n} test tasks."] if bounds[0].n < n else []
    if not is_scale(bounds):
        notes.append("The intervals overlap, so there is no scale: use more tasks or a better reference.")
    return Group(table, *(Text(note, style="dim") for note in notes))
