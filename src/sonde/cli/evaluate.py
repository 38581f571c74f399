"""`sonde eval`, `rollout`, `rescore`, `compare` and `audit`: play, evaluate, compare and judge again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer import Argument, Option

from sonde._util.argument_checks import check_types
from sonde.core import AGENT, EMPTY, UserError, build, invalid, unknown
from sonde.core.types import Json
from sonde.evaluation.by_tag import group_tags
from sonde.evaluation.evaluate import MEANS, Evaluation, mean_over_environments
from sonde.evaluation.evaluate import compare as compare_evaluations
from sonde.evaluation.results import make_result, write_result
from sonde.evaluation.run_evaluation import load_evaluation, read_seconds_played, remove_run, reopen_run
from sonde.evaluation.suites import (
    PAPER_SCALES,
    PROTOCOLS,
    SuiteProtocol,
    mean_paper_score,
    paper_score,
    suite_environments,
)
from sonde.evaluation.trackers import check_trackers, report_evaluation
from sonde.models.files.shipped import SHIPPED, check_plays
from sonde.runs.games import add_judge_seat
from sonde.runs.run import PreparedRun, RunConfig, config_from, count_missing, play_run, prepare_run, read_config
from sonde.runs.store import Run

from . import options as opt
from . import tables
from .commands import command_line
from .estimate import print_estimate
from .games import (
    Fit,
    GameOptions,
    check_places,
    check_tasks_files,
    env_config,
    fit_overrides,
    is_about_env,
    partners_of,
    tasks_file_of,
)
from .overrides import apply_overrides, parse_assignment
from .players import ROLES, agent_config, agent_in_role, model_seats
from .progress import EpisodeProgress, episode_progress, rescore_with_progress
from .terminal import out, print_result, print_written

WHERE = ("runs", "report", "fresh", "cache", "concurrency", "processes", "on", "as_json", "dry_run")
"""Fields of `EvalCommand` that do not change what is measured, only where and how."""
SAMPLING = ("temperature", "min_p", "max_new_tokens", "examples", "tools", "context")
"""Fields that set the agent's own settings of these names."""


@dataclass(frozen=True, kw_only=True)
class PlayOptions(GameOptions):
    """The options of `sonde eval` and `sonde rollout`: who plays what, how often, and how."""

    agent: opt.AgentOpt = None
    model: opt.ModelOpt = None
    base_url: opt.UrlOpt = None
    strict: opt.StrictOpt = False
    cache: opt.CacheOpt = None
    k: opt.SamplesOpt = None
    seed: opt.SeedOpt = None
    temperature: opt.TemperatureOpt = None
    min_p: opt.MinPOpt = None
    max_new_tokens: opt.NewTokensOpt = None
    examples: opt.ExamplesOpt = None
    tools: opt.ToolsOpt = None
    context: opt.ContextOpt = None
    concurrency: opt.ConcurrencyOpt = None
    processes: opt.ProcessesOpt = None
    on: opt.OnOpt = None
    budget: opt.BudgetOpt = None
    config: opt.ConfigOpt = None
    fresh: opt.FreshOpt = False
    dry_run: opt.DryRunOpt = False

    def prepare_runs(self, chosen: Sequence[tuple[str | None, str | None]], **settings: Any) -> list[PreparedRun]:
        """One run per environment, each given with its preset; None leaves it to the configuration file. Of several
        environments each takes the assignments, and the players of other seats, that it has a place for."""
        configs = [self._env_config(env, preset) for env, preset in chosen]
        check_tasks_files(self.tasks_files, [config for config in configs if config], self.split)
        if len(configs) == 1:
            return [self.prepare_run(configs[0], None, **settings)]
        fits = [fit_overrides(config, self.overrides) for config in map(self._add_judge, configs)]
        others = [seat for seat in self._config_with_models.get("seats", {}) if seat != AGENT]
        check_places(fits, self.overrides, others)
        return [self.prepare_run(config, fit, **settings) for config, fit in zip(configs, fits, strict=True)]

    @cached_property
    def _config_with_models(self) -> dict[str, Json]:
        """The configuration file, with language models in the seats that have one."""
        seats = model_seats(self.user, self.judge, self.user_url, self.base_url, self.cache, strict=self.strict)
        return with_seats(_config_file(self.config), seats)

    def prepare_run(
        self,
        env: Mapping[str, Json],
        fit: Fit | None = None,
        *,
        defaults: Callable[[str], Mapping[str, Json]],
        agent: Mapping[str, Json] = EMPTY,
        at_most: bool = False,
        **settings: Json,
    ) -> PreparedRun:
        """The run of these options in one environment (empty where neither the file nor an option names one), with the
        assignments and seats that `fit` it. The order of precedence: the options, the file, `defaults` for this
        environment (for the agent's policy those in `agent`). `settings` that are None are left out. `at_most`: fewer
        tasks than asked for are played, and no error."""
        if not env and not any(is_about_env(given) for given in self.overrides or ()):
            raise UserError(
                "env: missing; name one, as in `sonde eval wordle`, or a --config with one; see `sonde list envs`"
            )
        filed = self._config_with_models
        acting = agent_in_role(self.agent, env.get("name"), env.get("preset"))
        policy = agent_config(
            acting, self.model, self.base_url, self.cache, file=_agent_named(self.overrides, filed),
            defaults={**shipped_defaults(self.model, env), **agent},
            strict=self.strict, **{name: getattr(self, name) for name in SAMPLING},
        )  # fmt: skip
        names = ("split", "n_tasks", "k", "seed", "concurrency", "processes", "on", "budget")
        given = {name: getattr(self, name) for name in names} | settings
        values: dict[str, Json] = {
            **defaults(str(env.get("name", ""))),
            **filed,
            **{k: v for k, v in given.items() if v is not None},
        }
        if env:
            values["env"] = self._add_judge(env)
            values |= {"tasks_file": file} if (file := tasks_file_of(self.tasks_files, env)) else {}
        seats = filed.get("seats", {})
        values["seats"] = {**(seats if fit is None else partners_of(seats, fit)), AGENT: policy}
        if self.strict:
            seats, values["seats"] = values["seats"], _make_strict(values["seats"])
            if values["seats"] == seats:
                raise UserError("--strict: allowed: only with a model behind an endpoint: http:NAME, openai:NAME, ...")
        overrides = self.overrides if fit is None else fit.overrides
        values = apply_overrides(values, overrides, names=[f.name for f in fields(RunConfig)])
        run = prepare_run(config_from(values), at_most=at_most)
        model: Mapping[str, Json] = run.policies[AGENT].config.get("model", {})
        check_plays(str(model.get("model")), run.env.spec.name, run.env.spec.preset)
        return run

    def _env_config(self, env: str | None, preset: str | None) -> dict[str, Json]:
        """The environment's configuration; empty where neither the file nor an option names one."""
        filed: Mapping[str, Json] = self._config_with_models.get("env", {})
        given = {} if env is None else env_config(env, preset)
        config = filed if env is None or filed.get("name") == given["name"] else {}
        more = {"preset": preset} if env is None and preset is not None else {}
        return {**config, **given, **more, **({} if self.max_turns is None else {"max_turns": self.max_turns})}

    def _add_judge(self, env: Mapping[str, Json]) -> Mapping[str, Json]:
        """The environment's configuration with a seat for a judge, where one is given."""
        return add_judge_seat(env, self._config_with_models.get("seats", {})) if "name" in env else env

    def clear_if_fresh(self, folder: Path) -> None:
        """Empty the folder before the first episode, with --fresh."""
        if self.fresh:
            remove_run(folder)


def shipped_defaults(model: str | None, env: Mapping[str, Json]) -> dict[str, Json]:
    """How a model that comes with sonde has to see a game."""
    shipped = SHIPPED.get((model or "").removeprefix("hf:"))
    return {} if shipped is None else {"context": shipped.find_game(env.get("name"), env.get("preset")).context}


def _config_file(path: Path | None) -> dict[str, Json]:
    """The content of a configuration file, with its parts checked to be mappings; empty without a file."""
    found = read_config(path) if path else {}
    check_types("config", RunConfig, found)
    agent = found.get("seats", {}).get(AGENT, {})
    if not isinstance(agent, Mapping):
        raise invalid("config: seats.agent", agent, "a mapping")
    return found


def _agent_named(overrides: Sequence[str] | None, config: Mapping[str, Json]) -> Mapping[str, Json]:
    """The agent's policy in a configuration, or the one that an assignment names in its place."""
    policy = config.get("seats", {}).get(AGENT, {})
    for path, value in map(parse_assignment, overrides or ()):
        if path == ("seats", AGENT) and isinstance(value, Mapping):
            policy = value
        elif path == ("seats", AGENT, "name"):
            policy = {**policy, "name": value}
    return policy


def with_seats(config: dict[str, Json], seats: Mapping[str, Json]) -> dict[str, Json]:
    """A configuration with these policies in its seats."""
    return {**config, "seats": {**config.get("seats", {}), **seats}} if seats else config


def _make_strict(config: Json) -> Json:
    """A configuration with every `models:http` in it strict, however deep it is."""
    if not isinstance(config, Mapping):
        return config
    own = {"strict": True} if config.get("name") == "models:http" else {}
    return {**{name: _make_strict(value) for name, value in config.items()}, **own}


# --- sonde eval --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EvalCommand(PlayOptions):
    """Play, record and evaluate an agent.

    The same command continues an interrupted run and plays no episode twice.
    """

    envs: opt.EnvsArg = None
    suite: Annotated[
        str | None,
        opt.tasks_option(help="All environments of a benchmark, or those given: mtp, paprika, ...; shows their mean."),
    ] = None
    runs: Annotated[Path, Option(help="Folder for the run folders.")] = Path("runs")
    gains: Annotated[
        bool | None,
        Option("--gains/--no-gains", help="Exact information gain; costs a search per turn.", show_default="on"),
    ] = None
    by: opt.ByOpt = None
    report: opt.ReportOpt = None
    submit: Annotated[
        Path | None,
        Option(help="Write a leaderboard file of a suite, or of one environment, such as results/NAME.json."),
    ] = None
    track: opt.TrackOpt = None
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        if self.submit is not None:
            self._check_submission(self.submit)
        check_trackers(self.track or ())
        prepared = self._prepare_all()
        _check_tags(self.by or (), [group_tags({task.id: task.tags for task in run.tasks}) for run in prepared])
        if self.dry_run:
            print_estimate(prepared, out, self.as_json)
            return
        folders = [self.runs / run.folder_name for run in prepared]
        played = [self._evaluate_run(run, folder) for run, folder in zip(prepared, folders, strict=True)]
        done = [evaluation for evaluation, _ in played]
        _show_evaluations(done, folders, self.report, self.as_json, self.suite, self.by or (), self._wanted_tasks)
        _track_evaluations(done, self.track or ())
        if all(e.kinds["error"] == sum(e.kinds.values()) for e in done):
            raise typer.Exit(1)
        if self.submit is not None:
            rows = [(run, e, seconds) for run, (e, seconds) in zip(prepared, played, strict=True)]
            command = command_line("eval", self, without=WHERE)
            commit = Run.load(folders[-1]).commit
            write_result(make_result(self.suite or "", command, rows, commit, self.runs), self.submit)
            if not self.as_json:
                print_written(self.submit)
                out.print(Text(f"next: sonde submit {self.submit}", style="dim"))

    def _check_submission(self, to: Path) -> None:
        """Raise `UserError` for a result that could not be written, or that its command could not measure again."""
        opt.check_writable("--submit", to)
        if self.suite is None and len(self.envs or ()) != 1:
            raise invalid("--submit", f"{len(self.envs or ())} environments", "--suite NAME, or one environment")
        if self.config is not None:
            raise UserError("--submit: allowed: without --config, a file that others do not have; see -o PATH=VALUE")

    def _prepare_all(self) -> list[PreparedRun]:
        protocol = PROTOCOLS.get(self.suite or "", SuiteProtocol())
        return self.prepare_runs(
            self._chosen_environments(),
            defaults=lambda env: {"k": protocol.samples_per_task(env)},
            agent=protocol.agent,
            at_most=self.suite is not None,
            gains=self.gains,
            label=self.agent if self.agent in ROLES else None,
        )

    @property
    def _wanted_tasks(self) -> int | None:
        """How many tasks of each environment were asked for; None is all."""
        return self.n_tasks or self._config_with_models.get("n_tasks")

    def _chosen_environments(self) -> Sequence[tuple[str | None, str | None]]:
        """The environments to play, each with its preset; None leaves it to the configuration file."""
        if self.suite is None:
            return [(env, self.preset) for env in dict.fromkeys(self.envs or (None,))]
        if self.preset:
            raise UserError("--suite: allowed: without --preset, which it sets")
        forms = suite_environments(self.suite)
        for env in self.envs or ():
            if env not in (known := {name for name, _ in forms}):
                raise unknown(f"environment of suite {self.suite}", env, known)
        return [form for form in forms if not self.envs or form[0] in self.envs]

    def _evaluate_run(self, run: PreparedRun, folder: Path) -> tuple[Evaluation, float | None]:
        """The evaluation of a run, and the seconds that all its episodes took; None where a part of them, played
        earlier, was not timed."""
        self.clear_if_fresh(folder)
        lacking, before, begun = count_missing(run, folder), read_seconds_played(folder), time.perf_counter()
        timed = before is not None or lacking == len(run.tasks) * run.config.k
        with _episode_progress(run, folder) as progress:
            stored = play_run(run, folder, on_done=progress, on_act=progress.show_act)
        evaluation = rescore_with_progress(run, folder, len(stored), time.perf_counter() - begun if lacking else 0.0)
        return evaluation, evaluation.seconds if timed else None


def _episode_progress(run: PreparedRun, folder: Path) -> AbstractContextManager[EpisodeProgress]:
    total = len(run.tasks) * run.config.k
    return episode_progress(run.env.spec.name, total, total - count_missing(run, folder))


def _show_evaluations(
    done: list[Evaluation],
    folders: list[Path],
    report: Path | None,
    as_json: bool,
    suite: str | None = None,
    by: Sequence[str] = (),
    wanted: int | None = None,
) -> None:
    if report is not None:
        from sonde.viewer import write_report

        write_report(folders, report)
    if as_json:
        own = suite if suite in PAPER_SCALES else None
        paper = [{"paper_score": paper_score(own, e)} if own else {} for e in done]
        found = [{**e.summary_json(), **p, "folder": str(f)} for e, p, f in zip(done, paper, folders, strict=True)]
        out.print_json(
            json.dumps({"suite": suite, "mean": _mean_json(done, own), "environments": found} if suite else found)
        )
        return
    out.print(tables.suite_table(suite, done, wanted) if suite else tables.evaluation_table(done))
    for tag in by:
        out.print(tables.tag_table(tag, done))
    print_written(*folders, *([report] if report else []))


def _track_evaluations(done: list[Evaluation], trackers: Sequence[str]) -> None:
    for tracker in trackers:
        for evaluation in done:
            report_evaluation(evaluation, tracker)


def _mean_json(done: Sequence[Evaluation], own_scale: str | None) -> dict[str, Any]:
    """The means over environments, each with the number of environments behind it."""
    mean: dict[str, Any] = {}
    for name in MEANS:
        value, n = mean_over_environments(done, name)
        mean[name] = value and {**asdict(value), "environments": n}
    return {**mean, "paper_score": mean_paper_score(own_scale, done)[0]} if own_scale else mean


def _check_tags(by: Sequence[str], divided: Sequence[Mapping[str, object]]) -> None:
    """Raise `UserError` for a tag that divides the tasks of no evaluation."""
    known = {tag for tags in divided for tag in tags}
    for tag in by:
        if tag not in known:
            raise unknown("--by", tag, known)


# --- sonde rollout -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RolloutCommand(PlayOptions):
    """Play and record episodes without evaluating them, for training data.

    `sonde rescore` evaluates them later.
    """

    env: opt.EnvArg
    folder: Annotated[Path, Argument(help="The run folder to write or continue.")]
    split: opt.TrainSplitOpt = None
    k: Annotated[int | None, opt.tasks_option("-k", help="Samples per task.", show_default="1")] = None

    def run(self) -> None:
        (run,) = self.prepare_runs([(self.env, self.preset)], defaults=lambda env: {"split": "train", "k": 1})
        if self.dry_run:
            print_estimate([run], out, False)
            return
        self.clear_if_fresh(self.folder)
        with _episode_progress(run, self.folder) as progress:
            stored = play_run(run, self.folder, on_done=progress, on_act=progress.show_act)
        out.print(f"{len(stored)} episodes in {self.folder}", highlight=False, soft_wrap=True)


# --- sonde rescore, compare, audit -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RescoreCommand:
    """Recompute the evaluation of a run from its episodes; no policy is called."""

    folder: opt.RunArg
    gains: Annotated[
        bool, Option("--gains/--no-gains", help="Exact information gain per turn, computed once and stored.")
    ] = True
    by: opt.ByOpt = None
    track: opt.TrackOpt = None
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        check_trackers(self.track or ())
        opt.trust_runs([self.folder], self.trusted)
        stored = Run.load(self.folder)
        evaluation = rescore_with_progress(reopen_run(stored, gains=self.gains), self.folder, len(stored))
        _check_tags(self.by or (), [evaluation.by_tag])
        _show_evaluations([evaluation], [self.folder], None, self.as_json, by=self.by or ())
        _track_evaluations([evaluation], self.track or ())


@dataclass(frozen=True, kw_only=True)
class CompareCommand:
    """Compare two runs, paired by task."""

    a: Annotated[Path, Argument(help="A run folder.")]
    b: Annotated[Path, Argument(help="Another one, on the same tasks.")]
    by: opt.ByOpt = None
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        opt.trust_runs([self.a, self.b], self.trusted)
        found = compare_evaluations(load_evaluation(self.a), load_evaluation(self.b))
        _check_tags(self.by or (), [found.by_tag])
        print_result(asdict(found), tables.comparison_table(found, self.by or ()), self.as_json)


@dataclass(frozen=True, kw_only=True)
class AuditCommand:
    """Judge the wins of recorded conversations again, by rules or a second judge, and look for leaked answers."""

    folder: opt.RunArg
    judge: Annotated[str | None, Option(help="A language model as a second judge, written as in --model.")] = None
    base_url: opt.UrlOpt = None
    cache: opt.CacheOpt = None
    temperature: opt.TemperatureOpt = None
    max_new_tokens: opt.NewTokensOpt = None
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        from sonde.evaluation.audit import annotate_run, audit_trajectories

        opt.trust_runs([self.folder], self.trusted)
        seats = model_seats(
            None, self.judge, None, self.base_url, self.cache,
            temperature=self.temperature, max_new_tokens=self.max_new_tokens,
        )  # fmt: skip
        found = audit_trajectories(Run.load(self.folder).trajectories, build(seats["judge"]) if self.judge else None)
        annotate_run(self.folder, found, producer=f"rules and {self.judge}" if self.judge else "rules")
        print_result(found.to_json(), tables.audit_table(found), self.as_json)
