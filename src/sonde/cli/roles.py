"""`sonde roles`: which of the three language models of LLM-PSRL is to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from sonde.core import AGENT, Env, Trajectory, View, build_recorded, invalid, run_sync
from sonde.evaluation.roles import grade_run, score_roles
from sonde.evaluation.sampler_draws import DrawScores, score_draws, summarise_draws
from sonde.runs.store import Run

from . import options as opt
from . import tables
from .terminal import print_result

if TYPE_CHECKING:
    from sonde.agents.llm_psrl import LLMPSRL


@dataclass(frozen=True, kw_only=True)
class RolesCommand:
    """Score updater, sampler and policy of an LLM-PSRL run, each against what is exactly right.

    Computed from the record. With --draws the run's sampler is asked again, which costs that many calls per episode.
    """

    folder: opt.RunArg
    draws: Annotated[
        int | None, Option(help="Let the sampler draw N times from the beliefs in the middle of each episode.")
    ] = None
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        opt.trust_runs([self.folder], self.trusted)
        if self.draws is not None and self.draws < 2:
            raise invalid("--draws", self.draws, "2 or more")
        played = [t for t in Run.load(self.folder).trajectories if not t.error and t.turns]
        if not played:
            raise invalid("roles", str(self.folder), "a run with finished episodes")
        env: Env[Any] = build_recorded(played[0].env)
        found = score_roles(grade_run(env, played))
        draws = None if self.draws is None else _draw_again(env, played, self.draws)
        data = {"folder": str(self.folder), **found.to_json(), "draws": draws and asdict(draws)}
        print_result(data, tables.role_tables(env.spec.name, found, draws), self.as_json)


def _draw_again(env: Env[Any], played: Sequence[Trajectory], n: int) -> DrawScores:
    """Repeated draws by the sampler that played."""
    config = played[0].policies[AGENT]
    agent: LLMPSRL = build_recorded({name: value for name, value in config.items() if name != "fingerprint"})

    def draw(view: View, beliefs: str, n: int) -> Sequence[str]:
        return run_sync(agent.draw_hypotheses(view, beliefs, n))

    try:
        return summarise_draws([(t.task.id, score_draws(env, t, draw, n)) for t in played])
    finally:
        run_sync(agent.close())
