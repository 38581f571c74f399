"""PAPRIKA's main result at the size of a laptop: base, SFT, SFT then RPO, and GRPO, at equal numbers of episodes.

    python recipes/paprika/objectives.py [maze|best_arm|games] [--methods SFT GRPO ...] [--quick] [--json]

The paper's figures 2, 5, 7 and 17: success, pass@k, turns and information per turn on held-out tasks. SFT and RPO are
the pipeline of `sonde paprika` on the model's own play; GRPO plays about as many episodes during training, in steps of
8 tasks x 8 samples. Every model is tested at temperature 1, untruncated, and at temperature 0. The tables also have SFT
on the wins of a teacher (the reference solver) on the same tasks, success among the episodes without an illegal reply
(the possible effect of learning the format alone), random legal play and the reference solver.

    maze, best_arm   the models of one game; 1,200 training tasks, 3 samples each; 250 held-out tasks, twice
    games            `sonde-tiny-many`, one training for three games; 120 tasks of each, 4 samples each; 60 held-out
                     tasks of each, twice. It is also tested where it was not trained: in other games that it plays
                     (table 2: what does it forget?), and in other sizes of the three (figure 16).

Departure: the paper samples at temperature 1.5 with min-p 0.3; models this small vary enough at 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from common import (
    BEST_ARM,
    GAMES,
    GREEDY,
    MANY,
    MAZE,
    SAMPLED,
    Budget,
    Parser,
    Subject,
    Table,
    choose_budget,
    choose_subject,
    configure,
    estimate_gain,
    estimate_success,
    map_seeds,
    mean_metric,
    name_models,
    play_greedily,
    play_test,
    publish,
    resume_pipeline,
    share_legal,
    success_if_legal,
)

from sonde.core import AGENT, Action, Episode, ProgramPolicy, Trajectory, View, make
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.evaluation.metrics import Estimate
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game
from sonde.train.data import as_sampled
from sonde.train.model_io import load_model
from sonde.train.presets import preset

METHODS = ("SFT", "SFT + RPO", "GRPO", "SFT on the teacher")
ALONE = Budget(tasks=1200, k=3, tests=250, test_k=2, seeds=3)
QUICK = Budget(tasks=24, k=8, tests=32, test_k=2, seeds=1)


class Trial(NamedTuple):
    """A model and the games that it is trained on together; where else it is tested, as it sees these games; the size
    of the experiment. The names of its tables begin with `table`."""

    subject: Subject
    games: Mapping[str, Subject]
    untrained: Mapping[str, Subject]
    full: Budget
    table: str


def resize(game: str, **options: Any) -> Subject:
    """One of the three games in another size."""
    return replace(MANY, env={**GAMES[game], **options})


TRIALS: Mapping[str, Trial] = {
    "maze": Trial(MAZE, {"maze": MAZE}, {}, ALONE, "maze"),
    "best_arm": Trial(BEST_ARM, {"best_arm": BEST_ARM}, {}, ALONE, "best_arm"),
    "games": Trial(
        MANY,
        {name: replace(MANY, env=env) for name, env in GAMES.items()},
        {
            "cities": replace(MANY, env={"name": "guess_my_city", "preset": "paprika"}),
            "things": replace(MANY, env={"name": "twenty_questions", "preset": "small"}),
            "bandit": replace(MANY, env={"name": "bernoulli_bandit", "preset": "informative"}),
            "best_arm": replace(MANY, env={"name": "best_arm", "preset": "small"}, context="render"),
            "minesweeper": replace(MANY, env={"name": "minesweeper", "preset": "paprika"}, context="render"),
            "maze, 12 moves": resize("maze", max_turns=12),
            "maze, 36 moves": resize("maze", max_turns=36),
            "lock of 2 digits": resize("combination_lock", length=2),
            "lock of 4 digits": resize("combination_lock", length=4),
            "two circuits": resize("circuit_decoding", circuits=2),
        },
        Budget(tasks=120, k=4, tests=60, test_k=2, seeds=3),
        "objectives_games",
    ),
}

Tests = Mapping[str, Mapping[str, dict[str, Evaluation]]]
"""By temperature, game and method."""


def run_seed(seed: int, trial: Trial, b: Budget, folder: Path, methods: Sequence[str] = METHODS) -> Tests:
    """Train with the requested methods, and test all models."""
    here = seed_folder(folder, trial.table, seed)
    stages = tuple(stage for stage, name in (("sft", "SFT"), ("rpo", "SFT + RPO")) if name in methods)
    models = {"base": trial.subject.model}
    sampled: dict[str, list[Evaluation]] = {}
    if stages:
        envs = [subject.env for subject in trial.games.values()]
        outcome = resume_pipeline(configure(trial.subject, b, seed, envs=envs, stages=stages), here / "pipeline")
        models = name_models(outcome)
        sampled = {name: [*stage.evaluations] for name, stage in zip(models, outcome.stages, strict=True)}
    if "GRPO" in methods:
        models["GRPO"] = train_grpo(trial, b, here / "grpo", seed)
    if "SFT on the teacher" in methods:
        models["SFT on the teacher"] = train_on_teacher(trial, b, here / "teacher", seed)
    tests: Tests = {at: {game: {} for game in (*trial.games, *trial.untrained)} for at in (SAMPLED, GREEDY)}
    for name, model in models.items():
        for i, (game, subject) in enumerate({**trial.games, **trial.untrained}.items()):
            known = sampled[name][i] if name in sampled and game in trial.games else None
            tests[SAMPLED][game][name] = known or play_sampled(subject, model, b, name)
            tests[GREEDY][game][name] = play_greedily(subject, model, subject.make_env(), b.tests, name)
    return tests


def seed_folder(folder: Path, trial: str, seed: int) -> Path:
    return folder / "objectives" / trial / f"seed-{seed}"


def play_sampled(subject: Subject, model: str, b: Budget, label: str) -> Evaluation:
    """The first test tasks at temperature 1."""
    env = subject.make_env()
    return play_test(subject, model, env, env.tasks("test")[: b.tests], b.test_k, label)


def train_grpo(trial: Trial, b: Budget, folder: Path, seed: int) -> str:
    """GRPO on as many episodes as the pipeline plays; the folder of the model."""
    subject, episodes = trial.subject, b.tasks * len(trial.games) * b.k
    known = preset("tiny_grpo", folder=str(folder), seed=seed, max_steps=episodes // 64)
    online = replace(known.online, context=subject.context, max_new_tokens=subject.max_new_tokens)
    settings = known.settings.with_overrides(subject.changes.get("grpo", {}))
    games = [Game(env := g.make_env(), env.tasks("train")[: b.tasks], name) for name, g in trial.games.items()]
    return str(learn_online(subject.model, replace(known, online=online, settings=settings), games, resume=True).model)


def train_on_teacher(trial: Trial, b: Budget, folder: Path, seed: int) -> str:
    """SFT on the reference solvers' wins; the folder of the model."""
    subject, known = trial.subject, preset("tiny_sft", folder=str(folder), seed=seed)
    learning = replace(known.learning, context=subject.context, seed=seed)
    settings = known.settings.with_overrides(subject.changes.get("sft", {}))
    played = [t for game in trial.games.values() for t in play_teacher(game, b.tasks)]
    training = replace(known, learning=learning, settings=settings)
    return str(learn(subject.model, training, played, resume=True).model)


@dataclass(frozen=True, kw_only=True)
class Respaced(ProgramPolicy):
    """A program whose texts have the spacing of the model's tokenizer; `spaced`: and a space before an answer in tags,
    as the model of many games has learned."""

    program: ProgramPolicy
    chat: Chat
    spaced: bool

    def act_now(self, view: View) -> Action:
        said = self.program.act_now(view).text
        text = re.sub("<Answer> ?", "<Answer> ", said) if self.spaced else said
        return Action(self.chat.decode_ids(self.chat.encode(text)))


def play_teacher(subject: Subject, n: int) -> list[Trajectory]:
    """Play the reference solver's episodes of `n` training tasks, in the tokens of the model."""
    env = subject.make_env()
    chat = Chat(load_model(subject.model)[1], label=subject.model, template={})
    student = make("agents:llm", model=make("models:hf", model=subject.model), context=subject.context)
    solver = make(f"agents:{env.spec.reference}")
    shown = Respaced(program=solver, chat=chat, spaced=subject.spaced)
    played: list[Trajectory] = []
    for task in env.tasks("train")[:n]:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            ep = ep.step(shown.act_now(ep.view()))
        played.append(as_sampled(ep.to_trajectory(policies={AGENT: solver}), student, chat))
    return played


def play_bounds(subject: Subject, b: Budget) -> dict[str, Evaluation]:
    """Play floor and ceiling: random play and the reference solver."""
    env = subject.make_env()
    tasks = env.tasks("test")[: b.tests]
    ids = [task.id for task in tasks]
    return {
        name: evaluate(
            collect_trajectories(env, {AGENT: make(f"agents:{agent}")}, tasks, Plan(k=b.test_k)), tasks=ids, k=b.test_k
        )
        for name, agent in (("random", env.spec.floor), ("reference", env.spec.reference))
    }


# --- report ----------------------------------------------------------------------------------------------------------


def report_trained(title: str, game: str, results: Sequence[Tests], bounds: Mapping[str, Evaluation]) -> list[Table]:
    """Two tables of a game that was trained on: what every model does, and its gain over the base at either
    temperature."""
    found = list_tests(results, game, SAMPLED)
    columns = {**{name: [e] for name, e in bounds.items()}, **found}
    heads = ["", "success", "pass@k", "turns", "bits / turn", "success if legal", "legal episodes"]
    rows = [
        [name, *(mean_metric(tests, m) for m in ("success", f"pass@{tests[0].k}", "turns", "bits_per_turn")),
         *(sum(map(f, tests)) / len(tests) for f in (success_if_legal, share_legal))]
        for name, tests in columns.items()
    ]  # fmt: skip
    gains = {at: estimate_gains(results, game, at) for at in results[0]}
    trained = [[name, *(gains[at][name] for at in gains)] for name in found if name != "base"]
    return [
        Table(f"{title}: {len(results)} seeds", heads, rows),
        Table("success minus base at that temperature, by task, 95 % interval over seeds and tasks",
              ["", *gains], trained),
    ]  # fmt: skip


def report_untrained(games: Sequence[str], results: Sequence[Tests], at: str) -> Table:
    """Games and sizes that were not trained on: success of the base, and what each training changed."""
    rows = [
        [game, estimate_success(list_tests(results, game, at)["base"]).mean,
         *(gain for gain in estimate_gains(results, game, at).values())]
        for game in games
    ]  # fmt: skip
    trained = estimate_gains(results, games[0], at)
    return Table(f"not trained on, {at}: base, and minus base", ["", "base", *trained], rows)


def list_tests(results: Sequence[Tests], game: str, at: str) -> dict[str, list[Evaluation]]:
    """The tests of every seed, by method."""
    return {name: [tests[at][game][name] for tests in results] for name in results[0][at][game]}


def estimate_gains(results: Sequence[Tests], game: str, at: str) -> dict[str, Estimate]:
    """What each method changed in success."""
    found = list_tests(results, game, at)
    return {name: estimate_gain(tests, found["base"]) for name, tests in found.items() if name != "base"}


def join_tables(tables: Mapping[str, Table]) -> Table:
    """Tables of the same columns, one after the other, with the name of the game before that of the row."""
    first, *_ = tables.values()
    if len(tables) == 1:
        return first
    return first._replace(
        rows=[[f"{game}: {row[0]}", *row[1:]] for game, table in tables.items() for row in table.rows]
    )


def report(
    trial: Trial, b: Budget, results: Sequence[Tests], bounds: Mapping[str, Mapping[str, Evaluation]]
) -> dict[str, Table]:
    """All tables, by their names for the paper's page."""
    of = {game: report_trained(f"{b.tests} test tasks", game, results, bounds[game]) for game in trial.games}
    found = {end: join_tables({game: tables[i] for game, tables in of.items()}) for i, end in enumerate(("", "_gains"))}
    if trial.untrained:
        ends = (("_untrained", SAMPLED), ("_untrained_greedy", GREEDY))
        found |= {end: report_untrained([*trial.untrained], results, at) for end, at in ends}
    return {trial.table + end: table for end, table in found.items()}


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("of", nargs="?", default="maze", choices=TRIALS, help="what is trained (default maze)")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, help="what to train (default all)")
    args = parser.parse_args()
    if "SFT + RPO" in args.methods and "SFT" not in args.methods:
        parser.error("--methods: SFT + RPO needs SFT")
    trial = choose_trial(args)
    b = choose_budget(args, trial.full, QUICK)
    results = map_seeds(run_seed, b.seeds, args.workers, trial, b, args.out, tuple(args.methods))
    saved = report(trial, b, results, {game: play_bounds(subject, b) for game, subject in trial.games.items()})
    numbers = {name: table.rows for name, table in saved.items()}
    publish(args, trial.table, [*saved.values()], {**numbers, "seeds": b.seeds}, saved, b.seeds)


def choose_trial(args: Any) -> Trial:
    """The trial, with another model where `--model` names one."""
    trial = TRIALS[args.of]
    games, untrained = (
        {name: choose_subject(args, subject) for name, subject in known.items()}
        for known in (trial.games, trial.untrained)
    )
    return trial._replace(subject=choose_subject(args, trial.subject), games=games, untrained=untrained)


if __name__ == "__main__":
    main()
