"""The commands. Each reads its options, calls one function of the library and shows the result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, get_args

import typer

from sonde import __version__
from sonde.core import AGENT, Episode, build, invalid, names, unknown
from sonde.core.config import KINDS
from sonde.core.registry import check_recorded, summary
from sonde.core.types import Kind
from sonde.models.remote.providers import providers

from . import dataset, tables
from .elicit import elicit
from .leaderboard import leaderboard
from .options import environment, model_seats
from .runs import audit, compare, evaluate, rescore, rollout
from .shared import (
    CacheOpt,
    JsonOpt,
    JudgeOpt,
    NewTokensOpt,
    PresetOpt,
    RunArg,
    SeedOpt,
    SplitOpt,
    TemperatureOpt,
    TrustOpt,
    UserOpt,
    UserUrlOpt,
    check_writable,
    completing,
    find_runs,
    import_from_here,
    trust_runs,
)
from .terminal import out
from .train import paprika, train

app = typer.Typer(
    name="sonde",
    help="Environments, agents and metrics for language models that must seek information.",
    epilog=f"Models: hf:NAME, http:NAME, {', '.join(f'{name}:NAME' for name in providers())}; see `sonde models list`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
models_app = typer.Typer(help="Small models that run on a laptop.", no_args_is_help=True)
app.add_typer(models_app, name="models")
app.add_typer(dataset.app, name="dataset")


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"sonde {__version__}", highlight=False)
        raise typer.Exit


FROM_HERE = ("dataset", "eval", "paprika", "play", "rollout", "train")
"""Commands whose options may name modules of the current folder, such as `--agent mine:Player`. Commands that read a
folder, maybe somebody else's, import nothing from it without --trust."""


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Environments, agents and metrics for language models that must seek information."""
    if context.invoked_subcommand in FROM_HERE:
        import_from_here()


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(KINDS)}; all by default.")] = "",
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
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Show an environment: its facts, its presets and its opening message."""
    if trusted:
        import_from_here()
    else:
        check_recorded({"name": env})
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


for name, command in (
    ("eval", evaluate), ("rollout", rollout), ("rescore", rescore), ("compare", compare), ("audit", audit),
    ("elicit", elicit), ("train", train), ("paprika", paprika), ("leaderboard", leaderboard),
):  # fmt: skip
    app.command(name)(command)


@app.command()
def read(
    folder: RunArg,
    n: Annotated[int, typer.Option("-n", help="Episodes.")] = 1,
    task: Annotated[int | None, typer.Option("--task", help="Only of the task with this index.")] = None,
    outcome: Annotated[
        str | None, typer.Option(help="Only of this outcome: win, loss, timeout, format, error.")
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option(help="Only with a reply that was so: invalid, repeated, truncated, reasoning_only, refused."),
    ] = None,
    as_json: JsonOpt = False,
) -> None:
    """Read the conversations of a run, every turn with what it earned and taught."""
    from sonde.evaluation.reply_defects import DEFECTS

    from .read import chosen, read_in_terminal

    if outcome is not None and outcome not in get_args(Kind):
        raise unknown("--outcome", outcome, get_args(Kind))
    if reply is not None and reply not in DEFECTS:
        raise unknown("--reply", reply, DEFECTS)
    episodes = chosen(folder, n, task, outcome, reply)
    if as_json:
        out.print_json(json.dumps([t.to_json() for t in episodes]))
        return
    read_in_terminal(folder, episodes, out)


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(help="Run folders.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path("report.html"),
    trusted: TrustOpt = False,
) -> None:
    """Write one self-contained HTML page about runs."""
    from sonde.viewer import write_report

    trust_runs(folders, trusted)
    check_writable("--out", to)
    write_report(folders, to)
    out.print(f"written: {to}", highlight=False, soft_wrap=True)


@app.command()
def view(
    places: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, trainings, or folders with such below them.", show_default="runs"),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; 0 is any.", show_default="8930 or the next")
    ] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
    to: Annotated[
        Path | None, typer.Option("--export", help="Write the pages as files into this new folder instead.")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(help="With --export: episodes of each run.", show_default="200")
    ] = None,
    comparisons: Annotated[
        int | None, typer.Option(help="With --export: pairs of runs that are compared.", show_default="1000")
    ] = None,
    best: Annotated[
        bool | None,
        typer.Option("--best/--no-best", help="With --export: the best question of every turn.", show_default="yes"),
    ] = None,
    tokens: Annotated[
        bool | None,
        typer.Option("--tokens/--no-tokens", help="With --export: the tokens of every turn.", show_default="yes"),
    ] = None,
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Browse runs in the browser, also while they are played: episodes, comparisons, trainings, games.

    Answers to this machine alone, under an address that holds a random token. Ctrl-C ends it.
    """
    from .view import Extent, export_site, serve_site

    folders = places or [Path("runs")]
    trust_runs([run for place in folders for run in find_runs(place)], trusted)
    wanted = {"episodes": episodes, "comparisons": comparisons, "best": best, "tokens": tokens}
    given = {name: value for name, value in wanted.items() if value is not None}
    if to is not None:
        export_site(folders, to, Extent(**given), out, as_json)
        return
    for name, value in given.items():
        raise invalid(f"--{name}", value, "nothing without --export")
    serve_site(folders, port, browser, out, as_json)


@app.command("export")
def export_(folder: RunArg, to: Annotated[Path, typer.Argument(help="The folder to write.")]) -> None:
    """Write a run's episodes as two Parquet tables, for other programs."""
    from sonde.runs.store.export import export

    out.print(f"written: {export(folder, to)}", highlight=False, soft_wrap=True)


@models_app.command("fetch")
def fetch_(name: Annotated[str, typer.Argument(help="A model that sonde knows how to get.")] = "smollm2") -> None:
    """Find or download small weights, check them and convert them once."""
    from sonde.models.files.fetch import fetch

    from .progress import stages
    from .terminal import stderr

    out.print(str(fetch(name, progress=stages(stderr))), highlight=False, soft_wrap=True)


@models_app.command("list")
def models_list() -> None:
    """The models that `sonde models fetch` knows, and the providers whose models are asked by name."""
    from sonde.models.files.fetch import KNOWN
    from sonde.models.files.shipped import SHIPPED

    rows = [(name, f"{w.title}, {w.size / 1e6:.0f} MB, {w.licence}, from {w.requirement}") for name, w in KNOWN.items()]
    rows += [(name, f"{m.title}, {m.size / 1e6:.1f} MB, {m.licence}, with sonde") for name, m in SHIPPED.items()]
    out.print(tables.listing("models", rows))
    out.print()
    hosts = [(f"{name}:NAME", f"{p.title}, key in {p.api_key_env or 'no variable'}") for name, p in providers().items()]
    out.print(tables.listing("providers", hosts))
