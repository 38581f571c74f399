"""Options that several commands have, and what a shell offers to complete them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

import typer

from sonde._util.escaping import plain
from sonde._util.extras import need
from sonde.core import invalid, names
from sonde.core.registry import describe_reach, recorded_names, trust
from sonde.models.files.fetch import known
from sonde.models.remote.providers import providers
from sonde.runs.store.folder import CONFIG, DEEP, read_config


def completing(kind: str) -> Callable[[str], list[str]]:
    """The names of a registry that begin as what is typed."""

    def begin(incomplete: str) -> list[str]:
        return [name for name in names(kind) if name.startswith(incomplete)]

    return begin


def models_begun(incomplete: str) -> list[str]:
    """The models that begin as what is typed."""
    return [
        name
        for name in (*known(), "fake", "hf:", "http:", *(f"{p}:" for p in providers()))
        if name.startswith(incomplete)
    ]


def _drawable(to: Path | None) -> Path | None:
    """The option's value; that figures cannot be drawn, or no file written, is told before anything is played."""
    if to is not None:
        need("--report", "matplotlib")
        check_writable("--report", to)
    return to


def check_writable(option: str, to: Path) -> None:
    """Raise `UserError` where no such file can be written, with the folders above it that are not there yet. One is
    written to find out: what a folder says of itself is not always so (`/proc`, network shares, root)."""
    above = next(folder for folder in to.absolute().parents if folder.exists())
    if to.is_dir() or not above.is_dir():
        raise invalid(option, str(to), "a file that can be written")
    try:
        with NamedTemporaryFile(dir=above, prefix=f".{to.name[:100]}."):
            pass
    except OSError as e:
        raise invalid(option, str(to), f"a file that can be written ({e.strerror or e})") from e


def import_from_here() -> None:
    """Let names such as `mine:Player` find mine.py in the current folder."""
    sys.path.append(str(Path.cwd()))


def trust_runs(folders: Iterable[Path], trusted: bool) -> None:
    """With --trust: import what the configurations of these runs name, and say what that is."""
    if not trusted:
        return
    import_from_here()
    for folder in folders:
        config = read_config(folder)["config"]
        for reach in sorted(set(filter(None, map(describe_reach, recorded_names(config))))):
            print(f"sonde: {plain(f'--trust: {folder} {reach}')}", file=sys.stderr)
        trust(config)


def find_runs(place: Path) -> list[Path]:
    """The run folders at a place, and below it as deep as `sonde view` looks."""
    return [config.parent for depth in range(DEEP + 1) for config in place.glob("*/" * depth + CONFIG)]


ModelOpt = Annotated[
    str | None,
    typer.Option(
        help="hf:NAME, http:NAME (vllm, sglang), PROVIDER:NAME (openai, anthropic, ...), fake, a name of `sonde models "
        "list`, or a folder.",
        autocompletion=models_begun,
    ),
]
UrlOpt = Annotated[
    str | None, typer.Option(help="Address of an OpenAI-compatible endpoint, for http models; providers have theirs.")
]
StrictOpt = Annotated[
    bool, typer.Option("--strict", help="Fail where an endpoint refuses a field, instead of going on without it.")
]
UserOpt = Annotated[
    str | None,
    typer.Option(
        help="A language model as the user, as in --model, or hybrid:MODEL, which answers what the rules cannot; by "
        "default the rule user.",
        autocompletion=models_begun,
    ),
]
JudgeOpt = Annotated[
    str | None,
    typer.Option(help="A language model as the judge of claimed goals; else the rules.", autocompletion=models_begun),
]
UserUrlOpt = Annotated[str | None, typer.Option(help="Address of the endpoint of --user and --judge.")]
CacheOpt = Annotated[Path | None, typer.Option(help="Keep replies here: a call made before costs nothing again.")]
TemperatureOpt = Annotated[
    float | None, typer.Option(help="Of the model's sampling: by default 0.7 of agents, as in PAPRIKA, 0 of others.")
]
MinPOpt = Annotated[float | None, typer.Option(help="Of the agent's sampling; default 0.3, as in PAPRIKA.")]
NewTokensOpt = Annotated[
    int | None,
    typer.Option(
        "--max-new-tokens", help="Most tokens of a reply, reasoning included: by default the environment's limit."
    ),
]
ExamplesOpt = Annotated[int | None, typer.Option(help="Few-shot example games.")]
ContextOpt = Annotated[str | None, typer.Option(help="full, last:K, render or told.")]
SplitOpt = Annotated[str | None, typer.Option(help="train or test.", show_default="test")]
FileOpt = Annotated[
    str | None, typer.Option(help="Tasks from a file instead: JSON setups, a PAPRIKA game configuration, a word list.")
]
TasksOpt = Annotated[int | None, typer.Option("--tasks", "-n", help="Only the first N tasks of the split.")]
SamplesOpt = Annotated[int | None, typer.Option("-k", help="Samples per task.", show_default="4")]
SeedOpt = Annotated[int | None, typer.Option(help="World seed; the samples of a task share it.", show_default="0")]
ConcurrencyOpt = Annotated[int | None, typer.Option(help="Episodes at a time.", show_default="256")]
ProcessesOpt = Annotated[
    int | None, typer.Option(help="Processes that play, each a share, for players that compute.", show_default="1")
]
OnOpt = Annotated[str | None, typer.Option(help="Play on a cluster: ray, or ray:ADDRESS; a process per CPU.")]
BudgetOpt = Annotated[
    int | None, typer.Option(help="Stop after this many model tokens: prompts and replies, all seats together.")
]
ConfigOpt = Annotated[Path | None, typer.Option(help="YAML, TOML or JSON file; options override it.")]
OverrideOpt = Annotated[
    list[str], typer.Option("--set", "-o", help="KEY.KEY=VALUE, for example seats.agent.context=last:3.")
]
ReportOpt = Annotated[Path | None, typer.Option(help="Also write an HTML report here.", callback=_drawable)]
EnvArg = Annotated[
    list[str] | None,
    typer.Argument(
        help="Environments such as wordle; see `sonde list`. By default the one in --config.",
        autocompletion=completing("envs"),
    ),
]
TrustOpt = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Import the modules that a record names, from the current folder too, and ask its addresses. By default "
        "reading runs no code but that of sonde and installed plug-ins.",
    ),
]
RunArg = Annotated[Path, typer.Argument(help="A run folder.")]
SuiteOpt = Annotated[
    str | None,
    typer.Option(help="Every environment (or those given) that has this preset, in it: mtp, paprika, ...; their mean."),
]
SubmitOpt = Annotated[
    Path | None, typer.Option(help="With --suite: write a file for the leaderboard here, results/NAME.json, say.")
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
