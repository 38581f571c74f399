"""`sonde elicit`: a model's beliefs about what is hidden, before every turn of a run's episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from rich.console import Group
from rich.text import Text
from typer import Option

from sonde._util.text_files import read_text
from sonde.agents.llm import LLM, SHOWN
from sonde.beliefs import records as belief_records
from sonde.beliefs.calibration import BeliefSummary, split_by_outcome
from sonde.beliefs.elicitation import Elicitation, belief_probes
from sonde.core import AGENT, Env, Trajectory, UserError, build, build_recorded, invalid, run_sync
from sonde.core.registry import check_recorded
from sonde.core.types import Json
from sonde.evaluation.metrics import Estimate
from sonde.models.remote.served_weights import saved_imprint, served_models, tie_weights
from sonde.runs.store import BY_KEY, Run, TrajectoryDataset

from . import options as opt
from .estimate import CHARACTERS_PER_TOKEN
from .overrides import apply_overrides
from .players import agent_config
from .progress import step_progress
from .result_table import ResultTable
from .tables import NOT_AVAILABLE
from .terminal import print_result

_ROWS = 12
"""Maximum number of turns in the table."""


@dataclass(frozen=True, kw_only=True)
class ElicitCommand:
    """Read a model's belief about what is hidden off its probabilities, before every turn of recorded episodes.

    The model sees the games as the run's agent did, if that was a model, or else all messages; anybody may have played
    the episodes. The same command continues where it was interrupted.
    """

    folder: opt.RunArg
    model: Annotated[
        str,
        Option(
            help="Whose beliefs: hf:NAME, http:NAME (vllm, sglang), fake, a name of `sonde models list`, or a folder.",
            autocompletion=opt.complete_models,
        ),
    ]
    base_url: opt.UrlOpt = None
    template: Annotated[str, Option(help="statement, question, answer, or a text with <target> in it.")] = "statement"
    candidates: Annotated[
        str | None, Option(help="Further candidates beside the true one: all, a number, or a file with one per line.")
    ] = None
    aggregate: Annotated[str, Option(help="sum or mean over the tokens of a candidate.")] = "sum"
    context: opt.ContextOpt = None
    examples: opt.ExamplesOpt = None
    overrides: opt.OverrideOpt = None
    fresh: Annotated[bool, Option("--fresh", help="Start over: remove the beliefs in the run folder.")] = False
    trusted: opt.TrustOpt = False
    dry_run: Annotated[bool, Option("--dry-run", help="Only count the beliefs to elicit, and the tokens at most.")] = (
        False
    )
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        opt.trust_runs([self.folder], self.trusted)
        run = _Episodes(Run.load(self.folder))
        seat = self._build_seat(run)
        how = Elicitation(
            template=self.template, candidates=_parse_candidates(self.candidates), aggregate=cast("Any", self.aggregate)
        )
        seat.model.require_capabilities("score")  # before anything is removed
        if self.dry_run:
            self._print_estimate(run, seat, how)
            return
        if self.fresh:
            belief_records.delete_beliefs(self.folder)
        before = sum(t in belief_records.load_beliefs(self.folder).beliefs for t in run.ids)
        with step_progress(f"{run.env.spec.name}: eliciting", len(run.ids), before) as done:
            run_sync(self._elicit_beliefs(run, seat, how, done))
        notes = belief_records.load_beliefs(self.folder)
        found = split_by_outcome(belief_records.belief_courses(run.env, run, notes.beliefs))
        data = {"folder": str(self.folder), **notes.setting, "beliefs": _to_json(found)}
        print_result(data, summary_table(found), self.as_json, self.folder)

    def _print_estimate(self, run: _Episodes, seat: LLM, how: Elicitation) -> None:
        """How many texts the model would score: before every turn of every episode, one per candidate."""
        done = {} if self.fresh else belief_records.load_beliefs(self.folder).beliefs
        texts = characters = episodes = 0
        for t in (t for t in run if t.id not in done):
            before = belief_probes(run.env, t, how, seat.build_prompt).probes
            texts, episodes = texts + len(before), episodes + 1
            characters += sum(len(message.content) for probe in before for message in probe.messages)
        found = {"episodes": episodes, "texts": texts, "tokens": characters // CHARACTERS_PER_TOKEN}
        words = f"{episodes:,} episodes, {texts:,} texts to score, about {found['tokens']:,} tokens"
        print_result(found, Text(words), self.as_json)

    def _build_seat(self, run: _Episodes) -> LLM:
        """The agent's seat with the model in it. Only the model can be overridden: how a game is shown has options of
        its own, and the rest would change nothing."""
        config = agent_config(
            "llm", self.model, self.base_url, file=run.agent, context=self.context, examples=self.examples
        )
        return build(config | apply_overrides({"model": config["model"]}, self.overrides, names=["model"]))

    async def _elicit_beliefs(self, run: _Episodes, seat: LLM, how: Elicitation, done: Callable[[], None]) -> None:
        shown = {name: seat.config[name] for name in SHOWN}
        try:
            await _check_player(run, seat)
            found = belief_records.elicit_run(
                self.folder, run.env, run, seat.model, how, prompt=seat.build_prompt, shown=shown
            )
            async with aclosing(found):
                async for _ in found:
                    done()
        finally:
            await seat.close()


@dataclass(frozen=True)
class _Episodes:
    """The finished episodes of a run, ordered by task and sample so that those with a common prompt are adjacent; read
    from disk on every iteration."""

    run: Run

    def __post_init__(self) -> None:
        if not self.ids:
            raise UserError(f"{self.run.folder}: no finished episodes")

    @property
    def _finished_episodes(self) -> TrajectoryDataset:
        return self.run.trajectories.select_where("error = ''", order=BY_KEY)

    @property
    def ids(self) -> list[str]:
        return [entry.id for entry in self._finished_episodes.index_entries()]

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self._finished_episodes)

    @property
    def env(self) -> Env[Any]:
        return build_recorded(next(iter(self)).env)

    @property
    def agent(self) -> Mapping[str, Json]:
        """The configuration of the agent that played, without its fingerprint."""
        config = dict(next(iter(self)).policies.get(AGENT, {}))
        check_recorded([value for name, value in config.items() if name != "model"])
        return {k: v for k, v in config.items() if k != "fingerprint"}


async def _check_player(run: _Episodes, seat: LLM) -> None:
    """Raise `UserError` where the model is the one that played and its server holds other weights now."""
    saved: Mapping[str, Json] = run.agent.get("model", {})
    for _, served in served_models(seat.model):
        if (saved.get("name"), saved.get("model")) == (f"models:{seat.model.name}", served.model):
            await tie_weights(served, saved_imprint(run.agent, ("model",)), str(run.run.folder))


def _parse_candidates(given: str | None) -> str | int | tuple[str, ...]:
    """`all`, a number, or the lines of a file."""
    if given is None:
        return "target"
    if given == "all" or given.isdecimal():
        return given if given == "all" else int(given)
    try:
        lines = read_text(Path(given)).split("\n")
    except (OSError, UnicodeDecodeError) as e:
        raise invalid("--candidates", given, f"all, a number, or a text file that can be read ({e})") from None
    while lines and not lines[-1].strip():
        lines.pop()
    return tuple(line.strip() for line in lines)


def _to_json(found: Mapping[str, BeliefSummary]) -> Json:
    return {name: asdict(summary) for name, summary in found.items()}


# --- what is shown -------------------------------------------------------------------------------------------------


def summary_table(found: Mapping[str, BeliefSummary]) -> Group:
    """The probability of the truth by turn, for wins and losses, beside the exact posterior where there is one."""
    every = found["all"]
    compared = bool(every.divergence)
    heads = ["turn", "episodes", "ln b", "won", "lost", *(["belief", "exact", "KL", "TV"] if compared else [])]
    curve = ResultTable((), heads)
    columns = [every.target, found["won"].target, found["lost"].target]
    columns += [every.believed, every.exact, every.divergence, every.variation] if compared else []
    for t in _shown_turns(len(every.target)):
        curve.add_row(str(t), str(every.reached[t]), *(_format_at(column, t) for column in columns))
    notes = ["turn: turns played. ln b: log-probability of the truth in nats, mean over the episodes still on."]
    if compared:
        notes.append(
            "belief, exact: probability of the truth among the candidates, as elicited and as it can be known. "
            "KL: in bits, TV: total variation, of the first from the second."
        )
    return Group(curve, *(Text(note, style="dim") for note in notes), *_metric_tables(found))


def _shown_turns(n: int) -> list[int]:
    return sorted({round(i * (n - 1) / (_ROWS - 1)) for i in range(_ROWS)}) if n else []


def _format_at(column: tuple[Estimate, ...], t: int) -> str:
    return f"{column[t].mean:.3f}" if t < len(column) else ""


def _metric_tables(found: Mapping[str, BeliefSummary]) -> list[ResultTable]:
    """One row per metric, over all episodes and by outcome; rows without values are left out."""
    rows = {
        "calibration (ECE)": lambda s: s.reliability and s.reliability.ece,
        "corr. truth gain": lambda s: s.correlation_truth,
        "  among candidates": lambda s: s.correlation_among,
        "corr. realised gain": lambda s: s.correlation_realised,
        "updating, truth": lambda s: s.updating_truth,
        "updating, all pairs": lambda s: s.updating_pairs,
    }
    kept = {name: [value(found[part]) for part in ("all", "won", "lost")] for name, value in rows.items()}
    kept = {name: values for name, values in kept.items() if any(v is not None for v in values)}
    if not kept:
        return []
    shown = ResultTable(("",), [f"{part} ({found[part].episodes})" for part in ("all", "won", "lost")])
    for name, values in kept.items():
        shown.add_row(name, *(_format_interval(v) for v in values))
    return [shown]


def _format_interval(value: Estimate | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"
