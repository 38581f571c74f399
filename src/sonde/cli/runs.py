"""The commands that play, score and compare runs. Each reads its options, calls the library and shows the result."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sonde.core import build
from sonde.evaluation.evaluate import Evaluation, macro
from sonde.evaluation.evaluate import compare as compare_evaluations
from sonde.evaluation.results import result
from sonde.evaluation.results import write as write_result
from sonde.evaluation.suites import ANCHORS, PROTOCOLS, Protocol, paper_score
from sonde.runs.rollout import OnDone
from sonde.runs.run import Prepared, load_evaluation, missing, reopen, spent
from sonde.runs.run import play as play_run
from sonde.runs.store import Run

from . import tables
from .again import again, check_submission
from .estimate import estimate
from .options import ROLES, environments, model_seats
from .playing import Playing, Recording, with_options
from .progress import progress, scored
from .shared import (
    CacheOpt,
    EnvArg,
    JsonOpt,
    NewTokensOpt,
    OutOpt,
    ReportOpt,
    RunArg,
    SubmitOpt,
    SuiteOpt,
    TemperatureOpt,
    TrustOpt,
    UrlOpt,
    completing,
    trust_runs,
)
from .terminal import out


@with_options
def evaluate(
    typed: typer.Context,
    envs: EnvArg = None,
    suite: SuiteOpt = None,
    *,
    playing: Playing,
    max_turns: Annotated[int | None, typer.Option(help="Override the environment's turn limit.")] = None,
    runs: OutOpt = Path("runs"),
    gains: Annotated[
        bool | None, typer.Option(help="Exact information per turn (costs a search per turn).", show_default="gains")
    ] = None,
    report: ReportOpt = None,
    submit: SubmitOpt = None,
    dry_run: Annotated[bool, typer.Option(help="Only say how many calls and tokens it would take.")] = False,
    as_json: JsonOpt = False,
) -> None:
    """Evaluate an agent. The same command continues an interrupted run and never plays an episode twice."""
    if submit is not None:
        check_submission(submit, suite, playing.config)
    protocol = PROTOCOLS.get(suite or "", Protocol())
    settings = {"max_turns": max_turns, "gains": gains, "label": playing.agent if playing.agent in ROLES else None}
    prepared = [
        playing.prepared(env, preset, defaults={"k": protocol.samples(env or "")}, agent=protocol.agent, **settings)
        for env, preset in environments(envs, suite, playing.preset)
    ]
    if dry_run:
        estimate(prepared, out, as_json)
        return
    done: list[Evaluation] = []
    folders: list[Path] = []
    seconds: list[float | None] = []
    for run in prepared:
        folder = runs / run.folder_name
        playing.begin(folder)
        lacking, before, begun = missing(run, folder), spent(folder), time.perf_counter()
        known = before is not None or lacking == len(run.tasks) * run.config.k
        with _progress(run, folder) as on_done:
            stored = play_run(run, folder, on_done=on_done)
        took = time.perf_counter() - begun if lacking else 0.0
        done.append(scored(run, folder, len(stored), took))
        folders.append(folder)
        seconds.append(done[-1].seconds if known else None)
    _show(done, folders, report, as_json, suite)
    if all(e.kinds["error"] == sum(e.kinds.values()) for e in done):
        raise typer.Exit(1)
    if submit is not None and suite is not None:
        played = list(zip(prepared, done, seconds, strict=True))
        write_result(result(suite, again(typed), played, Run.load(folders[-1]).commit), submit)
        if not as_json:
            out.print(f"written: {submit}", highlight=False, soft_wrap=True)


def _progress(run: Prepared, folder: Path) -> AbstractContextManager[OnDone]:
    total = len(run.tasks) * run.config.k
    return progress(run.env.spec.name, total, total - missing(run, folder))


def _show(
    done: list[Evaluation], folders: list[Path], report: Path | None, as_json: bool, suite: str | None = None
) -> None:
    if report is not None:
        from sonde.viewer import write_report

        write_report(folders, report)
    if as_json:
        paper = [{"paper_score": paper_score(suite, e)} if suite and suite in ANCHORS else {} for e in done]
        found = [{**e.summary(), **own, "folder": str(f)} for e, own, f in zip(done, paper, folders, strict=True)]
        mean = {name: value and asdict(value) for name, value in macro(done).items()}
        out.print_json(json.dumps({"suite": suite, "mean": mean, "environments": found} if suite else found))
        return
    out.print(tables.suite(suite, done) if suite else tables.evaluations(done))
    for folder in [*folders, *([report] if report else [])]:
        out.print(f"written: {folder}", highlight=False, soft_wrap=True)


@with_options
def rollout(
    env: Annotated[str, typer.Argument(help="An environment.", autocompletion=completing("envs"))],
    folder: Annotated[Path, typer.Argument(help="The run folder to write or continue.")],
    *,
    playing: Recording,
) -> None:
    """Play and record episodes without evaluating them (training data, say); `sonde rescore` evaluates them later."""
    run = playing.prepared(env, playing.preset, defaults={"split": "train", "k": 1})
    playing.begin(folder)
    with _progress(run, folder) as on_done:
        stored = play_run(run, folder, on_done=on_done)
    out.print(f"{len(stored)} episodes in {folder}", highlight=False, soft_wrap=True)


def rescore(
    folder: RunArg,
    gains: Annotated[bool, typer.Option(help="Exact information per turn; kept, and computed once.")] = True,
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Compute the evaluation of a run again from its episodes; no policy is called."""
    trust_runs([folder], trusted)
    stored = Run.load(folder)
    _show([scored(reopen(stored, gains=gains), folder, len(stored))], [folder], None, as_json)


def compare(
    a: Annotated[Path, typer.Argument(help="A run folder.")],
    b: Annotated[Path, typer.Argument(help="Another, on the same tasks.")],
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Compare two runs, paired by task."""
    trust_runs([a, b], trusted)
    found = compare_evaluations(load_evaluation(a), load_evaluation(b))
    if as_json:
        out.print_json(json.dumps(asdict(found)))
        return
    out.print(tables.comparison(found))


def audit(
    folder: RunArg,
    judge: Annotated[str | None, typer.Option(help="A language model as a second judge, as in --model.")] = None,
    base_url: UrlOpt = None,
    cache: CacheOpt = None,
    temperature: TemperatureOpt = None,
    max_new_tokens: NewTokensOpt = None,
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Judge the wins of recorded conversations again, by rules and by a second judge, and look for leaks."""
    from sonde.evaluation.audit import annotate
    from sonde.evaluation.audit import audit as judged_again

    trust_runs([folder], trusted)
    seats = model_seats(None, judge, None, base_url, cache, temperature=temperature, max_new_tokens=max_new_tokens)
    second = build(seats["judge"]) if judge else None
    found = judged_again(Run.load(folder).trajectories, second)
    annotate(folder, found, producer=f"rules and {judge}" if judge else "rules")
    if as_json:
        out.print_json(json.dumps(found.to_json()))
        return
    out.print(tables.audit(found))
