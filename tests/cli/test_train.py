"""`sonde train` and `sonde paprika` as a person meets them: what they write, show and refuse."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")


from sonde.cli.estimate_training import describe_early_end
from sonde.core import names
from sonde.runs.store import Run
from sonde.train import objectives, preset

from ..models.tiny import write
from ..train.asking import WORDS, Asking
from ..train.tiny import knowing
from .invoke import failure, invoke, run, run_json

GAME = f"{Asking.__module__}:{Asking.__qualname__}"
FAST = ["-o", "settings.lr=3e-3", "-o", "settings.batch_size=8"]
PAPRIKA = ["paprika", "--out", "p", GAME, "--model", "model", "--settings", "tiny"]
GRPO = ["train", "grpo", GAME, "--model", "model", "--out", "o", "--settings", "tiny_grpo"]
SAMPLING = ["-o", "temperature=1.0", "-o", "min_p=0.0", "-o", "test_temperature=1.0", "-o", "test_min_p=0.0"]


@pytest.fixture(scope="module")
def written_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return knowing(WORDS, tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def _model_in_the_working_folder(working_folder: Path, written_model: str) -> None:
    shutil.copytree(written_model, working_folder / "model")


def play(folder: str = "played") -> str:
    sampling = [
        "-o", "seats.agent.temperature=1.0", "-o", "seats.agent.min_p=0.0", "-o", "seats.agent.max_new_tokens=2",
    ]  # fmt: skip
    run("rollout", GAME, folder, "--model", "model", "-k", "24", *sampling)
    return folder


HALF = "Half of what imitation learns, from episodes of any kind."
OWN = f'''"""{HALF}"""

from dataclasses import dataclass

from sonde.train.objectives.sft import SFT
from sonde.train.types import Loss

COLUMNS = 120


@dataclass(frozen=True, kw_only=True)
class Half(SFT):
    """`share` of it."""

    learns = "samples"
    preset = "tiny_sft"

    share: float = 0.5

    def __call__(self, logprob_RT, batch):
        loss = super().__call__(logprob_RT, batch)
        return Loss(self.share * loss.total, loss.metrics)
'''


@pytest.mark.parametrize("name", ["half", "half:Half"])
def test_an_objective_is_one_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the others or anywhere: it is listed, checked, trained with and told of."""
    (tmp_path / "half.py").write_text(OWN)
    if name == "half":
        monkeypatch.setattr(objectives, "__path__", [*objectives.__path__, str(tmp_path)])
        monkeypatch.delitem(sys.modules, "sonde.train.objectives.half", raising=False)
        names.cache_clear()
        assert HALF.rstrip(".") in run("list", "objectives").replace("\n", " ")
        assert objectives.objectives_learning_from("samples") == ("half", "kto", "rwr")
    else:
        monkeypatch.syspath_prepend(str(tmp_path))
    try:
        trained(name)
    finally:
        names.cache_clear()


def trained(name: str) -> None:
    run("rollout", GAME, "played", "--model", "model", "-k", "2", "-o", "seats.agent.max_new_tokens=2")
    own = ["train", name, "played", "--model", "model", "-o", "settings.epochs=1"]
    assert "share: got 'all', allowed: a number" in failure(*own, "--out", "no", "-o", "objective.share=all")
    assert "selects no episodes; allowed: objectives" in failure(*own, "--out", "no", "-o", "rule.within=1")
    assert "written: o/model" in run(*own, "--out", "o", "-o", "objective.share=0.25", "--report", "o.html")
    told = json.loads(Path("o/data.json").read_text())
    assert (told["objective"], told["options"], told["preset"]) == (name, {"share": 0.25}, "tiny_sft")
    words = f"half: {HALF.rstrip('.')}" if name == "half" else name
    assert f"{words}, with share 0.25" in Path("o.html").read_text()


@pytest.mark.thorough
def test_values_are_learned_and_played_by() -> None:
    """Cloning, values on top of it, and play with both."""
    played, small = play(), ["-o", "settings.bf16=false", *FAST]
    run("train", "bc", played, "--model", "model", "--out", "bc", *small)
    best = ["train", "filtered_bc", played, "--model", "model", "--out", "best", "-o", "rule.top=0.5", *small]
    assert "rule" not in run(*best)
    assert json.loads(Path("bc/data.json").read_text())["items"] == 144
    assert json.loads(Path("best/data.json").read_text())["items"] == 72
    shown = run("train", "ilql", played, "--model", "bc/model", "--out", "q", "-o", "objective.tau=0.8", *small)
    assert Path("best/command.txt").read_text().startswith("sonde train filtered_bc ")
    assert "written: q/model" in shown and Path("q/model/heads.safetensors").is_file()
    assert f"next: sonde eval {GAME} --model bc/model -o seats.agent.model.heads=q/model\n" in shown
    told = json.loads(Path("q/data.json").read_text())
    assert told["options"]["tau"] == 0.8 and told["preset"] == "tiny_ilql"
    values = ["-o", "seats.agent.model.heads=q/model", "-o", "seats.agent.model.beta=4.0"]
    run("rollout", GAME, "steered", "--model", "bc/model", "-k", "2", "-o", "seats.agent.max_new_tokens=2", *values)
    config = Run.load("steered").config["seats"]["agent"]["model"]
    assert (config["heads"], config["beta"]) == ("q/model", 4.0) and config["heads_weights"]


def test_cloning_is_an_objective_with_settings() -> None:
    run("rollout", GAME, "played", "--model", "model", "-k", "2", "-o", "seats.agent.max_new_tokens=2")
    own = ["train", "bc", "played", "--model", "model", "-o", "settings.epochs=1"]
    shown = run(*own, "--out", "o", "--settings", "tiny_bc", "-o", "rule.top=0.5")
    assert f"next: sonde eval {GAME} --model o/model\n" in shown
    told = json.loads(Path("o/data.json").read_text())
    assert (told["objective"], told["preset"], told["learning"]["share"]["top"]) == ("bc", "tiny_bc", 0.5)
    assert told["items"] == 6, "the best half of all episodes, won or lost"
    chosen = invoke(*own, "--out", "q", "--dry-run")
    assert "settings: tiny_bc" in chosen.stderr and "warning" not in chosen.stderr, "by the size of the model"
    assert "settings: bc\n" in invoke(*own[:5], "--out", "q", "--dry-run", "--settings", "bc").stderr
    assert "names settings already" in failure("train", "starpo", GAME, *own[3:], "--out", "p", "--settings", "tiny_bc")


@pytest.mark.thorough
def test_training_with_a_critic_and_on_the_best_of_its_own_play() -> None:
    small = ["-o", "settings.batch_size=8", "-o", "settings.max_steps=2", "-o", "settings.save_steps=2",
             "-o", "online.max_new_tokens=2"]  # fmt: skip
    shown = run("train", "tiny_ppo", GAME, "--model", "model", "--out", "ppo", *small,
                "-o", "online.credit.level=token", "-o", "online.credit.kl=0.1")  # fmt: skip
    assert "written: ppo/model" in shown and Path("ppo/model/heads.safetensors").is_file()
    online = json.loads(Path("ppo/data.json").read_text())["online"]
    lessons = ["--shown", play(), "-o", "objective.bc=1.0"]
    run("train", "tiny_ppo", GAME, "--model", "model", "--out", "taught", *small, *lessons)
    assert "nll_shown" in Path("taught/history.jsonl").read_text()
    assert online["credit"]["is"] == "GAE" and online["credit"]["level"] == "token" and online["k"] == 1
    run("train", "tiny_online_filtered_bc", GAME, "--model", "model", "--out", "best", *small)
    rows = [json.loads(line) for line in Path("best/history.jsonl").read_text().splitlines()]
    assert [row["episodes"] for row in rows] == [8, 16]
    assert not any("flat_groups" in row for row in rows), "the best are learned from, wherever they are"


@pytest.mark.thorough
def test_chats_with_the_columns_of_wildchat_are_trained_on() -> None:
    """PAPRIKA, appendix I.10; the columns are those of the published set (Zhao et al. 2024), the chats are ours."""

    def write_turn(role: str, content: str, **more: Any) -> dict[str, Any]:
        return {"role": role, "content": content, "language": "English", "redacted": False, "toxic": False,
                "timestamp": "2023-04-09 00:02:53", "turn_identifier": 1, **more}  # fmt: skip

    def write_chat(i: int, *texts: str) -> dict[str, Any]:
        said = [write_turn("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
        return {"conversation_hash": f"{i:032x}", "model": "gpt-4-0314", "timestamp": "2023-04-09 00:02:53",
                "conversation": said, "turn": len(texts) // 2, "language": "English", "toxic": False,
                "redacted": False, "openai_moderation": [{"flagged": False, "categories": {"hate": False}}],
                "detoxify_moderation": [{"toxicity": 0.001}], "hashed_ip": None, "country": "Iceland",
                "header": {"user-agent": "x"}}  # fmt: skip

    chats = [write_chat(1, "ask", "red", "again", "blue"), write_chat(2, "again", "blue")] * 8
    Path("wildchat.jsonl").write_text("\n".join(map(json.dumps, chats)))
    shown = run("train", "sft", "wildchat.jsonl", "--model", "model", "--out", "chat", "--settings", "tiny_sft", *FAST)
    assert "written: chat/model" in shown and Path("chat/model/model.safetensors").is_file()
    losses = [json.loads(line)["loss"] for line in Path("chat/history.jsonl").read_text().splitlines()]
    assert losses[-1] < losses[0] / 2


@pytest.mark.thorough
def test_training_on_recorded_episodes() -> None:
    played = play()
    shown = run("train", "sft", played, "--model", "model", "--out", "sft", "--settings", "tiny_sft", *FAST)
    assert "written: sft/model" in shown and "loss" in shown
    assert Path("sft/history.jsonl").is_file() and Path("sft/model/model.safetensors").is_file()
    settings = json.loads(Path("sft/settings.json").read_text())
    assert settings["lr"] == 3e-3 and settings["batch_size"] == 8 and settings["epochs"] == 10.0
    found = json.loads(
        run("train", "rpo", played, "--model", "sft/model", "--out", "rpo", "--settings", "tiny_rpo", "--json",
            *FAST, "-o", "objective.beta=0.5", "-o", "rule.per_task=2")
    )  # fmt: skip
    assert found["model"] == "rpo/model" and found["last"]["step"] == found["steps"]
    assert "of an earlier training" in failure("train", "sft", played, "--model", "model", "--out", "sft")
    run("train", "sft", played, "--model", "model", "--out", "sft", "--settings", "tiny_sft", *FAST, "--fresh")
    data = json.loads(Path("rpo/data.json").read_text())
    assert data["options"] == {"beta": 0.5, "alpha": 1.0} and data["learning"]["pairs"]["per_task"] == 2


def test_training_while_playing() -> None:
    shown = run("train", "grpo", GAME, "--model", "model", "--out", "grpo", "--settings", "tiny_grpo",
                "-o", "settings.batch_size=8", "-o", "settings.max_steps=2", "-o", "online.k=4",
                "-o", "objective.clip_low=0.1", "-o", "online.bandit=ucb",
                "-o", "online.rewards={success: 1, turns: -0.02}", "-o", "online.system=Win.",
                "-o", "online.template.enable_thinking=false", "-o", "online.kv_bytes=1000000",
                "-o", "online.keep_thinking=true")  # fmt: skip
    assert "written: grpo/model" in shown
    following = shlex.split(shown.split("next: sonde ")[1].splitlines()[0])
    assert following[:6] == ["eval", GAME, "--model", "grpo/model", "--max-new-tokens", "8"]
    run(*following, "--tasks", "1", "--runs", "next")
    (folder,) = Path("next").iterdir()
    agent = Run.load(folder).config["seats"]["agent"]
    assert (agent["system"], agent["keep_thinking"], agent["max_new_tokens"]) == ("Win.", True, 8)
    assert agent["model"]["template"] == {"enable_thinking": False}
    played = json.loads(Path("grpo/data.json").read_text())["online"]
    assert (played["system"], played["template"], played["kv_bytes"]) == ("Win.", {"enable_thinking": False}, 1000000)
    rows = [json.loads(line) for line in Path("grpo/history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2] and rows[-1]["episodes"] == 16


def test_a_training_is_shown_in_80_columns_and_reported() -> None:
    args = [*GRPO, "-o", "settings.batch_size=8", "-o", "settings.max_steps=3", "-o", "online.k=4"]
    result = invoke(*args, "--report", "page.html", columns=80)
    assert result.exit_code == 0, result.exception
    header, line, *rows = result.stdout.splitlines()[:5]
    assert header.split()[:3] == ["step", "won", "%"] and "nll" in header.split()
    assert set(line) == {"─"} and [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout and "{" not in result.stdout + result.stderr
    told = [said.split("  ")[0] for said in result.stderr.splitlines() if said.startswith("grpo: ")]
    assert [line for line in told if " step " in line] == [f"grpo: step {n} of 3" for n in (1, 2, 3)]
    assert "written: o/history.jsonl" in result.stdout
    page = Path("page.html").read_text()
    assert "grpo: Clipped policy gradient over whole trajectories" in page and "<svg" in page


SMALL = ["-o", "settings.batch_size=16", "-o", "settings.max_steps=1", "-o", "online.updates_per_rollout=1"]


@pytest.mark.thorough
def test_training_by_belief_is_one_command() -> None:
    """The paper's whole setting, on a model of ten thousand weights and for one step; and parts of it changed."""
    result = invoke("train", "delta_belief", GAME, "--model", "model", "--out", "d", *SMALL)
    assert result.exit_code == 0, (result.output, result.exception)
    told = " ".join(result.stderr.split("settings: ")[1].split()[:2])
    assert told == "delta_belief, but"
    data, (row,) = json.loads(Path("d/data.json").read_text()), _history("d")
    assert data["online"]["credit"]["is"] == "TurnWise"
    assert data["online"]["rewarders"]["belief"]["baseline"] == "current"
    assert data["online"]["rewards"]["every"] == {"success": 2.0, "extra_turns": -0.05}
    assert data["options"]["aggregation"] == "token-mean" and row["belief"] >= 0.0 and row["seconds_measuring"] > 0.0
    run("train", "tiny_delta_belief", GAME, "--model", "model", "--out", "t", *SMALL[:4],
        "-o", "online.rewarders.belief.baseline=start", "-o", "online.rewarders.belief.shaping=tanh",
        "-o", "online.rewards={success: 1, every: {turns: -0.1, belief: 0.2}}",
        "-o", "online.credit.rules=code", "-o", "online.rewards.every.turns=-0.2")  # fmt: skip
    online = json.loads(Path("t/data.json").read_text())["online"]
    assert online["rewards"] == {"success": 1, "every": {"turns": -0.2, "belief": 0.2}}
    belief = online["rewarders"]["belief"]
    assert (belief["baseline"], belief["shaping"], belief["template"]) == ("start", ["tanh"], "answer")
    assert online["credit"] == {"is": "TurnWise", "scale": "std", "rules": "code", "eps": 1e-6}


def test_models_take_the_other_seats_while_a_model_learns(tmp_path: Path) -> None:
    """Both are told with their calls when training starts, play, and are part of what a checkpoint is tied to."""
    write(tmp_path / "asks", max_position_embeddings=4096)
    asked = ["train", "grpo", "twenty_questions", "--model", "asks", "--out", "q", "--settings", "tiny_grpo", "-n", "1",
             "-o", "settings.batch_size=2", "-o", "settings.max_steps=1", "-o", "online.k=2",
             "-o", "online.max_new_tokens=1", "-o", "online.save_episodes=true"]  # fmt: skip
    seats = ["--user", "fake", "-o", "seats.user.model.script=['no']",
             "--judge", "fake", "-o", "seats.judge.model.script=['<VALID>']"]  # fmt: skip
    result = invoke(*asked, *seats)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "user: llm (fake), at most 40 calls in 2 episodes, and " in result.stderr, result.stderr
    assert "judge: llm (fake), at most " in result.stderr
    online = json.loads(Path("q/data.json").read_text())["online"]
    assert online["policies"]["user"]["model"]["script"] == ["no"] and online["games"][0]["env"]["judge"] == "seat"
    (folder,) = Path("q/episodes").iterdir()
    said = [act for t in Run.load(folder) for act in t.acts if act.seat == "user"]
    assert len(said) > 20 and {c.model for act in said for c in act.action.completions} == {"fake"}


@pytest.mark.thorough
def test_training_by_exact_gains_is_one_command() -> None:
    run("train", "tiny_exact_gain", GAME, "--model", "model", "--out", "e", *SMALL[:4])
    online, (row,) = json.loads(Path("e/data.json").read_text())["online"], _history("e")
    assert online["credit"] == {"is": "ReturnToGo"} and 0.0 <= row["truth_gain"] <= 1.0
    run("train", "grpo", GAME, "--model", "model", "--out", "g", "--settings", "tiny_grpo", *SMALL[:4],
        "-o", "online.credit=turn_wise", "-o", "online.rewarders=[exact_gain]",
        "-o", "online.rewards={success: 1, exact_gain: 0.5}")  # fmt: skip
    (row,) = _history("g")
    assert row["reward"] == pytest.approx(row["success"] + 0.5 * row["exact_gain"])


def _history(folder: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in Path(folder, "history.jsonl").read_text().splitlines()]


def test_without_settings_they_are_chosen_and_the_plan_is_printed_before_the_first_episode() -> None:
    """Neither settings nor a folder are asked for. Two steps, since a test has no time for all."""
    asked = ["train", "grpo", GAME, "--model", "model", "-o", "settings.max_steps=2"]
    dry = invoke(*asked, "--dry-run", "--eval-every", "0")
    (folder,) = re.findall("^folder: (.*)$", dry.stderr, re.MULTILINE)
    assert folder == f"runs/grpo-{GAME.replace(':', '-')}--model"
    assert dry.exit_code == 0 and not Path("runs").exists() and "held out" not in dry.stderr
    for text in ("settings: tiny_grpo, but ", "weights, on CPU", "learns: grpo, all weights, lr ", "memory: about ",
                 "8 tasks x 8 episodes a step, 2 steps, 128 episodes", "tokens: at most "):  # fmt: skip
        assert text in dry.stderr, text
    small = ["-o", "settings.batch_size=8", "-o", "online.k=4", "-o", "settings.lr=1", "--eval-every", "1"]
    result = invoke(*asked, *small)
    assert result.exit_code == 0, (result.output, result.exception)
    plan, played = result.stderr.split("grpo: held-out tasks: ", 1)
    assert "warning: lr 1 is that of a smaller model; for " in plan and "every step, " in plan
    assert "grpo: play: 2 of 8 episodes, " in played and "the first step took " in played
    first, last = _history(folder)
    assert 0.0 <= first["held_out_start"] <= 1.0 and "held_out_start" not in last and "cut" in last
    assert json.loads(Path(folder, "best.json").read_text())["step"] in (0, 1, 2)
    command = result.stdout.split("next: sonde ")[1].split()
    assert command[:4] == ["eval", GAME, "--model", f"{folder}/best"]
    assert "episodes" in run(*command, "--dry-run", "-n", "1")


def test_the_plan_counts_the_episodes_of_held_out_tasks() -> None:
    """They are played before the first step, every two steps and after the last one."""
    asked = ["train", "grpo", GAME, "--model", "model", "--out", "auto", "-o", "settings.batch_size=8",
             "-o", "online.k=4", "-o", "settings.max_steps=3", "--eval-every", "2"]  # fmt: skip
    dry = invoke(*asked, "--dry-run", "--json")
    assert dry.exit_code == 0, (dry.output, dry.exception)
    own, held_out = json.loads(dry.stdout)
    tasks = int(dry.stderr.split("held out: ")[1].split()[0])
    assert held_out["environment"] == f"{own['environment']}, held out"
    assert (own["episodes"], held_out["episodes"]) == (3 * 8, 3 * tasks)
    assert f"every 2 steps, {3 * tasks} episodes; the best weights" in dry.stderr
    both = [own[name] + held_out[name] for name in ("prompt_tokens", "completion_tokens")]
    assert "tokens: at most {:,} read and {:,} sampled".format(*both) in dry.stderr
    result = invoke(*asked)
    assert result.exit_code == 0, (result.output, result.exception)
    assert [("held_out_start" in e, "held_out" in e) for e in _history("auto")] == [
        (True, False), (False, True), (False, True),
    ]  # fmt: skip


def test_recorded_data_are_counted_before_the_first_step() -> None:
    """The same lines as in a dry run."""
    run("rollout", GAME, "played", "--model", "model", "-k", "2", "-o", "seats.agent.max_new_tokens=2")
    own = ["train", "bc", "played", "--model", "model", "--out", "o", "-o", "settings.epochs=1"]
    counted = run(*own, "--dry-run").splitlines()
    result = invoke(*own)
    assert result.exit_code == 0, (result.output, result.exception)
    lines = result.stderr.splitlines()
    assert counted[0].startswith("selected: ") and counted[1].endswith("; 1 step")
    assert lines[lines.index(counted[0]) + 1] == counted[1]
    assert lines.index(counted[1]) < min(i for i, line in enumerate(lines) if " step 1 of " in line)
    assert lines[0] == "reading model", "before torch is imported"


def test_a_model_of_sonde_sees_the_games_of_others_as_it_was_trained() -> None:
    """Episodes of programs are encoded for it: in best_arm, each turn as a row with a summary of the game."""
    run("rollout", "best_arm:small", "played", "--agent", "reference", "--tasks", "2")
    own = ["train", "bc", "played", "--model", "sonde-tiny-many", "--out", "o", "--dry-run"]
    assert run_json(*own)["rows"]["rows"] == 2 * 11, "a row for each turn"
    assert run_json(*own, "--context", "full")["rows"]["rows"] == 2, "a row for each game"


def test_a_model_of_sonde_plays_as_it_was_trained_under_named_settings_too() -> None:
    """And of its presets only that of the game that is played is named."""
    own = ["train", "grpo", "--out", "o", "--dry-run", "--model"]
    named = invoke(*own, "sonde-tiny-best_arm", "best_arm:small", "--settings", "tiny_grpo")
    assert "online.context render (full)" in named.stderr and "context render" in named.stderr.splitlines()[-1]
    chosen = invoke(*own, "sonde-tiny-many", "combination_lock").stderr
    assert "plays.combination_lock.preset psrl" in chosen and "plays.maze" not in chosen


def test_named_settings_are_listed_by_objective() -> None:
    rows = json.loads(run("list", "settings", "--json"))
    assert rows["rpo"]["paprika_rpo"] == "lr 2e-07, 32 a step, 1 epoch; PAPRIKA section 4"
    assert "tiny_grpo" in rows["grpo"] and "tiny_sft" not in rows["grpo"]
    told = failure("train", "grpo", GAME, "--model", "model", "--out", "o", "--settings", "zzz")
    assert "sonde list settings" in told


@pytest.mark.thorough
def test_what_is_overridden_is_told_when_a_run_starts() -> None:
    """Settings of a paper are its own, whole; only what was asked for differs, and is named."""
    asked = ["-o", "settings.batch_size=16", "-o", "settings.max_steps=1", "-o", "online.updates_per_rollout=1"]
    result = invoke("train", "grpo", GAME, "--model", "model", "--out", "g", *asked, "--settings", "starpo")
    assert result.exit_code == 0, (result.output, result.exception)
    told = "settings.max_steps 1 (180), settings.batch_size 16 (1280), online.updates_per_rollout 1 (3)"
    assert f"settings: starpo, but {told}" in result.stderr.replace("\n", " ")
    data, settings = (json.loads(Path("g", name).read_text()) for name in ("data.json", "settings.json"))
    assert data["options"]["dual_clip"] == 3.0 and data["online"]["k"] == 16 and settings["lora"]["r"] == 64
    assert data["online"]["rewards"] == {"success": 2.0, "invalid": -5.0, "repeated": -1.0, "extra_turns": -0.05}
    short = invoke("train", "starpo", GAME, "--model", "model", "--out", "s", *asked)
    assert short.stderr.splitlines()[:2] == result.stderr.splitlines()[:2], "reading the model, and the settings"
    played = play()
    result = invoke("train", "dpo", played, "--model", "model", "--out", "d", "--settings", "tiny_rpo")
    assert "settings: tiny_rpo, but objective dpo (rpo)" in result.stderr
    changed = ["-o", "changes.sft.lr=3e-3", "--tasks", "1", "-k", "1", "-o", "tests=1"]
    result = invoke("paprika", "--out", "p", GAME, "--model", "model", "--settings", "tiny", *changed)
    assert "sft: tiny_sft, but settings.lr 0.003 (0.001)" in result.stderr and "rpo: tiny_rpo\n" in result.stderr


def test_what_a_pipeline_plays_is_estimated_and_nothing_is_written() -> None:
    """Table 1 of PAPRIKA: 1,499 and 1,000 tasks to train on, 20 and 100 samples; two stages beside the base model."""
    dry = ("paprika", "--out", "p", "twenty_questions", "mastermind", "--model", "model", "--dry-run")
    play, much, evaluate, _, total = json.loads(run(*dry, "--json"))
    assert (play["episodes"], play["models"], play["calls"]) == (1499 * 20, 1, 1499 * 20 * 20)
    assert (much["episodes"], evaluate["episodes"], evaluate["models"]) == (1000 * 100, 367 * 4 * 3, 3)
    assert total["calls"] == (1499 * 20 * 20 + 1000 * 100 * 12) + 3 * 4 * (367 * 20 + 500 * 12)
    shown = run(*dry, "-o", "curriculum=ucb", "-o", "n_tasks=250", "-o", "by=env", "-o", "rounds=3")
    assert "75,000" in shown, "at most all picks are of mastermind: 250 tasks, 100 samples, 3 rounds"
    assert not Path("p").exists()


@pytest.mark.thorough
def test_the_pipeline_and_its_report() -> None:
    args = [
        "paprika", "--out", "p", GAME, "--model", "model", "--settings", "tiny", "-k", "24",
        "-o", "agent.max_new_tokens=2", "-o", "test_k=2", *SAMPLING, "-o", "changes.sft.lr=3e-3",
    ]  # fmt: skip
    shown = run(*args, "--report", "page.html")
    assert "base" in shown and "round-1-rpo" in shown and "paired by task" in shown
    assert "<html" in Path("page.html").read_text()[:400].lower()
    found = json.loads(run(*args, "--json"))
    assert [stage["name"] for stage in found["stages"]] == ["base", "round-1-sft", "round-1-rpo"]
    assert "started with another configuration" in failure(*args, "-o", "rounds=2")


@pytest.mark.thorough
def test_a_configuration_file_says_the_same(tmp_path: Path) -> None:
    Path("run.yaml").write_text(
        f"model: model\nenvs: [{{name: '{GAME}'}}]\nstages: [sft]\npresets: {{sft: tiny_sft}}\nk: 24\ntest_k: 1\n"
        "temperature: 1.0\nmin_p: 0.0\nagent: {max_new_tokens: 2}\n"
    )
    shown = run("paprika", "--out", "p", "--config", "run.yaml", "-o", "tests=4")
    assert "round-1-sft" in shown
    assert json.loads(Path("p/paprika.json").read_text())["tests"] == 4


@each(
    "args, message",
    [
        (["train", "trpo", "x", "--model", "model", "--out", "o"], "objective: unknown name 'trpo'"),
        (["train", "sft", "x", "--model", "model", "--out", "o"], "x is not a run folder"),
        (
            ["train", "sft", "maze:pairs", "--model", "model", "--out", "o"],
            "sources: got 'maze:pairs', allowed: run folders, or data, since sft learns from recorded episodes "
            "(`sonde rollout maze:pairs FOLDER --split train` records some)",
        ),
        (
            ["train", "sft", "chats.jsonl", "--split", "dev", "--model", "model", "--out", "o"],
            "--split: allowed: with environments, or with data that has splits",
        ),
        (
            ["train", "ppo", "chats.jsonl", "--model", "model", "--out", "o"],
            "sources: got 'chats.jsonl', allowed: environments, since ppo learns while it plays; --settings tiny_ppo",
        ),
        (
            ["train", "grpo", "chats.jsonl", "--model", "model", "--out", "o"],
            "sources: got 'chats.jsonl', allowed: environments, since grpo learns while it plays",
        ),
        (
            ["train", "sft", "x", "--model", "model", "--out", "o", "--settings", "big"],
            "--settings: unknown name 'big'",
        ),
        (["train", "sft", "x", "--model", "model", "--out", "o", "-o", "lr=1"], "-o: unknown name 'lr'"),
        (
            ["train", "sft", "x", "--model", "model", "--out", "o", "-o", "settings.rate=1"],
            "-o settings: unknown name",
        ),
        ([*GRPO, "-o", "settings.lora.rank=8"], "-o settings.lora: unknown name 'rank'; known: alpha, dropout, r,"),
        ([*GRPO, "-o", "settings.lora.r=x"], "lora: r: got 'x', allowed: a whole number"),
        ([*GRPO, "-o", "settings.loar.r=8"], "-o settings: unknown name 'loar' (did you mean 'lora'?)"),
        ([*GRPO, "-o", "online.credit.scal=none"], "-o online.credit: unknown name 'scal' (did you mean 'scale'?)"),
        ([*GRPO, "-o", "online.rewards.succes=1"], "rewards: unknown name 'succes' (did you mean 'success'?)"),
        ([*GRPO, "-o", "online.rewards=[success]"], "-o online.rewards: got ['success'], allowed: names with"),
        ([*GRPO, "-o", "online.bandit.alpha=1"], "-o online.bandit: unknown name 'alpha'; known: none"),
        (["train", "rpo", "x", "--model", "model", "--out", "o", "-o", "rule.best=1"], "rule: unknown name"),
        (["train", "grpo", "wordl", "--model", "model", "--out", "o", "--settings", "tiny_grpo"], "did you mean"),
        ([*GRPO, "-o", "online.speed=1"], "online: unknown name 'speed'"),
        ([*GRPO, "-o", "online.bandit=greedy"], "-o online.bandit: unknown name 'greedy'"),
        ([*GRPO, "-o", "online.rewards=all"], "rewards: unknown name 'all'"),
        ([*GRPO, "-o", "online.rewards=delta_belief"], "online: rewards: unknown name 'belief'"),
        ([*GRPO, "-o", "online.credit=turnwise"], "-o online.credit: unknown name 'turnwise'"),
        ([*GRPO, "-o", "online.rewarders=beliefs"], "-o online.rewarders: unknown name 'beliefs'"),
        ([*GRPO, "-o", "online.rewarders.belief.template=Is it?"], "a text with <target> in it"),
        ([*GRPO, "-o", "online.rewarders.beliefs.baseline=start"], "-o online.rewarders: unknown name 'beliefs'"),
        ([*GRPO, "-o", "objective.beta=1", "--dry-run"], "unknown name 'beta'"),
        ([*GRPO, "-o", "settings.batch_size=7", "--dry-run"], "batch_size: got 7, allowed: a multiple of online.k = 8"),
        (
            [*GRPO, "--user", "fake"],
            "--user: got 'fake', but tests.train.asking:Asking has no seat 'user'; allowed: none",
        ),
        ([*GRPO, "-o", "seats.agent.temperature=0"], "-o seats: unknown name 'agent'"),
        (["train", "sft", "x", "--model", "model", "--out", "o", "--judge", "fake"], "--judge: sft learns from"),
        (
            ["train", "ilql", "x", "--model", "model", "--out", "o", "-n", "3"],
            "--tasks: ilql learns from",
        ),
        (
            ["train", "ppo", GAME, "--model", "model", "--out", "o", "--encode"],
            "--encode: ppo learns from",
        ),
        (
            ["train", "ppo", GAME, "--model", "model", "--out", "o", "-o", "online.credit=turn_wise"],
            "online: k: got 1, allowed: 2 or more",
        ),
        (["train", "sft", "x", "--model", "model", "--out", "o", "-o", "seats.user.x=1"], "-o seats: sft learns from"),
        (
            ["train", "grpo", "wordle", "--model", "sonde-tiny-maze", "--out", "o"],
            "model: got sonde-tiny-maze in wordle, preset paprika, whose answers are not in its vocabulary",
        ),
        (["train", "starpo", *GRPO[2:]], "--settings: got 'tiny_grpo', but 'starpo' names settings already"),
        (["train", "delta_belif", *GRPO[2:7]], "objective: unknown name 'delta_belif' (did you mean 'delta_belief'?)"),
        (["paprika", "--out", "p", "--model", "model"], "paprika: missing envs"),
        (["paprika", "--out", "p", "wordle"], "paprika: missing model"),
        (["paprika", "--out", "p", "wordle", "--model", "model", "--settings", "huge"], "--settings: unknown name"),
        (["train", "sft", "x", "--model", "model", "--out", "o", "-o", "settings.folder=y"], "settings.folder"),
        ([*PAPRIKA, "-o", "settings.folder=x"], "-o: unknown name 'settings'"),
        ([*PAPRIKA, "--base-url", "http://localhost:1/v1"], "--base-url: allowed: only with --server or --player"),
        (
            [*PAPRIKA, "--server", "http:m", "--base-url", "http://localhost:1/v1"],
            "--server: got 'http:m', allowed: vllm:NAME",
        ),
        ([*PAPRIKA, "--player", "http:m"], "needs --base-url"),
        ([*PAPRIKA, "-o", "agent.max_new_tokens=0"], "max_new_tokens: got 0"),
        ([*PAPRIKA, "--user", "fake"], "paprika: seats: no environment has a seat 'user'"),
    ],
)
def test_mistakes_are_one_clear_line(args: list[str], message: str) -> None:
    Path("chats.jsonl").write_text("{}")
    assert message in failure(*args)
    assert not Path("p").exists(), "nothing was begun"


@each("command", ["train", "paprika"])
def test_help(command: str) -> None:
    assert "Usage" in run(command, "--help")


def test_a_training_that_ended_early_says_why() -> None:
    known = preset("tiny_grpo", folder="f")
    patient = replace(known, online=replace(known.online, eval_every=5, patience=1))
    assert describe_early_end(patient, 10) == "ended after step 10 of 40: 1 evaluation without a better one (patience)"
    assert describe_early_end(patient, 40) == describe_early_end(known, 10) == ""
