"""Training by name, and PAPRIKA's pipeline: every stage runs, resumes, and is refused where it must be."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cases import each

pytest.importorskip("torch")

import torch

import sonde
from sonde.core import AGENT, Message, ProgramPolicy, Trajectory, UserError, View, build
from sonde.core.types import Action
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.store import Run
from sonde.train.by_name import DATA, learn, learn_online, prepare_data
from sonde.train.collect import Game, Picks, collect_episodes, load_trajectories
from sonde.train.curriculum import UCB, Curriculum
from sonde.train.model_io import load_model
from sonde.train.paprika import Paprika, run_pipeline
from sonde.train.presets import preset
from sonde.train.selection import SFTRule
from sonde.train.settings import TrainSettings
from sonde.train.training import Learning, Training

from .asking import WORDS, Asking
from .tiny import knowing, tiny_tokenizer

ENV = Asking()
NAMED = {"name": f"{Asking.__module__}:{Asking.__qualname__}"}
QUICK = {"lr": 3e-3, "batch_size": 8, "micro_batch": 8, "warmup": 0.0}


@dataclass(frozen=True, kw_only=True)
class Knower(ProgramPolicy):
    """Asks, then says the colour it was told."""

    def act_now(self, view: View) -> Action:
        return Action("ask" if view.turn == 0 else view.messages[-1].content)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a random model that knows the game's few words."""
    return knowing(WORDS, tmp_path_factory.mktemp("model"))


def policy(model: str) -> Any:
    backend = {"name": "models:hf", "model": model}
    return build({"name": "agents:llm", "model": backend, "temperature": 1.0, "min_p": 0.0, "max_new_tokens": 2})


def played(model: str, k: int = 24) -> list[Trajectory]:
    return collect_trajectories(ENV, {AGENT: policy(model)}, ENV.tasks("train"), Plan(k=k))


def training(folder: Path, objective: str, learning: Learning | None = None, **changes: Any) -> Training:
    settings = TrainSettings(folder=str(folder), **{**QUICK, **changes})
    return Training(objective=objective, settings=settings, learning=learning or Learning())


def pipeline(model: str, **changes: Any) -> Paprika:
    usual: dict[str, Any] = {
        "model": model, "envs": (NAMED,), "k": 24, "temperature": 1.0, "min_p": 0.0, "test_temperature": 1.0,
        "test_min_p": 0.0, "test_k": 2, "agent": {"max_new_tokens": 2},
        "presets": {"sft": "tiny_sft", "rpo": "tiny_rpo"},
        "changes": dict.fromkeys(changes.get("stages", ("sft", "rpo")), QUICK),
    }  # fmt: skip
    return Paprika(**{**usual, **changes})


# --- learn -----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["sft", "rpo", "kto", "rwr"])
def test_objectives_learn_from_recorded_episodes(model: str, objective: str, tmp_path: Path) -> None:
    done = learn(model, training(tmp_path / "t", objective), played(model))
    data = json.loads((tmp_path / "t" / DATA).read_text())
    assert data["objective"] == objective and data["items"] > 0 and data["rows"]["agent_tokens"] > 0
    assert done.steps == len(done.history) > 0
    assert load_model(str(done.model))[0].config.vocab_size == load_model(model)[0].config.vocab_size


def test_a_trained_model_is_a_folder_that_other_libraries_load(model: str, tmp_path: Path) -> None:
    """As a benchmark harness does (docs/training.md): weights, tokenizer and chat template, by transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    done = learn(model, training(tmp_path / "t", "sft", max_steps=1), played(model))
    module: Any = AutoModelForCausalLM.from_pretrained(done.model)
    tokenizer: Any = AutoTokenizer.from_pretrained(done.model)
    talk = [{"role": "user", "content": "start"}]
    text = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    ours = Chat(load_model(model)[1], label=model, template={}).encode_prompt([Message("user", "start")])
    assert ids[0].tolist() == list(ours.ids)
    with torch.no_grad():
        assert torch.allclose(module(ids).logits, load_model(str(done.model))[0](ids).logits, atol=1e-5)
    assert module.generate(ids, max_new_tokens=2, do_sample=False).shape[1] > ids.shape[1]


@pytest.mark.thorough
def test_a_program_is_learned_from_by_encoding_what_it_said(model: str, tmp_path: Path) -> None:
    lessons = collect_trajectories(ENV, {AGENT: Knower()}, ENV.tasks("train"), Plan(k=8))
    rules = Learning(sft=SFTRule(distinct=False))
    done = learn(model, training(tmp_path / "t", "sft", rules, epochs=30.0), lessons)
    after = collect_trajectories(ENV, {AGENT: policy(str(done.model))}, ENV.tasks("test"), Plan(k=8))
    assert sum(t.outcome.success for t in after if t.outcome) >= 0.9 * len(after)


def test_tokens_of_another_tokenizer_are_refused(model: str) -> None:
    other = Chat(tiny_tokenizer(WORDS + " more words in front of the others".upper()), label="other", template={})
    shuffled = Chat(tiny_tokenizer(" ".join(reversed(WORDS.split()))), label="shuffled", template={})
    episodes = played(model)
    assert prepare_data("sft", episodes, other).items  # the same ids mean the same words
    with pytest.raises(UserError, match="whose tokenizer is not that of 'shuffled'"):
        prepare_data("sft", episodes, shuffled)
    assert prepare_data("sft", episodes, shuffled, Learning(encode=True)).items


def test_own_play_that_stop_words_cut_is_trained_on_as_it_was_sampled(model: str) -> None:
    """The text ends before the stop word, the ids do not."""
    backend = {"name": "models:hf", "model": model}
    agent = {"name": "agents:llm", "model": backend, "temperature": 1.0, "min_p": 0.0, "max_new_tokens": 4}
    stops = {"stop": list(WORDS.split() if isinstance(WORDS, str) else WORDS)[:4]}
    episodes = collect_trajectories(ENV, {AGENT: build({**agent, **stops})}, ENV.tasks("train"), Plan(k=8))
    chat = Chat(load_model(model)[1], label=model, template={})
    calls = [c for t in episodes for act in t.acts for c in act.action.completions]
    assert any(chat.decode_ids(c.ids) != c.text for c in calls)
    found = prepare_data("kto", episodes, chat)
    assert found.rows.agent_tokens == sum(
        len(c.ids) for t in episodes if t.outcome and t.outcome.kind not in ("error", "unreadable")
        for act in t.acts for c in act.action.completions
    )  # fmt: skip


def test_nothing_to_learn_from_is_said(model: str) -> None:
    lost = [t for t in played(model) if t.outcome and not t.outcome.success]
    with pytest.raises(UserError, match="train sft: no training items in the data: tasks "):
        prepare_data("sft", lost, Chat(load_model(model)[1], label=model, template={}))
    with pytest.raises(UserError, match="allowed: tasks with an episode that was won and a worse one, of at most 99 t"):
        prepare_data("rpo", lost, Chat(load_model(model)[1], label=model, template={}), max_tokens=99)


def test_unknown_objectives_and_models_are_named(model: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="objective: unknown name 'grpo'"):
        prepare_data("grpo", [], Chat(load_model(model)[1], label=model, template={}))
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(str(tmp_path))


@pytest.mark.thorough
def test_online_by_name(model: str, tmp_path: Path) -> None:
    games = [Game(ENV, ENV.tasks("train"), "asking")]
    done = learn_online(model, training(tmp_path / "t", "grpo", max_steps=2), games)
    assert done.steps == 2 and json.loads((tmp_path / "t" / DATA).read_text())["objective"] == "grpo"


# --- gather ----------------------------------------------------------------------------------------------------------


def picks(n: int) -> Picks:
    curriculum = Curriculum(groups={"easy": 3, "hard": 3}, bandit=UCB(), replacement=False)
    return Picks(curriculum=curriculum, n=n, by="difficulty", at_once=2)


def test_a_curriculum_picks_tasks_and_goes_on_where_it_stopped(model: str, tmp_path: Path) -> None:
    games = [Game(ENV, ENV.tasks("train"), "asking")]
    count: list[Trajectory] = []
    collect_episodes(games, {AGENT: policy(model)}, Plan(k=2), tmp_path / "a", picks=picks(4), on_done=count.append)
    assert len(count) == 8
    collect_episodes(games, {AGENT: policy(model)}, Plan(k=2), tmp_path / "a", picks=picks(8), on_done=count.append)
    assert len(count) == 16
    straight = collect_episodes(games, {AGENT: policy(model)}, Plan(k=2), tmp_path / "b", picks=picks(8))
    again = load_trajectories([Run.load(tmp_path / "a" / "asking")])
    assert [t.id for t in again] == [t.id for t in load_trajectories(straight)]
    assert {t.seed for t in again} == {0, 1}  # six tasks: the seventh pick is a second world


# --- the pipeline ----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_pipeline_runs_improves_its_data_and_is_not_done_twice(model: str, tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(title: str, total: int, before: int) -> Any:
        seen.append(title)
        return nullcontext()

    outcome = run_pipeline(pipeline(model), tmp_path / "p", watch=watch)
    assert [stage.name for stage in outcome.stages] == ["base", "round-1-sft", "round-1-rpo"]
    lines = json.loads((tmp_path / "p" / "round-1" / "selection.json").read_text())["total"]
    assert lines["trajectories"] == 144 and lines["sft"] > 0 and 0 < lines["pairs"] <= 6
    assert outcome.stages[1].evaluations[0].metrics["success"] is not None
    assert outcome.gains[0].n_tasks == 6
    first = len(seen)
    again = run_pipeline(pipeline(model), tmp_path / "p", watch=watch)
    assert seen[first:] == [], "what was learned from is not played again"
    assert again.to_json() == outcome.to_json()


def test_pipelines_that_share_play_and_test_the_base_model_once(model: str, tmp_path: Path) -> None:
    """Leave-one-out and single groups: the second finds its games and the base model's, and tests what it left out."""
    other = {**NAMED, "max_turns": 3}
    seen: list[str] = []

    def watch(title: str, total: int, before: int) -> Any:
        seen.append(f"{title} {total - before}")
        return nullcontext()

    def run(folder: str, **changes: Any) -> Any:
        config = pipeline(model, stages=("sft",), **changes)
        return run_pipeline(config, tmp_path / folder, shared=tmp_path / "shared", watch=watch)

    run("both", envs=(NAMED, other))
    first = len(seen)
    left = run("left", envs=(NAMED,), held_out=(other,), tested="held_out")
    assert [title.split()[-1] for title in seen[first:] if title.startswith(("base", "round 1"))] == ["0"]
    assert [len(stage.evaluations) for stage in left.stages] == [1, 1]
    assert left.stages[0].evaluations[0].max_turns == 3
    with pytest.raises(UserError, match=r"shared was started with another configuration: paprika\.k"):
        run("other", envs=(NAMED,), k=3)
    with pytest.raises(UserError, match="shared: allowed: without a curriculum"):
        run("picked", curriculum="ucb", n_tasks=2, by="difficulty")


@pytest.mark.thorough
def test_rounds_continue_from_the_model_before(model: str, tmp_path: Path) -> None:
    outcome = run_pipeline(
        pipeline(model, rounds=2, stages=("sft",), curriculum="ucb", by="difficulty", n_tasks=4, k=64), tmp_path
    )
    assert [stage.name for stage in outcome.stages] == ["base", "round-1-sft", "round-2-sft"]
    data = json.loads((tmp_path / "round-2" / "sft" / DATA).read_text())
    assert data["model"] == outcome.stages[1].model
    seeds = {t.seed for t in Run.load(tmp_path / "round-2" / "play" / "Asking-plain")}
    assert min(seeds) == 1


def test_a_curriculum_plays_each_environment_as_often_as_the_paper(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appendix C: 20 samples, 100 for mastermind, whatever is picked together; algorithm 1 looks after every task."""
    games: list[Game] = []
    seen: list[Picks] = []

    def record(together: list[Game], *_: Any, picks: Picks, **__: Any) -> list[Run]:
        games.extend(together)
        seen.append(picks)
        raise UserError("recorded")

    monkeypatch.setattr("sonde.train.paprika.collect_episodes", record)
    envs = tuple({"name": name} for name in ("wordle", "mastermind"))
    config = Paprika(
        model=model, envs=envs, curriculum="ucb", n_tasks=250, at_once=1, by="env", tests=1, test_k=1,
        agent={"max_new_tokens": 1},
    )  # fmt: skip
    with pytest.raises(UserError, match="recorded"):
        run_pipeline(config, tmp_path / "p")
    assert {game.env.spec.name: game.samples for game in games} == {"wordle": 20, "mastermind": 100}
    assert (seen[0].n, seen[0].at_once) == (250, 1)


def test_games_have_their_own_numbers_of_samples(tmp_path: Path) -> None:
    games = [Game(ENV, ENV.tasks("train")[:2], name, k) for name, k in (("few", None), ("many", 3))]
    few, many = collect_episodes(games, {AGENT: Knower()}, Plan(k=1), tmp_path)
    assert (len(few), len(many)) == (2, 6)


def test_what_was_selected_is_counted_by_the_rule_that_trains(model: str, tmp_path: Path) -> None:
    """`tiny_sft` learns from the shortest wins only, which is not the paper's rule."""
    run_pipeline(pipeline(model, stages=("sft",)), tmp_path)
    kept = json.loads((tmp_path / "round-1" / "selection.json").read_text())["total"]
    data = json.loads((tmp_path / "round-1" / "sft" / DATA).read_text())
    assert kept["sft"] == data["items"] > 0


@pytest.mark.thorough
def test_pairs_are_compared_with_the_model_that_the_round_began_with(model: str, tmp_path: Path) -> None:
    outcome = run_pipeline(pipeline(model), tmp_path / "round")
    first = json.loads((tmp_path / "round" / "round-1" / "rpo" / "history.jsonl").read_text().splitlines()[0])
    data = json.loads((tmp_path / "round" / "round-1" / "rpo" / DATA).read_text())
    assert data["reference"] == model != data["model"] == outcome.stages[1].model
    assert abs(first["log_ratio_chosen"]) > 1e-3  # the fine-tuned model has moved away from it


def test_another_configuration_is_refused(model: str, tmp_path: Path) -> None:
    run_pipeline(pipeline(model, stages=("sft",)), tmp_path / "p")
    with pytest.raises(UserError, match=r"another configuration: paprika\.k: got 12"):
        run_pipeline(pipeline(model, stages=("sft",), k=12), tmp_path / "p")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(UserError, match="contains files of something else"):
        run_pipeline(pipeline(model), tmp_path / "other")


@each(
    "changes, message",
    [
        ({"envs": ()}, "paprika: envs"),
        ({"stages": ("grpo",)}, "paprika: stages"),
        ({"presets": {"sft": "huge"}}, r"paprika: presets\.sft"),
        ({"curriculum": "greedy", "n_tasks": 2}, "paprika: curriculum"),
        ({"curriculum": "ucb"}, "paprika: n_tasks"),
        ({"k": 0}, "paprika: k"),
        ({"at_once": 0}, "paprika: at_once: got 0"),
        ({"tested": "held_out"}, "paprika: tested: got 'held_out', allowed: all, where no environment is held out"),
        ({"tested": "some"}, "paprika: tested: got 'some', allowed: all, held_out"),
        ({"changes": {"sft": {"speed": 1}}}, "train: unknown name"),
        ({"stages": ("sft",), "changes": {"rpo": {"lr": 1.0}}}, "paprika: changes: unknown name 'rpo'; known: sft"),
        ({"changes": {"zzz": {"lr": 1}}}, "paprika: changes: unknown name 'zzz'"),
        ({"changes": {"sft": {"folder": "x"}}}, r"paprika: changes\.sft\.folder"),
        (
            {"presets": {"sft": "tiny_sft", "rpo": "tiny_rpo", "zzz": "tiny_sft"}},
            "paprika: presets: unknown name 'zzz'",
        ),
        ({"agent": {"temperature": 1.0}}, r"paprika: agent\.temperature: allowed: temperature, test_temperature"),
        ({"hf": {"model": "x"}}, r"paprika: hf\.model"),
        ({"hf": {"weights": "x"}}, r"paprika: hf\.weights: allowed: model"),
        ({"seats": {"agent": {"name": "agents:random"}}}, r"paprika: seats\.agent"),
        ({"player": {"name": "models:fake", "script": ["x"]}, "rounds": 2}, "paprika: rounds: got 2"),
        ({"server": {"name": "models:http", "model": "m"}}, "paprika: server: got 'models:http', allowed: models:vllm"),
        ({"server": {"name": "models:vllm", "tokenizer": "t"}}, r"paprika: server\.tokenizer: allowed: model"),
        ({"server": {"name": "models:vllm"}, "player": {"name": "models:fake"}}, "paprika: player: got a server too"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        pipeline("m", **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": -1.0}, "sampling: temperature: got -1.0"),
        ({"test_min_p": 2.0}, "sampling: min_p"),
        ({"agent": {"examples": 3}}, "examples: got 3, allowed: at most 0"),
        ({"agent": {"speed": 1}}, "unknown name 'speed'"),
        ({"hf": {"dtype": "int3"}}, "hf: dtype"),
        ({"curriculum": "ucb", "n_tasks": 2, "by": "nope"}, "has no tag 'nope'; its tags: difficulty, group"),
        ({"seats": {"user": {"name": "users:answerer"}}}, "no environment has a seat 'user'"),
        ({"seats": {"user": {"name": "users:nobody"}}}, "unknown name 'nobody'|no environment has a seat 'user'"),
        ({"seed": -1}, "seed: got -1"),
        ({"held_out": ({"name": "wordle", "preset": "nope"},)}, "preset"),
        ({"player": {"name": "models:http", "base_url": "nowhere", "model": "m"}}, "base_url"),
    ],
)
def test_a_mistake_ends_it_before_anything_is_played(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        run_pipeline(pipeline("no-such-model", **changes), tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_configuration_both_ways() -> None:
    config = pipeline("m", held_out=({"name": "wordle"},))
    saved = config.to_json()
    settings_ = saved.pop("settings")
    assert Paprika.from_json(saved) == config and set(settings_) == {"sft", "rpo"}
    with pytest.raises(UserError, match="paprika: unknown name 'env'"):
        Paprika.from_json({"model": "m", "envs": [], "env": 1})


def test_wrong_arguments_are_named_before_a_model_is_loaded() -> None:
    given, env, anything = preset("tiny_grpo", folder="f"), sonde.make("maze"), cast("Any", "runs/mine")
    game = Game(env, env.tasks("train"), "maze")
    for call, says in (
        (lambda: learn("m", anything, []), "learn: training: got 'runs/mine', allowed: Training"),
        (lambda: learn("m", given, anything), "learn: played: got 'runs/mine', allowed: a list of Trajectory"),
        (lambda: learn("m", given, [anything]), r"learn: played\[0\]: got 'runs/mine', allowed: a Trajectory"),
        (lambda: learn_online("m", given, anything), "learn_online: games: got 'runs/mine', allowed: a list of Game"),
        (lambda: learn_online("m", given, cast("Any", game)), "learn_online: games: got Game.*allowed: a list of Game"),
        (lambda: learn_online("m", given, [cast("Any", env)]), r"learn_online: games\[0\]: got Maze.*allowed: a Game"),
        (
            lambda: learn_online("m", given, [game], policies={"user": sonde.make("agents:random")}),
            "seat: unknown name 'u",
        ),
        (lambda: learn_online("m", given, [game], callbacks=[print]), r"callbacks\[0\]: got .*TrainerCallback"),
    ):
        with pytest.raises(UserError, match=says):
            call()
