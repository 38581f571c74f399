"""PAPRIKA as one command: a model plays, what is worth learning from is kept, the model is trained on it and evaluated.

    run(Paprika(model="sonde-tiny-maze", envs=({"name": "maze", "preset": "pairs"},), presets=TINY), Path("runs/maze"))

    FOLDER/paprika.json                         the configuration, resolved
    FOLDER/round-1/play/ENV/                    run folder of every episode that was sampled
    FOLDER/round-1/selection.json               what was kept, as in table 4 of the paper
    FOLDER/round-1/sft/, round-1/rpo/           training: settings, checkpoints, history, model/
    FOLDER/evaluation/base/ENV/, round-1-sft/   run folders of the evaluations
    FOLDER/summary.json                         the numbers

Source: PAPRIKA (arXiv 2502.17543), sections 3.2 to 3.4 and 4, appendices C, E and H: 20 samples per task at temperature
1.5 and min-p 0.3; fine-tuning on the successes, then RPO against the fine-tuned model; with several rounds each begins
from the model of the one before; evaluation with 4 samples per task at temperature 0.7, min-p 0.3. Every stage goes on
where it was interrupted: episodes that are there are not played again, training resumes at its last checkpoint, and a
finished stage is not done twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from .core import AGENT, Env, Trajectory, UserError, build, invalid, unknown
from .core.checked import Checked
from .core.frozen import freeze
from .core.types import EMPTY, Json
from .evaluate import Comparison, Evaluation, compare
from .rollout import OnDone, Plan
from .run import RunConfig, execute, load_evaluation, missing, prepare
from .store import Run
from .store.folder import difference, write_atomically
from .train.curriculum import BANDITS, Curriculum
from .train.gather import Game, Picks, gather, groups_of, trajectories
from .train.learn import OFFLINE, Learning, learn
from .train.settings import PRESETS, TrainSettings
from .train.statistics import statistics
from .train.trials import limits

CONFIG, SUMMARY, SELECTION = "paprika.json", "summary.json", "selection.json"
DONE = "done.json"
"""Written into the folder of a training when it is complete."""

PAPER: Mapping[str, str] = freeze({"sft": "paprika_sft", "rpo": "paprika_rpo"})
TINY: Mapping[str, str] = freeze({"sft": "tiny_sft", "rpo": "tiny_rpo"})
"""Settings of `train.settings` per stage: the paper's, and ours for the models that come with sonde."""

Reference = Literal["round", "stage"]
Watch = Callable[[str, int, int], AbstractContextManager[OnDone | None]]
"""From the title of a stage, its number of episodes and how many are there to what is told of each episode."""


@dataclass(frozen=True, kw_only=True)
class Paprika(Checked):
    """What to do; the defaults are the paper's.

    `envs` are learned from, on their `train` tasks, `held_out` are only evaluated; both are evaluated on `test`.
    `stages`: objectives of `train.learn`, in order, each with the settings that `presets` names, `changes` applied.
    `k` samples of `n_tasks` tasks of each environment (None: all), or of `n_tasks` tasks that `curriculum` ("ucb",
    "thompson", "uniform") picks among groups of the tag `by`. Preference objectives compare with the model that the
    `round` began with, as in the paper, or with the one that their own `stage` did. `tests` tasks per environment are
    evaluated. `agent` and `hf` are further settings of `agents:llm` and `models:hf`.
    """

    called = "paprika"

    model: str
    envs: tuple[Mapping[str, Json], ...]
    held_out: tuple[Mapping[str, Json], ...] = ()
    stages: tuple[str, ...] = ("sft", "rpo")
    presets: Mapping[str, str] = PAPER
    changes: Mapping[str, Mapping[str, Json]] = EMPTY
    rounds: int = 1
    n_tasks: int | None = None
    k: int | None = None
    temperature: float = 1.5
    min_p: float = 0.3
    curriculum: str | None = None
    by: str = "group"
    reference: Reference = "round"
    tests: int | None = None
    test_k: int = 4
    test_temperature: float = 0.7
    test_min_p: float = 0.3
    agent: Mapping[str, Json] = EMPTY
    hf: Mapping[str, Json] = EMPTY
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("envs", "held_out", "stages", "presets", "changes", "agent", "hf"):
            object.__setattr__(self, name, freeze(getattr(self, name)))
        self._check_envs()
        if not self.stages:
            raise invalid("paprika: stages", self.stages, ", ".join(OFFLINE))
        for stage in self.stages:
            self.settings(stage)
        self._check_numbers()

    def _check_envs(self) -> None:
        if not self.envs:
            raise invalid("paprika: envs", self.envs, "at least one environment to learn from")
        for env in (*self.envs, *self.held_out):
            if not isinstance(env, Mapping) or not isinstance(env.get("name"), str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise invalid("paprika: envs", env, "a mapping with at least a name")

    def _check_numbers(self) -> None:
        if self.curriculum is not None and self.curriculum not in BANDITS:
            raise unknown("paprika: curriculum", self.curriculum, BANDITS)
        if self.curriculum is not None and self.n_tasks is None:
            raise invalid("paprika: n_tasks", None, "how many tasks the curriculum picks per round")
        if self.reference not in get_args(Reference):
            raise invalid("paprika: reference", self.reference, ", ".join(get_args(Reference)))
        for name in ("rounds", "k", "n_tasks", "tests", "test_k"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise invalid(f"paprika: {name}", getattr(self, name), "1 or more")

    def settings(self, stage: str) -> TrainSettings:
        """How a stage trains."""
        if stage not in OFFLINE:
            raise unknown("paprika: stages", stage, OFFLINE)
        name = self.presets.get(stage)
        if name is None:
            raise UserError(f"paprika: presets: none for {stage!r}; known: {', '.join(PRESETS)}")
        if name not in PRESETS:
            raise unknown(f"paprika: presets.{stage}", name, PRESETS)
        known = PRESETS[name].settings.to_json()
        return TrainSettings.from_json({**known, "seed": self.seed, **self.changes.get(stage, EMPTY)})

    def to_json(self) -> dict[str, Json]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        settings = {stage: self.settings(stage).to_json() for stage in self.stages}
        return cast("dict[str, Json]", json.loads(json.dumps({**plain, "settings": settings}, default=_plain)))

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Paprika:
        """From plain values, of a file say; unknown fields are named."""
        return cls(**data)


def _plain(value: Any) -> Json:
    return dict(value) if isinstance(value, Mapping) else list(value)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A model and what it achieved, by environment."""

    name: str
    model: str
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a run: every stage, the base first, and last against base, paired by task, per environment."""

    folder: Path
    stages: tuple[Stage, ...]
    gains: tuple[Comparison, ...] = field(default=())

    def to_json(self) -> dict[str, Json]:
        stages = [
            {"name": s.name, "model": s.model, "evaluations": [e.summary() for e in s.evaluations]} for s in self.stages
        ]
        return {"stages": stages, "gains": [asdict(gain) for gain in self.gains]}


def run(config: Paprika, folder: Path, *, watch: Watch | None = None, callbacks: Sequence[Any] = ()) -> Outcome:
    """All of it, or what is left to do. Raises `UserError` if the folder was begun with another configuration."""
    return _Pipeline(config, folder, watch or _unwatched, callbacks).run()


def _unwatched(title: str, total: int, before: int) -> AbstractContextManager[OnDone | None]:
    return nullcontext()


class _Pipeline:
    def __init__(self, config: Paprika, folder: Path, watch: Watch, callbacks: Sequence[Any]) -> None:
        self.config, self.folder, self.watch, self.callbacks = config, folder, watch, callbacks
        self.envs = [_env(env) for env in config.envs]
        self.names = _names([*self.envs, *map(_env, config.held_out)])
        _claim(config, folder)

    def run(self) -> Outcome:
        c, model = self.config, self.config.model
        stages = [self._evaluated("base", model)]
        for n in range(1, c.rounds + 1):
            here, begun = self.folder / f"round-{n}", model
            played = self._play(model, here, n)
            for stage in c.stages:
                reference = begun if c.reference == "round" else model
                model = self._train(model, reference, stage, here / stage, played)
                stages.append(self._evaluated(f"round-{n}-{stage}", model))
        gains = tuple(compare(b, a) for a, b in zip(stages[0].evaluations, stages[-1].evaluations, strict=True))
        outcome = Outcome(folder=self.folder, stages=tuple(stages), gains=gains)
        write_atomically(self.folder / SUMMARY, json.dumps(outcome.to_json(), indent=2))
        return outcome

    # --- stages ------------------------------------------------------------------------------------------------------

    def _policy(self, model: str, temperature: float, min_p: float) -> dict[str, Json]:
        c = self.config
        backend = {"name": "models:hf", **c.hf, "model": model}
        return {"name": "agents:llm", **c.agent, "temperature": temperature, "min_p": min_p, "model": backend}

    def _play(self, model: str, here: Path, n: int) -> list[Trajectory]:
        c = self.config
        games = [
            Game(env, _first(env, "train", None if c.curriculum else c.n_tasks), name)
            for env, name in zip(self.envs, self.names, strict=False)
        ]
        picks = self._picks(games, n)
        runs: list[Run] = []
        for together in [games] if picks else [[game] for game in games]:
            k = c.k or max(limits(game.env.spec.name).samples for game in together)
            plan = Plan(k=k, seed=c.seed + n - 1)
            policy: Any = build(self._policy(model, c.temperature, c.min_p))
            total = k * (picks.n if picks else len(together[0].tasks))
            held = min(total, sum(_held(here / "play" / game.name) for game in together))
            with self.watch(f"round {n}: {', '.join(game.name for game in together)}", total, held) as on_done:
                runs += gather(together, {AGENT: policy}, plan, here / "play", picks=picks, on_done=on_done)
        played = trajectories(runs)
        write_atomically(here / SELECTION, json.dumps(statistics(played).to_json(), indent=2))
        return played

    def _picks(self, games: Sequence[Game], n: int) -> Picks | None:
        c = self.config
        if c.curriculum is None or c.n_tasks is None:
            return None
        sizes = {name: len(rows) for name, rows in groups_of(games, c.by).items()}
        curriculum = Curriculum(groups=sizes, bandit=BANDITS[c.curriculum](), replacement=False)
        return Picks(curriculum=curriculum, n=c.n_tasks, by=c.by, seed=c.seed + n - 1)

    def _train(self, model: str, reference: str, stage: str, here: Path, played: Sequence[Trajectory]) -> str:
        if not (here / DONE).is_file():
            settings = replace(self.config.settings(stage), folder=str(here))
            rules = Learning(context=str(self.config.agent.get("context", "full")), seed=self.config.seed)
            with self.watch(f"{here.parent.name}: {stage}", 0, 0):
                done = learn(
                    model, stage, played, settings, learning=rules, reference=reference, resume=True,
                    callbacks=self.callbacks,
                )  # fmt: skip
            found = {"model": str(done.model.relative_to(here)), "steps": done.steps, "seconds": done.summary}
            write_atomically(here / DONE, json.dumps(found, indent=2))
        return str(here / json.loads((here / DONE).read_text("utf-8"))["model"])

    def _evaluated(self, name: str, model: str) -> Stage:
        c = self.config
        policy = self._policy(model, c.test_temperature, c.test_min_p)
        done: list[Evaluation] = []
        for env, short in zip((*c.envs, *c.held_out), self.names, strict=True):
            tests = None if c.tests is None else min(c.tests, len(_env(env).tasks("test")))
            config = RunConfig(env=env, seats={AGENT: policy}, n_tasks=tests, k=c.test_k, seed=c.seed, label=name)
            prepared, here = prepare(config), self.folder / "evaluation" / name / short
            if not (here / "evaluation.json").is_file():
                total = c.test_k * len(prepared.tasks)
                with self.watch(f"{name}: {short}", total, total - missing(prepared, here)) as on_done:
                    execute(prepared, here, on_done=on_done)
            done.append(load_evaluation(here))
        return Stage(name=name, model=model, evaluations=tuple(done))


def _claim(config: Paprika, folder: Path) -> None:
    """Tie the folder to the configuration."""
    path, wanted = folder / CONFIG, config.to_json()
    if path.is_file():
        found = difference(json.loads(path.read_text("utf-8")), wanted, "paprika")
        if found:
            raise UserError(f"paprika: {folder} was begun with another configuration: {found}")
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"paprika: {folder} has files in it but was not begun by this command")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(wanted, indent=2))


def _held(folder: Path) -> int:
    """Episodes that a run folder holds."""
    return len(Run.load(folder)) if (folder / "config.json").is_file() else 0


def _env(config: Mapping[str, Json]) -> Env[Any]:
    made = build(config)
    if not isinstance(made, Env):
        raise UserError(f"paprika: envs: {config['name']!r} is not an environment")
    return cast("Env[Any]", made)


def _names(envs: Sequence[Env[Any]]) -> list[str]:
    """The folder of each environment: its name and preset, numbered where these are equal."""
    plain = [f"{env.spec.name.rpartition(':')[2]}-{env.spec.preset}" for env in envs]
    return [name if plain.count(name) == 1 else f"{name}-{plain[: i + 1].count(name)}" for i, name in enumerate(plain)]


def _first(env: Env[Any], split: str, n: int | None) -> Sequence[Any]:
    tasks = env.tasks(split)
    return tasks if n is None else tasks[: min(n, len(tasks))]
