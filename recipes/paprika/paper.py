"""PAPRIKA's own experiments: every figure with numbers, at the paper's scale or as a quick test.

    python recipes/paprika/paper.py --dry-run [--only NAME ...] [--json]    # resolved settings and cost; no model
    python recipes/paprika/paper.py --only main --server vllm:NAME --server-url URL --user openai:gpt-4o-mini
    python recipes/paprika/paper.py --quick [--only NAME ...] [--save]      # every step, in minutes, on two cores

    main           ten groups of tasks, SFT then RPO, three temperatures       figures 2, 5, 6, 7, 11, 17 and table 4
    second_model   the same with Gemma-3-12B-IT                                figures 8, 9, 10, 12
    leave_one_out  ten trainings on nine groups, each tested on the tenth      figures 3, 13
    single         ten trainings on one group                                  figures 3, 13
    curriculum     three rounds of 250 topics, by UCB and uniformly, 3 seeds   figure 4
    lmrl           cities and topics of LMRL-Gym                               figures 14, 15
    modified       Wordle with other lengths of words                          figure 16
    start          three models before any training                            figure 18
    bandit         the standard bandit with few and many arms                  figure 19

The base model plays its games once: `main`, `leave_one_out` and `single` share them. An interrupted run continues. Each
experiment prints its table and writes it to `OUT/NAME.json`; `--save` also stores it for the paper's page, after
`--quick` as `NAME_quick`. The experiments have not been run at the paper's scale, for lack of a GPU.

The cost is an upper bound: every game takes all its turns and every reply all its tokens. Training counts the paper's
trajectories and pairs (table 4), each of the maximum length. Operations are 2 per weight and token in play (each token
once, as with a cache of prefixes), 6 in training, 2 for a reference model. Serving the user is not included.

Where the text gives no number, the choice is ours: the three groups of figure 18, and 5, 10 and 20 arms in figure 19.
`--quick` replaces groups by maps of `maze`, models by `sonde-tiny-maze`, and Wordle, cities and topics by other mazes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from common import Table, print_table, save_table

from sonde.cli.estimate import estimate_costs
from sonde.cli.players import model_config, model_seats
from sonde.core import AGENT, Env, find, make
from sonde.core.types import EMPTY, Json, content_hash
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.run_evaluation import execute_run
from sonde.models.files.saving import hide_progress_bars
from sonde.runs.run import PreparedRun, RunConfig, prepare_run
from sonde.train.paprika import PAPER, TINY, Paprika, PipelineResult, plan_pipeline, run_pipeline
from sonde.train.stage_server import StageServer

OUT = Path("runs/recipes/paprika/paper")
TABLE_4: Mapping[str, tuple[int, int]] = {
    "twenty_questions": (6257, 1259), "guess_my_city": (2576, 479), "wordle": (1453, 687),
    "cellular_automata": (1780, 715), "customer_service": (1467, 603), "murder_mystery": (435, 193),
    "mastermind": (889, 389), "battleship": (614, 390), "minesweeper": (1089, 465), "best_arm": (621, 80),
}  # fmt: skip
"""The paper's numbers of trajectories for SFT and of pairs, by group."""
WEIGHTS: Mapping[str, float] = {
    "meta-llama/Llama-3.1-8B-Instruct": 8.03e9, "google/gemma-3-12b-it": 12.2e9, "Qwen/Qwen2.5-7B-Instruct": 7.62e9,
    "mistralai/Mistral-7B-Instruct-v0.3": 7.25e9,
}  # fmt: skip
"""By the model cards."""
LIMITS = (12_000, 8_192)
"""Tokens of the longest trajectory that SFT and RPO learn from."""
TERA_PER_SECOND = 400.0
"""Of an H100 with bfloat16, at two fifths of its peak."""

EnvConfig = Mapping[str, Json]


class Test(NamedTuple):
    """A test environment, with split, number of tasks, samples per task, and temperature."""

    name: str
    env: EnvConfig
    split: str = "test"
    tests: int | None = None
    k: int = 4
    temperature: float = 0.7
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The models, environments and numbers of the paper, or of a quick test."""

    model: str
    second: str
    start: Sequence[str]
    groups: Mapping[str, EnvConfig]
    rounds_env: EnvConfig
    rounds_by: str
    rounds_tasks: int
    rounds: int
    seeds: int
    lmrl: Sequence[Test]
    modified: Sequence[Test]
    start_groups: Sequence[str]
    bandit: Sequence[Test]
    settings: Mapping[str, Any]

    def configure(self, **changes: Any) -> Paprika:
        return Paprika(**{"model": self.model, **self.settings, **changes})


def _group(name: str) -> EnvConfig:
    return {"name": name, "preset": "paprika"}


def _maze(**changes: Json) -> EnvConfig:
    return {"name": "maze", "preset": "pairs", **changes}


ARMS = (5, 10, 20)
PUBLISHED = Scale(
    model="meta-llama/Llama-3.1-8B-Instruct",
    second="google/gemma-3-12b-it",
    start=("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "mistralai/Mistral-7B-Instruct-v0.3"),
    groups={name: _group(name) for name in TABLE_4},
    rounds_env=_group("twenty_questions"),
    rounds_by="difficulty",
    rounds_tasks=250,
    rounds=3,
    seeds=3,
    lmrl=[
        Test(f"{name}, {split}", {"name": name, "preset": "lmrl"}, split)
        for name in ("guess_my_city", "twenty_questions")
        for split in ("train", "test")
    ],
    modified=[Test("wordle, modified", {"name": "wordle", "preset": "modified"})],
    start_groups=("twenty_questions", "guess_my_city", "wordle"),
    bandit=[
        Test(f"{arms} arms", {"name": "bernoulli_bandit", "preset": "krishnamurthy", "arms": arms}, k=1)
        for arms in ARMS
    ],
    settings={"presets": PAPER},
)
QUICK = Scale(
    model="sonde-tiny-maze",
    second="sonde-tiny-maze",
    start=("sonde-tiny-maze",),
    groups={name: _maze(grid=name) for name in ("comb", "ladder")},
    rounds_env=_maze(),
    rounds_by="group",
    rounds_tasks=8,
    rounds=2,
    seeds=1,
    lmrl=[Test("maze, train", _maze(), "train", 8, 2), Test("maze, test", _maze(), "test", 8, 2)],
    modified=[Test("maze, 36 moves", _maze(max_turns=36), tests=8, k=2)],
    start_groups=("comb",),
    bandit=[Test("2 rooms", _maze(grid="comb"), tests=8, k=1)],
    settings={
        "presets": TINY, "n_tasks": 6, "k": 8, "tests": 8, "test_k": 2, "temperature": 1.0, "min_p": 0.0,
        "test_min_p": 0.0, "agent": {"max_new_tokens": 8}, "hf": {"max_batch": 256},
    },
)  # fmt: skip


# --- experiments -----------------------------------------------------------------------------------------------------


class Pipeline(NamedTuple):
    """A pipeline, and whether it shares the base model's games with others."""

    name: str
    config: Paprika
    shares: bool = True


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Pipelines to run, then tests of models: of the stages of pipelines (`of`), or of named ones (`models`)."""

    pipelines: Sequence[Pipeline] = ()
    tests: Sequence[Test] = ()
    of: Sequence[str] = ()
    models: Sequence[str] = ()


def list_experiments(s: Scale) -> dict[str, Experiment]:
    groups = list(s.groups.values())
    main = Pipeline("main", s.configure(envs=tuple(groups)))
    second = Pipeline("second_model", s.configure(model=s.second, envs=tuple(groups)), False)
    cooler = [Test(f"{name}, T={at:g}", env, temperature=at) for name, env in s.groups.items() for at in (0.3, 1.0)]
    cooler = [test._replace(tests=s.settings.get("tests"), k=s.settings.get("test_k", 4)) for test in cooler]
    per_seed = [test._replace(name=f"{test.name}, seed {i}", seed=i) for i in range(s.seeds) for test in s.modified]
    started = [
        Test(f"{name}, seed {i}", s.groups[name], seed=i, tests=s.settings.get("tests"))
        for name in s.start_groups
        for i in range(s.seeds)
    ]
    return {
        "main": Experiment(pipelines=[main], tests=cooler, of=["main"]),
        "second_model": Experiment(pipelines=[second], tests=cooler, of=["second_model"]),
        "leave_one_out": Experiment(pipelines=[_leave_out(s, name) for name in s.groups]),
        "single": Experiment(
            pipelines=[Pipeline(f"single/{name}", s.configure(envs=(env,))) for name, env in s.groups.items()]
        ),
        "curriculum": Experiment(
            pipelines=[_pick_by(s, picker, seed) for picker in ("ucb", "uniform") for seed in range(s.seeds)]
        ),
        "lmrl": Experiment(pipelines=[main], tests=s.lmrl, of=["main"]),
        "modified": Experiment(pipelines=[main], tests=per_seed, of=["main"]),
        "start": Experiment(tests=started, models=s.start),
        "bandit": Experiment(pipelines=[main], tests=s.bandit, of=["main"]),
    }


def _leave_out(s: Scale, name: str) -> Pipeline:
    others = tuple(env for other, env in s.groups.items() if other != name)
    config = s.configure(envs=others, held_out=(s.groups[name],), tested="held_out")
    return Pipeline(f"leave_one_out/{name}", config)


def _pick_by(s: Scale, picker: str, seed: int) -> Pipeline:
    config = s.configure(
        envs=(s.rounds_env,), rounds=s.rounds, curriculum=picker, by=s.rounds_by, n_tasks=s.rounds_tasks, at_once=1,
        seed=seed,
    )  # fmt: skip
    return Pipeline(f"curriculum/{picker}-{seed}", config, False)


# --- cost ------------------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Games, calls of the model, tokens that it says and reads once, and operations of playing and of training."""

    games: int = 0
    calls: int = 0
    said: int = 0
    read: int = 0
    playing: float = 0.0
    training: float = 0.0

    def plus(self, other: Cost) -> Cost:
        counts = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return Cost(*counts, playing=self.playing + other.playing, training=self.training + other.training)

    def to_json(self) -> dict[str, Json]:
        hours = (self.playing + self.training) / (TERA_PER_SECOND * 1e12) / 3600
        exaflop = {name: round(getattr(self, name) / 1e18) for name in ("playing", "training")}
        return {"games": self.games, "calls": self.calls, "said": self.said, "read": self.read,
                "exaflop": exaflop, "gpu_hours": round(hours)}  # fmt: skip


def estimate_experiment(e: Experiment, seen: set[str]) -> Cost:
    """The additional cost of an experiment, without the games in `seen`; adds its own games there."""
    cost = Cost()
    for name, config, shares in e.pipelines:
        if name in seen:
            continue
        seen.add(name)
        for title, run, times in plan_pipeline(config):
            key = f"{title} {content_hash(run.env.config)}"
            base = int(not (shares and key in seen))
            seen |= {key} if shares else set()
            again = times * base if title == "play" else times - 1 + base
            cost = cost.plus(_estimate_run(run, again, config.model))
        cost = cost.plus(Cost(training=_estimate_training(config)))
    stages = 1 + sum(len(config.stages) for name, config, _ in e.pipelines if name in e.of)
    for model in e.models or [p.config.model for p in e.pipelines if p.name in e.of]:
        for test in e.tests:
            cost = cost.plus(_estimate_run(prepare_test(test, model, EMPTY), 1 if e.models else stages, model))
    return cost


def _estimate_run(run: PreparedRun, times: int, model: str) -> Cost:
    found = estimate_costs(run)["seats"][AGENT]
    games = times * len(run.tasks) * run.config.k
    turns, reply = run.env.acts(AGENT)[0], found["completion_tokens"] // max(1, found["calls"])
    read = games * min(LIMITS[0], found["prompt_tokens"] // max(1, found["calls"]) + turns * reply)
    said = times * found["completion_tokens"]
    return Cost(games, times * found["calls"], said, read, 2 * WEIGHTS.get(model, 0.0) * (said + read))


def _estimate_training(config: Paprika) -> float:
    """Operations of the stages of a pipeline, by the paper's own numbers of trajectories and pairs."""
    known = [TABLE_4[str(env["name"])] for env in config.envs if str(env["name"]) in TABLE_4]
    share = 1.0
    if config.curriculum and config.n_tasks:
        share = config.n_tasks / len(make_env(config.envs[0]).tasks("train"))
    trajectories, pairs = (share * config.rounds * sum(row[i] for row in known) for i in (0, 1))
    tokens = 6 * trajectories * LIMITS[0] + (6 + 2) * 2 * pairs * LIMITS[1]
    return WEIGHTS.get(config.model, 0.0) * tokens


def make_env(config: EnvConfig) -> Env[Any]:
    return make(str(config["name"]), **{name: value for name, value in config.items() if name != "name"})


# --- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Players:
    """Players outside this process: a server for the model, and models in other seats."""

    server: EnvConfig = EMPTY
    seats: Mapping[str, EnvConfig] = EMPTY

    def seat(self, config: Paprika) -> Paprika:
        """The pipeline with these players, in the environments that have their seats."""
        envs = [make_env(env) for env in (*config.envs, *config.held_out)]
        taken = {seat: p for seat, p in self.seats.items() if any(_has_seat(env, seat) for env in envs)}
        return replace(config, server=self.server, seats=taken)


def _has_seat(env: Env[Any], seat: str) -> bool:
    return seat in env.spec.seats or (
        seat == "judge" and "judge" in getattr(find(env.name), "__dataclass_fields__", {})
    )


def prepare_test(test: Test, model: str, seats: Mapping[str, EnvConfig], agent: EnvConfig = EMPTY) -> PreparedRun:
    """The run of a test, with a model of this process or with the `model` of `agent`."""
    judged = {"judge": "seat"} if "judge" in seats and _has_seat(make_env(test.env), "judge") else {}
    env = {**judged, **test.env}
    others = {seat: policy for seat, policy in seats.items() if seat in make_env(env).spec.seats}
    policy: EnvConfig = {
        "name": "agents:llm", "model": {"name": "models:hf", "model": model}, "temperature": test.temperature,
        "min_p": 0.3, **agent,
    }  # fmt: skip
    n = None if test.tests is None else min(test.tests, len(make_env(env).tasks(test.split)))
    return prepare_run(
        RunConfig(env=env, seats={**others, AGENT: policy}, split=test.split, n_tasks=n, k=test.k, seed=test.seed)
    )


def run_experiment(name: str, e: Experiment, s: Scale, players: Players, out: Path) -> Table:
    """Run the missing parts of an experiment; return its table."""
    rows: list[list[Any]] = []
    models = {model: model for model in e.models}
    for title, config, shares in e.pipelines:
        shared = out / f"shared-{content_hash(config.model)[:8]}" if shares else None
        outcome = run_pipeline(players.seat(config), out / title, shared=shared)
        if title in e.of:
            models |= {f"{title}, {stage.name}": stage.model for stage in outcome.stages}
        rows += [] if e.of and name not in e.of else _stage_rows(title, outcome, s)
    for label, model in models.items():
        for test, evaluation in play_tests(e.tests, label, model, s, players, out / "tests"):
            rows.append(_row(label, test.name, evaluation))
    return Table(name, ["", "environment", "success", "pass@k", "turns", "regret", "by difficulty"], rows)


def _stage_rows(title: str, outcome: PipelineResult, s: Scale) -> list[list[Any]]:
    def name_group(e: Evaluation) -> str:
        known = (name for name, env in s.groups.items() if all(e.env.get(key) == value for key, value in env.items()))
        return next(known, f"{e.env_name} {e.preset}")

    return [_row(f"{title}, {stage.name}", name_group(e), e) for stage in outcome.stages for e in stage.evaluations]


def _row(label: str, env: str, e: Evaluation) -> list[Any]:
    values = [e.metrics[name] for name in ("success", f"pass@{e.k}", "turns", "regret")]
    by = e.by_tag.get("difficulty", {})
    cells = [value and value.mean for value in values]
    return [label, env, *cells, " ".join(f"{value} {group.success.mean:.3f}" for value, group in by.items())]


def play_tests(
    tests: Sequence[Test], label: str, model: str, s: Scale, players: Players, out: Path
) -> Iterator[tuple[Test, Evaluation]]:
    """Play every test with a model, each in a folder of its own; a server gets the weights first."""
    server = StageServer(players.server, model, EMPTY, out) if players.server and tests else None
    agent = {**s.settings.get("agent", {}), "min_p": s.settings.get("test_min_p", 0.3)}
    for test in tests:
        backend = {"model": server.config} if server else {}
        run = prepare_test(test, model, players.seats, {**agent, **backend})
        folder = out / content_hash([label, test._asdict()])[:12]
        if server is not None and not (folder / "evaluation.json").is_file():
            server.publish(model, content_hash([label])[:8])
            server.follow(run.policies[AGENT])
        yield test, execute_run(run, folder)


def save_experiment(name: str, table: Table, quick: bool) -> None:
    """Save a table for the page of the paper: one row per model and test, one column per measured number."""
    title = f"{name}_quick" if quick else name
    command = " ".join(["python recipes/paprika/paper.py", *["--quick"] * quick, "--only", name])
    shown = [i for i, head in enumerate(table.heads) if head and any(row[i] not in (None, "") for row in table.rows)]
    rows = [[f"{row[0]}: {row[1]}", *(row[i] for i in shown if i > 1)] for row in table.rows]
    save_table("paprika", title, command, ["model: test", *(table.heads[i] for i in shown if i > 1)], rows)


# --- command line ----------------------------------------------------------------------------------------------------


def print_costs(experiments: Mapping[str, Experiment], as_json: bool) -> None:
    """Resolve everything, and print what each experiment adds to the cost of those before it."""
    seen: set[str] = set()
    costs = {name: estimate_experiment(e, seen) for name, e in experiments.items()}
    if as_json:
        configs = {name: {p.name: p.config.to_json() for p in e.pipelines} for name, e in experiments.items()}
        tests = {name: [test._asdict() for test in e.tests] for name, e in experiments.items()}
        print(json.dumps({"cost": {n: c.to_json() for n, c in costs.items()}, "pipelines": configs, "tests": tests}))
        return
    total = Cost()
    for cost in costs.values():
        total = total.plus(cost)
    rows = [
        [name, len(experiments[name].pipelines) if name in experiments else "", f"{c.games:,}", f"{c.calls:,}",
         f"{c.said / 1e6:,.0f}", f"{c.read / 1e6:,.0f}", f"{c.to_json()['gpu_hours']:,}"]
        for name, c in {**costs, "total": total}.items()
    ]  # fmt: skip
    heads = ["", "pipelines", "games", "calls", "M tokens said", "M tokens read", "GPU hours"]
    print_table(Table("At most, beyond the experiments above it", heads, rows))


def main() -> None:
    names = list(list_experiments(QUICK))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--dry-run", action="store_true", help="resolve and say what it would cost; no model is loaded")
    parser.add_argument("--quick", action="store_true", help="every step with a tiny model in mazes")
    parser.add_argument("--model", help="another model in the place of the first")
    parser.add_argument("--server", help="inference server that plays: vllm:NAME or sglang:NAME")
    parser.add_argument("--server-url", help="its address")
    parser.add_argument("--user", help="a language model as the user, such as http:gpt-4o-mini")
    parser.add_argument("--judge", help="a language model as the judge")
    parser.add_argument("--user-url", help="the address of both")
    parser.add_argument("--json", action="store_true", help="with --dry-run: everything that was resolved")
    parser.add_argument("--save", action="store_true", help="write the tables of the paper's page (docs/papers)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where everything goes (default {OUT})")
    args = parser.parse_args()
    scale = QUICK if args.quick else PUBLISHED
    scale = replace(scale, model=args.model) if args.model else scale
    experiments = {name: e for name, e in list_experiments(scale).items() if name in args.only}
    if args.dry_run:
        print_costs(experiments, args.json)
        return
    players = Players(
        server=model_config(args.server, args.server_url, "--server") if args.server else EMPTY,
        seats=model_seats(args.user, args.judge, args.user_url, None),
    )
    out = args.out / "quick" if args.quick else args.out
    with hide_progress_bars():
        for name, e in experiments.items():
            table = run_experiment(name, e, scale, players, out)
            (out / f"{name}.json").write_text(json.dumps(table._asdict(), indent=1), "utf-8")
            print_table(table)
            if args.save:
                save_experiment(name, table, args.quick)


if __name__ == "__main__":
    main()
