"""PAPRIKA as a pipeline: play, select what is worth learning from, train on it, evaluate.

    run(Paprika(model="sonde-tiny-maze", envs=({"name": "maze", "preset": "pairs"},), presets=TINY), Path("runs/maze"))

    FOLDER/paprika.json                         the configuration, resolved
    FOLDER/round-1/play/ENV/                    run folder of the sampled episodes
    FOLDER/round-1/selection.json               what was selected, as in table 4 of the paper
    FOLDER/round-1/sft/, round-1/rpo/           training: settings, checkpoints, history, model/
    FOLDER/evaluation/base/ENV/, round-1-sft/   run folders of the evaluations
    FOLDER/summary.json                         the numbers

Source: PAPRIKA (arXiv 2502.17543), sections 3.2 to 3.4 and 4, appendices C, E and H: 20 samples per task at temperature
1.5 and min-p 0.3; fine-tuning on the successes, then RPO that begins with the fine-tuned model and compares it with the
model that the round began with (section 3.3); with several rounds each begins with the model of the previous one;
evaluation with 4 samples per task at temperature 0.7, min-p 0.3. Every stage resumes where it was interrupted: recorded
episodes are not played again, training resumes at its last checkpoint, and a finished stage is not repeated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from sonde._util.argument_checks import Checked
from sonde._util.folders import write_atomically
from sonde._util.frozen import freeze
from sonde._util.text_files import read_text
from sonde.agents.llm import LLM, SHOWN
from sonde.core import (
    AGENT,
    AnyPolicy,
    Env,
    Episode,
    Trajectory,
    UserError,
    build,
    content_hash,
    find,
    identity,
    invalid,
    names,
    unknown,
)
from sonde.core.config import first_difference
from sonde.core.types import EMPTY, Json
from sonde.evaluation.evaluate import Comparison, Evaluation, compare
from sonde.evaluation.run_evaluation import EVALUATION, execute_run, load_evaluation
from sonde.models.chat.chat import Chat
from sonde.models.files.loading import load_tokenizer, locate_parts
from sonde.models.files.weights import model_fingerprint
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.games import GameConfig, add_judge_seat
from sonde.runs.rollout import OnDone, Plan
from sonde.runs.run import PreparedRun, RunConfig, count_missing, prepare_run
from sonde.runs.store import Run
from sonde.runs.task_files import has_splits

from .by_name import POLICIES, encode_play, learn, selection_rule
from .collect import Game, Picks, collect_episodes, group_game_tasks, load_trajectories, make_games, name_games
from .curriculum import BANDITS, Curriculum
from .objectives import find_objective, objectives_learning_from
from .presets import PRESETS
from .selection import PairRule, SFTRule, ShareRule, compute_statistics, env_limits
from .stage_server import StageServer, tie_player
from .training import Training

CONFIG, SUMMARY, SELECTION = "paprika.json", "summary.json", "selection.json"
IN_COMMON_FILE = "shared.json"
IN_COMMON = (
    *("model", "n_tasks", "k", "temperature", "min_p", "tests", "test_k", "test_temperature", "test_min_p"),
    *("agent", "hf", "seats", "server", "player", "seed"),
)
"""Settings in which pipelines agree that share their first episodes."""
PLAYER = "player.json"
"""The imprint of a player's weights, where its server scores prompts."""
DONE = "done.json"
"""Marks the folder of a complete training."""

PAPER: Mapping[str, str] = freeze({"sft": "paprika_sft", "rpo": "paprika_rpo"})
TINY: Mapping[str, str] = freeze({"sft": "tiny_sft", "rpo": "tiny_rpo"})
"""Presets per stage for the models that come with sonde."""

_OF_ALL = {
    "temperature": "temperature, test_temperature",
    "min_p": "min_p, test_min_p",
    "model": "model",
    "weights": "model",
    "tokenizer": "model",
}

Tested = Literal["all", "held_out"]
Watch = Callable[[str, int, int], AbstractContextManager[OnDone | None]]
"""From the title of a stage, its number of episodes and how many exist to a context with a callback per episode."""


@dataclass(frozen=True, kw_only=True)
class Paprika(Checked):
    """The configuration of a pipeline; the defaults are the paper's.

    `envs` are learned from, on their `train` tasks; `held_out` are only evaluated; all are evaluated on `test`, or with
    `tested` "held_out" those alone.
    `stages`: objectives of `train.learn`, in order, each trained with the preset that `presets` names; `changes` are of
    the trainer's settings. `k` samples of `n_tasks` tasks of each environment (None: all), or of `n_tasks` tasks that
    `curriculum` ("ucb", "thompson", "uniform") picks among groups of the tag `by`, `at_once` of them before it sees how
    they went (1 is algorithm 1; more are played in parallel). Where `k` is None it is the paper's number for each
    environment, 20, in mastermind 100. Preference objectives compare with the model at the start of the round. `tests`
    tasks per environment are evaluated. `agent` and `hf` are further settings of `agents:llm` and `models:hf`.

    An entry of `envs` and `held_out` is an environment's configuration, in which `tasks_file`, `split` and `n_tasks`
    may stand too (`runs.games`). A file with both parts, such as PAPRIKA's game configurations, gives the tasks of
    training and evaluation; any other those of training alone, or of evaluation where the environment is held out.

    `seats`: policies of the other seats, such as a language model as the user or the judge, in the environments that
    have them (there the judge's verdict replaces that of the rules); by default those that the environment names.
    By default `models:hf` plays in this process. `server` (`models:vllm`, `models:sglang`) plays instead, in training
    and evaluation: it gets the weights of every stage, and is checked to play with them (`stage_server`). `player` is
    another model that plays the training episodes of the only round, a teacher or an endpoint that nothing can be
    published to. If it scores prompts, a round that goes on is tied to its weights by a probe, otherwise to its name.
    Its texts are encoded as the trained model would have sampled them.
    """

    called = "paprika"

    model: str
    envs: tuple[Mapping[str, Json], ...]
    held_out: tuple[Mapping[str, Json], ...] = ()
    tested: Tested = "all"
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
    at_once: int = 8
    tests: int | None = None
    test_k: int = 4
    test_temperature: float = 0.7
    test_min_p: float = 0.3
    agent: Mapping[str, Json] = EMPTY
    hf: Mapping[str, Json] = EMPTY
    seats: Mapping[str, Mapping[str, Json]] = EMPTY
    server: Mapping[str, Json] = EMPTY
    player: Mapping[str, Json] = EMPTY
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("envs", "held_out", "stages", "presets", "changes", "agent", "hf", "seats", "server", "player"):
            object.__setattr__(self, name, freeze(getattr(self, name)))
        self._check_envs()
        if not self.stages:
            raise invalid("paprika: stages", self.stages, ", ".join(objectives_learning_from(*POLICIES)))
        for stage in self.stages:
            self.stage_training(stage)
        self._check_unused()
        self._check_players()
        self._check_numbers()

    def _check_envs(self) -> None:
        if not self.envs:
            raise invalid("paprika: envs", self.envs, "at least one environment to learn from")
        for env in (*self.envs, *self.held_out):
            if not isinstance(env, Mapping) or not isinstance(env.get("name"), str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise invalid("paprika: envs", env, "a mapping with at least a name")
            GameConfig.from_entry(env)

    def _check_unused(self) -> None:
        """Refuse options that would be overruled or never read."""
        for stage, changes in self.changes.items():
            if stage not in self.stages:
                raise unknown("paprika: changes", stage, self.stages)
            if "folder" in changes:
                raise UserError(f"paprika: changes.{stage}.folder: allowed: none, every stage has its own folder")
        for stage in self.presets:
            _check_stage("paprika: presets", stage)
        of_all = (
            ("agent", ("temperature", "min_p", "model")),
            ("hf", ("model", "weights")),
            ("server", ("tokenizer",)),
        )
        for part, own in of_all:
            for name in own:
                if name in getattr(self, part):
                    raise UserError(f"paprika: {part}.{name}: allowed: {_OF_ALL[name]}, which all stages use")

    def _check_players(self) -> None:
        if AGENT in self.seats:
            raise UserError(f"paprika: seats.{AGENT}: allowed: seats of others, the trained model takes this one")
        if self.player and self.rounds > 1:
            raise invalid(
                "paprika: rounds", self.rounds, "1 with a player, which cannot play the trained model; a server can"
            )
        if self.player and self.server:
            raise UserError("paprika: player: got a server too, allowed: one of them")
        if self.server and not issubclass(find(str(self.server.get("name"))), TokenEndpoint):
            raise invalid(
                "paprika: server", self.server.get("name"), "models:vllm or models:sglang, which load weights"
            )

    def _check_numbers(self) -> None:
        if self.tested not in get_args(Tested):
            raise invalid("paprika: tested", self.tested, ", ".join(get_args(Tested)))
        if self.tested == "held_out" and not self.held_out:
            raise invalid("paprika: tested", self.tested, "all, where no environment is held out")
        if self.curriculum is not None and self.curriculum not in BANDITS:
            raise unknown("paprika: curriculum", self.curriculum, BANDITS)
        if self.curriculum is not None and self.n_tasks is None:
            raise invalid("paprika: n_tasks", None, "how many tasks the curriculum picks per round")
        for name in ("rounds", "k", "n_tasks", "tests", "test_k", "at_once"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise invalid(f"paprika: {name}", getattr(self, name), "1 or more")

    def stage_training(self, stage: str) -> Training:
        """The training of a stage."""
        _check_stage("paprika: stages", stage)
        name = self.presets.get(stage)
        if name is None:
            raise UserError(f"paprika: presets: none for {stage!r}; known: {', '.join(PRESETS)}")
        if name not in PRESETS:
            raise unknown(f"paprika: presets.{stage}", name, PRESETS)
        known = PRESETS[name].for_objective(stage)
        settings = replace(known.settings, seed=self.seed).with_overrides(self.changes.get(stage, EMPTY))
        shown: dict[str, Any] = {name: value for name, value in self.agent.items() if name in SHOWN}
        shown |= {"template": self.hf.get("template", EMPTY), "seed": self.seed}
        return replace(known, settings=settings, learning=replace(known.learning, **shown))

    def selection_rules(self) -> tuple[SFTRule | ShareRule, PairRule]:
        """The rules by which the stages select successes and pairs; PAPRIKA's where no stage does."""
        trainings = map(self.stage_training, self.stages)
        rules = [
            selection_rule(find_objective(t.objective).learns, t.learning, t.settings.max_tokens) for t in trainings
        ]
        sft = next((rule for rule in rules if isinstance(rule, SFTRule | ShareRule)), SFTRule())
        return sft, next((rule for rule in rules if isinstance(rule, PairRule)), PairRule())

    def to_json(self) -> dict[str, Json]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        settings = {stage: self.stage_training(stage).to_json() for stage in self.stages}
        return cast("dict[str, Json]", json.loads(json.dumps({**plain, "settings": settings}, default=_as_json)))

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Paprika:
        """From plain values, of a file say; unknown fields are errors."""
        return cls(**data)


def _check_stage(field: str, name: str) -> None:
    """Raise unless this objective changes the model's own play."""
    if (":" not in name and name not in names("objectives")) or find_objective(name).learns not in POLICIES:
        raise unknown(field, name, objectives_learning_from(*POLICIES))


def _as_json(value: Any) -> Json:
    return dict(value) if isinstance(value, Mapping) else list(value)


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """A model and its evaluations, by environment."""

    name: str
    model: str
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True, kw_only=True)
class PipelineResult:
    """The result of a pipeline: every stage, the base first, and the gains of the last over the base, paired by task,
    per environment."""

    folder: Path
    stages: tuple[StageResult, ...]
    gains: tuple[Comparison, ...] = field(default=())

    def to_json(self) -> dict[str, Json]:
        stages = [
            {"name": s.name, "model": s.model, "evaluations": [e.summary_json() for e in s.evaluations]}
            for s in self.stages
        ]
        return {"stages": stages, "gains": [asdict(gain) for gain in self.gains]}


def run_pipeline(
    config: Paprika, folder: Path, *, shared: Path | None = None, watch: Watch | None = None
) -> PipelineResult:
    """Run the whole pipeline, or what is left of it. Raises `UserError` if the folder belongs to another
    configuration. Pipelines of one model and one way to play that differ in their environments, stages or trainings
    have the episodes of the first round and the evaluation of the base model in common: given a folder `shared`, they
    make them once."""
    return _Pipeline(config, folder, watch or _watch_nothing, shared).run()


class PlannedRun(NamedTuple):
    """A run of a pipeline that is played `times` over, each time with another model."""

    title: str
    run: PreparedRun
    times: int


def plan_pipeline(config: Paprika) -> list[PlannedRun]:
    """What a pipeline plays, without playing it: training games by environment, and evaluations. Of a curriculum, whose
    picks nobody knows yet, the environment is shown that takes the most turns."""
    return _Pipeline(config, Path(), _watch_nothing).plan()


def _watch_nothing(title: str, total: int, before: int) -> AbstractContextManager[OnDone | None]:
    return nullcontext()


class _Pipeline:
    def __init__(self, config: Paprika, folder: Path, watch: Watch, shared: Path | None = None) -> None:
        self.config, self.folder, self.watch, self.shared = config, folder, watch, shared
        entries = [GameConfig.from_entry(env, split="train") for env in (*config.envs, *config.held_out)]
        self.configs = [replace(entry, env=add_judge_seat(entry.env, config.seats)) for entry in entries]
        everyone = [entry.make_env() for entry in self.configs]
        self.envs, self.names = everyone[: len(config.envs)], name_games(everyone, by_content=shared is not None)
        self.server = StageServer(config.server, config.model, config.hf, folder) if config.server else None
        self._check_configs(everyone)

    def _check_configs(self, envs: Sequence[Env[Any]]) -> None:
        """Build everything that will play before anything is played, so that no wrong option is found late."""
        c = self.config
        if self.shared is not None and c.curriculum:
            raise UserError("paprika: shared: allowed: without a curriculum, whose picks are a pipeline's own")
        for seat in c.seats:
            if not any(seat in env.spec.seats for env in envs):
                raise UserError(f"paprika: seats: no environment has a seat {seat!r}")
        self._build_seats()
        self._make_picks(self._build_games(), 1)
        for playing, temperature, min_p in ((True, c.temperature, c.min_p), (False, c.test_temperature, c.test_min_p)):
            policy = build(self._policy_config(c.model, temperature, min_p, playing=playing))
            for env in envs if isinstance(policy, LLM) else ():
                policy.build_prompt(Episode.begin(env, env.tasks("test")[0]).view(AGENT))
        for i in range(len(envs)):
            prepare_run(self._evaluation_config(i, "base", c.model))

    def run(self) -> PipelineResult:
        c, model = self.config, self.config.model
        _claim_folder({**c.to_json(), **_hash_task_files(c)}, c.model, self.folder, CONFIG)
        if self.shared is not None:
            play = {name: c.to_json()[name] for name in IN_COMMON}
            _claim_folder(play, c.model, self.shared, IN_COMMON_FILE)
        stages = [self._evaluate_stage("base", model)]
        for n in range(1, c.rounds + 1):
            here, begun = self.folder / f"round-{n}", model
            played = self._play_round(model, here, n)
            for stage in c.stages:
                model = self._train_stage(model, begun, stage, here / stage, played)
                stages.append(self._evaluate_stage(f"round-{n}-{stage}", model))
        gains = tuple(compare(b, a) for a, b in zip(stages[0].evaluations, stages[-1].evaluations, strict=True))
        outcome = PipelineResult(folder=self.folder, stages=tuple(stages), gains=gains)
        write_atomically(self.folder / SUMMARY, json.dumps(outcome.to_json(), indent=2))
        return outcome

    def plan(self) -> list[PlannedRun]:
        c, games = self.config, self._build_games()
        if c.curriculum and c.n_tasks is not None:
            games = [max(games, key=lambda game: game.env.spec.max_turns * (game.samples or 1))]
        play = [self._plan_play(game) for game in games]
        evaluations = [
            PlannedRun("evaluate", prepare_run(self._evaluation_config(i, "base", c.model)), n)
            for i in self._tested_numbers
            for n in (1 + c.rounds * len(c.stages),)
        ]
        return [*play, *evaluations]

    def _plan_play(self, game: Game) -> PlannedRun:
        """The training games of this environment, over all rounds."""
        c = self.config
        n = min(c.n_tasks or len(game.tasks), len(game.tasks))
        policy = self._policy_config(c.model, c.temperature, c.min_p, playing=True)
        others = {seat: other for seat, other in c.seats.items() if seat in game.env.spec.seats}
        config = RunConfig(
            env=game.env.config, seats={**others, AGENT: policy}, split=game.split, tasks_file=game.tasks_file,
            n_tasks=n, k=game.samples or 1, seed=c.seed,
        )  # fmt: skip
        return PlannedRun(
            "play", prepare_run(config), c.rounds * math.ceil((c.n_tasks or n) / n if c.curriculum else 1)
        )

    # --- stages ------------------------------------------------------------------------------------------------------

    def _policy_config(self, model: str, temperature: float, min_p: float, *, playing: bool = False) -> dict[str, Json]:
        """The configuration of the agent with this model, or with the player where that is `playing`."""
        c = self.config
        backend = {"name": "models:hf", **c.hf, "model": model}
        if c.player and playing:
            backend = dict(c.player)
        elif self.server is not None:
            backend = self.server.config
        return {"name": "agents:llm", **c.agent, "temperature": temperature, "min_p": min_p, "model": backend}

    def _publish(self, model: str, version: str) -> None:
        """Make the server, if there is one, play with the weights of this model."""
        if self.server is not None:
            with self.watch(f"{version}: publish weights", 0, 0):
                self.server.publish(model, version)

    def _follow(self, policy: AnyPolicy) -> None:
        """Let a policy's model ask the server for the weights that were published last."""
        if self.server is not None:
            self.server.follow(policy)

    def _confirm(self) -> None:
        if self.server is not None:
            self.server.confirm()

    def _build_seats(self) -> dict[str, AnyPolicy]:
        """New policies of the other seats: those of a stage are closed at its end."""
        return {seat: build(config) for seat, config in self.config.seats.items()}

    def _build_games(self) -> list[Game]:
        c = self.config
        n = {} if c.curriculum or c.n_tasks is None else {"n_tasks": c.n_tasks}
        games = make_games([replace(entry, **n) for entry in self.configs[: len(self.envs)]], self.envs)
        return [
            replace(game, name=name, samples=c.k or env_limits(game.env.spec.name).samples)
            for game, name in zip(games, self.names, strict=False)
        ]

    def _play_round(self, model: str, here: Path, n: int) -> list[Trajectory]:
        """The episodes of a round, with the token ids to train on. Once a stage has learned from them none are played
        any more."""
        c, games = self.config, self._build_games()
        play = (here if self.shared is None or n > 1 else self.shared) / "play"
        if (here / c.stages[0] / DONE).is_file():
            runs = [Run.load(play / game.name) for game in games if (play / game.name).is_dir()]
        else:
            runs = self._collect(model, games, play, n)
        played = load_trajectories(runs)
        if c.player:
            chat = Chat(load_tokenizer(locate_parts(c.model)), label=c.model, template=c.hf.get("template", EMPTY))
            played = encode_play(played, chat, replace(self.config.stage_training(c.stages[0]).learning, encode=True))
        sft, pairs = c.selection_rules()
        here.mkdir(parents=True, exist_ok=True)
        write_atomically(here / SELECTION, json.dumps(compute_statistics(played, sft, pairs).to_json(), indent=2))
        return played

    def _collect(self, model: str, games: Sequence[Game], folder: Path, n: int) -> list[Run]:
        """Play the games of round `n`, each alone, or all together where a curriculum picks among them."""
        c, picks = self.config, self._make_picks(games, n)
        if not c.player:
            self._publish(model, f"round-{n}")
        runs: list[Run] = []
        for together in [games] if picks else [[game] for game in games]:
            policy: Any = build(self._policy_config(model, c.temperature, c.min_p, playing=True))
            if c.player:
                tie_player(policy, folder.parent / PLAYER)
            else:
                self._follow(policy)
            seats = {**self._build_seats(), AGENT: policy}
            most = max(game.samples or 1 for game in together)
            total = most * (picks.n if picks else len(together[0].tasks))
            held = min(total, sum(_count_episodes(folder / game.name) for game in together))
            with self.watch(f"round {n}: {', '.join(game.name for game in together)}", total, held) as on_done:
                plan = Plan(k=most, seed=c.seed + n - 1)
                runs += collect_episodes(together, seats, plan, folder, picks=picks, on_done=on_done)
        if not c.player:
            self._confirm()
        return runs

    def _make_picks(self, games: Sequence[Game], n: int) -> Picks | None:
        c = self.config
        if c.curriculum is None or c.n_tasks is None:
            return None
        sizes = {name: len(rows) for name, rows in group_game_tasks(games, c.by).items()}
        curriculum = Curriculum(groups=sizes, bandit=BANDITS[c.curriculum](), replacement=False)
        return Picks(curriculum=curriculum, n=c.n_tasks, by=c.by, at_once=c.at_once, seed=c.seed + n - 1)

    def _train_stage(self, model: str, reference: str, stage: str, here: Path, played: Sequence[Trajectory]) -> str:
        if not (here / DONE).is_file():
            training = self.config.stage_training(stage)
            training = replace(training, settings=replace(training.settings, folder=str(here)))
            with self.watch(f"{here.parent.name}: {stage}", 0, 0):
                done = learn(model, training, played, reference=reference, resume=True)
            record = {"model": str(done.model.relative_to(here)), "steps": done.steps, "summary": done.summary}
            write_atomically(here / DONE, json.dumps(record, indent=2))
        return str(here / json.loads((here / DONE).read_text("utf-8"))["model"])

    @property
    def _tested_numbers(self) -> range:
        """The numbers of the environments that are evaluated."""
        return range(0 if self.config.tested == "all" else len(self.config.envs), len(self.configs))

    def _evaluation_config(self, i: int, label: str, model: str) -> RunConfig:
        """The evaluation of the i-th environment."""
        c, entry = self.config, self.configs[i]
        env, held_out = entry.make_env(), i >= len(self.envs)
        policy = self._policy_config(model, c.test_temperature, c.test_min_p)
        others = {seat: other for seat, other in c.seats.items() if seat in env.spec.seats}
        file = entry.tasks_file if held_out or has_splits(entry.tasks_file) else ""
        tested = GameConfig(env=entry.env, tasks_file=file)
        tests = None if c.tests is None else min(c.tests, len(tested.select_tasks(env)))
        seats = {**others, AGENT: policy}
        return RunConfig(
            env=entry.env, tasks_file=file, seats=seats, n_tasks=tests, k=c.test_k, seed=c.seed, label=label
        )

    def _evaluate_stage(self, name: str, model: str) -> StageResult:
        c = self.config
        folder = (self.folder if self.shared is None or name != "base" else self.shared) / "evaluation" / name
        folders = [folder / self.names[i] for i in self._tested_numbers]
        lacking = [here for here in folders if not (here / EVALUATION).is_file()]
        if lacking:
            self._publish(model, name)
        for i, here in zip(self._tested_numbers, folders, strict=True):
            if here in lacking:
                prepared = prepare_run(self._evaluation_config(i, name, model))
                self._follow(prepared.policies[AGENT])
                total = c.test_k * len(prepared.tasks)
                with self.watch(f"{name}: {here.name}", total, total - count_missing(prepared, here)) as on_done:
                    execute_run(prepared, here, on_done=on_done)
        if lacking:
            self._confirm()
        return StageResult(name=name, model=model, evaluations=tuple(load_evaluation(here) for here in folders))


def _hash_task_files(config: Paprika) -> dict[str, Json]:
    """The content of the files that tasks are read from; empty if there are none."""
    files = {str(entry["tasks_file"]) for entry in (*config.envs, *config.held_out) if entry.get("tasks_file")}
    return {"tasks_files": {file: content_hash(read_text(Path(file))) for file in sorted(files)}} if files else {}


def _claim_folder(config: Mapping[str, Json], model: str, folder: Path, file: str) -> None:
    """Tie the folder to the configuration and to the initial model, in this file."""
    path, wanted = folder / file, {**config, "weights": model_fingerprint(model)}
    if path.is_file():
        mismatch = first_difference(identity(json.loads(path.read_text("utf-8"))), identity(wanted), "paprika")
        if mismatch:
            raise UserError(f"paprika: {folder} was started with another configuration: {mismatch}")
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"paprika: {folder} contains files of something else")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(wanted, indent=2))


def _count_episodes(folder: Path) -> int:
    """Number of episodes in a run folder."""
    return len(Run.load(folder)) if (folder / "config.json").is_file() else 0
