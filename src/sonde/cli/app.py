"""The `sonde` command: all of its commands, grouped as its help shows them.

A command's module is imported when the command runs: the help of all commands, which needs a line of each, would
otherwise load the whole library.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

from sonde import __version__
from sonde.models.remote.providers import load_providers

from .commands import add_command

PLAY, LOOK, BELIEFS, TRAIN, DATA, ENVIRONMENTS = (
    "Play and evaluate", "Look at runs", "Beliefs", "Train", "Data and models", "Environments",
)  # fmt: skip
SUMMARY = "Environments, agents and metrics for language models that must seek information."
FROM_HERE = ("dataset", "eval", "paprika", "play", "rollout", "scale", "train")
"""Commands whose options may name modules of the current folder, such as `--agent mine:Player`. Commands that read a
folder, which may come from somebody else, import nothing from it without --trust."""


class Entry(NamedTuple):
    """A command: its group in the help, its name, its class (`module:Class` of this package), and an example."""

    group: str | None
    name: str
    where: str
    example: str

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring of its class, read without importing the module."""
        module, _, name = self.where.partition(":")
        found = re.search(rf'^class {name}\b.*?"""(.*?)(?:\n\n|""")', _read_module(module), re.DOTALL | re.MULTILINE)
        assert found, self.where
        return " ".join(found[1].split())


@cache
def _read_module(name: str) -> str:
    return Path(__file__).with_name(f"{name}.py").read_text("utf-8")


COMMANDS = (
    Entry(PLAY, "play", "environments:PlayCommand", "sonde play wordle"),
    Entry(PLAY, "mcp", "mcp:McpCommand", "sonde mcp twenty_questions --out runs/mine"),
    Entry(PLAY, "eval", "evaluate:EvalCommand", "sonde eval wordle --model smollm2 --tasks 8"),
    Entry(PLAY, "rollout", "evaluate:RolloutCommand", "sonde rollout wordle runs/train --agent entropy"),
    Entry(PLAY, "rescore", "evaluate:RescoreCommand", "sonde rescore runs/train"),
    Entry(PLAY, "compare", "evaluate:CompareCommand", "sonde compare runs/a runs/b"),
    Entry(PLAY, "leaderboard", "runs:LeaderboardCommand", "sonde leaderboard results"),
    Entry(PLAY, "submit", "submit:SubmitCommand", "sonde submit results/mtp--mine.json"),
    Entry(LOOK, "read", "runs:ReadCommand", "sonde read runs/a --outcome loss -n 3"),
    Entry(LOOK, "report", "runs:ReportCommand", "sonde report runs/a runs/b --out report.html"),
    Entry(LOOK, "view", "runs:ViewCommand", "sonde view runs"),
    Entry(LOOK, "audit", "evaluate:AuditCommand", "sonde audit runs/a --judge smollm2"),
    Entry(LOOK, "roles", "roles:RolesCommand", "sonde roles runs/a --json"),
    Entry(LOOK, "export", "runs:ExportCommand", "sonde export runs/a runs/b --csv --out numbers"),
    Entry(BELIEFS, "elicit", "elicit:ElicitCommand", "sonde elicit runs/a --model smollm2 --candidates all"),
    Entry(
        TRAIN, "train", "train:TrainCommand",
        "sonde train grpo maze --model sonde-tiny-maze --settings tiny_grpo --out o",
    ),
    Entry(
        TRAIN, "paprika", "paprika:PaprikaCommand",
        "sonde paprika maze --model sonde-tiny-maze --settings tiny --out o",
    ),
    Entry(ENVIRONMENTS, "list", "environments:ListCommand", "sonde list envs"),
    Entry(ENVIRONMENTS, "show", "environments:ShowCommand", "sonde show mastermind"),
    Entry(ENVIRONMENTS, "schema", "schema:SchemaCommand", "sonde schema run --out run.schema.json"),
    Entry(ENVIRONMENTS, "scale", "scale:ScaleCommand", "sonde scale my_game:MyGame"),
    Entry(ENVIRONMENTS, "prompts", "prompts:PromptsCommand", "sonde prompts wordle --out my-prompts"),
)  # fmt: skip
DATASET_COMMANDS = (
    Entry(None, "lmrl", "dataset:LmrlDatasetCommand", "sonde dataset lmrl maze --n 40 --out maze-data"),
    Entry(
        None, "mtp", "puzzles:PuzzlesCommand",
        "sonde dataset mtp word_guess --from published.jsonl --out tasks.json",
    ),
    Entry(
        None, "pairs", "gain_pairs:PairsCommand",
        "sonde dataset pairs twenty_questions:small --model sonde-tiny-twenty_questions --out pairs.jsonl",
    ),
)  # fmt: skip
MODELS_COMMANDS = (
    Entry(None, "fetch", "models:FetchCommand", "sonde models fetch smollm2"),
    Entry(None, "list", "models:ListModelsCommand", "sonde models list"),
)
HUB_COMMANDS = (
    Entry(None, "push", "hub:PushCommand", "sonde hub push runs/a me/wordle-runs"),
    Entry(None, "pull", "hub:PullCommand", "sonde hub pull me/wordle-runs --out runs/theirs"),
)


def load_command(entry: Entry) -> TyperCommand:
    """The command of an entry, with its options."""
    module, _, name = entry.where.partition(":")
    single = typer.Typer()
    found = getattr(importlib.import_module(f".{module}", __package__), name)
    add_command(single, entry.name, found, example=entry.example)
    (info,) = single.registered_commands
    made = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode="rich")
    return cast("TyperCommand", made)


class LazyGroup(TyperGroup):
    """A group whose commands are loaded when they run; until then each is a name and a summary."""

    entries: dict[str, Entry]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(self.entries[name]) if name in self.entries else command, rest


def make_group(entries: tuple[Entry, ...], **settings: Any) -> typer.Typer:
    """An application of these commands, none of which is loaded."""
    group = type("Group", (LazyGroup,), {"entries": {entry.name: entry for entry in entries}})
    made = typer.Typer(cls=group, no_args_is_help=True, **settings)
    for entry in entries:
        made.command(entry.name, help=entry.summary, rich_help_panel=entry.group)(lambda: None)
    return made


app = make_group(
    COMMANDS,
    name="sonde",
    help=SUMMARY,
    epilog=(
        "Examples: sonde play wordle; sonde eval wordle --agent entropy --tasks 8; sonde view\n\n"
        f"Models: hf:NAME, http:NAME, {', '.join(f'{name}:NAME' for name in load_providers())}; see `sonde models list`"
    ),
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(make_group(DATASET_COMMANDS, help="Datasets for offline learning."), name="dataset", rich_help_panel=DATA)
app.add_typer(
    make_group(MODELS_COMMANDS, help="Small models that run on a laptop."), name="models", rich_help_panel=DATA
)
app.add_typer(make_group(HUB_COMMANDS, help="Runs, datasets and models on a hub."), name="hub", rich_help_panel=DATA)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sonde {__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand in FROM_HERE:
        from .options import import_from_here

        import_from_here()
