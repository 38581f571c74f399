"""The commands. Each reads its options, calls one function of the library and shows the result."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, get_args

import typer

from sonde import __version__
from sonde.core import AGENT, Episode, build, names, unknown
from sonde.core.registry import KINDS, summary
from sonde.core.types import Kind
from sonde.evaluate import Evaluation, macro
from sonde.evaluate import compare as compare_evaluations
from sonde.rollout import OnDone
from sonde.run import Prepared, begin_anew, load_evaluation, missing, prepare, reopen
from sonde.run import play as play_run
from sonde.store import Run, compact

from . import tables
from .estimate import estimate
from .options import (
    ROLES,
    agent_config,
    config_file,
    environment,
    environments,
    in_role,
    model_seats,
    run_config,
    with_models,
)
from .progress import progress, scored
from .shared import (
    BudgetOpt,
    CacheOpt,
    ConcurrencyOpt,
    ConfigOpt,
    ContextOpt,
    ExamplesOpt,
    FileOpt,
    JudgeOpt,
    MinPOpt,
    ModelOpt,
    NewTokensOpt,
    OverrideOpt,
    ReportOpt,
    SamplesOpt,
    SeedOpt,
    SplitOpt,
    TasksOpt,
    TemperatureOpt,
    UrlOpt,
    UserOpt,
    UserUrlOpt,
    completing,
)  # fmt: skip
from .terminal import out
from .train import paprika, train

app = typer.Typer(
    name="sonde",
    help="Environments, agents and metrics for language models that must seek information.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
models_app = typer.Typer(help="Small models that run on a laptop.", no_args_is_help=True)
app.add_typer(models_app, name="models")

EnvArg = Annotated[
    list[str] | None,
    typer.Argument(
        help="Environments such as wordle; see `sonde list`. By default the one in --config.",
        autocompletion=completing("envs"),
    ),
]
RunArg = Annotated[Path, typer.Argument(help="A run folder.")]
SuiteOpt = Annotated[
    str | None, typer.Option(help="Every environment that has this preset, in it: mtp, paprika, ...; then their mean.")
]
PresetOpt = Annotated[str | None, typer.Option(help="Preset of the environment.")]
AgentOpt = Annotated[
    str | None,
    typer.Option(
        help="Policy of the agent: llm, random, entropy, ... or module:Class. reference and floor: the environment's.",
        show_default="llm",
        autocompletion=completing("agents"),
    ),
]
JsonOpt = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OutOpt = Annotated[Path, typer.Option(help="Where run folders go.")]
FreshOpt = Annotated[bool, typer.Option(help="Begin anew: remove what the run folder holds of an earlier run.")]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"sonde {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Environments, agents and metrics for language models that must seek information."""


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help="envs, agents, users or models; all by default.")] = "",
    as_json: JsonOpt = False,
) -> None:
    """List what can be made by name."""
    if kind and kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    found = {k: {name: summary(k, name) for name in names(k)} for k in KINDS if kind in ("", k)}
    if as_json:
        out.print_json(json.dumps(found))
        return
    for group, rows in found.items():
        if rows:
            out.print(tables.listing(group, rows.items()))
            out.print()


@app.command()
def show(
    env: Annotated[str, typer.Argument(help="An environment.", autocompletion=completing("envs"))],
    preset: PresetOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Show an environment: its facts, its presets and its opening message."""
    made = environment(env, preset)
    spec, task = made.spec, made.tasks("test")[0]
    opening = Episode.begin(made, task).view(AGENT).messages[0].content
    facts = {f: getattr(spec, f) for f in spec.__dataclass_fields__} | {
        "presets": made.presets,
        "tasks": {split: len(made.tasks(split)) for split in made.splits},
        "config": made.config,
    }
    if as_json:
        out.print_json(json.dumps({**facts, "opening": opening}))
        return
    out.print(tables.listing(env, ((k, _plain(v)) for k, v in facts.items())))
    out.print()
    out.print(opening, highlight=False)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None else str(value)


@app.command()
def play(
    env: Annotated[
        str, typer.Argument(help="An environment, for example wordle.", autocompletion=completing("envs"))
    ] = "wordle",
    preset: PresetOpt = None,
    split: SplitOpt = None,
    index: Annotated[
        int | None, typer.Option("--task", help="Index of the task; by default one you do not know.")
    ] = None,
    seed: SeedOpt = None,
    user: UserOpt = None,
    judge: JudgeOpt = None,
    user_url: UserUrlOpt = None,
    cache: CacheOpt = None,
    temperature: TemperatureOpt = None,
    max_new_tokens: NewTokensOpt = None,
) -> None:
    """Play in the terminal. `?` shows the most informative question, `!` what is still possible, Ctrl-D ends."""
    from .play import play_in_terminal

    seats = model_seats(user, judge, user_url, None, cache, temperature=temperature, max_new_tokens=max_new_tokens)
    made = environment(env, preset, **({"judge": "seat"} if judge else {}))
    others = {seat: build(config) for seat, config in seats.items()}
    play_in_terminal(made, split or "test", index, seed or 0, out, others)


@app.command("eval")
def eval_(
    envs: EnvArg = None,
    suite: SuiteOpt = None,
    preset: PresetOpt = None,
    agent: AgentOpt = None,
    model: ModelOpt = None,
    base_url: UrlOpt = None,
    user: UserOpt = None,
    judge: JudgeOpt = None,
    user_url: UserUrlOpt = None,
    cache: CacheOpt = None,
    split: SplitOpt = None,
    tasks_file: FileOpt = None,
    n_tasks: TasksOpt = None,
    k: SamplesOpt = None,
    seed: SeedOpt = None,
    max_turns: Annotated[int | None, typer.Option(help="Override the environment's turn limit.")] = None,
    temperature: TemperatureOpt = None,
    min_p: MinPOpt = None,
    max_new_tokens: NewTokensOpt = None,
    examples: ExamplesOpt = None,
    context: ContextOpt = None,
    concurrency: ConcurrencyOpt = None,
    budget: BudgetOpt = None,
    config: ConfigOpt = None,
    overrides: OverrideOpt = [],  # noqa: B006
    runs: OutOpt = Path("runs"),
    gains: Annotated[
        bool | None, typer.Option(help="Exact information per turn (costs a search per turn).", show_default="gains")
    ] = None,
    fresh: FreshOpt = False,
    report: ReportOpt = None,
    dry_run: Annotated[bool, typer.Option(help="Only say how many calls and tokens it would take.")] = False,
    as_json: JsonOpt = False,
) -> None:
    """Evaluate an agent. The same command continues an interrupted run and never plays an episode twice."""
    file = with_models(config_file(config), user, judge, user_url, base_url, cache)
    played, preset = environments(envs, suite, preset)

    def prepared_for(env: str | None) -> Prepared:
        acting = in_role(agent, env or file.get("env", {}).get("name"), preset)
        policy = agent_config(
            acting, model, base_url, cache, file.get("seats", {}).get(AGENT, {}),
            temperature=temperature, min_p=min_p, max_new_tokens=max_new_tokens, examples=examples, context=context,
        )  # fmt: skip
        return prepare(
            run_config(
                env, file=file, preset=preset, max_turns=max_turns, agent=policy, overrides=overrides, split=split,
                tasks_file=tasks_file, n_tasks=n_tasks, k=k, seed=seed, concurrency=concurrency, budget=budget,
                gains=gains,
                label=agent if agent in ROLES else None,
            )
        )  # fmt: skip

    prepared = [prepared_for(env) for env in played]
    if dry_run:
        estimate(prepared, out, as_json)
        return
    done: list[Evaluation] = []
    folders: list[Path] = []
    for run in prepared:
        folder = runs / run.folder_name
        if fresh:
            begin_anew(folder)
        begun = time.perf_counter()
        with _progress(run, folder) as on_done:
            stored = play_run(run, folder, on_done=on_done)
        done.append(scored(run, stored, folder, time.perf_counter() - begun))
        folders.append(folder)
    _show(done, folders, report, as_json, suite)
    if all(e.kinds["error"] == sum(e.kinds.values()) for e in done):
        raise typer.Exit(1)


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
        found = [{**e.summary(), "folder": str(f)} for e, f in zip(done, folders, strict=True)]
        mean = {name: value and asdict(value) for name, value in macro(done).items()}
        out.print_json(json.dumps({"suite": suite, "mean": mean, "environments": found} if suite else found))
        return
    out.print(tables.suite(suite, done) if suite else tables.evaluations(done))
    for folder in [*folders, *([report] if report else [])]:
        out.print(f"written: {folder}", highlight=False, soft_wrap=True)


@app.command()
def rollout(
    env: Annotated[str, typer.Argument(help="An environment.", autocompletion=completing("envs"))],
    folder: Annotated[Path, typer.Argument(help="The run folder to write or continue.")],
    preset: PresetOpt = None,
    agent: AgentOpt = None,
    model: ModelOpt = None,
    base_url: UrlOpt = None,
    user: UserOpt = None,
    judge: JudgeOpt = None,
    user_url: UserUrlOpt = None,
    cache: CacheOpt = None,
    split: Annotated[str | None, typer.Option(help="train or test.", show_default="train")] = None,
    tasks_file: FileOpt = None,
    n_tasks: TasksOpt = None,
    k: Annotated[int | None, typer.Option("-k", help="Samples per task.", show_default="1")] = None,
    seed: SeedOpt = None,
    temperature: TemperatureOpt = None,
    min_p: MinPOpt = None,
    max_new_tokens: NewTokensOpt = None,
    examples: ExamplesOpt = None,
    context: ContextOpt = None,
    concurrency: ConcurrencyOpt = None,
    budget: BudgetOpt = None,
    config: ConfigOpt = None,
    overrides: OverrideOpt = [],  # noqa: B006
    fresh: FreshOpt = False,
) -> None:
    """Play and record episodes without evaluating them (training data, say); `sonde rescore` evaluates them later."""
    file = with_models(config_file(config), user, judge, user_url, base_url, cache)
    acting = in_role(agent, env, preset)
    policy = agent_config(
        acting, model, base_url, cache, file.get("seats", {}).get(AGENT, {}),
        temperature=temperature, min_p=min_p, max_new_tokens=max_new_tokens, examples=examples, context=context,
    )  # fmt: skip
    run = prepare(
        run_config(
            env, file=file, preset=preset, max_turns=None, agent=policy, overrides=overrides,
            defaults={"split": "train", "k": 1}, split=split, tasks_file=tasks_file, n_tasks=n_tasks,
            k=k, seed=seed, concurrency=concurrency, budget=budget,
        )
    )  # fmt: skip
    if fresh:
        begin_anew(folder)
    with _progress(run, folder) as on_done:
        stored = play_run(run, folder, on_done=on_done)
    out.print(f"{len(stored)} episodes in {folder}", highlight=False, soft_wrap=True)


@app.command("rescore")
def rescore_(
    folder: RunArg,
    gains: Annotated[bool, typer.Option(help="Exact information per turn; kept, and computed once.")] = True,
    as_json: JsonOpt = False,
) -> None:
    """Compute the evaluation of a run again from its episodes; no policy is called."""
    stored = Run.load(folder)
    _show([scored(reopen(stored, gains=gains), stored, folder)], [folder], None, as_json)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="A run folder.")],
    b: Annotated[Path, typer.Argument(help="Another, on the same tasks.")],
    as_json: JsonOpt = False,
) -> None:
    """Compare two runs, paired by task."""
    found = compare_evaluations(load_evaluation(a), load_evaluation(b))
    if as_json:
        out.print_json(json.dumps(asdict(found)))
        return
    out.print(tables.comparison(found))


@app.command("audit")
def audit_(
    folder: RunArg,
    judge: Annotated[str | None, typer.Option(help="A language model as a second judge, as in --model.")] = None,
    base_url: UrlOpt = None,
    cache: CacheOpt = None,
    temperature: TemperatureOpt = None,
    max_new_tokens: NewTokensOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Judge the wins of recorded conversations again, by rules and by a second judge, and look for leaks."""
    from sonde.audit import annotate, audit

    seats = model_seats(None, judge, None, base_url, cache, temperature=temperature, max_new_tokens=max_new_tokens)
    second = build(seats["judge"]) if judge else None
    found = audit(Run.load(folder).trajectories, second)
    annotate(folder, found, producer=f"rules and {judge}" if judge else "rules")
    if as_json:
        out.print_json(json.dumps(found.to_json()))
        return
    out.print(tables.audit(found))


app.command("train")(train)
app.command("paprika")(paprika)


@app.command()
def read(
    folder: RunArg,
    n: Annotated[int, typer.Option("-n", help="Episodes.")] = 1,
    task: Annotated[int | None, typer.Option("--task", help="Only of the task with this index.")] = None,
    outcome: Annotated[
        str | None, typer.Option(help="Only of this outcome: win, loss, timeout, format, error.")
    ] = None,
    as_json: JsonOpt = False,
) -> None:
    """Read the conversations of a run, every turn with what it earned and taught."""
    from .read import chosen, read_in_terminal

    if outcome is not None and outcome not in get_args(Kind):
        raise unknown("--outcome", outcome, get_args(Kind))
    episodes = chosen(folder, n, task, outcome)
    if as_json:
        out.print_json(json.dumps([t.to_json() for t in episodes]))
        return
    read_in_terminal(folder, episodes, out)


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(help="Run folders.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page about runs."""
    from sonde.viewer import write_report

    write_report(folders, to)
    out.print(f"written: {to}", highlight=False, soft_wrap=True)


@app.command("compact")
def compact_(folder: RunArg) -> None:
    """Write a run's episodes as Parquet beside its shards."""
    out.print(f"written: {compact(folder)}", highlight=False, soft_wrap=True)


@models_app.command("fetch")
def fetch_(name: Annotated[str, typer.Argument(help="A model that sonde knows how to get.")] = "smollm2") -> None:
    """Find or download small weights, check them and convert them once."""
    from sonde.models.fetch import fetch

    from .progress import stages
    from .terminal import stderr

    out.print(str(fetch(name, progress=stages(stderr))), highlight=False, soft_wrap=True)


@models_app.command("list")
def models_list() -> None:
    """The models that `sonde models fetch` knows."""
    from sonde.models.fetch import KNOWN
    from sonde.models.shipped import SHIPPED

    rows = [(name, f"{w.title}, {w.size / 1e6:.0f} MB, {w.licence}, from {w.requirement}") for name, w in KNOWN.items()]
    rows += [(name, f"{m.title}, {m.size / 1e6:.1f} MB, {m.licence}, with sonde") for name, m in SHIPPED.items()]
    out.print(tables.listing("models", rows))
