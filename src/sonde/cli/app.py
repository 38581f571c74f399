"""The `sonde` command: all of its commands, grouped as its help shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Argument, Option

from sonde import __version__
from sonde.models.remote.providers import load_providers

from . import tables
from .commands import add_command
from .dataset import LmrlDatasetCommand
from .elicit import ElicitCommand
from .environments import ListCommand, PlayCommand, ShowCommand
from .evaluate import AuditCommand, CompareCommand, EvalCommand, RescoreCommand, RolloutCommand
from .options import import_from_here
from .prompts import PromptsCommand
from .roles import RolesCommand
from .runs import ExportCommand, LeaderboardCommand, ReadCommand, ReportCommand, ViewCommand
from .terminal import out
from .train import PaprikaCommand, TrainCommand

PLAY, LOOK, BELIEFS, TRAIN, DATA, ENVIRONMENTS = (
    "Play and evaluate", "Look at runs", "Beliefs", "Train", "Data and models", "Environments",
)  # fmt: skip
SUMMARY = "Environments, agents and metrics for language models that must seek information."
FROM_HERE = ("dataset", "eval", "paprika", "play", "rollout", "train")
"""Commands whose options may name modules of the current folder, such as `--agent mine:Player`. Commands that read a
folder, which may come from somebody else, import nothing from it without --trust."""

app = typer.Typer(
    name="sonde",
    help=SUMMARY,
    epilog=(
        f"Models: hf:NAME, http:NAME, {', '.join(f'{name}:NAME' for name in load_providers())}; see `sonde models list`"
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
models_app = typer.Typer(help="Small models that run on a laptop.", no_args_is_help=True)
dataset_app = typer.Typer(help="Datasets for offline learning.", no_args_is_help=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"sonde {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand in FROM_HERE:
        import_from_here()


@dataset_app.callback()
def keep_dataset_a_group() -> None:
    """With a callback, `dataset` stays a group although it has one command."""


@dataclass(frozen=True, kw_only=True)
class FetchCommand:
    """Find or download a small model, check it and convert it, once."""

    name: Annotated[str, Argument(help="A name of `sonde models list`.")] = "smollm2"

    def run(self) -> None:
        from sonde.models.files.fetch import fetch_model

        from .progress import stage_printer
        from .terminal import stderr

        out.print(str(fetch_model(self.name, progress=stage_printer(stderr))), highlight=False, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class ListModelsCommand:
    """List the models that come with sonde or can be fetched, and the providers whose models have a short form."""

    def run(self) -> None:
        from sonde.models.files.fetch import KNOWN
        from sonde.models.files.shipped import SHIPPED

        rows = [(n, f"{w.title}, {w.size / 1e6:.0f} MB, {w.licence}, from {w.requirement}") for n, w in KNOWN.items()]
        rows += [(n, f"{m.title}, {m.size / 1e6:.1f} MB, {m.licence}, with sonde") for n, m in SHIPPED.items()]
        out.print(tables.name_table("models", rows))
        out.print()
        hosts = [
            (f"{n}:NAME", f"{p.title}, key in {p.api_key_env or 'no variable'}") for n, p in load_providers().items()
        ]
        out.print(tables.name_table("providers", hosts))


for group, name, command, example in (
    (PLAY, "play", PlayCommand, "sonde play wordle"),
    (PLAY, "eval", EvalCommand, "sonde eval wordle --model smollm2 --tasks 8"),
    (PLAY, "rollout", RolloutCommand, "sonde rollout wordle runs/train --agent entropy"),
    (PLAY, "rescore", RescoreCommand, "sonde rescore runs/train"),
    (PLAY, "compare", CompareCommand, "sonde compare runs/a runs/b"),
    (PLAY, "leaderboard", LeaderboardCommand, "sonde leaderboard results"),
    (LOOK, "read", ReadCommand, "sonde read runs/a --outcome loss -n 3"),
    (LOOK, "report", ReportCommand, "sonde report runs/a runs/b --out report.html"),
    (LOOK, "view", ViewCommand, "sonde view runs"),
    (LOOK, "audit", AuditCommand, "sonde audit runs/a --judge smollm2"),
    (LOOK, "roles", RolesCommand, "sonde roles runs/a --json"),
    (LOOK, "export", ExportCommand, "sonde export runs/a tables"),
    (BELIEFS, "elicit", ElicitCommand, "sonde elicit runs/a --model smollm2 --candidates all"),
    (TRAIN, "train", TrainCommand, "sonde train grpo maze --model sonde-tiny-maze --settings tiny_grpo --out o"),
    (TRAIN, "paprika", PaprikaCommand, "sonde paprika maze --model sonde-tiny-maze --settings tiny --out o"),
    (ENVIRONMENTS, "list", ListCommand, "sonde list envs"),
    (ENVIRONMENTS, "show", ShowCommand, "sonde show mastermind"),
    (ENVIRONMENTS, "prompts", PromptsCommand, "sonde prompts wordle --out my-prompts"),
):  # fmt: skip
    add_command(app, name, command, group=group, example=example)
add_command(dataset_app, "lmrl", LmrlDatasetCommand, example="sonde dataset lmrl maze --n 40 --out maze-data")
add_command(models_app, "fetch", FetchCommand, example="sonde models fetch smollm2")
add_command(models_app, "list", ListModelsCommand, example="sonde models list")
app.add_typer(dataset_app, name="dataset", rich_help_panel=DATA)
app.add_typer(models_app, name="models", rich_help_panel=DATA)
