"""Train one small model that plays many games: a vocabulary that spells any text, eleven games, one network.

    python recipes/tiny/many.py --to runs/tiny/many-0 --seed 0             # play, tokenizer, network, measurement
    python recipes/tiny/many.py --to runs/tiny/many-0 --seed 0 --quick     # a hundredth of it, to test the script
    python recipes/tiny/many.py --to runs/tiny/many-0 --only measure --tests 50 --games maze-pairs best_arm-small

The other sonde-tiny models know the words of one environment, so nothing can be asked of them about *generalisation*:
training on some games and testing on another (PAPRIKA, figures 3, 4 and 13), transfer, retention. This one can spell
any text, and has seen the games of four papers.

Its teachers are those of the other models, half of the time at their best. Where there are none, they are the reference
agents, diluted with random legal answers: in half of the episodes with a tenth of them, in the other half with a share
that is drawn anew for each episode (`agents:diluted`). They play the tasks of the train split; all tasks where the
stories, things or cities themselves must be in the weights. What the environment says is learned too, with a tenth of
the weight: it teaches the language of the games.

Four things make so small a network learn so many games in hours. Sentences and answers that a game repeats are tokens
of their own, beside a byte-level BPE (superwords, as in SuperBPE, Liu et al. 2025; ours are whole pieces between two
cuts). Every game is read in as many tokens, however long its episodes are. The strongest play is read first. And a game
whose board says everything is read as its boards.

Everything is kept in the folder and continued after an interruption: `play/GAME` are run folders, `checkpoint.pt` is
the network in training, `games.json` has the measurements, of which `--only bounds` makes those that need no model.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import corpus
import games
import learn
import torch
import vocab
from corpus import Row
from games import Plan

sys.path.append(str(Path(__file__).parents[1]))
from rows import save_table

import sonde
from sonde.core import AGENT, Env, Episode, Message, Rng, Task, Trajectory
from sonde.evaluation import metrics
from sonde.runs.rollout import Plan as Rollout
from sonde.runs.rollout import collect_trajectories
from sonde.runs.run import RunConfig, play_run, prepare_run

WINDOW, WORDS = 2048, 1024
SHAPE = learn.Shape(width=128, inner=384, layers=4, heads=4)
PLAN = Plan(steps=12000, tokens=2048, rate=4e-3, told=0.1, heard=0.2, muon=True)
TEST_TASKS, TEST_K = 100, 2
STRONG = 0.6
"""The share of the steps in which the strongest play alone is read. In a mixture from the beginning, half of the
answers are noise, which a network has to average out before it sees any skill."""
HEARD = re.compile(r"(?=\n)|(?<=[^.][.:;!?])(?= (?![^<]*</))|(?= \()")
SAID = re.compile(r"(?=\n)|(?<=[.:;!?])(?= )|(?<=<Answer>)|(?=</Answer>)")
"""Where a text is cut into pieces: lines, sentences, before and after a colon. An answer is one piece in the text that
asks for it, and in the agent's own text apart from its tags."""
CELLS = re.compile(r"\s*\S(?: \S)*")
"""A row of cells or a single sign."""
COMMON = 0.0015
"""A piece in this share of a game's conversations is one token."""
BOUNDS = ("floor", "reference")
REPLY = 128
"""Tokens of the longest answer, a rule of cellular automata."""


class Taught(NamedTuple):
    """A game, the paper that it comes from, how many episodes of it the model reads, and what it sees of a game
    (`agents/llm.py`): the board alone, where a board says everything. `teachers`: who plays them, an entry of
    `games.GAMES`; without one, diluted reference agents. `splits`: the tasks that it is shown. `max_turns`: fewer turns
    than the preset's, so that an episode fits into the window."""

    env: str
    preset: str
    paper: str
    episodes: int
    context: Literal["full", "render"]
    teachers: str = ""
    splits: tuple[str, ...] = ("train",)
    max_turns: int | None = None

    @property
    def name(self) -> str:
        return f"{self.env}-{self.preset}"

    def make_env(self) -> Env[Any]:
        """The environment as the model knows it."""
        limit = {} if self.max_turns is None else {"max_turns": self.max_turns}
        return sonde.make(self.env, preset=self.preset, **limit)

    def list_tests(self, n: int) -> list[Task]:
        """The first test tasks; where they are too few and the model was shown them anyway, train tasks follow."""
        env = self.make_env()
        known = [*env.tasks("test"), *(env.tasks("train") if "test" in self.splits else ())]
        return known[:n]


GAMES = (
    Taught("best_arm", "paprika", "paprika", 12000, "full", "best_arm_stories", splits=("train", "test")),
    Taught("best_arm", "small", "paprika", 16000, "render", "best_arm"),
    Taught("guess_my_city", "paprika", "paprika", 16000, "full", splits=("train", "test")),
    Taught("minesweeper", "paprika", "paprika", 10000, "render"),
    Taught("twenty_questions", "small", "paprika", 20000, "full", "twenty_questions", splits=("train", "test")),
    Taught("maze", "pairs", "lmrl", 12000, "full", "maze"),
    Taught("circuit_decoding", "mtp", "mtp", 12000, "full", "circuit_decoding"),
    Taught("word_guess", "mtp", "mtp", 12000, "full"),
    Taught("bernoulli_bandit", "informative", "psrl", 6000, "full"),
    Taught("combination_lock", "psrl", "psrl", 16000, "full", "combination_lock"),
    Taught("river_swim", "length3", "psrl", 6000, "full", max_turns=120),
)


# --- play ------------------------------------------------------------------------------------------------------------


class Conversation(NamedTuple):
    """A chat between a game and a teacher, and whether the teacher did its best."""

    messages: tuple[Message, ...]
    strong: bool


def list_conversations(game: Taught, folder: Path, episodes: int, seed: int) -> list[Conversation]:
    """What the model reads of a game. Where it sees the board alone, every turn is a conversation of its own, and some
    turns of each episode are kept."""
    rng = Rng(seed, "many", game.name)
    played = teach_beginner(game, episodes, rng) if game.teachers else play_references(game, folder, episodes, seed)
    found: list[Conversation] = []
    for messages, strong in played:
        said = [*map(space_answer, messages)]
        turns = [said[i : i + 2] for i in range(0, len(said), 2)] if game.context == "render" else [said]
        kept = rng.sample(turns[:-1], min(len(turns), PLAN.turns) - 1)
        found += [Conversation(tuple(turn), strong) for turn in (*kept, turns[-1])]
    return found


def teach_beginner(game: Taught, episodes: int, rng: Rng) -> Iterator[Conversation]:
    """Episodes of the teachers of the other sonde-tiny models, half of them by the strongest."""
    lessons = games.GAMES[game.teachers]()
    best = [*next(lesson for lesson in lessons.lessons if not lesson.drill).skills][-1]
    for n in range(episodes):
        skill = best if n % 2 == 0 else games.draw_skill(lessons.lessons[-1].skills, rng)
        said, _ = games.teach_episode(lessons, skill, rng)
        yield Conversation(end_with_answer(said), n % 2 == 0)


def play_references(game: Taught, folder: Path, episodes: int, seed: int) -> Iterator[Conversation]:
    """Each episode of the diluted reference agents as the chat that `agents:llm` has with the game, to the agent's last
    answer. Episodes that the folder holds are not played again."""
    env = game.make_env()
    reference = {"name": f"agents:{env.spec.reference}"}
    mild, mixed = ({"name": "agents:diluted", "policy": reference, "epsilon": epsilon} for epsilon in (0.1, None))
    known = {split: len(env.tasks(split)) for split in game.splits}
    for split, tasks in known.items():
        share = max(1, episodes * tasks // sum(known.values()))
        n = min(tasks, share)
        config = RunConfig(
            env=env.config, split=split, n_tasks=n, k=-(-share // n), seed=seed,
            seats={AGENT: {"name": "agents:one_of", "policies": [mild, mixed]}},
        )  # fmt: skip
        for trajectory in play_run(prepare_run(config), folder / split):
            memory = trajectory.acts[0].action.memory
            strong = isinstance(memory, Mapping) and memory.get("drawn") == 0  # the first of the two players
            yield Conversation(list_messages(game, env, trajectory), strong)


def list_messages(game: Taught, env: Env[Any], trajectory: Trajectory) -> tuple[Message, ...]:
    """What the agent saw and said: the chat, or each board with the answer to it."""
    if game.context == "full":
        return end_with_answer(Episode.replay(env, trajectory).view(AGENT).messages)
    stages = zip(Episode.stages(env, trajectory), trajectory.acts, strict=False)
    turns = [(stage.view(AGENT), act.action.text) for stage, act in stages if act.seat == AGENT]
    return tuple(chain.from_iterable((Message("user", str(view.rendered)), Message("assistant", said))
                                     for view, said in turns))  # fmt: skip


def end_with_answer(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Without what a lost game says at last."""
    return tuple(messages if messages[-1].role == "assistant" else messages[:-1])


def space_answer(message: Message) -> Message:
    """An answer that begins with a space, as names in a list do, so that a name has the same tokens in both. What the
    game says stays as it is."""
    if message.role != "assistant":
        return message
    return message._replace(content=re.sub("<Answer> ?", "<Answer> ", message.content))


# --- text ------------------------------------------------------------------------------------------------------------


def find_phrases(conversations: Sequence[Conversation]) -> list[str]:
    """The pieces of text that a game repeats: sentences, questions, answers. Each is to be one token, so that a tiny
    model learns what they mean rather than how they are spelled. Rows of cells are read cell by cell."""
    seen = Counter(chain.from_iterable(dict.fromkeys(chain(*map(cut_pieces, chat.messages))) for chat in conversations))
    least = max(10.0, COMMON * len(conversations))
    return [piece for piece, n in seen.items() if n >= least and len(piece) > 2 and not CELLS.fullmatch(piece)]


def cut_pieces(message: Message) -> list[str]:
    """The pieces of a message."""
    return (SAID if message.role == "assistant" else HEARD).split(message.content)


def make_tokenizer(texts: Iterator[str], phrases: Sequence[str], words: int) -> Any:
    """Byte-level BPE, so that it can spell everything, and the phrases as tokens of their own; digits stay apart, each
    with the space before it, since codes and boards are read digit by digit. The chat template is that of the other
    sonde-tiny models."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r" ?\d"), behavior="isolated")
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    raw.decoder = decoders.ByteLevel()
    special = [vocab.PAD, vocab.END, *vocab.SPECIAL[3:]]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=words, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator(texts, trainer)
    raw.add_tokens([AddedToken(phrase, normalized=False) for phrase in phrases])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token=vocab.PAD, eos_token=vocab.END, additional_special_tokens=special[2:],
        model_max_length=WINDOW, clean_up_tokenization_spaces=False,
    )  # fmt: skip
    fast.chat_template = vocab.TEMPLATE
    return fast


def encode_rows(conversations: Iterable[Conversation], encoder: corpus.Encoder) -> list[Row]:
    """A row for each conversation that fits into the window."""
    rows = (encoder.encode_row(chat.messages) for chat in conversations)
    return [Row(array("H", row.ids), array("b", row.what)) for row in rows if len(row.ids) <= WINDOW]


def generate_batches(games: Sequence[Sequence[Row]], pad: int, rng: Rng) -> Iterator[corpus.Batch]:
    """Batches of rows without end, from each game as many tokens; a game's rows come in a new order in every epoch."""
    sources = [_repeat_rows(rows, Rng(rng.getrandbits(63), i)) for i, rows in enumerate(games)]
    weights = [len(rows) / sum(len(row.ids) for row in rows) for rows in games]
    while True:
        drawn = rng.choices(sources, weights, k=corpus.POOL)
        yield from corpus.make_batches([next(source) for source in drawn], pad, PLAN, rng)


def _repeat_rows(rows: Sequence[Row], rng: Rng) -> Iterator[Row]:
    while True:
        order = [*rows]
        rng.shuffle(order)
        yield from order


# --- training --------------------------------------------------------------------------------------------------------


def train(folder: Path, read: Sequence[Sequence[Conversation]], seed: int, steps: int) -> None:
    """Tokenizer and network, saved as a folder that `models:hf` loads."""
    phrases = dict.fromkeys(phrase for conversations in read for phrase in find_phrases(conversations))
    sample = (message.content for conversations in read for chat in conversations[:300] for message in chat.messages)
    tokenizer = make_tokenizer(sample, [*phrases], WORDS)
    encoder = corpus.Encoder(tokenizer)
    strong, others = (
        [encode_rows([chat for chat in chats if chat.strong == best], encoder) for chats in read]
        for best in (True, False)
    )
    rows = [[*best, *rest] for best, rest in zip(strong, others, strict=True)]
    model = learn.make_network(len(tokenizer), WINDOW, tokenizer.eos_token_id, tokenizer.pad_token_id, seed, SHAPE)
    size, kept = sum(p.numel() for p in model.parameters()), sum(map(len, rows))
    tokens = sum(len(row.ids) for game in rows for row in game)
    print(
        f"{size:,} parameters, {len(tokenizer)} tokens known, {kept:,} rows, {tokens:,} tokens, {steps} steps",
        flush=True,
    )
    rng, pad = Rng(seed, "many", "data"), tokenizer.pad_token_id
    source = chain(islice(generate_batches(strong, pad, rng), round(STRONG * steps)), generate_batches(rows, pad, rng))
    trained = learn.train_network(PLAN, model, source, steps, show_progress(steps), checkpoint=folder / "checkpoint.pt")
    trained.model.config.use_cache = True
    trained.model.generation_config.use_cache = True
    trained.model.to(torch.bfloat16).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    facts = {
        "seed": seed, "parameters": size, "words": len(tokenizer), "phrases": len(phrases), "steps": trained.planned,
        "rows": kept, "tokens": trained.tokens, "loss": round(trained.loss, 4),
        "cpu_seconds": round(trained.cpu_seconds), "threads": torch.get_num_threads(),
    }  # fmt: skip
    (folder / "model" / "training.json").write_text(json.dumps(facts, indent=2) + "\n")


def show_progress(steps: int) -> learn.Report:
    """Prints a line every 100 steps."""
    began = time.time()

    def report(step: int, loss: float, seconds: float) -> None:
        left = (time.time() - began) * (steps - step) / step / 60
        print(f"  step {step:6d}  loss {loss:.4f}  {seconds:7.0f} CPU s  {left:5.0f} min left", flush=True)

    return report


# --- measurement -----------------------------------------------------------------------------------------------------


def measure_bounds(game: Taught, tasks: int) -> dict[str, Any]:
    """Success of random play and of the reference on test tasks."""
    spec = game.make_env().spec
    roles = {role: play_tests(game, sonde.make(f"agents:{getattr(spec, role)}"), tasks)[0] for role in BOUNDS}
    return {"game": game.name, "tasks": tasks, "k": TEST_K, "episodes": TEST_K * len(game.list_tests(tasks)), **roles}


def measure_model(game: Taught, model: Path, tasks: int) -> dict[str, Any]:
    """Success of the model on the same tasks at two temperatures, and the share of its turns that can be read."""

    def player(temperature: float) -> Any:
        backend = sonde.make("models:hf", model=str(model), max_batch=128, dtype="float32")
        play = {"context": game.context, "temperature": temperature, "min_p": 0.0, "max_new_tokens": REPLY}
        return sonde.make("agents:llm", model=backend, **play)

    (warm, readable), (cool, _) = (play_tests(game, player(temperature), tasks) for temperature in (1.0, 0.7))
    return {"1.0": warm, "0.7": cool, "readable": readable}


def play_tests(game: Taught, policy: Any, tasks: int) -> tuple[list[float], float]:
    """Success on test tasks, with its interval, and the share of turns that can be read."""
    rows = collect_trajectories(game.make_env(), {AGENT: policy}, game.list_tests(tasks), Rollout(k=TEST_K))
    wins = [[float(t.outcome is not None and t.outcome.success) for t in rows[i : i + TEST_K]]
            for i in range(0, len(rows), TEST_K)]  # fmt: skip
    acts = [act for t in rows for act in t.acts if act.seat == AGENT]
    fine = sum(act.info.get("result") not in ("invalid", "unreadable") for act in acts) / len(acts)
    rate = metrics.rate(wins)
    return [rate.mean, rate.low, rate.high], round(fine, 4)


def load_rows(folder: Path) -> list[Mapping[str, Any]]:
    """What was measured, in the order of the games; of some games the bounds alone, perhaps."""
    file = folder / "games.json"
    rows = {row["game"]: row for row in (json.loads(file.read_text()) if file.is_file() else ())}
    return [rows[game.name] for game in GAMES if game.name in rows]


def load_complete_rows(folder: Path) -> list[Mapping[str, Any]]:
    """Those of games in which the model was measured."""
    return [row for row in load_rows(folder) if "1.0" in row]


def load_row(folder: Path, game: Taught, tasks: int) -> Mapping[str, Any]:
    """What was measured in a game on so many tasks; empty where nothing was."""
    return next((row for row in load_rows(folder) if row["game"] == game.name and row.get("tasks") == tasks), {})


def save_row(folder: Path, row: Mapping[str, Any]) -> None:
    """Keep what was measured in a game, in the place of what was measured in it before."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [*(old for old in load_rows(folder) if old["game"] != row["game"]), row]
    (folder / "games.json").write_text(json.dumps(rows, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True, help="the folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("play", "train", "bounds", "measure"), default=None)
    parser.add_argument("--play", type=Path, default=None, help="the folder of the teachers' play (default: TO/play)")
    parser.add_argument("--steps", type=int, default=PLAN.steps)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the episodes and steps")
    parser.add_argument("--tests", type=int, default=TEST_TASKS, help="test tasks of each game in the measurement")
    parser.add_argument("--games", nargs="*", default=[game.name for game in GAMES], help="names such as maze-pairs")
    parser.add_argument("--save", action="store_true", help="write the table of PAPRIKA's page (docs/papers)")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.to.mkdir(parents=True, exist_ok=True)
    part = 100 if args.quick else 1
    chosen = [game for game in GAMES if game.name in args.games]
    read = [
        list_conversations(game, (args.play or args.to / "play") / game.name, game.episodes // part, args.seed)
        for game in (chosen if args.only in (None, "play", "train") else ())
    ]
    if args.only in (None, "train"):
        train(args.to, read, args.seed, max(1, args.steps // part))
    tests = args.tests // (50 if args.quick else 1)
    for game in chosen if args.only in (None, "bounds", "measure") else ():
        row = load_row(args.to, game, tests) or measure_bounds(game, tests)
        save_row(args.to, row)
        if args.only != "bounds":
            save_row(args.to, {**row, **measure_model(game, args.to / "model", tests)})
    if args.only in (None, "measure"):
        print(format_table(load_complete_rows(args.to)))
    if args.save:
        save_measurements(args.to)


def save_measurements(folder: Path) -> None:
    """Keep what was measured for the page of a paper."""
    known, rows = json.loads((folder / "model" / "training.json").read_text()), load_complete_rows(folder)
    script = f"python recipes/tiny/many.py --to {folder} --seed {known['seed']} --threads {known['threads']}"
    *first, last = (f"{script} --steps {steps}" for steps in known["steps"])
    command = "; ".join([*(f"{one} --only train" for one in first), f"{last} --tests {rows[0]['tasks']} --save"])
    facts = {
        "weights": known["parameters"], "vocabulary": known["words"], "of these phrases": known["phrases"],
        "steps": known["steps"][-1], "tokens of a step, at most": PLAN.tokens,
        "conversations of the teachers": known["rows"], "tokens read": known["tokens"],
        "loss of the agent's tokens": known["loss"], "CPU minutes": known["cpu_seconds"] / 60,
    }  # fmt: skip
    save_table("paprika", "many_games_training", command, ("training", "value"), [*facts.items()], [known["seed"]])
    columns = ("game", "random", "model, T=1", "model, T=0.7", "reference", "readable turns", "episodes of each")
    cells = [[row["game"], *(format_estimate(row[key]) for key in ("floor", "1.0", "0.7", "reference")),
              row["readable"], row["episodes"]] for row in rows]  # fmt: skip
    save_table("paprika", "many_games", command, columns, cells, [known["seed"]])


def format_estimate(found: Sequence[float]) -> str:
    """A mean with its interval."""
    return f"{found[0]:.2f} [{found[1]:.2f}, {found[2]:.2f}]"


def format_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The measurements as a table in Markdown."""
    lines = ["| game | random | T=1 | T=0.7 | reference | readable |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [format_estimate(row[x]) for x in ("floor", "1.0", "0.7", "reference")]
        lines.append(f"| {row['game']} | {' | '.join(cells)} | {row['readable']:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
