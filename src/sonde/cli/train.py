"""`sonde train`: training from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from rich.console import Group
from rich.text import Text
from typer import Argument, Option

from sonde._util.extras import require_extra
from sonde._util.folders import write_atomically
from sonde.core import AGENT, AnyPolicy, Env, UserError, build, find, invalid, names, unknown
from sonde.core.errors import nearest_hint
from sonde.core.types import Json
from sonde.models.files.saving import COMMAND, read_command
from sonde.models.files.shipped import SHIPPED, check_plays
from sonde.models.files.weights import short_name
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.games import BESIDE, split_entry
from sonde.runs.run import read_config
from sonde.runs.store import Run
from sonde.train.automatic import (
    Device,
    ModelFacts,
    adapt_rate,
    choose_training,
    find_device,
    find_doubts,
    hold_out_tasks,
    read_model_facts,
)
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game, load_trajectories, make_games
from sonde.train.data_files import is_data, read_records
from sonde.train.objectives import find_objective, make_objective
from sonde.train.presets import PRESETS, describe_preset
from sonde.train.training import NEEDED, Training
from sonde.train.training_folder import DATA
from sonde.viewer.training_history import HISTORY

from . import options as opt
from . import tables
from .commands import command_line
from .estimate import PlannedPlay, describe_speakers, print_estimate
from .estimate_training import (
    count_held_out,
    describe_early_end,
    describe_plan,
    describe_selection,
    plan_training,
    print_training_data,
)
from .evaluate import shipped_defaults, with_seats
from .games import env_and_preset, is_about_env
from .overrides import parse_assignment
from .players import model_seats, model_to_train
from .suggest import suggest_evaluation
from .terminal import out, stderr
from .training_display import training_display
from .training_options import MODEL, TrainingOptions, server_config
from .training_overrides import PARTS, Seats, override_training

FILED = (*PARTS, "env", "envs", *BESIDE)
"""What a configuration file of `sonde train` may hold."""
MOST_NAMED = 4
"""Sources in the name of a training's folder."""


@dataclass(frozen=True, kw_only=True)
class TrainCommand(TrainingOptions):
    """Train a model on recorded episodes (sft, rpo, ilql, ...) or while it plays (grpo, ppo, ...).

    Named settings such as starpo and delta_belief stand for an objective with all settings of a paper, the preset of
    twenty questions included. To play with the values that mc and ilql learn: `-o seats.agent.model.heads=FOLDER`.
    """

    objective: Annotated[
        str,
        Argument(
            help="One of `sonde list objectives`, your own as MODULE:CLASS, or named settings such as delta_belief.",
            autocompletion=opt.complete_names("objectives"),
        ),
    ]
    model: Annotated[str, Option(help=MODEL)]
    folder: Annotated[
        Path | None,
        Option(
            "--out",
            help="Folder for checkpoints, history and the trained model. Default: in runs/, named after the objective, "
            "the sources and the model.",
            show_default=False,
        ),
    ] = None
    sources: Annotated[
        list[str] | None,
        Argument(
            help="Run folders to learn from, or data of your own (.jsonl, .json, .parquet, a folder of `datasets`); "
            "for grpo and the like, environments to play, as NAME or NAME:PRESET, by default those in --config.",
            show_default=False,
        ),
    ] = None
    settings: Annotated[
        str | None,
        Option(
            help="Named settings to start from (`sonde list settings`). Default: chosen by the model's size, the "
            "device and the environments.",
            show_default=False,
        ),
    ] = None
    context: Annotated[
        str | None,
        Option(
            help="How much of a game the model sees: full, render, told or last:K. Default: as the bundled model was "
            "trained, else full.",
            show_default=False,
        ),
    ] = None
    eval_every: Annotated[
        int | None,
        Option(help="Steps between evaluations on held-out tasks, 0: none. The best weights are kept in OUT/best."),
    ] = None
    patience: Annotated[
        int | None, Option(help="End training after this many evaluations without a better one, 0: never.")
    ] = None
    shown: Annotated[
        list[str] | None, Option(help="Run folder of demonstrations to imitate as well (objective.bc).")
    ] = None
    server: Annotated[
        str | None, Option(help="Inference server that plays while this process trains: vllm:NAME, sglang:NAME.")
    ] = None
    base_url: Annotated[str | None, Option(help="Address of --server.")] = None
    encode: Annotated[bool, Option("--encode", help="Encode the texts again, even where token ids were recorded.")] = (
        False
    )
    resume: Annotated[bool, Option("--resume", help="Continue from the last checkpoint in --out.")] = False
    fresh: Annotated[bool, Option("--fresh", help="Start over: remove an earlier training from --out.")] = False
    trusted: opt.TrustOpt = False

    def run(self) -> None:
        model = model_to_train(self.model)
        objective, settings = _split_objective(self.objective, self.settings)
        require_extra("training", *NEEDED)
        if settings is not None and settings not in PRESETS:
            raise unknown("--settings", settings, PRESETS, see="sonde list settings")
        self._check_existence()
        stderr.print(f"reading {model}", highlight=False, soft_wrap=True)  # importing torch takes seconds
        facts, device = read_model_facts(model), find_device()
        known = (
            choose_training(objective, facts, device)
            if settings is None
            else PRESETS[settings].for_objective(objective)
        )
        self._check_used(objective, known.is_online, known.recorded)
        self._check_sources(objective, known.is_online)
        filed = with_seats(self._config_content, model_seats(self.user, self.judge, self.user_url, None))
        if settings is None and known.is_online:
            envs = [game.env for game in self._make_games(filed.get("seats", {}), objective, known)]
            known = choose_training(objective, facts, device, envs)
        preset = self._training_with_options(known)
        chosen, seats = override_training(
            preset,
            filed.get("seats", {}),
            [given for given in self.overrides or () if not is_about_env(given)],
            {part: value for part, value in filed.items() if part in PARTS and part != "seats"},
        )
        chosen = adapt_rate(preset, chosen) if settings is None else chosen
        make_objective(chosen.objective, **chosen.options)  # a dry run, too, refuses options that it does not have
        stderr.print(f"settings: {describe_preset(chosen)}", highlight=False, soft_wrap=True)
        stderr.print(f"folder: {self.training_folder}", highlight=False, soft_wrap=True)
        plan = _Plan(facts, device, chosen)
        learn_from = self._learn_online if chosen.is_online else self._learn_offline
        done = learn_from(plan, seats, objective)
        if done is None:
            return
        described = replace(self, folder=self.training_folder)
        command = command_line("train", described, without=("report", "fresh", "resume", "as_json"))
        commands = " && ".join(filter(None, (read_command(model), command)))
        write_atomically(self.training_folder / COMMAND, f"{commands}\n")
        self.write_report([], [self.training_folder])
        best = [] if done.best is None else [done.best]
        data = {"model": str(done.model), "steps": done.steps, "last": done.history[-1]}
        data |= {"best": str(done.best)} if best else {}
        shown = Group(tables.training_table(done.history), Text(tables.explain_training(done.history), style="dim"))
        self.print_outcome(data, shown, done.model, *best, self.training_folder / HISTORY)
        if (early := describe_early_end(chosen, done.steps)) and not self.as_json:
            out.print(early, highlight=False)
        if best and not self.as_json:
            out.print(_describe_best(self.training_folder, done.history), highlight=False)
        if not seats and not self.as_json:
            following = self._suggest_next([*best, done.model][0], model, objective, chosen)
            if following:
                out.print(Text(f"next: {following}", style="dim"), soft_wrap=True)

    def _suggest_next(self, trained: Path, base: str, objective: str, chosen: Training) -> str:
        """The command that evaluates what was trained in the games that it learned from; values are evaluated with the
        model that they were learned for."""
        if chosen.is_online:
            envs = [game.env for game in self._make_games({}, objective, chosen)]
            return suggest_evaluation(str(trained), envs, chosen.online)
        runs = [Run.load(source) for source in self.sources or () if not is_data(Path(source))]
        envs = [build(run.config["env"]) for run in runs]
        values = find_objective(chosen.objective).learns == "values"
        return suggest_evaluation(base if values else str(trained), envs, chosen.learning, trained if values else None)

    @cached_property
    def training_folder(self) -> Path:
        """The given folder, or such as `runs/grpo-wordle-small--smollm2`."""
        if self.folder is not None:
            return self.folder
        learned = [Path(source).stem if Path(source).exists() else source for source in self.sources or ()]
        if len(learned) > MOST_NAMED:
            learned[MOST_NAMED:] = [f"{len(learned) - MOST_NAMED}-more"]
        name = "-".join([self.objective, *learned]) + f"--{short_name(self.model.removeprefix('hf:'), None)}"
        return Path("runs") / re.sub(r"[^\w.-]+", "-", name)

    @cached_property
    def _config_content(self) -> dict[str, Json]:
        """The content of the configuration file."""
        found = read_config(self.config) if self.config else {}
        for name, value in found.items():
            if name not in FILED:
                raise unknown("config", name, FILED)
            if name in (*PARTS, "env") and not isinstance(value, Mapping):
                raise invalid(f"config: {name}", value, "a mapping")
        return found

    def _check_used(self, objective: str, online: bool, recorded: bool) -> None:
        """Refuse options that this objective does not use."""
        changed = {
            parse_assignment(assignment).path[0] for assignment in self.overrides or ()
        } | self._config_content.keys()
        only_online = {
            "--preset": self.preset, "--max-turns": self.max_turns, "--tasks-file": self.tasks_files,
            "--tasks": self.n_tasks is not None, "--shown": self.shown, "--server": self.server, "--user": self.user,
            "--judge": self.judge, "--user-url": self.user_url, "--eval-every": self.eval_every is not None,
            "--patience": self.patience is not None, "-o online": "online" in changed and not recorded,
            **{f"-o {part}": part in changed for part in ("seats", "env", "envs", "tasks_file", "n_tasks")},
        }  # fmt: skip
        only_recorded = {"--encode": self.encode, "-o rule": "rule" in changed}
        for option, given in (only_recorded if online else only_online).items():
            if given:
                sources = ("their own play", "recorded episodes")
                source, other = sources if online else sources[::-1]
                raise UserError(
                    f"{option}: {objective} learns from {source}; allowed: objectives that learn from {other}"
                )

    def _check_existence(self) -> None:
        """Refuse paths that do not exist, and names that are almost those of environments."""
        for source in (s for s in self.sources or () if not Path(s).exists()):
            path, name = Path(source), env_and_preset(source, self.preset)[0]
            if ":" not in source and (len(path.parts) > 1 or path.suffix):
                raise invalid("sources", source, "an existing file or folder, or an environment")
            if nearest_hint(name, names("envs")):
                find(name)

    def _check_sources(self, objective: str, online: bool) -> None:
        """Refuse recorded episodes where an objective plays itself, and name the settings under which it does not; and
        environments where it learns from recorded episodes."""
        for source in self.sources or ():
            is_env = source.partition(":")[0] in names("envs")
            if is_env and not online and not Path(source).exists():
                raise invalid(
                    "sources",
                    source,
                    f"run folders, or data, since {objective} learns from recorded episodes (`sonde rollout {source} "
                    "FOLDER --split train` records some)",
                )
            if not is_env and online and Path(source).exists():
                other = [name for name, preset in PRESETS.items() if preset.recorded and preset.objective == objective]
                allowed = [f"environments, since {objective} learns while it plays"]
                allowed += [f"--settings {', '.join(other)} for recorded episodes"] if other else []
                raise invalid("sources", source, "; ".join(allowed))

    def _training_with_options(self, preset: Training) -> Training:
        """The preset with the options in their places."""
        given = {"context": self.context, "eval_every": self.eval_every, "patience": self.patience}
        given = {name: value for name, value in given.items() if value is not None}
        if preset.is_online and preset.online.context == "full":
            given.setdefault("context", self._find_context(preset))
        return replace(
            preset,
            settings=replace(preset.settings, folder=str(self.training_folder)),
            learning=replace(
                preset.learning,
                context=self.context or ("full" if preset.is_online else self._find_context(preset)),
                encode=self.encode,
            ),
            online=replace(preset.online, **given),
        )

    def _find_context(self, preset: Training) -> str:
        """How much of a game the model sees: what a model of sonde was trained to see, if that is the same in all
        games, else all of it."""
        if self.model.removeprefix("hf:") not in SHIPPED:
            return "full"
        if preset.is_online:
            envs = [split_entry(entry)[0] for entry in self._list_entries(preset)]
        else:
            envs = [Run.load(source).config["env"] for source in self.sources or () if not is_data(Path(source))]
        contexts = {str(shipped_defaults(self.model, env)["context"]) for env in envs}
        return contexts.pop() if len(contexts) == 1 else "full"

    def _learn_offline(self, plan: _Plan, seats: Seats, objective: str) -> Any:
        """Train on recorded episodes and on data of others; None where only the data are counted."""
        model, chosen = plan.model.name, plan.training
        if not self.sources:
            raise UserError(f"sources: {objective} learns from recorded episodes; allowed: run folders, or data")
        folders = [Path(source) for source in self.sources if Path(source).is_dir()]
        if self.split is not None and not any(map(is_data, folders)):
            raise UserError("--split: allowed: with environments, or with data that has splits")
        opt.trust_runs((Path(s) for s in self.sources if not is_data(Path(s))), self.trusted)
        runs = [Run.load(source) for source in self.sources if not is_data(Path(source))]
        records = [read_records(s, self.split or "train") for s in self.sources if is_data(Path(s))]
        played = load_trajectories(runs) if runs else []
        plan.print_lines(plan.describe([], []))
        if self.dry_run:
            print_training_data(model, chosen, played, records, out, self.as_json)
            return None
        with _progress_callbacks(objective, partial(_describe_data, self.training_folder)) as callbacks:
            return learn(
                model, chosen, played, records=records, resume=self.resume, fresh=self.fresh, callbacks=callbacks
            )

    def _learn_online(self, plan: _Plan, seats: Seats, objective: str) -> Any:
        """Train while the model plays; None where only the costs are estimated."""
        model, chosen = plan.model.name, plan.training
        games = self._make_games(seats, objective, chosen)
        for game in games:
            check_plays(self.model.removeprefix("hf:"), game.env.name, game.env.spec.preset)
        if chosen.online.eval_every:
            games = hold_out_tasks(games, chosen.online.eval_split)
        envs = [game.env for game in games]
        policies = _build_seats(seats, envs, {"user": self.user, "judge": self.judge})
        plays = plan_training(model, chosen, games, policies)
        plan.print_lines(plan.describe(games, plays))
        if self.dry_run:
            print_estimate(plays, out, self.as_json)
            return None
        for line in describe_speakers(envs, policies, chosen.n_episodes + count_held_out(games, chosen)):
            stderr.print(line, highlight=False)
        server = _make_server(self.server, self.base_url)
        opt.trust_runs(map(Path, self.shown or ()), self.trusted)
        shown = load_trajectories([Run.load(folder) for folder in self.shown]) if self.shown else []
        with _progress_callbacks(objective) as callbacks:
            return learn_online(
                model, chosen, games, policies=policies, shown=shown, server=server, resume=self.resume,
                fresh=self.fresh, callbacks=callbacks,
            )  # fmt: skip

    def _make_games(self, seats: Seats, objective: str, chosen: Training) -> list[Game]:
        """The games to train on: the environments of the command line, or else those of the file, with the arguments
        that these settings play them with."""
        filed, entries = self._config_content, self._list_entries(chosen)
        if not entries:
            raise UserError(f"sources: {objective} learns from its own play; allowed: environments, or --config")
        beside = {name: filed[name] for name in BESIDE if name in filed}
        return make_games(self.make_game_configs(entries, beside, seats))

    def _list_entries(self, chosen: Training) -> list[dict[str, Json]]:
        """The entries of the games: of the command line, of the file, or else the first game of a model of sonde."""
        filed = self._config_content
        entries = self.list_env_entries(self.sources) or filed.get("envs") or [filed[n] for n in ("env",) if n in filed]
        entries = entries or [{"name": name} for name in [*chosen.plays][:1] if self.model in SHIPPED]
        return [chosen.fill_env(entry) for entry in entries]


class _Plan(NamedTuple):
    """A training, and the model and the device that it is for."""

    model: ModelFacts
    device: Device
    training: Training

    def describe(self, games: Sequence[Game], plays: Sequence[PlannedPlay]) -> list[str]:
        """The plan in lines, and what is doubtful about it."""
        lengths = [self.training.online.max_new_tokens or game.env.spec.max_new_tokens for game in games]
        doubts = find_doubts(self.training, self.model, min(lengths, default=None))
        lines = describe_plan(self.model, self.device, self.training, games, plays)
        return [*lines, *(f"warning: {doubt}" for doubt in doubts)]

    def print_lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            warns = line.startswith("warning")
            stderr.print(line, highlight=False, soft_wrap=True, style="yellow" if warns else None)


def _describe_best(folder: Path, history: Sequence[Mapping[str, float]]) -> str:
    """At which step the weights in `best` were the best on held-out tasks."""
    from sonde.train.online.held_out import HeldOut

    best = HeldOut.read_file(folder)
    before = next((entry["held_out_start"] for entry in history if "held_out_start" in entry), None)
    if best is None:
        return ""
    start = "" if before is None else f", {100 * before:.0f} % before training"
    return f"best weights: step {best.step}, {100 * best.success:.0f} % of the held-out tasks won{start}"


def _split_objective(name: str, settings: str | None) -> tuple[str, str | None]:
    """The objective and the settings that were asked for; the name of settings includes an objective. A name of both
    (`bc`) is the objective's."""
    if name in PRESETS and name not in names("objectives"):
        if settings is not None:
            raise UserError(f"--settings: got {settings!r}, but {name!r} names settings already; allowed: one of them")
        return PRESETS[name].objective, name
    if ":" not in name and name not in names("objectives"):
        raise unknown("objective", name, (*names("objectives"), *PRESETS), see="sonde list objectives")
    return name, settings


def _build_seats(configs: Seats, envs: Sequence[Env[Any]], options: Mapping[str, str | None]) -> dict[str, AnyPolicy]:
    """The policies in other seats that replace those of the environments; `options` are those of the command line."""
    seats = {seat for env in envs for seat in env.spec.seats if seat != AGENT}
    for seat in configs:
        if seat not in seats and options.get(seat):
            allowed = f"--{', --'.join(sorted(seats & options.keys()))}" if seats & options.keys() else "none"
            played = " and ".join(dict.fromkeys(env.name for env in envs))
            raise UserError(f"--{seat}: got {options[seat]!r}, but {played} has no seat {seat!r}; allowed: {allowed}")
        if seat not in seats:
            raise unknown("-o seats", seat, seats)
    return {seat: build(config) for seat, config in configs.items()}


def _make_server(spec: str | None, base_url: str | None) -> TokenEndpoint | None:
    """The inference server that plays; None where this process does."""
    if spec is None:
        if base_url is not None:
            raise UserError("--base-url: allowed: only with --server vllm:NAME or sglang:NAME")
        return None
    return build(server_config(spec, base_url))


# --- progress ----------------------------------------------------------------------------------------------------


@contextmanager
def _progress_callbacks(objective: str, describe: Callable[[int], list[str]] = lambda _: []) -> Iterator[list[Any]]:
    """The callbacks that show a training while it runs. `describe` makes lines about its data from the number of
    steps."""
    from sonde.train.callbacks import ProgressCallback

    with training_display(objective) as display:

        def show_start(done: int, total: int) -> None:
            for line in describe(total):
                stderr.print(line, highlight=False, soft_wrap=True)
            display.show_start(done, total)

        yield [ProgressCallback(display.show_step, display.show_episode, show_start)]


def _describe_data(folder: Path, steps: int) -> list[str]:
    """What a training on recorded data selected, by its folder."""
    return describe_selection({**json.loads((folder / DATA).read_bytes()), "steps": steps})
