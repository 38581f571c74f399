"""A language model that was not made for it learns several games of three papers: SmolLM2-135M, SFT, then RPO.

    python recipes/paprika/smollm2_games.py [--quick] [--size laptop|server] [--players NAME ...] [--json] [--save]

1. *Teachers.* The reference agent of each game plays tasks of the train split.
2. *SFT.* SmolLM2-135M-Instruct learns the teachers' wins of all games together, one epoch, without an example in the
   prompt.
3. *RPO.* The model that SFT made plays tasks of the train split itself, as the paper does at temperature 1.5 and min-p
   0.3, and learns from a better and a worse game of each task. The reference model is SmolLM2 as it was: the round
   began there.
4. *Tests.* Tasks of the test split of these games and of a game that was held out, at temperature 0.7 and min-p 0.3:
   SmolLM2 as it was, without and with examples in its prompt; after SFT; after RPO; random play and the teacher.
   Likelihood of plain English before and after (`retention.py`).

`--players` tests some of these alone; without `SFT + RPO` the third step is left out.

Every part is a folder under OUT, and a part that is there is not computed again, so a killed run goes on; what it cost
is that of the attempt that finished it. `--size server` is the same with more of everything, for a machine with a GPU.

Source: PAPRIKA (arXiv 2502.17543), sections 3.2, 3.3 and 4. Departures: programs teach first, since SmolLM2 wins no
game by itself; all won games are learned from (`distinct=False`); adapters of rank 16; one training, so no spread over
seeds.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from common import Parser, Table, cpu_seconds, publish, tabulate_wins
from retention import TEXT, compare_nats, predict_english
from rows import load_or_make_row, load_rows

from sonde.core import AGENT, Env, Trajectory, content_hash, make, run_sync
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.metrics import Estimate, paired_difference
from sonde.evaluation.run_evaluation import rescore_run
from sonde.models.files.fetch import fetch_model
from sonde.models.files.saving import hide_progress_bars
from sonde.models.hf import native_dtype
from sonde.runs.rollout import close, record_plan
from sonde.runs.run import RunConfig, count_missing, prepare_run
from sonde.runs.store import Run
from sonde.train.by_name import learn
from sonde.train.selection import SFTRule, select_pairs
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.training import Learning, Training
from sonde.train.training_folder import DATA

NAME = "smollm2_games"
PLAYERS = RANDOM, BASE, EXAMPLES, SFT, RPO, TEACHER = (
    "random", "as it was", "with examples", "SFT", "SFT + RPO", "teacher",
)  # fmt: skip
PAIRED = ((SFT, EXAMPLES), (SFT, RANDOM), (RPO, SFT))
"""Players whose success is compared, the better one first as one would hope."""
REPLY = 16
"""Tokens of the longest answer; the teachers' have at most 14."""


class Game(NamedTuple):
    """An environment that is learned from, and how many of the teacher's games a laptop has time for."""

    env: str
    preset: str
    taught: int

    @property
    def name(self) -> str:
        return f"{self.env}/{self.preset}"

    def make_env(self) -> Env[Any]:
        return make(self.env, preset=self.preset)


LEARNED = (
    Game("minesweeper", "paprika", 45),
    Game("best_arm", "small", 26),
    Game("twenty_questions", "delta_belief", 60),
    Game("maze", "pairs", 72),
)
HELD_OUT = Game("guess_my_city", "paprika", 0)


class Size(NamedTuple):
    """How much of everything: the share of `Game.taught`, tasks and samples of the model's own play per game, tasks of
    a test."""

    taught: float
    tasks: int
    k: int
    tests: int
    batch: int = 64


SIZES: Mapping[str, Size] = {"laptop": Size(1.0, 10, 4, 50), "server": Size(10.0, 200, 20, 150, 512)}
QUICK = Size(0.05, 2, 2, 2)
N_EXAMPLES = 2


def choose_size(args: Any) -> Size:
    size = QUICK if args.quick else SIZES[args.size]
    return size._replace(tasks=args.tasks or size.tasks, tests=args.tests or size.tests)


# --- playing ---------------------------------------------------------------------------------------------------------


def configure_model(model: str, size: Size, *, examples: int = 0, playing: bool = False) -> dict[str, Any]:
    """The model in the agent's seat: in a test, or playing games to learn from."""
    backend = {"name": "models:hf", "model": model, "dtype": native_dtype(), "max_batch": size.batch}
    return {
        "name": "agents:llm", "model": backend, "examples": examples, "answer_only": True, "max_new_tokens": REPLY,
        "temperature": 1.5 if playing else 0.7, "min_p": 0.3,
    }  # fmt: skip


def configure_program(game: Game, role: str) -> dict[str, Any]:
    """The game's reference agent, or random play (`floor`)."""
    return {"name": f"agents:{getattr(game.make_env().spec, role)}"}


def _configure_teacher(game: Game) -> dict[str, Any]:
    return configure_program(game, "reference")


def play_games(
    games: Sequence[Game], agent: Callable[[Game], Mapping[str, Any]], folder: Path, label: str, **plan: Any
) -> dict[str, Evaluation]:
    """Games that the folder holds are not played again. All environments are played at once, so that a model decodes
    the replies of all of them in one batch; one policy serves those whose agent is the same."""
    runs = {game: prepare_run(_configure_run(game, agent(game), label, plan)) for game in games}
    policies = {content_hash(run.policies[AGENT].config): run.policies[AGENT] for run in runs.values()}

    def play(game: Game) -> None:
        run = runs[game]
        seats = {**run.policies, AGENT: policies[content_hash(run.policies[AGENT].config)]}
        record_plan(
            run.env, seats, run.tasks, run.config.make_plan(), folder / game.env, run.resolved_config, keep_open=True
        )

    with ThreadPoolExecutor(len(games)) as pool:
        list(pool.map(play, [game for game in games if count_missing(runs[game], folder / game.env)]))
    run_sync(close(policies))
    return {game.name: rescore_run(run, folder / game.env) for game, run in runs.items()}


def _configure_run(game: Game, agent: Mapping[str, Any], label: str, plan: Mapping[str, Any]) -> RunConfig:
    found = {"k": 1, "split": "test", **plan}
    n = min(found.pop("n_tasks"), len(game.make_env().tasks(found["split"])))
    return RunConfig(env=game.make_env().config, seats={AGENT: agent}, label=label, n_tasks=n, **found)


# --- training --------------------------------------------------------------------------------------------------------


def configure_sft(folder: Path) -> Training:
    return Training(objective="sft", settings=_settings(folder, lr=SFT_RATE), learning=_learning(encode=True))


def configure_rpo(folder: Path) -> Training:
    options = {"beta": 0.1, "alpha": 1.0}
    return Training(objective="rpo", options=options, settings=_settings(folder, lr=RPO_RATE), learning=_learning())


SFT_RATE, RPO_RATE = 1e-3, 1e-4


def _settings(folder: Path, lr: float) -> TrainSettings:
    return TrainSettings(
        folder=str(folder), lr=lr, epochs=1.0, batch_size=2, micro_batch=2, micro_tokens=2048, packing=True,
        bf16=native_dtype() == "bfloat16", lora=LoraSettings(r=16, alpha=32.0), save_steps=10, keep=1,
    )  # fmt: skip


def _learning(*, encode: bool = False) -> Learning:
    """`encode`: the texts are a program's."""
    return Learning(encode=encode, sft=SFTRule(distinct=False), answer_only=True)


def train_model(model: str, training: Training, played: Sequence[Trajectory], reference: str | None) -> dict[str, Any]:
    """Train, or go on; the tokens of all rows, and what came out."""
    folder = Path(training.settings.folder)
    done = learn(model, training, played, reference=reference, resume=folder.is_dir())
    data = json.loads((folder / DATA).read_bytes())
    return {
        "model": str(done.model), "items": data["items"], "tokens": data["rows"]["tokens"], "steps": done.steps,
        "first_loss": done.history[0]["loss"], "last_loss": done.history[-1]["loss"],
    }  # fmt: skip


# --- the whole -------------------------------------------------------------------------------------------------------


class Experiment:
    """All parts, each computed once, and what each cost."""

    def __init__(self, size: Size, out: Path) -> None:
        self.size, self.out = size, out / NAME
        self.source = str(fetch_model("smollm2"))

    def run_part(self, name: str, job: Callable[[], Mapping[str, Any]], **key: int) -> Mapping[str, Any]:
        """The part of this name and `key`, with its CPU seconds and the most memory until its end."""
        return load_or_make_row(self.out, {"part": name, **key}, lambda: measure_cost(job))

    def list_games(self, folder: str) -> list[Trajectory]:
        """The recorded games of a folder, all that are learned from one after the other."""
        return [t for game in LEARNED for t in Run.load(self.out / folder / game.env)]

    def teach(self) -> list[Trajectory]:
        """The teachers' games."""

        def play_teacher(game: Game) -> Mapping[str, Any]:
            n, tasks = max(2, round(game.taught * self.size.taught)), len(game.make_env().tasks("train"))
            plan = {"split": "train", "n_tasks": min(n, tasks), "k": -(-n // tasks)}
            found = play_games([game], _configure_teacher, self.out / "teachers", TEACHER, **plan)[game.name]
            return {"games": len(found.rows), "won": sum(row.win for row in found.rows)}

        for game in LEARNED:
            self.run_part(f"teacher, {game.name}", lambda game=game: play_teacher(game))
        return self.list_games("teachers")

    def play(self, model: str) -> list[Trajectory]:
        """The model's own games of the train split, several of each task."""

        def play_own() -> Mapping[str, Any]:
            agent, folder = configure_model(model, self.size, playing=True), self.out / "play"
            plan = {"split": "train", "n_tasks": self.size.tasks, "k": self.size.k, "seed": 1}
            found = play_games(LEARNED, lambda _: agent, folder, SFT, **plan)
            played = [row for e in found.values() for row in e.rows]
            return {"games": len(played), "won": sum(row.win for row in played), "tokens": count_said(folder)}

        self.run_part("own play", play_own)
        return self.list_games("play")

    def train_sft(self) -> str:
        """The model that learned from the teachers."""
        played, training = self.teach(), configure_sft(self.out / "sft")
        return str(self.run_part("SFT", lambda: train_model(self.source, training, played, None))["model"])

    def train_rpo(self, model: str) -> str | None:
        """The model that then learned from its own games; None where no task had a better and a worse one."""
        played, training = self.play(model), configure_rpo(self.out / "rpo")
        if not select_pairs(played, training.learning.pairs).pairs:
            return None
        return str(self.run_part("RPO", lambda: train_model(model, training, played, self.source))["model"])

    def test(self, label: str, agent: Callable[[Game], Mapping[str, Any]]) -> dict[str, Evaluation]:
        """One game of each test task, by game. More tasks than before are a part of their own."""
        games, folder = (*LEARNED, HELD_OUT), self.out / "tests" / label.replace(" ", "-")

        def play_tests() -> dict[str, Evaluation]:
            return play_games(games, agent, folder, label, n_tasks=self.size.tests)

        def count_played() -> Mapping[str, Any]:
            before = count_said(folder)
            play_tests()
            return {"tokens": count_said(folder) - before}

        self.run_part(f"test, {label}", count_played, tests=self.size.tests)
        return play_tests()


def measure_cost(job: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """What the job found, its CPU seconds, and the most memory of this process until its end."""
    begun = cpu_seconds()
    found = job()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {**found, "cpu_seconds": round(cpu_seconds() - begun, 1), "peak_mib": round(peak)}


def count_said(folder: Path) -> int:
    """The tokens that the agent sampled in the runs of this folder."""
    acts = (act for game in folder.glob("*/config.json") for t in Run.load(game.parent) for act in t.acts)
    return sum(c.usage.completion for act in acts for c in act.action.completions)


def run_experiment(size: Size, out: Path, players: Sequence[str]) -> dict[str, Any]:
    """Everything that tests of these players need, in order."""
    e = Experiment(size, out)
    models = {BASE: e.source, SFT: e.train_sft()}
    if RPO in players and (model := e.train_rpo(models[SFT])):
        models[RPO] = model
    agents: dict[str, Callable[[Game], Mapping[str, Any]]] = {
        RANDOM: lambda game: configure_program(game, "floor"),
        TEACHER: _configure_teacher,
        SFT: lambda _: configure_model(models[SFT], size),
        EXAMPLES: lambda _: configure_model(e.source, size, examples=N_EXAMPLES),
        BASE: lambda _: configure_model(e.source, size),
        RPO: lambda _: configure_model(models[RPO], size),
    }
    nats = {name: e.run_part(f"English, {name}", lambda m=m: score_english(m)) for name, m in models.items()}
    tested = [name for name in agents if name in players and (name != RPO or RPO in models)]
    tests = {name: e.test(name, agents[name]) for name in tested}
    return {"tests": tests, "nats": {name: found["nats"] for name, found in nats.items()}, "parts": load_rows(e.out)}


def score_english(model: str) -> dict[str, Any]:
    """Nats per token of the passages of `retention.py`."""
    return {"nats": predict_english(model, TEXT.read_text("utf-8").splitlines())}


# --- report ----------------------------------------------------------------------------------------------------------


def share_readable(e: Evaluation) -> float:
    """The share of turns whose reply the environment could read and allowed."""
    turns = sum(row.turns for row in e.rows)
    bad = sum(len(row.called.get("invalid", ())) + (row.kind == "unreadable") for row in e.rows)
    return 1 - bad / turns if turns else 0.0


def list_names() -> list[tuple[str, str]]:
    """Games as the keys of the tests, and as the tables have them."""
    return [*((game.name, game.name) for game in LEARNED), (HELD_OUT.name, f"{HELD_OUT.name} (held out)")]


def tabulate_tests(tests: Mapping[str, Mapping[str, Evaluation]]) -> list[Table]:
    """Success, readable turns and differences, by game."""
    shown = [name for name in PLAYERS if name in tests]
    models = [name for name in shown if name not in (RANDOM, TEACHER)]
    paired = [(a, b) for a, b in PAIRED if a in tests and b in tests]
    success = [[title, *(str(tests[s][name].metrics["success"]) for s in shown)] for name, title in list_names()]
    read = [[title, *(share_readable(tests[s][name]) for s in models)] for name, title in list_names()]
    bits = [[title, *(_cell(tests[s][name].metrics["bits"]) for s in shown)] for name, title in list_names()]
    gains = [
        [title, *(str(estimate_difference(tests[a][name], tests[b][name])) for a, b in paired)]
        for name, title in list_names()
    ]
    return [
        Table("success on tasks of the test split", ["", *shown], success),
        Table("share of turns that could be read", ["", *models], read),
        Table("bits learned about the hidden state in a game", ["", *shown], bits),
        Table("difference in success, paired by task", ["", *(f"{a} minus {b}" for a, b in paired)], gains),
    ]


def _cell(value: Estimate | None) -> str | None:
    return None if value is None else str(value)


def estimate_difference(after: Evaluation, before: Evaluation) -> Estimate:
    return paired_difference(tabulate_wins(after), tabulate_wins(before))


def tabulate_english(nats: Mapping[str, list[list[float]]]) -> Table:
    found = [compare_nats(name, nats[BASE], [nats[name]]) for name in (SFT, RPO) if name in nats]
    cells = [[k.name, k.texts, k.before, k.after, str(k.change)] for k in found]
    return Table("nats per token of plain English", ["", "passages", "before", "after", "change"], cells)


def tabulate_costs(parts: Sequence[Mapping[str, Any]]) -> Table:
    """What the parts cost, those of one kind together."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        kinds.setdefault(_kind_of_part(str(part["part"])), []).append(part)
    cells = [_cost_row(name, found) for name, found in kinds.items()]
    return Table("costs", ["", "tokens", "CPU s", "tokens per CPU s", "peak MiB until then"], cells)


def _kind_of_part(name: str) -> str:
    """Without the game, where it names one."""
    return name.partition(",")[0] if "/" in name else name


def _cost_row(name: str, parts: Sequence[Mapping[str, Any]]) -> list[Any]:
    tokens, cpu = sum(part.get("tokens", 0) for part in parts), sum(part["cpu_seconds"] for part in parts)
    speed = round(tokens / cpu) if tokens and cpu else None
    return [name, tokens or None, round(cpu, 1), speed, max(part["peak_mib"] for part in parts)]


def tabulate_training(parts: Sequence[Mapping[str, Any]]) -> Table:
    """What was played to learn from, and the two trainings."""
    played = [
        [part["part"], f"{part['won']} of {part['games']} won", None, None] for part in parts if "won" in part
    ]  # fmt: skip
    trained = [
        [part["part"], f"{part['items']} items", part["steps"], f"{part['first_loss']:.4f} to {part['last_loss']:.4f}"]
        for part in parts
        if "steps" in part
    ]
    return Table("what was learned from", ["", "games", "steps", "loss, first to last step"], [*played, *trained])


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("--size", choices=SIZES, default="laptop", help="how much of everything (default laptop)")
    parser.add_argument("--players", nargs="+", choices=PLAYERS, default=PLAYERS, metavar="NAME", help="who is tested")
    args = parser.parse_args()
    with hide_progress_bars():
        found = run_experiment(choose_size(args), args.out, args.players)
    tests = dict(zip(("", "_read", "_bits", "_gains"), tabulate_tests(found["tests"]), strict=True))
    parts = {"_training": tabulate_training(found["parts"]), "_costs": tabulate_costs(found["parts"])}
    saved = {**tests, "_english": tabulate_english(found["nats"]), **parts}
    tables = list(saved.values())
    numbers = {"tables": [table._asdict() for table in tables], "parts": found["parts"]}
    seconds = sum(part["cpu_seconds"] for part in found["parts"])
    publish(args, NAME, tables, numbers, {NAME + end: table for end, table in saved.items()}, seconds=seconds)


if __name__ == "__main__":
    main()
