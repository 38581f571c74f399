"""`sonde train` and `sonde paprika`: training from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from rich.console import RenderableType
from typer import Argument, Option

from sonde._util.extras import require_extra
from sonde._util.folders import write_atomically
from sonde.core import AGENT, AnyPolicy, Env, UserError, build, find, invalid, names, unknown
from sonde.core.types import Json
from sonde.models.files.saving import COMMAND, read_command
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.rollout import OnDone
from sonde.runs.run import read_config
from sonde.runs.store import Run
from sonde.train import paprika
from sonde.train.collect import Game, load_trajectories
from sonde.train.credit import ESTIMATORS
from sonde.train.curriculum import BANDITS
from sonde.train.learn import learn, learn_online
from sonde.train.objectives import find_objective
from sonde.train.paprika import PAPER, TINY, PipelineResult, add_judge_seat
from sonde.train.presets import PRESETS, describe_preset
from sonde.train.rewarders import REWARDERS, Rewarder
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings
from sonde.train.training import NEEDED, Training
from sonde.viewer.training_history import HISTORY

from . import options as opt
from . import tables
from .commands import command_line
from .estimate import describe_speakers
from .estimate_pipeline import print_pipeline_estimate
from .evaluate import with_seats
from .overrides import Part, apply_overrides, parse_assignment
from .players import model_config, model_seats, model_to_train
from .progress import episode_progress, training_progress
from .terminal import out, print_result, stderr

Seats = Mapping[str, Mapping[str, Json]]
PARTS = ("settings", "objective", "online", "rule", "seats")
"""Where the paths of `sonde train -o PATH=VALUE` begin."""
MODEL = "The model to train: a name of `sonde models list`, hf:NAME, or a folder."


@dataclass(frozen=True, kw_only=True)
class _TrainingOptions:
    """The options that `sonde train` and `sonde paprika` share."""

    folder: Annotated[Path, Option("--out", help="Folder for checkpoints, history and the trained model.")]
    preset: opt.PresetOpt = None
    n_tasks: Annotated[
        int | None, opt.tasks_option("--tasks", "-n", help="Only the first N training tasks of each.")
    ] = None
    user: opt.UserOpt = None
    judge: opt.JudgeOpt = None
    user_url: opt.UserUrlOpt = None
    report: opt.ReportOpt = None
    as_json: opt.JsonOpt = False

    def _write_report(self, runs: Sequence[Path], trainings: Sequence[Path]) -> None:
        if self.report is not None:
            from sonde.viewer import write_report

            write_report(runs, self.report, training=trainings)

    def _print(self, data: Json, table: RenderableType, *written: Path) -> None:
        print_result(data, table, self.as_json, *written, *([self.report] if self.report else []))


# --- sonde train -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TrainCommand(_TrainingOptions):
    """Train a model on recorded episodes (sft, rpo, ilql, ...) or while it plays (grpo, ppo, ...).

    Named settings such as starpo and delta_belief stand for an objective with all settings of a paper. To play with the
    values that mc and ilql learn: `-o seats.agent.model.heads=FOLDER`.
    """

    objective: Annotated[
        str,
        Argument(
            help="One of `sonde list objectives`, your own as MODULE:CLASS, or named settings such as delta_belief.",
            autocompletion=opt.complete_names("objectives"),
        ),
    ]
    sources: Annotated[
        list[str], Argument(help="Run folders to learn from; for grpo and the like, environments to play.")
    ]
    model: Annotated[str, Option(help=MODEL)]
    settings: Annotated[str | None, Option(help=f"Settings to start from: {', '.join(PRESETS)}.")] = None
    context: Annotated[str, Option(help="How much of a game the model sees: full, render, told or last:K.")] = "full"
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
    overrides: opt.OverrideOpt = None
    trusted: opt.TrustOpt = False

    def run(self) -> None:
        model = model_to_train(self.model)
        objective, settings = _split_objective(self.objective, self.settings)
        require_extra("training", *NEEDED)
        name = settings or find_objective(objective).preset
        if name not in PRESETS:
            raise unknown("--settings", name, PRESETS)
        online = PRESETS[name].for_objective(objective).is_online
        self._check_used(objective, online, PRESETS[name].recorded)
        chosen, seats = override_training(
            self._training_with_options(PRESETS[name].for_objective(objective)),
            model_seats(self.user, self.judge, self.user_url, None),
            self.overrides,
        )
        stderr.print(f"settings: {describe_preset(chosen)}", highlight=False)
        done = (
            self._learn_online(model, chosen, seats, objective)
            if online
            else self._learn_offline(model, chosen, objective)
        )
        command = command_line("train", self, without=("report", "fresh", "resume", "as_json"))
        write_atomically(self.folder / COMMAND, " && ".join(filter(None, (read_command(model), command))) + "\n")
        self._write_report([], [self.folder])
        data = {"model": str(done.model), "steps": done.steps, "last": done.history[-1]}
        self._print(data, tables.training_table(done.history), done.model, self.folder / HISTORY)

    def _check_used(self, objective: str, online: bool, recorded: bool) -> None:
        """Refuse options that this objective does not use."""
        changed = {parse_assignment(assignment).path[0] for assignment in self.overrides or ()}
        only_online = {
            "--preset": self.preset, "--tasks": self.n_tasks is not None, "--shown": self.shown,
            "--server": self.server, "--user": self.user, "--judge": self.judge, "--user-url": self.user_url,
            "-o online": "online" in changed and not recorded, "-o seats": "seats" in changed,
        }  # fmt: skip
        only_recorded = {"--encode": self.encode, "-o rule": "rule" in changed}
        for option, given in (only_recorded if online else only_online).items():
            if given:
                own, recorded = "their own play", "recorded episodes"
                source, other = (own, recorded) if online else (recorded, own)
                raise UserError(
                    f"{option}: {objective} learns from {source}; allowed: objectives that learn from {other}"
                )

    def _training_with_options(self, preset: Training) -> Training:
        """The preset with the options in their places."""
        return replace(
            preset,
            settings=replace(preset.settings, folder=str(self.folder)),
            learning=replace(preset.learning, context=self.context, encode=self.encode),
            online=replace(preset.online, context=self.context),
        )

    def _learn_offline(self, model: str, chosen: Training, objective: str) -> Any:
        opt.trust_runs(map(Path, self.sources), self.trusted)
        played = load_trajectories([Run.load(source) for source in self.sources])
        with _progress_callbacks(objective) as callbacks:
            return learn(model, chosen, played, resume=self.resume, fresh=self.fresh, callbacks=callbacks)

    def _learn_online(self, model: str, chosen: Training, seats: Seats, objective: str) -> Any:
        games = [
            _make_game(add_judge_seat(_env_config(name, self.preset), seats), self.n_tasks) for name in self.sources
        ]
        envs = [game.env for game in games]
        policies = _build_seats(seats, envs)
        for line in describe_speakers(envs, policies, chosen.n_episodes):
            stderr.print(line, highlight=False)
        server = _make_server(self.server, self.base_url)
        opt.trust_runs(map(Path, self.shown or ()), self.trusted)
        shown = load_trajectories([Run.load(folder) for folder in self.shown]) if self.shown else []
        with _progress_callbacks(objective) as callbacks:
            return learn_online(
                model, chosen, games, policies=policies, shown=shown, server=server, resume=self.resume,
                fresh=self.fresh, callbacks=callbacks,
            )  # fmt: skip


def _split_objective(name: str, settings: str | None) -> tuple[str, str | None]:
    """The objective and the settings that were asked for; the name of settings includes an objective."""
    if name in PRESETS:
        if settings is not None:
            raise UserError(f"--settings: got {settings!r}, but {name!r} names settings already; allowed: one of them")
        return PRESETS[name].objective, name
    if ":" not in name and name not in names("objectives"):
        raise unknown("objective", name, (*names("objectives"), *PRESETS), see="sonde list objectives")
    return name, settings


def _build_seats(configs: Seats, envs: Sequence[Env[Any]]) -> dict[str, AnyPolicy]:
    """The policies in other seats that replace those of the environments."""
    seats = {seat for env in envs for seat in env.spec.seats if seat != AGENT}
    for seat in configs:
        if seat not in seats:
            raise unknown("-o seats", seat, seats)
    return {seat: build(config) for seat, config in configs.items()}


def _make_server(spec: str | None, base_url: str | None) -> TokenEndpoint | None:
    """The inference server that plays; None where this process does."""
    if spec is None:
        if base_url is not None:
            raise UserError("--base-url: allowed: only with --server vllm:NAME or sglang:NAME")
        return None
    return build(_server_config(spec, base_url))


def _server_config(spec: str, base_url: str | None) -> dict[str, Json]:
    config = model_config(spec, base_url, "--server")
    if not issubclass(find(str(config["name"])), TokenEndpoint):
        raise UserError(f"--server: got {spec!r}, allowed: vllm:NAME or sglang:NAME, which return token ids")
    return config


def _make_game(config: Mapping[str, Json], n: int | None) -> Game:
    env = build(config)
    if not isinstance(env, Env):
        raise UserError(f"{config['name']!r} is not an environment")
    tasks = env.tasks("train")
    if n is not None and n < 1:
        raise invalid("--tasks", n, "1 or more")
    return Game(env, tasks if n is None else tasks[: min(n, len(tasks))], f"{env.spec.name}-{env.spec.preset}")


def _env_config(name: str, preset: str | None) -> dict[str, Json]:
    """An environment as NAME or NAME:PRESET; a plug-in's name has a colon of its own."""
    short, _, own = name.partition(":") if name.partition(":")[0] in names("envs") else (name, "", "")
    return {"name": short, **({"preset": own or preset} if own or preset else {})}


# --- overrides of a training -------------------------------------------------------------------------------------


def override_training(known: Training, seats: Seats, assignments: Sequence[str] | None) -> tuple[Training, Seats]:
    """The training and the configurations of its seats, with `-o PATH=VALUE` applied. PATH begins with one of `PARTS`:
    its settings, the objective's options, its play, its selection rule, its other seats."""
    changed = {parse_assignment(assignment).path[0] for assignment in assignments or ()}
    learns, shares = find_objective(known.objective).learns, known.learning.share is not None
    if "rule" in changed and learns not in ("pairs", "successes"):
        raise UserError(
            f"-o rule: {known.objective} selects no episodes; allowed: objectives that learn from pairs or wins"
        )
    rule = "pairs" if learns == "pairs" else "share" if shares else "sft"
    parts = {
        "settings": known.settings, "objective": known.options, "online": known.online,
        "rule": getattr(known.learning, rule), "seats": seats,
    }  # fmt: skip
    parts = apply_overrides(parts, assignments, names=PARTS, parts=SPECIAL)
    asked = replace(
        known,
        settings=parts["settings"],
        options=parts["objective"],
        online=parts["online"],
        learning=replace(known.learning, **{rule: parts["rule"]}),
    )
    if asked.settings.folder != known.settings.folder:
        raise UserError(f"-o settings.folder: got {asked.settings.folder!r}, allowed: --out, which sets it")
    return replace(asked, learning=replace(asked.learning, seed=asked.settings.seed)), parts["seats"]


def _read_mix(given: Json) -> RewardMix:
    """Names with their weights (those under `every` for the whole game on each turn), or one of the published mixes."""
    if isinstance(given, Mapping):
        return RewardMix({name: weight for name, weight in given.items() if name != "every"}, given.get("every", {}))
    if not isinstance(given, str):
        raise invalid("-o online.rewards", given, "names with their weights, or the name of a mix")
    return RewardMix.from_paper(given)


def _read_rewarders(given: Any) -> tuple[Rewarder, ...]:
    """Rewarders by name, or the usual ones of these names."""
    if isinstance(given, Mapping):
        return tuple(given.values())
    return tuple(_make_rewarder(name) for name in (given if isinstance(given, list) else [given]))


def _make_named(at: str, name: Json, known: Mapping[str, Callable[[], Any]]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise unknown(f"-o {at}", name, known)
    return known[name]()


def _make_rewarder(name: Json) -> Rewarder:
    return _make_named("online.rewarders", name, REWARDERS)


SPECIAL: Mapping[str, Part] = {
    "settings.lora": Part(begin=LoraSettings),
    "online.rewards": Part(read=_read_mix, entries=RewardMix.to_json),
    "online.rewarders": Part(
        read=_read_rewarders,
        entries=lambda rewarders: {rewarder.called: rewarder for rewarder in rewarders},
        begin_entry=_make_rewarder,
    ),
    "online.credit": Part(read=lambda name: _make_named("online.credit", name, ESTIMATORS)),
    "online.bandit": Part(read=lambda name: _make_named("online.bandit", name, BANDITS)),
}
"""Places that may get new names, or that are given by one."""


# --- sonde paprika -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PaprikaCommand(_TrainingOptions):
    """Run PAPRIKA from start to end: play, select, train, evaluate.

    The same command continues where it was interrupted.
    """

    envs: Annotated[list[str] | None, Argument(help="Environments to learn from, as NAME or NAME:PRESET.")] = None
    model: Annotated[str | None, Option(help=MODEL)] = None
    settings: Annotated[str | None, Option(help="paper, or tiny for the models that come with sonde.")] = None
    k: Annotated[int | None, opt.tasks_option("-k", help="Samples per task.", show_default="20, mastermind 100")] = None
    server: Annotated[
        str | None,
        Option(help="Inference server that plays, with the weights of every stage: vllm:NAME, sglang:NAME."),
    ] = None
    player: Annotated[
        str | None, Option(help="Another model that plays the training episodes, such as http:NAME; for one round.")
    ] = None
    base_url: Annotated[str | None, Option(help="Address of --server or --player.")] = None
    config: Annotated[Path | None, Option(help="Configuration file: YAML, TOML or JSON. Options override it.")] = None
    dry_run: Annotated[bool, Option("--dry-run", help="Only estimate the number of games, calls and tokens.")] = False
    overrides: opt.OverrideOpt = None

    def run(self) -> None:
        values = apply_overrides(self._config_values(), self.overrides, names=[f.name for f in fields(paprika.Paprika)])
        asked = paprika.Paprika.from_json(values)
        for stage in asked.stages:
            stderr.print(f"{stage}: {describe_preset(asked.stage_training(stage))}", highlight=False)
        if self.dry_run:
            print_pipeline_estimate(paprika.plan_pipeline(asked), out, self.as_json)
            return
        outcome = paprika.run_pipeline(asked, self.folder, watch=_stage_progress)
        self._write_report(_evaluation_folders(outcome), _training_folders(outcome))
        self._print(outcome.to_json(), tables.stage_table(outcome), self.folder)

    def _config_values(self) -> dict[str, Json]:
        """The configuration of the file, changed by the options that are given."""
        if self.base_url is not None and self.player is None and self.server is None:
            raise UserError("--base-url: allowed: only with --server or --player")
        given: dict[str, Json] = {
            "model": self.model and model_to_train(self.model),
            "n_tasks": self.n_tasks,
            "k": self.k,
            "envs": [_env_config(env, self.preset) for env in self.envs] if self.envs else None,
            "presets": None if self.settings is None else _stage_presets(self.settings),
            "server": self.server and _server_config(self.server, self.base_url),
            "player": self.player and model_config(self.player, self.base_url, "--player"),
        }
        values = read_config(self.config) if self.config else {}
        values |= {key: value for key, value in given.items() if value is not None}
        values = with_seats(values, model_seats(self.user, self.judge, self.user_url, self.base_url))
        return {"presets": dict(PAPER), **values}  # of which one may be changed alone


def _stage_presets(name: str) -> dict[str, str]:
    known = {"paper": PAPER, "tiny": TINY}
    if name not in known:
        raise unknown("--settings", name, known)
    return dict(known[name])


def _evaluation_folders(outcome: PipelineResult) -> list[Path]:
    root = outcome.folder / "evaluation"
    return [folder for stage in outcome.stages for folder in sorted((root / stage.name).iterdir())]


def _training_folders(outcome: PipelineResult) -> list[Path]:
    """The folders of its trainings, in order."""
    return sorted(
        (path.parent for path in outcome.folder.glob("round-*/*/history.jsonl")), key=lambda p: p.stat().st_mtime
    )


# --- progress ----------------------------------------------------------------------------------------------------


@contextmanager
def _progress_callbacks(objective: str) -> Iterator[list[Any]]:
    """The callbacks that show a training while it runs."""
    from sonde.train.callbacks import ProgressCallback

    with training_progress(objective) as show:
        yield [ProgressCallback(show)]


def _stage_progress(title: str, total: int, before: int) -> Any:
    return episode_progress(title, total, before) if total else _print_stage(title)


@contextmanager
def _print_stage(title: str) -> Iterator[OnDone | None]:
    stderr.print(title, highlight=False)
    yield None
