"""`sonde train` and `sonde paprika`: training from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sonde._util.extras import need
from sonde._util.folders import write_atomically
from sonde.core import AGENT, AnyPolicy, Env, UserError, build, find, invalid, names, unknown
from sonde.core.types import Json
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.rollout import OnDone
from sonde.runs.run import override, read_config
from sonde.runs.store import Run
from sonde.train.collect import Game, trajectories
from sonde.train.learn import learn, learn_online
from sonde.train.objectives import found
from sonde.train.paprika import PAPER, TINY, Outcome, Paprika, judged
from sonde.train.paprika import run as run_paprika
from sonde.train.presets import PRESETS, describe_preset
from sonde.train.training import NEEDED, Training
from sonde.train.training_folder import COMMAND, made_by
from sonde.viewer.training_history import HISTORY

from . import tables
from .again import again
from .changes import PARTS, Changes, changed, changes_of, with_changes
from .estimate import speakers
from .options import model_config, model_seats, trained_model, with_models
from .progress import progress, training
from .shared import JsonOpt, JudgeOpt, PresetOpt, ReportOpt, TrustOpt, UserOpt, UserUrlOpt, completing, trust_runs
from .terminal import out, stderr

ModelOpt = Annotated[str, typer.Option(help="The model to train: a name of `sonde models list`, hf:NAME, or a folder.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Folder for checkpoints, history and the trained model.")]
SetOpt = Annotated[
    list[str],
    typer.Option("--set", "-o", help=f"PART.KEY=VALUE with PART {', '.join(PARTS)}: settings.lora.r=8."),
]
SettingsOpt = Annotated[str | None, typer.Option("--settings", help=f"Settings to begin from: {', '.join(PRESETS)}.")]
TasksOpt = Annotated[int | None, typer.Option("--tasks", "-n", help="Only the first N training tasks of each.")]
ContextOpt = Annotated[str, typer.Option(help="What the model sees of a game: full, render, told or last:K.")]
ResumeOpt = Annotated[bool, typer.Option(help="Go on from the last checkpoint in --out, if there is one.")]
FreshOpt = Annotated[bool, typer.Option(help="Begin anew: remove what an earlier training left in --out.")]


def train(
    typed: typer.Context,
    objective: Annotated[
        str,
        typer.Argument(
            help="One of `sonde list objectives`, your own as MODULE:CLASS, or settings by name, such as delta_belief.",
            autocompletion=completing("objectives"),
        ),
    ],
    sources: Annotated[
        list[str], typer.Argument(help="Run folders to learn from; for grpo and the like: environments to play.")
    ],
    model: ModelOpt,
    folder: OutOpt,
    settings: SettingsOpt = None,
    preset: PresetOpt = None,
    n_tasks: TasksOpt = None,
    context: ContextOpt = "full",
    user: UserOpt = None,
    judge: JudgeOpt = None,
    user_url: UserUrlOpt = None,
    shown: Annotated[
        list[str] | None, typer.Option("--shown", help="Run folder to imitate beside its own play (objective.bc).")
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Who plays what is learned from, while it learns: vllm:NAME or sglang:NAME.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of --server.")] = None,
    encode: Annotated[bool, typer.Option(help="Encode the texts again, though token ids were recorded.")] = False,
    resume: ResumeOpt = False,
    fresh: FreshOpt = False,
    overrides: SetOpt = [],  # noqa: B006
    report: ReportOpt = None,
    trusted: TrustOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Train a model: on recorded episodes (sft, rpo and the like; mc and ilql, whose values are used by
    `-o seats.agent.model.heads=FOLDER`), or while it plays (grpo, ppo; with all settings of a paper: starpo,
    delta_belief)."""
    changes, model = changes_of(overrides), trained_model(model)
    objective, settings = _chosen(objective, settings)
    need("training", *NEEDED)
    name = settings or found(objective).preset
    if name not in PRESETS:
        raise unknown("--settings", name, PRESETS)
    online = PRESETS[name].of(objective).plays
    others = {"--user": user, "--judge": judge, "--user-url": user_url, "-o seats": changes["seats"]}
    _check_used(
        objective,
        online,
        {
            "-o online": changes["online"] and not online,
            "-o rule": changes["rule"] and online,
            "--preset": preset and not online,
            "--tasks": n_tasks is not None and not online,
            "--encode": encode and online,
            "--shown": shown and not online,
            "--server": server and not online,
            **{option: value and not online for option, value in others.items()},
        },
    )
    chosen = _training(name, objective, folder, changes, context, encode)
    stderr.print(f"settings: {describe_preset(chosen)}", highlight=False)
    if online:
        seats = with_changes(model_seats(user, judge, user_url, None), changes["seats"], "seats")
        games = [_game(judged(_named(name, preset), seats), n_tasks) for name in sources]
        envs = [game.env for game in games]
        policies = _others(seats, envs)
        for line in speakers(envs, policies, chosen.episodes):
            stderr.print(line, highlight=False, markup=False)
        player = _server(server, base_url)
        trust_runs(map(Path, shown or ()), trusted)
        lessons = trajectories([Run.load(folder) for folder in shown]) if shown else []
        with _watched(objective) as callbacks:
            done = learn_online(
                model, chosen, games, policies=policies, shown=lessons, server=player, resume=resume, fresh=fresh,
                callbacks=callbacks,
            )  # fmt: skip
    else:
        trust_runs(map(Path, sources), trusted)
        played = trajectories([Run.load(source) for source in sources])
        with _watched(objective) as callbacks:
            done = learn(model, chosen, played, resume=resume, fresh=fresh, callbacks=callbacks)
    write_atomically(folder / COMMAND, " && ".join(filter(None, (made_by(model), again(typed)))) + "\n")
    if report is not None:
        from sonde.viewer import write_report

        write_report([], report, training=[folder])
    if as_json:
        out.print_json(json.dumps({"model": str(done.model), "steps": done.steps, "last": done.history[-1]}))
        return
    out.print(tables.training(done.history))
    for path in (done.model, folder / HISTORY, *([report] if report else [])):
        out.print(f"written: {path}", highlight=False, soft_wrap=True)


def paprika(
    folder: OutOpt,
    envs: Annotated[list[str] | None, typer.Argument(help="Environments to learn from.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The model: a name of `sonde models list`, hf:NAME, or a folder.")
    ] = None,
    preset: PresetOpt = None,
    held_out: Annotated[
        list[str] | None, typer.Option("--held-out", help="NAME or NAME:PRESET, only evaluated. May be repeated.")
    ] = None,
    settings: Annotated[str | None, typer.Option(help="paper, or tiny for the models that come with sonde.")] = None,
    n_tasks: TasksOpt = None,
    k: Annotated[int | None, typer.Option("-k", help="Samples per task.", show_default="20, mastermind 100")] = None,
    tests: Annotated[int | None, typer.Option(help="Only the first N test tasks of each environment.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of play and training.", show_default="1")] = None,
    curriculum: Annotated[str | None, typer.Option(help="ucb, thompson or uniform pick --tasks tasks a round.")] = None,
    by: Annotated[str | None, typer.Option(help="The tag whose values are the curriculum's groups.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Of the play that is learned from.", show_default="1.5")
    ] = None,
    max_new_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of a reply.", show_default="the environment's")
    ] = None,
    player: Annotated[
        str | None, typer.Option(help="Another backend that plays what is learned from: http:NAME, say.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the endpoint of --player.")] = None,
    user: UserOpt = None,
    judge: JudgeOpt = None,
    user_url: UserUrlOpt = None,
    config: Annotated[Path | None, typer.Option(help="YAML, TOML or JSON file; options override it.")] = None,
    overrides: Annotated[
        list[str], typer.Option("--set", "-o", help="KEY.KEY=VALUE, such as agent.context=render, changes.sft.lr=1e-4.")
    ] = [],  # noqa: B006
    report: ReportOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """PAPRIKA from start to end: play, select, train, evaluate; the same command goes on where it was interrupted."""
    values = read_config(config) if config else {}
    given: dict[str, Json] = {
        "model": model and trained_model(model), "n_tasks": n_tasks, "k": k, "tests": tests, "rounds": rounds,
        "curriculum": curriculum,
        "by": by, "envs": [_named(env, preset) for env in envs] if envs else None,
        "held_out": [_named(env, None) for env in held_out] if held_out else None,
        "presets": None if settings is None else _presets(settings), "temperature": temperature,
        "player": None if player is None else model_config(player, base_url, "--player"),
    }  # fmt: skip
    values |= {key: value for key, value in given.items() if value is not None}
    if max_new_tokens is not None:
        values["agent"] = {**values.get("agent", {}), "max_new_tokens": max_new_tokens}
    if base_url is not None and player is None:
        raise UserError("--base-url: allowed: together with --player http:NAME")
    values = with_models(values, user, judge, user_url, base_url, None)
    values = {"presets": dict(PAPER), **values}  # of which one may be changed alone
    for assignment in overrides:
        values = override(values, assignment)
    asked = Paprika.from_json(values)
    for stage in asked.stages:
        stderr.print(f"{stage}: {describe_preset(asked.training(stage))}", highlight=False, markup=False)
    outcome = run_paprika(asked, folder, watch=_watch)
    if report is not None:
        from sonde.viewer import write_report

        write_report(evaluated(outcome), report, training=trained(outcome))
    if as_json:
        out.print_json(json.dumps(outcome.to_json()))
        return
    out.print(tables.stages(outcome))
    for path in (folder, *([report] if report else [])):
        out.print(f"written: {path}", highlight=False, soft_wrap=True)


def evaluated(outcome: Outcome) -> list[Path]:
    """The run folders of the evaluations of a pipeline."""
    root = outcome.folder / "evaluation"
    return [folder for stage in outcome.stages for folder in sorted((root / stage.name).iterdir())]


def trained(outcome: Outcome) -> list[Path]:
    """The folders of its trainings, in order."""
    return sorted(
        (path.parent for path in outcome.folder.glob("round-*/*/history.jsonl")), key=lambda p: p.stat().st_mtime
    )


@contextmanager
def _watched(objective: str) -> Iterator[list[Any]]:
    """The callbacks of a training that is shown while it runs."""
    from sonde.train.callbacks import Watch

    with training(objective) as show:
        yield [Watch(show)]


def _watch(title: str, total: int, before: int) -> Any:
    return progress(title, total, before) if total else _stage(title)


@contextmanager
def _stage(title: str) -> Iterator[OnDone | None]:
    stderr.print(title, highlight=False)
    yield None


def _check_used(objective: str, online: bool, given: Mapping[str, object]) -> None:
    """Refuse options that this objective has no use for."""
    for option, value in given.items():
        if value:
            what = "its own play" if online else "recorded episodes"
            raise UserError(f"{option}: no option of {objective}, which learns from {what}")


def _chosen(name: str, settings: str | None) -> tuple[str, str | None]:
    """The objective and the settings that were asked for: settings have an objective of their own."""
    if name in PRESETS:
        if settings is not None:
            raise UserError(f"--settings: got {settings!r}, but {name!r} names settings already; allowed: one of them")
        return PRESETS[name].objective, name
    if ":" not in name and name not in names("objectives"):
        raise unknown("objective", name, (*names("objectives"), *PRESETS), see="sonde list objectives")
    return name, settings


def _training(name: str, objective: str, folder: Path, changes: Changes, context: str, encode: bool) -> Training:
    """The preset, with everything that was asked for in its place."""
    known = PRESETS[name].of(objective)
    known = replace(
        known,
        settings=replace(known.settings, folder=str(folder)),
        learning=replace(known.learning, context=context, encode=encode),
        online=replace(known.online, context=context),
    )
    asked = changed(known, changes)
    return replace(asked, learning=replace(asked.learning, seed=asked.settings.seed))


def _others(configs: Mapping[str, Mapping[str, Json]], envs: Sequence[Env[Any]]) -> dict[str, AnyPolicy]:
    """Who sits in the other seats, where that is not whom the environments name."""
    seats = {seat for env in envs for seat in env.spec.seats if seat != AGENT}
    for seat in configs:
        if seat not in seats:
            raise unknown("-o seats", seat, seats)
    return {seat: build(config) for seat, config in configs.items()}


def _server(spec: str | None, base_url: str | None) -> TokenEndpoint | None:
    """Who plays while this process trains; None where it plays itself."""
    if spec is None:
        if base_url is not None:
            raise UserError("--base-url: allowed: together with --server vllm:NAME or sglang:NAME")
        return None
    config = model_config(spec, base_url, "--server")
    if not issubclass(find(str(config["name"])), TokenEndpoint):
        raise UserError(f"--server: got {spec!r}, allowed: vllm:NAME or sglang:NAME, which give token ids back")
    return build(config)


def _game(config: Mapping[str, Json], n: int | None) -> Game:
    env = build(config)
    if not isinstance(env, Env):
        raise UserError(f"{config['name']!r} is not an environment")
    tasks = env.tasks("train")
    if n is not None and n < 1:
        raise invalid("--tasks", n, "1 or more")
    return Game(env, tasks if n is None else tasks[: min(n, len(tasks))], f"{env.spec.name}-{env.spec.preset}")


def _named(name: str, preset: str | None) -> dict[str, Json]:
    """An environment as NAME or NAME:PRESET; a plug-in's name has a colon of its own."""
    short, _, own = name.partition(":") if name.partition(":")[0] in names("envs") else (name, "", "")
    return {"name": short, **({"preset": own or preset} if own or preset else {})}


def _presets(name: str) -> dict[str, str]:
    known = {"paper": PAPER, "tiny": TINY}
    if name not in known:
        raise unknown("--settings", name, known)
    return dict(known[name])
