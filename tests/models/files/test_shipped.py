"""The models we ship: complete, exact in their chat format, and novices at what their cards say; and their recipe."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, Message, UserError, build
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.per_turn import marked_turns
from sonde.models.files.fetch import fetch_model
from sonde.models.files.shipped import SHIPPED, ShippedGame, ShippedModel, check_plays, get_shipped_model
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

pytest.importorskip("torch")

RECIPE = Path(__file__).parents[3] / "recipes" / "tiny"
MODULES = (
    "vocab", "best_arm", "circuits", "locks", "mazes", "twenty", "games", "corpus", "learn", "gate", "card", "train",
)  # fmt: skip
each_model = pytest.mark.parametrize("model", SHIPPED.values(), ids=SHIPPED)
PLAYED = {f"{m.name}-{g.env}-{g.preset}": (m, g) for m in SHIPPED.values() for g in m.games}
each_game = pytest.mark.parametrize(("model", "game"), PLAYED.values(), ids=PLAYED)
SPEAKS = {name: model for name, model in SHIPPED.items() if not model.spells}


def env_of(game: ShippedGame) -> Any:
    """The game, as long as the model sees it whole."""
    seen = game.context.removeprefix("last:")
    return sonde.make(game.env, preset=game.preset, **({"max_turns": int(seen)} if seen.isdecimal() else {}))


def agent_of(model: ShippedModel, game: ShippedGame) -> Any:
    backend = sonde.make("models:hf", model=model.name, max_batch=64, dtype="float32" if model.spells else "auto")
    budget = {"temperature": 0.7 if model.spells else 1.0, "min_p": 0.0, "max_new_tokens": model.max_new_tokens}
    return sonde.make("agents:llm", model=backend, context=game.context, **budget)


def chat_of(model: ShippedModel) -> Any:
    from transformers import AutoTokenizer

    from sonde.models.chat.chat import Chat

    return Chat(AutoTokenizer.from_pretrained(model.folder), label=model.name, template={})


# --- the folders -----------------------------------------------------------------------------------------------------


@each_model
def test_folder_is_complete_and_small(model: ShippedModel) -> None:
    files = {path.name: path.stat().st_size for path in model.folder.iterdir()}
    assert set(files) == {
        "CARD.md", "chat_template.jinja", "config.json", "generation_config.json", "model.safetensors",
        "tokenizer.json", "tokenizer_config.json", "training.json",
    }  # fmt: skip
    facts, first = json.loads((model.folder / "training.json").read_text()), model.games[0]
    assert sum(files.values()) < 7 * facts["parameters"] and model.size == files["model.safetensors"]
    assert build(facts["env"]) == env_of(first) and facts["context"] == first.context
    assert 300_000 < facts["parameters"] < (2_000_000 if model.spells else 500_000)


def test_all_of_them_are_small() -> None:
    assert sum(path.stat().st_size for model in SHIPPED.values() for path in model.folder.iterdir()) < 15_000_000


def test_a_game_is_found_by_environment_and_preset() -> None:
    many, maze = SHIPPED["sonde-tiny-many"], SHIPPED["sonde-tiny-maze"]
    assert many.find_game("best_arm", "small").context == "render" != many.find_game("maze").context
    assert many.find_game("guess_my_city").preset == sonde.make("guess_my_city").spec.preset
    assert many.find_game("chess", "lmrl") == many.find_game() == many.games[0]
    assert maze.find_game("maze", "umaze") == maze.games[0]
    check_plays(many.name, "chess", "lmrl")  # its vocabulary spells any text
    with pytest.raises(
        UserError, match=r"sonde-tiny-maze in best_arm, preset small, .* allowed: maze, preset pairs, lmrl"
    ):
        check_plays(maze.name, "best_arm", "small")


@each("preset", ["delta_belief", "lmrl"])
def test_of_other_presets_some_answers_can_be_written(preset: str) -> None:
    (game,) = get_shipped_model("sonde-tiny-twenty_questions").games
    assert preset in game.also
    things = {task.hidden for split in ("train", "test") for task in env_of(game).tasks(split)}
    asked = {task.hidden for task in sonde.make(game.env, preset=preset).tasks("test")}
    assert 10 <= len(things & asked) < len(asked)


@each_model
def test_card_says_what_it_is(model: ShippedModel) -> None:
    card = (model.folder / "CARD.md").read_text()
    facts = json.loads((model.folder / "training.json").read_text())
    for text in (model.name, "Apache-2.0", "not", "random legal play", f"{facts['parameters']:,}", "CPU minutes"):
        assert text in card, text


@each_model
def test_is_known_by_name(model: ShippedModel) -> None:
    assert fetch_model(model.name) == model.folder == get_shipped_model(model.name).folder
    with pytest.raises(UserError, match="sonde-tiny-maze"):
        fetch_model("sonde-tiny")
    with pytest.raises(UserError, match="sonde-tiny-maze"):
        get_shipped_model("smollm2")


OPEN = ("circuit_decoding",)
"""Environments in which answers are not listed."""


# --- the chat format -------------------------------------------------------------------------------------------------


@each_game
def test_knows_every_word_it_is_shown_in_its_test_episodes_and_gives_texts_back(
    model: ShippedModel, game: ShippedGame
) -> None:
    """But for why a message was called invalid: its teachers never heard that."""
    chat, env = chat_of(model), env_of(game)
    policy = sonde.make("agents:llm", model=sonde.make("models:fake", script=("?",)), context=game.context)
    for t in collect_trajectories(env, {AGENT: agent_of(model, game)}, env.tasks("test")[: 4 if model.spells else 24]):
        invalid = {t.turns[turn].told for turn in marked_turns(t).get("invalid", ())}
        for ep in islice(Episode.stages(env, t), len(t.turns)):
            for message in policy.build_prompt(ep.view()):
                if message.content in invalid:
                    continue
                ids = chat.encode(message.content)
                assert chat.tokenizer.unk_token_id not in ids, message.content
                words = "".join(message.content.split())
                assert chat.decode_ids(ids).replace(" ", "") == words or model.spells
                assert chat.decode_ids(ids) == message.content or not model.spells


@each_game
def test_what_it_says_is_read_as_it_was_meant(model: ShippedModel, game: ShippedGame) -> None:
    chat, env = chat_of(model), env_of(game)
    ep = Episode.begin(env, env.tasks("test")[0])
    unknown = chat.tokenizer.unk_token_id
    known = [answer for answer in ep.view().legal or () if unknown not in chat.encode(env.say(answer))]
    assert known or game.env in OPEN
    for answer in known:
        said = chat.decode_ids(chat.encode(env.say(answer)))
        assert ep.step(said).turns[-1].info == ep.step(env.say(answer)).turns[-1].info


@pytest.mark.parametrize("model", SPEAKS.values(), ids=SPEAKS)
def test_foreign_text_is_unknown_and_harmless(model: ShippedModel) -> None:
    chat = chat_of(model)
    ids = chat.encode("Zugzwang! <|end|> 99999 \ue000")
    assert chat.tokenizer.unk_token_id in ids
    system = [Message("system", "Play."), Message("user", "Go.")]
    assert chat.render_text(system) == "<|system|>Play.<|end|><|user|>Go.<|end|><|assistant|>"


@each_model
def test_every_turn_extends_the_tokens_of_the_last_one(model: ShippedModel) -> None:
    from sonde.models.chat.chat import Prompt

    game = model.games[0]
    env, chat = replace(env_of(game), max_turns=4), chat_of(model)
    agent = replace(agent_of(model, game), context="full")
    (played,) = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[3:4])
    ep = Episode.begin(env, played.task)
    prompts: list[Prompt] = []
    for act in played.acts:
        if act.seat == AGENT:
            prompts.append(chat.encode_prompt(ep.view().messages))
        ep = ep.step(act.action)
    assert len(prompts) == len(played.turns) >= 2
    for prompt in prompts[1:]:
        assert prompt.shared == prompt.previous > 0 and not prompt.rewritten
    last = chat.encode_prompt((*ep.messages[AGENT][:-1], Message("user", ep.turns[-1].told))).ids
    whole = chat.encode(chat.render_text((*ep.messages[AGENT][:-1], Message("user", ep.turns[-1].told))))
    assert list(last) == list(whole)


# --- play ------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@each_game
def test_plays_like_a_novice(model: ShippedModel, game: ShippedGame) -> None:
    """Between the floor and the reference that the card gives; a game that it has mastered, as the reference."""
    env = env_of(game)
    rows = collect_trajectories(env, {AGENT: agent_of(model, game)}, env.tasks("test")[:100])
    wins = sum(row.outcome is not None and row.outcome.success for row in rows)
    assert all(not row.error for row in rows)
    low, high = bounds_of(model, game)
    assert low < wins / len(rows) < high
    marks = [told for row in rows for turn in row.turns for told in turn.info.values()]
    unreadable = sum(mark in ("invalid", "unreadable") for mark in marks if isinstance(mark, str))
    assert unreadable <= (0.2 if model.spells else 0.02) * sum(len(row.turns) for row in rows)


def bounds_of(model: ShippedModel, game: ShippedGame) -> tuple[float, float]:
    """Between which success lies. One training seed of many games has wide intervals, and 100 episodes vary: of these
    the middle of random play is the least. A game in which it reaches the reference has no upper bound, and has to be
    played as well as the card says."""
    facts = json.loads((model.folder / "training.json").read_text())
    if model.spells:
        row = next(row for row in facts["games"] if row["game"] == f"{game.env}-{game.preset}")
        mastered = row["0.7"][0] >= row["reference"][1]
        return (row["0.7"][1], math.inf) if mastered else (row["floor"][0], row["reference"][1])
    seed_0 = facts["gate"][0]
    low, high = seed_0["floors"]["random legal play"]["success"]["high"], seed_0["top"]["success"]["low"]
    return (low if model.level == "novice" else 0.0), high  # one with a bad habit plays as it does


# --- the recipe ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recipe() -> Iterator[Any]:
    """The modules of recipes/tiny, which import each other by bare names, as they do when run."""
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    sys.path.insert(0, str(RECIPE))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(RECIPE))
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@pytest.mark.parametrize("name", ["best_arm", "maze"])
def test_rows_are_what_the_chat_template_writes(recipe: Any, name: str) -> None:
    model = SHIPPED[f"sonde-tiny-{name}"]
    chat, game = chat_of(model), recipe.games.GAMES[name]()
    encoder = recipe.corpus.Encoder(chat.tokenizer)
    rng = sonde.Rng(0, "tiny", "test")
    for _ in range(5):
        said = recipe.games.teach_episode(game, TEACHERS[name][1], rng).said
        row = encoder.encode_row(said)
        assert list(row.ids) == list(chat.encode(chat.render_text(said, speak=False)))
        own = [i for i, what in zip(row.ids, row.what, strict=True) if what == recipe.corpus.SAID]
        spoken = [[*chat.encode(m.content), encoder.end] for m in said if m.role == "assistant"]
        assert own == [i for ids in spoken for i in ids]


def test_of_a_statement_the_truth_alone_is_learned(recipe: Any) -> None:
    """A row ends in the truth, and nothing before it is learned; of play, questions are. Drills are such rows, all as
    long, and over all things, since the model has to know those that are held out too."""
    game, corpus = recipe.games.GAMES["twenty_questions"](), recipe.corpus
    vocabulary = islice(corpus.list_texts(game, sonde.Rng(0)), 12_000)
    encoder = corpus.Encoder(recipe.vocab.make_tokenizer(vocabulary, game.window, game.phrases))
    stated = 0
    for row in islice(corpus.generate_rows(game, game.lessons[1], encoder, sonde.Rng(0)), 200):
        what, text = list(row.what), encoder.tokenizer.convert_ids_to_tokens(row.ids)
        if corpus.STATED in what:
            stated += 1
            assert text[-5:-1] == ["<|assistant|>", "Is", "the", "secret"]
            assert set(what[:-1]) == {corpus.UNSAID} and what[-1] == corpus.STATED
        else:
            assert corpus.SAID in what and corpus.UNSAID not in what
    assert 60 < stated < 180, "four rows of three games in ten, one of the others"
    truths: set[int] = set()
    for batch in islice(corpus.generate_batches(game, game.lessons[0], encoder, sonde.Rng(0)), 4):
        assert batch.ids_BT.shape[0] in (64, 128) and (batch.ids_BT.shape[1] - 7) % 6 == 0
        assert batch.weights_BT[:, :-1].sum() == 0 and (batch.weights_BT[:, -1] == game.plan.stated).all()
        truths |= set(batch.ids_BT[:, -1].tolist())
    assert 56 < len(truths) <= 64
    assert set(encoder.tokenizer.convert_ids_to_tokens(sorted(truths))) <= set(recipe.twenty.possible_things(game.env))


def test_attentive_teachers_ask_better_and_keep_to_the_bank(recipe: Any) -> None:
    game, rates = recipe.games.GAMES["twenty_questions"](), dict[str, float]()
    for skill in ("careless", "attentive"):
        wins = 0
        for i in range(100):
            said, hidden = recipe.games.teach_episode(game, skill, sonde.Rng(1, skill, i))
            asked = [m.content for m in said if m.role == "assistant"]
            assert all(q in recipe.twenty.BANK or q[:6] == "Is it " for q in asked) and len(asked) <= 8
            assert skill == "careless" or len(set(asked)) == len(asked)
            wins += hidden in asked[-1]
        rates[skill] = wins / 100
    assert 0.1 < rates["careless"] < rates["attentive"] - 0.1 < 0.7


TEACHERS = {
    "best_arm": ("random", "noisy", "strong"),
    "best_arm_stories": ("random", "noisy", "strong"),
    "circuit_decoding": ("careless", "fitting", "careful"),
    "combination_lock": ("random", "possible", "likeliest"),
    "maze": ("blind", "short", "far"),
}
"""From the weakest."""


@pytest.mark.parametrize("name", TEACHERS)
def test_teachers_play_train_tasks_and_skill_shows(recipe: Any, name: str) -> None:
    game = recipe.games.GAMES[name]()
    rates: dict[str, float] = {}
    for skill in TEACHERS[name]:
        wins = 0
        for i in range(150):
            rng = sonde.Rng(1, "tiny", "test", skill, i)
            tasks = game.env.tasks("train")
            state = game.env.reset(tasks[rng.randrange(len(tasks))], rng)
            teacher, step = game.teacher(game.env, skill, rng), None
            while game.env.to_act(state) is not None:
                step = game.env.step(state, teacher(state, rng), rng)
                state = step.state
            wins += step is not None and step.outcome is not None and step.outcome.success
        rates[skill] = wins / 150
    weak, middling, strong = rates.values()
    assert weak < middling < strong and weak + 0.2 < strong


@pytest.mark.thorough
def test_equal_seeds_give_equal_weights(recipe: Any) -> None:
    import torch

    game = recipe.games.GAMES["best_arm"]()
    one, two, other = (recipe.train.build_model(game, seed, 3)[0].model.state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.thorough
def test_a_few_steps_already_lower_the_loss(recipe: Any) -> None:
    game = recipe.games.GAMES["best_arm"]()
    trained, encoder = recipe.train.build_model(game, 0, 60)
    assert trained.loss < 2.5 < math.log(len(encoder.tokenizer)), "the mean over all 60 steps, against knowing nothing"
    assert trained.tokens > 40_000 and trained.cpu_seconds > 0


@pytest.mark.thorough
def test_command_trains_judges_and_ships(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    threads = torch.get_num_threads()
    monkeypatch.setattr(
        sys, "argv", ["train.py", "--env", "best_arm", "--to", str(tmp_path / "m"), "--steps", "100", "--quick"]
    )
    monkeypatch.setattr(recipe.gate, "SPREAD_TASKS", 2)
    try:
        with pytest.raises(SystemExit) as left:
            recipe.train.main()
    finally:
        torch.set_num_threads(threads)
    assert left.value.code == 1 and "format 0." in capsys.readouterr().out, "five steps teach nobody to play"
    game, found = recipe.games.GAMES["best_arm"](), recipe.gate.load_measurements(tmp_path / "m")
    assert (found.seed, found.episodes) == (0, 50)
    recipe.card.ship_model(game, [tmp_path / "m"], [found], tmp_path / "shipped")
    assert {path.name for path in (tmp_path / "shipped").iterdir()} == {
        path.name for path in SHIPPED["sonde-tiny-best_arm"].folder.iterdir()
    }
    assert f"| training seed 0 | {found.warm.success} |" in (tmp_path / "shipped" / "CARD.md").read_text()


def played(recipe: Any, low: float, mean: float, high: float, fine: float = 1.0) -> Any:
    return recipe.gate.Played(success=Estimate(mean, low, high, 500), fine=fine, turns=9.0, per_second=1.0)


@pytest.mark.parametrize(
    ("low", "high", "fine", "distinct", "missed"),
    [
        (0.3, 0.4, 0.995, 12.0, []), (0.3, 0.4, 0.985, 12.0, ["format"]), (0.2, 0.4, 0.995, 12.0, ["random"]),
        (0.3, 0.9, 0.995, 12.0, ["reference"]), (0.3, 0.4, 0.995, 9.9, ["distinct"]),
        (0.2, 0.9, 0.5, 2.0, ["format", "random", "reference", "distinct"]),
    ],
)  # fmt: skip
def test_gate(
    recipe: Any, tmp_path: Path, low: float, high: float, fine: float, distinct: float, missed: list[str]
) -> None:
    found = recipe.gate.Measured(
        seed=0, episodes=500, floors={"random play": played(recipe, 0.1, 0.15, 0.2)},
        top=played(recipe, 0.9, 0.95, 1.0), distinct=distinct,
        warm=played(recipe, low, (low + high) / 2, high, fine), cool=played(recipe, 0, 0.5, 1), fewest=1,
    )  # fmt: skip
    recipe.gate.save_measurements(found, tmp_path)
    assert recipe.gate.load_measurements(tmp_path) == found
    failures = recipe.gate.list_failures(found)
    assert len(failures) == len(missed)
    assert all(word in text for word, text in zip(missed, failures, strict=True))
