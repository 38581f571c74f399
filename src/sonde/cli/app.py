"""The `sonde` command: all of its commands, grouped as its help shows them.

A command's module is imported when the command runs: the help of all commands, which needs a line of each, would
otherwise load the whole library.
"""

from __future__ import annotations

import importlib
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
    """A command: its group in the help, its name, its class (`module:Class` of this package), the first paragraph of
    its help, and an example."""

    group: str | None
    name: str
    where: str
    summary: str
    example: str


COMMANDS = (
    Entry(
        PLAY, "play", "environments:PlayCommand",
        'Play an environment yourself, in the terminal.',
        "sonde play wordle",
    ),
    Entry(
        PLAY, "mcp", "mcp:McpCommand",
        'Serve an environment to a client of the Model Context Protocol.',
        "sonde mcp twenty_questions --out runs/mine",
    ),
    Entry(
        PLAY, "eval", "evaluate:EvalCommand",
        'Play, record and evaluate an agent.',
        "sonde eval wordle --model smollm2 --tasks 8",
    ),
    Entry(
        PLAY, "rollout", "evaluate:RolloutCommand",
        'Play and record episodes without evaluating them, for training data.',
        "sonde rollout wordle runs/train --agent entropy",
    ),
    Entry(
        PLAY, "rescore", "evaluate:RescoreCommand",
        'Recompute the evaluation of a run from its episodes; no policy is called.',
        "sonde rescore runs/train",
    ),
    Entry(
        PLAY, "compare", "evaluate:CompareCommand",
        'Compare two runs, paired by task.',
        "sonde compare runs/a runs/b",
    ),
    Entry(
        PLAY, "leaderboard", "runs:LeaderboardCommand",
        "Show each agent's score per suite, and how well it asks, decides and follows the format.",
        "sonde leaderboard results",
    ),
    Entry(
        PLAY, "submit", "submit:SubmitCommand",
        'Print the steps that put a result on the leaderboard, and check a file for it.',
        "sonde submit results/mtp--mine.json",
    ),
    Entry(
        LOOK, "read", "runs:ReadCommand",
        'Read the conversations of a run, with reward and information gain per turn.',
        "sonde read runs/a --outcome loss -n 3",
    ),
    Entry(
        LOOK, "report", "runs:ReportCommand",
        'Write one HTML page about any number of runs, their figures as files, or their table for a paper.',
        "sonde report runs/a runs/b --out report.html",
    ),
    Entry(
        LOOK, "view", "runs:ViewCommand",
        'Browse runs, trainings and comparisons in the browser, also while they are played.',
        "sonde view runs",
    ),
    Entry(
        LOOK, "audit", "evaluate:AuditCommand",
        'Judge the wins of recorded conversations again, by rules or a second judge, and look for leaked answers.',
        "sonde audit runs/a --judge smollm2",
    ),
    Entry(
        LOOK, "roles", "roles:RolesCommand",
        'Score updater, sampler and policy of an LLM-PSRL run, each against what is exactly right.',
        "sonde roles runs/a --json",
    ),
    Entry(
        LOOK, "export", "runs:ExportCommand",
        "Write the numbers of runs as two tables, of episodes and of turns, for other programs.",
        "sonde export runs/a runs/b --csv --out numbers",
    ),
    Entry(
        BELIEFS, "elicit", "elicit:ElicitCommand",
        "Read a model's belief about what is hidden off its probabilities, before every turn of recorded episodes.",
        "sonde elicit runs/a --model smollm2 --candidates all",
    ),
    Entry(
        TRAIN, "train", "train:TrainCommand",
        'Train a model on recorded episodes (sft, rpo, ilql, ...) or while it plays (grpo, ppo, ...).',
        "sonde train grpo maze --model sonde-tiny-maze --settings tiny_grpo --out o",
    ),
    Entry(
        TRAIN, "paprika", "train:PaprikaCommand",
        'Run PAPRIKA from start to end: play, select, train, evaluate.',
        "sonde paprika maze --model sonde-tiny-maze --settings tiny --out o",
    ),
    Entry(
        ENVIRONMENTS, "list", "environments:ListCommand",
        'List everything that has a name: environments, agents, users, models, training objectives and settings.',
        "sonde list envs",
    ),
    Entry(
        ENVIRONMENTS, "show", "environments:ShowCommand",
        'Show an environment: its facts, its presets and its opening message.',
        "sonde show mastermind",
    ),
    Entry(
        ENVIRONMENTS, "schema", "schema:SchemaCommand",
        'Print the JSON schema of a configuration file, with which an editor completes and checks it.',
        "sonde schema run --out run.schema.json",
    ),
    Entry(
        ENVIRONMENTS, "scale", "scale:ScaleCommand",
        'Measure what random play and the reference solver score in an environment: the 0 and the 100 of its scores.',
        "sonde scale my_game:MyGame",
    ),
    Entry(
        ENVIRONMENTS, "prompts", "prompts:PromptsCommand",
        'Write the prompts of an environment, or of an agent made of several calls, as files to change.',
        "sonde prompts wordle --out my-prompts",
    ),
)  # fmt: skip
DATASET_COMMANDS = (
    Entry(
        None, "lmrl", "dataset:LmrlDatasetCommand",
        'Make a dataset of LMRL-Gym: runs for training and for evaluation, and a card of statistics.',
        "sonde dataset lmrl maze --n 40 --out maze-data",
    ),
    Entry(
        None, "mtp", "puzzles:PuzzlesCommand",
        'Read tasks of Multi-Turn Puzzles from a file, and write them as a file for --tasks-file.',
        "sonde dataset mtp word_guess --from published.jsonl --out tasks.json",
    ),
    Entry(
        None, "pairs", "gain_pairs:PairsCommand",
        'Pair questions of high with questions of low information gain, asked at the same point of a game.',
        "sonde dataset pairs twenty_questions:small --model sonde-tiny-twenty_questions --out pairs.jsonl",
    ),
)  # fmt: skip
MODELS_COMMANDS = (
    Entry(
        None, "fetch", "models:FetchCommand",
        'Find or download a small model, check it and convert it, once.',
        "sonde models fetch smollm2",
    ),
    Entry(
        None, "list", "models:ListModelsCommand",
        'List the models that come with sonde or can be fetched, and the providers whose models have a short form.',
        "sonde models list",
    ),
)  # fmt: skip
HUB_COMMANDS = (
    Entry(
        None, "push", "hub:PushCommand",
        'Upload a run, a dataset or a trained model to a hub.',
        "sonde hub push runs/a me/wordle-runs",
    ),
    Entry(
        None, "pull", "hub:PullCommand",
        'Download a run, a dataset or a model from a hub into a new folder.',
        "sonde hub pull me/wordle-runs --out runs/theirs",
    ),
)  # fmt: skip


def load_command(entry: Entry) -> TyperCommand:
    """The command of an entry, with its options."""
    module, _, name = entry.where.partition(":")
    single = typer.Typer()
    found = getattr(importlib.import_module(f".{module}", __package__), name)
    add_command(single, entry.name, found, group=entry.group, example=entry.example)
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
