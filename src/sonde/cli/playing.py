"""Who plays what, how often and how: the options that `sonde eval` and `sonde rollout` share, as one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from sonde.core import AGENT, EMPTY
from sonde.core.types import Json
from sonde.models.files.shipped import check_plays
from sonde.runs.run import Prepared, begin_anew, prepare

from .options import agent_config, config_file, in_role, run_config, with_models
from .shared import (
    AgentOpt,
    BudgetOpt,
    CacheOpt,
    ConcurrencyOpt,
    ConfigOpt,
    ContextOpt,
    ExamplesOpt,
    FileOpt,
    FreshOpt,
    JudgeOpt,
    MinPOpt,
    ModelOpt,
    NewTokensOpt,
    OnOpt,
    OverrideOpt,
    PresetOpt,
    ProcessesOpt,
    SamplesOpt,
    SeedOpt,
    SplitOpt,
    StrictOpt,
    TasksOpt,
    TemperatureOpt,
    UrlOpt,
    UserOpt,
    UserUrlOpt,
)


@dataclass(frozen=True, kw_only=True)
class Playing:
    """The options, as `sonde eval` has them."""

    preset: PresetOpt = None
    agent: AgentOpt = None
    model: ModelOpt = None
    base_url: UrlOpt = None
    strict: StrictOpt = False
    user: UserOpt = None
    judge: JudgeOpt = None
    user_url: UserUrlOpt = None
    cache: CacheOpt = None
    split: SplitOpt = None
    tasks_file: FileOpt = None
    n_tasks: TasksOpt = None
    k: SamplesOpt = None
    seed: SeedOpt = None
    temperature: TemperatureOpt = None
    min_p: MinPOpt = None
    max_new_tokens: NewTokensOpt = None
    examples: ExamplesOpt = None
    context: ContextOpt = None
    concurrency: ConcurrencyOpt = None
    processes: ProcessesOpt = None
    on: OnOpt = None
    budget: BudgetOpt = None
    config: ConfigOpt = None
    overrides: OverrideOpt = field(default_factory=list[str])
    fresh: FreshOpt = False

    @cached_property
    def file(self) -> dict[str, Json]:
        """The configuration file, with language models in the seats that have one."""
        return with_models(
            config_file(self.config),
            self.user,
            self.judge,
            self.user_url,
            self.base_url,
            self.cache,
            strict=self.strict,
        )

    def prepared(
        self,
        env: str | None,
        preset: str | None,
        *,
        defaults: Mapping[str, Json],
        agent: Mapping[str, Json] = EMPTY,
        max_turns: int | None = None,
        **settings: Json,
    ) -> Prepared:
        """The run of these options in one environment. Above the `defaults`, those of the `agent` too, are the file
        and what is given; `settings` that are None are not."""
        acting = in_role(self.agent, env or self.file.get("env", {}).get("name"), preset)
        policy = agent_config(
            acting, self.model, self.base_url, self.cache, self.file.get("seats", {}).get(AGENT, {}), agent,
            strict=self.strict, temperature=self.temperature, min_p=self.min_p, max_new_tokens=self.max_new_tokens,
            examples=self.examples, context=self.context,
        )  # fmt: skip
        run = prepare(
            run_config(
                env, file=self.file, preset=preset, max_turns=max_turns, agent=policy, overrides=self.overrides,
                defaults=defaults, strict=self.strict, split=self.split, tasks_file=self.tasks_file,
                n_tasks=self.n_tasks, k=self.k, seed=self.seed, concurrency=self.concurrency,
                processes=self.processes, on=self.on, budget=self.budget, **settings,
            )
        )  # fmt: skip
        model: Mapping[str, Json] = run.policies[AGENT].config.get("model", {})
        check_plays(str(model.get("model")), run.env.spec.name, run.env.spec.preset)
        return run

    def begin(self, folder: Path) -> None:
        """Before the first episode in a folder."""
        if self.fresh:
            begin_anew(folder)


@dataclass(frozen=True, kw_only=True)
class Recording(Playing):
    """The options, as `sonde rollout` has them."""

    split: Annotated[str | None, typer.Option(help="train or test.", show_default="train")] = None
    k: Annotated[int | None, typer.Option("-k", help="Samples per task.", show_default="1")] = None


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: in the place of its parameter `playing`, which is `Playing` or derived from it,
    every field of that class as an option."""
    own = inspect.signature(command, eval_str=True).parameters
    kind: type[Playing] = own["playing"].annotation
    hints = inspect.get_annotations(Playing, eval_str=True) | inspect.get_annotations(kind, eval_str=True)
    shared = {f.name: (hints[f.name], f.default if f.default is not MISSING else []) for f in fields(kind)}
    taken: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name != "playing":
            taken.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        for option, (hint, default) in shared.items():
            taken.append(inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint))

    @wraps(command)
    def call(**given: Any) -> None:
        playing = kind(**{name: given.pop(name) for name in shared})
        command(**given, playing=playing)

    call.__dict__["__signature__"] = inspect.Signature(taken)
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return call
