"""`sonde train` and `sonde paprika`: training from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sonde.core import Env, UserError, build, invalid, names, unknown
from sonde.core.extras import need
from sonde.core.types import Json
from sonde.paprika import PAPER, TINY, Outcome, Paprika
from sonde.paprika import run as run_paprika
from sonde.rollout import OnDone
from sonde.run import override, read_config
from sonde.store import Run
from sonde.train.credit import ESTIMATORS
from sonde.train.curriculum import BANDITS
from sonde.train.gather import Game, trajectories
from sonde.train.groups import OnlineSettings
from sonde.train.learn import NEEDED, OFFLINE, PAIRED, Learning, learn, learn_online
from sonde.train.presets import PRESETS, Training
from sonde.train.rewarders import REWARDERS, Rewarder
from sonde.train.rewards import RewardMix
from sonde.train.settings import TrainSettings
from sonde.viewer.histories import HISTORY

from . import tables
from .options import model_config, trained_model, with_models
from .progress import progress, training
from .shared import JsonOpt, PresetOpt, ReportOpt
from .terminal import out, stderr

ONLINE = ("grpo",)
PARTS = ("settings", "objective", "online", "rule")

ModelOpt = Annotated[str, typer.Option(help="The model to train: a name of `sonde models list`, hf:NAME, or a folder.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Folder for checkpoints, history and the trained model.")]
SetOpt = Annotated[
    list[str],
    typer.Option("--set", "-o", help="PART.KEY=VALUE with PART settings, objective, online or rule: settings.lr=1e-4."),
]
SettingsOpt = Annotated[str | None, typer.Option("--settings", help=f"Settings to begin from: {', '.join(PRESETS)}.")]
TasksOpt = Annotated[int | None, typer.Option("--tasks", "-n", help="Only the first N training tasks of each.")]
ContextOpt = Annotated[str, typer.Option(help="What the model sees of a game: full, render or last:K.")]
ResumeOpt = Annotated[bool, typer.Option(help="Go on from the last checkpoint in --out, if there is one.")]
FreshOpt = Annotated[bool, typer.Option(help="Begin anew: remove what an earlier training left in --out.")]


def train(
    objective: Annotated[
        str, typer.Argument(help=f"{', '.join((*OFFLINE, *ONLINE))}, or settings by name, such as delta_belief.")
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
    encode: Annotated[bool, typer.Option(help="Encode the texts again, though token ids were recorded.")] = False,
    resume: ResumeOpt = False,
    fresh: FreshOpt = False,
    overrides: SetOpt = [],  # noqa: B006
    report: ReportOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Train a model: on recorded episodes (sft, dpo, rpo, ipo, ln_dpo, simpo, kto, rwr), or while it plays (grpo; with
    all settings of a paper: starpo, delta_belief)."""
    parts, model = _parts(overrides), trained_model(model)
    objective, settings = _chosen(objective, settings)
    online = objective in ONLINE
    _check_used(
        objective,
        {
            "-o online": parts["online"] and not online,
            "-o rule": parts["rule"] and online,
            "--preset": preset and not online,
            "--tasks": n_tasks is not None and not online,
            "--encode": encode and online,
        },
    )
    chosen = _training(settings or _usual(objective), objective, folder, parts, context, encode)
    stderr.print(f"settings: {chosen.told()}", highlight=False)
    if objective in ONLINE:
        games = [_game(name, preset, n_tasks) for name in sources]
        with _watched(objective) as callbacks:
            done = learn_online(model, chosen, games, resume=resume, fresh=fresh, callbacks=callbacks)
    else:
        played = trajectories([Run.load(source) for source in sources])
        with _watched(objective) as callbacks:
            done = learn(model, chosen, played, resume=resume, fresh=fresh, callbacks=callbacks)
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
    user: Annotated[
        str | None, typer.Option(help="A language model as the user: hf:NAME, http:NAME; by default the rule user.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="A language model as the judge of claimed goals; else the rules.")
    ] = None,
    user_url: Annotated[str | None, typer.Option(help="Address of the endpoint of --user and --judge.")] = None,
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
    for assignment in overrides:
        values = override(values, assignment)
    asked = Paprika.from_json(values)
    for stage in asked.stages:
        stderr.print(f"{stage}: {asked.training(stage).told()}", highlight=False, markup=False)
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
    need("training", *NEEDED)
    from sonde.train.watch import Watch

    with training(objective) as show:
        yield [Watch(show)]


def _watch(title: str, total: int, before: int) -> Any:
    return progress(title, total, before) if total else _stage(title)


@contextmanager
def _stage(title: str) -> Iterator[OnDone | None]:
    stderr.print(title, highlight=False)
    yield None


def _parts(overrides: list[str]) -> dict[str, dict[str, Json]]:
    """Assignments by the part that they change."""
    values: dict[str, Json] = {part: {} for part in PARTS}
    for assignment in overrides:
        part, dot, _ = assignment.partition("=")[0].partition(".")
        if not dot or part not in PARTS:
            raise invalid("--set", assignment, "PART.KEY=VALUE with PART one of " + ", ".join(PARTS))
        values = override(values, assignment)
    return values


def _check_used(objective: str, given: Mapping[str, object]) -> None:
    """Refuse options that this objective has no use for."""
    for option, value in given.items():
        if value and objective in (*OFFLINE, *ONLINE):
            what = "recorded episodes" if objective in OFFLINE else "its own play"
            raise UserError(f"{option}: no option of {objective}, which learns from {what}")


def _chosen(name: str, settings: str | None) -> tuple[str, str | None]:
    """The objective and the settings that were asked for: settings have an objective of their own."""
    if name in PRESETS:
        if settings is not None:
            raise UserError(f"--settings: got {settings!r}, but {name!r} names settings already; allowed: one of them")
        return PRESETS[name].objective, name
    if name not in (*OFFLINE, *ONLINE):
        raise unknown("objective", name, (*OFFLINE, *ONLINE, *PRESETS))
    return name, settings


def _usual(objective: str) -> str:
    """The paper's settings of an objective."""
    if objective in ONLINE:
        return "starpo"
    return "paprika_rpo" if objective in PAIRED or objective == "kto" else "paprika_sft"


def _training(
    name: str, objective: str, folder: Path, parts: Mapping[str, Mapping[str, Json]], context: str, encode: bool
) -> Training:
    """The preset, with everything that was asked for in its place."""
    if name not in PRESETS:
        raise unknown("--settings", name, PRESETS)
    if "folder" in parts["settings"]:
        raise UserError("--set settings.folder: allowed: --out, which is that folder")
    known = PRESETS[name].of(objective)
    settings = TrainSettings.from_json({**known.settings.to_json(), **parts["settings"], "folder": str(folder)})
    learning = _rules(known.learning, objective, parts["rule"])
    return replace(
        known,
        settings=settings,
        options={**known.options, **parts["objective"]},
        learning=replace(learning, context=context, encode=encode, seed=settings.seed),
        online=_online(known.online, {"context": context, **parts["online"]}),
    )


def _rules(learning: Learning, objective: str, rule: Mapping[str, Json]) -> Learning:
    name = "pairs" if objective in PAIRED else "sft"
    return replace(learning, **{name: replace(getattr(learning, name), **rule)})


def _online(online: OnlineSettings, values: Mapping[str, Json]) -> OnlineSettings:
    """`rewards` are names with their weights (under `every`, those of the whole game on each turn), or one of the
    published mixes; `rewarders` names with what differs; `credit` a name, or what differs; `bandit` is a name."""
    made = dict(values)
    if "rewards" in made:
        made["rewards"] = _mix(made["rewards"])
    if "rewarders" in made:
        made["rewarders"] = _rewarders(online, made["rewarders"])
    if "credit" in made:
        made["credit"] = _credit(online, made["credit"])
    if "bandit" in made:
        if made["bandit"] not in BANDITS:
            raise unknown("--set online.bandit", made["bandit"], BANDITS)
        made["bandit"] = BANDITS[made["bandit"]]()
    return replace(online, **made)


def _mix(asked: Json) -> RewardMix:
    if not isinstance(asked, Mapping):
        return RewardMix.published(asked)
    return RewardMix({name: weight for name, weight in asked.items() if name != "every"}, asked.get("every", {}))


def _rewarders(online: OnlineSettings, asked: Json) -> tuple[Rewarder, ...]:
    """Those named alone, or with what differs from the one there is, or from the usual one."""
    known, made = {rewarder.called: rewarder for rewarder in online.rewarders}, list[Rewarder]()
    if not isinstance(asked, Mapping):
        asked = {name: {} for name in ([asked] if isinstance(asked, str) else asked)}
        known = {}
    for name, options in asked.items():
        if name not in REWARDERS:
            raise unknown("--set online.rewarders", name, REWARDERS)
        made.append(replace(known[name], **options) if name in known else REWARDERS[name](**options))
    return tuple(made)


def _credit(online: OnlineSettings, asked: Json) -> Any:
    if isinstance(asked, Mapping):
        return replace(online.credit, **asked)  # type: ignore[type-var]
    if asked not in ESTIMATORS:
        raise unknown("--set online.credit", asked, ESTIMATORS)
    return ESTIMATORS[asked]()


def _game(name: str, preset: str | None, n: int | None) -> Game:
    env = build(_named(name, preset))
    if not isinstance(env, Env):
        raise UserError(f"{name!r} is not an environment")
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
