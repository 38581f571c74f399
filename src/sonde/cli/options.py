"""Options and arguments that several commands share, with shell completion and checks of their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

from typer import Argument, Option

from sonde._util.escaping import make_visible
from sonde._util.extras import require_extra
from sonde.core import invalid, names
from sonde.core.registry import configured_names, describe_reach, trust_classes
from sonde.models.files.fetch import fetchable_models
from sonde.models.remote.providers import load_providers
from sonde.runs.store.folder import CONFIG, DEEP, read_config

tasks_option, player_option, sampling_option, running_option = (
    partial(Option, rich_help_panel=name) for name in ("Tasks", "Players", "Sampling", "Running")
)
"""Groups of options in the help of commands that play."""


def complete_names(kind: str) -> Callable[[str], list[str]]:
    """A completer: the names of a registry that begin with the text typed so far."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names(kind) if name.startswith(incomplete)]

    return complete


def complete_models(incomplete: str) -> list[str]:
    """The models whose name begins with the text typed so far."""
    prefixes = ("fake", "hf:", "http:", *(f"{name}:" for name in load_providers()))
    return [name for name in (*fetchable_models(), *prefixes) if name.startswith(incomplete)]


# --- checks of values --------------------------------------------------------------------------------------------


def _check_report(to: Path | None) -> Path | None:
    """The option's value. Raise `UserError` before anything is played where no report could be drawn or written."""
    if to is not None:
        require_extra("--report", "matplotlib")
        check_writable("--report", to)
    return to


def check_writable(option: str, to: Path) -> None:
    """Raise `UserError` where this file cannot be written, with the folders above it that do not exist yet. A file is
    written to find out: permissions do not always tell (`/proc`, network shares, root)."""
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
    """With --trust: import the modules that the configurations of these runs name, and print them."""
    if not trusted:
        return
    import_from_here()
    for folder in folders:
        config = read_config(folder)["config"]
        for reach in sorted(set(filter(None, map(describe_reach, configured_names(config))))):
            print(f"sonde: {make_visible(f'--trust: {folder} {reach}')}", file=sys.stderr)
        trust_classes(config)


def find_runs(place: Path) -> list[Path]:
    """The run folders at a place, and below it as deep as `sonde view` looks."""
    return [config.parent for depth in range(DEEP + 1) for config in place.glob("*/" * depth + CONFIG)]


# --- what is played ----------------------------------------------------------------------------------------------

EnvArg = Annotated[str, Argument(help="An environment, as NAME or NAME:PRESET.", autocompletion=complete_names("envs"))]
EnvsArg = Annotated[
    list[str] | None,
    Argument(
        help="Environments, as NAME or NAME:PRESET; see `sonde list envs`. Default: the one in --config.",
        autocompletion=complete_names("envs"),
    ),
]
PresetOpt = Annotated[str | None, tasks_option(help="Preset of the environment.")]
TurnsOpt = Annotated[int | None, tasks_option(help="Turn limit, in place of the environment's.")]
SplitOpt = Annotated[str | None, tasks_option(help="train, test, or another split of the preset.", show_default="test")]
TrainSplitOpt = Annotated[
    str | None, tasks_option("--split", help="train, test, or another split of the preset.", show_default="train")
]
FilesOpt = Annotated[
    list[str] | None,
    tasks_option(
        "--tasks-file",
        help="Read the tasks from a file: JSON setups, a PAPRIKA game configuration, or a word list; ENV=FILE for one "
        "of several environments.",
    ),
]
TasksOpt = Annotated[int | None, tasks_option("--tasks", "-n", help="Only the first N tasks of the split.")]
SamplesOpt = Annotated[int | None, tasks_option("-k", help="Samples per task.", show_default="4")]
SeedOpt = Annotated[int | None, tasks_option(help="World seed, shared by the samples of a task.", show_default="0")]

# --- who plays ---------------------------------------------------------------------------------------------------

AgentOpt = Annotated[
    str | None,
    player_option(
        help="Policy of the agent: llm, random, entropy, ... or MODULE:CLASS; reference and floor stand for the "
        "environment's reference solver and random play.",
        show_default="llm",
        autocompletion=complete_names("agents"),
    ),
]
ModelOpt = Annotated[
    str | None,
    player_option(
        help="hf:NAME, http:NAME (vllm, sglang), PROVIDER:NAME (openai, anthropic, ...), fake, a name of `sonde models "
        "list`, or a folder.",
        autocompletion=complete_models,
    ),
]
UrlOpt = Annotated[
    str | None,
    player_option(help="Address of the OpenAI-compatible endpoint of an http model; providers have their own."),
]
StrictOpt = Annotated[
    bool, player_option("--strict", help="Fail where an endpoint rejects a field, instead of leaving it out.")
]
UserOpt = Annotated[
    str | None,
    player_option(
        help="A language model as the user, written as in --model, or hybrid:MODEL, where the model answers only what "
        "the rules cannot. Default: the rule-based user.",
        autocompletion=complete_models,
    ),
]
JudgeOpt = Annotated[
    str | None,
    player_option(
        help="A language model as the judge of claimed goals. Default: the rules.", autocompletion=complete_models
    ),
]
UserUrlOpt = Annotated[str | None, player_option(help="Address of the endpoint of --user and --judge.")]

# --- how models are sampled --------------------------------------------------------------------------------------

TemperatureOpt = Annotated[
    float | None,
    sampling_option(help="Sampling temperature. Default: 0.7 for agents, as in PAPRIKA, 0 for users and judges."),
]
MinPOpt = Annotated[float | None, sampling_option(help="min-p of the agent. Default: 0.3, as in PAPRIKA.")]
NewTokensOpt = Annotated[
    int | None, sampling_option(help="Token limit of a reply, reasoning included. Default: the environment's.")
]
ToolsOpt = Annotated[
    bool | None,
    sampling_option("--tools/--no-tools", help="Act by tool calls in place of written answers.", show_default="no"),
]
ExamplesOpt = Annotated[int | None, sampling_option(help="Few-shot example games.")]
ContextOpt = Annotated[
    str | None,
    sampling_option(help="How much of a game the model sees: full, last:K, render or told.", show_default="full"),
]

# --- how it runs -------------------------------------------------------------------------------------------------

CacheOpt = Annotated[Path | None, running_option(help="Keep replies in this folder; a repeated call is free.")]
ConcurrencyOpt = Annotated[int | None, running_option(help="Episodes played at a time.", show_default="256")]
ProcessesOpt = Annotated[
    int | None, running_option(help="Processes that divide the episodes, for CPU-bound players.", show_default="1")
]
OnOpt = Annotated[str | None, running_option(help="Play on a cluster: ray, or ray:ADDRESS; one process per CPU.")]
BudgetOpt = Annotated[
    int | None, running_option(help="Stop after this many model tokens: prompts and replies of all seats.")
]
FreshOpt = Annotated[bool, running_option("--fresh", help="Start over: remove an earlier run from the folder.")]
ConfigOpt = Annotated[Path | None, Option(help="Configuration file: YAML, TOML or JSON. Options override it.")]
OverrideOpt = Annotated[
    list[str] | None,
    Option("--set", "-o", help="PATH=VALUE: set any value of the configuration.", metavar="PATH=VALUE"),
]

# --- what is read and written ------------------------------------------------------------------------------------

RunArg = Annotated[Path, Argument(help="A run folder.")]
DryRunOpt = Annotated[bool, Option("--dry-run", help="Only estimate the number of calls and tokens.")]
JsonOpt = Annotated[bool, Option("--json", help="Print JSON.")]
TrackOpt = Annotated[
    list[str] | None,
    Option("--track", help="Also write the evaluation to this tracker: wandb or trackio, each installed by itself."),
]
ByOpt = Annotated[
    list[str] | None,
    Option(help="Also show success by a tag of the tasks, such as difficulty, length or category. JSON has all tags."),
]
ReportOpt = Annotated[Path | None, Option(help="Also write an HTML report to this file.", callback=_check_report)]
TrustOpt = Annotated[
    bool,
    Option(
        "--trust",
        help="Import the modules that a record names (from the current folder too) and call its addresses. Without it, "
        "only code of sonde and installed plug-ins runs.",
    ),
]
