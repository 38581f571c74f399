"""`sonde elicit`: what a model believes is hidden, before every turn of the episodes of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from sonde._util.text_files import read_text
from sonde.agents.llm import LLM, SHOWN
from sonde.beliefs import records as believed
from sonde.beliefs.calibration import Summary, split
from sonde.beliefs.elicitation import Elicitation
from sonde.core import AGENT, Env, Trajectory, UserError, build, build_recorded, invalid, run_sync
from sonde.core.registry import check_recorded
from sonde.core.types import Json
from sonde.evaluation.metrics import Estimate
from sonde.models.remote.served_weights import kept_imprint, served_models, tie
from sonde.runs.run import assigned, override
from sonde.runs.store import BY_KEY, Run, TrajectoryDataset

from .options import agent_config
from .progress import bar
from .shared import ContextOpt, ExamplesOpt, JsonOpt, RunArg, TrustOpt, UrlOpt, models_begun, trust_runs
from .tables import NOT_AVAILABLE
from .terminal import out

_ROWS = 12
"""Turns that are shown, at most."""


def elicit(
    folder: RunArg,
    model: Annotated[
        str,
        typer.Option(
            help="Whose beliefs: hf:NAME, http:NAME (vllm, sglang), fake, a name of `sonde models list` or a folder.",
            autocompletion=models_begun,
        ),
    ],
    base_url: UrlOpt = None,
    template: Annotated[
        str, typer.Option(help="statement, question, answer, or a text with <target> in it.")
    ] = "statement",
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Of others than the true one too: all that are possible at first, a number, or a file of lines."
        ),
    ] = None,
    aggregate: Annotated[str, typer.Option(help="sum or mean over the tokens of a candidate.")] = "sum",
    context: ContextOpt = None,
    examples: ExamplesOpt = None,
    overrides: Annotated[
        list[str], typer.Option("--set", "-o", help="KEY=VALUE of the model, such as model.prompt_logprobs=true.")
    ] = [],  # noqa: B006
    fresh: Annotated[bool, typer.Option(help="Begin anew: remove the beliefs that the run folder holds.")] = False,
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Read a model's own belief about what is hidden off its probabilities, before every turn of recorded episodes.

    The model is shown the games as the run's agent was, if that was a model, or else all messages; the episodes may be
    anybody's. The same command goes on where it was interrupted.
    """
    trust_runs([folder], trusted)
    run = _Episodes(Run.load(folder))
    how = Elicitation(template=template, candidates=_candidates(candidates), aggregate=cast("Any", aggregate))
    config = agent_config("llm", model, base_url, known=run.agent, context=context, examples=examples)
    for assignment in overrides:
        config = override(config, _of_model(assignment))
    seat: LLM = build(config)
    seat.model.require("score")  # before anything is removed
    if fresh:
        believed.forget(folder)
    before = sum(t in believed.read(folder).beliefs for t in run.ids)
    with bar(f"{run.env.spec.name}: eliciting", len(run.ids), before) as done:

        async def work() -> None:
            shown = {name: seat.config[name] for name in SHOWN}
            try:
                await _check_player(run, seat)
                found = believed.believed(folder, run.env, run, seat.model, how, prompt=seat.prompt, shown=shown)
                async with aclosing(found):
                    async for _ in found:
                        done()
            finally:
                await seat.close()

        run_sync(work())
    notes = believed.read(folder)
    found = split(believed.courses(run.env, run, notes.beliefs))
    if as_json:
        out.print_json(json.dumps({"folder": str(folder), **notes.setting, "beliefs": _plain(found)}))
        return
    out.print(table(found))
    out.print(f"written: {folder}", highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _Episodes:
    """The finished episodes of a run by task and sample, so that those that share a prompt come together; read from
    disk whenever they are asked for."""

    run: Run

    def __post_init__(self) -> None:
        if not self.ids:
            raise UserError(f"{self.run.folder}: no finished episodes")

    @property
    def _finished(self) -> TrajectoryDataset:
        return self.run.trajectories.where("error = ''", order=BY_KEY)

    @property
    def ids(self) -> list[str]:
        return [entry.id for entry in self._finished.entries()]

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self._finished)

    @property
    def env(self) -> Env[Any]:
        return build_recorded(next(iter(self)).env)

    @property
    def agent(self) -> Mapping[str, Json]:
        """The configuration of the agent that played, as far as a seat is made of it."""
        config = dict(next(iter(self)).policies.get(AGENT, {}))
        check_recorded([value for name, value in config.items() if name != "model"])
        return {k: v for k, v in config.items() if k != "fingerprint"}


def _of_model(assignment: str) -> str:
    """An option of the model: how a game is shown has options of its own, and the rest would change nothing."""
    (first, *rest), _ = assigned(assignment)
    if first != "model" or not rest:
        raise invalid("-o", assignment, "model.KEY=VALUE, such as model.prompt_logprobs=true")
    return assignment


async def _check_player(run: _Episodes, seat: LLM) -> None:
    """Raise `UserError` where the model is the one that played, on a server that holds other weights by now."""
    saved: Mapping[str, Json] = run.agent.get("model", {})
    for _, served in served_models(seat.model):
        if (saved.get("name"), saved.get("model")) == (f"models:{seat.model.name}", served.model):
            await tie(served, kept_imprint(run.agent, ("model",)), str(run.run.folder))


def _candidates(given: str | None) -> str | int | tuple[str, ...]:
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


def _plain(found: Mapping[str, Summary]) -> Json:
    return {name: asdict(summary) for name, summary in found.items()}


# --- what is shown -------------------------------------------------------------------------------------------------


def table(found: Mapping[str, Summary]) -> Group:
    """The belief of the truth by turn, wins against losses, and beside the exact posterior where there is one."""
    every = found["all"]
    compared = bool(every.divergence)
    curve = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    heads = ["turn", "episodes", "ln b", "won", "lost", *(["belief", "exact", "KL", "TV"] if compared else [])]
    for head in heads:
        curve.add_column(head, justify="right", no_wrap=True)
    columns = [every.target, found["won"].target, found["lost"].target]
    columns += [every.believed, every.exact, every.divergence, every.variation] if compared else []
    for t in _shown(len(every.target)):
        curve.add_row(str(t), str(every.reached[t]), *(_at(column, t) for column in columns))
    notes = ["turn: turns played. ln b: log-probability of the truth in nats, mean over the episodes still on."]
    if compared:
        notes.append(
            "belief, exact: probability of the truth among the candidates, as elicited and as it can be known. "
            "KL: in bits, TV: total variation, of the first from the second."
        )
    return Group(curve, *(Text(note, style="dim") for note in notes), *_numbers(found))


def _shown(n: int) -> list[int]:
    return sorted({round(i * (n - 1) / (_ROWS - 1)) for i in range(_ROWS)}) if n else []


def _at(column: tuple[Estimate, ...], t: int) -> str:
    return f"{column[t].mean:.3f}" if t < len(column) else ""


def _numbers(found: Mapping[str, Summary]) -> list[Table]:
    """One line per number, all episodes and split by outcome; nothing where there is none. Names are short enough for
    80 columns."""
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
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    shown.add_column("")
    for part in ("all", "won", "lost"):
        shown.add_column(f"{part} ({found[part].episodes})", justify="right", no_wrap=True)
    for name, values in kept.items():
        shown.add_row(name, *(_interval(v) for v in values))
    return [shown]


def _interval(value: Estimate | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"
