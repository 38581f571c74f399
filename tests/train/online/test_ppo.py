"""PPO and online filtered cloning in the on-policy loop: ratios, values, references, checkpoints, learning."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("torch")

from sonde.core import AGENT, UserError
from sonde.models.chat.chat import Chat
from sonde.models.local.heads import FILE
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import prepare_data
from sonde.train.collect import Game
from sonde.train.credit import GAE
from sonde.train.objectives.grpo import GRPO
from sonde.train.objectives.ilql import ILQL
from sonde.train.objectives.ppo import PPO
from sonde.train.objectives.sft import SFT
from sonde.train.online.advantages import draw_demonstrations
from sonde.train.online.groups import keep_best
from sonde.train.online.settings import OnlineSettings
from sonde.train.settings import LoraSettings, TrainSettings

from ..asking import WORDS
from ..test_by_name import Knower
from ..tiny import stop_at, tiny_model, tiny_tokenizer
from .test_trainer import ENV, HURRY, trainer, without_clocks

if TYPE_CHECKING:
    from sonde.train.online.trainer import OnlineTrainer

CRITIC = OnlineSettings(k=1, credit=GAE(discount=0.95, lam=0.95), rewards=HURRY, lock_step=True)


def test_the_first_update_of_a_rollout_is_where_the_episodes_came_from(tmp_path: Path) -> None:
    """Ratio 1, and values as they were: so the clipped and the plain error of the value are the same."""
    online = replace(CRITIC, k=4, updates_per_rollout=2)
    history = trainer(tmp_path, objective=PPO(), max_steps=4, online=online, lr=1e-2).train().history
    for entry in history[::2]:
        assert entry["ratio"] == pytest.approx(1.0, abs=1e-5) and entry["kl_sampled"] == pytest.approx(0.0, abs=1e-6)
        assert entry["clipped"] == 0.0
    assert all(entry["kl_sampled"] > 1e-7 for entry in history[1::2])
    assert history[0]["v"] == 0.0 and history[2]["v"] != 0.0  # heads begin at 0
    assert history[0]["policy"] == pytest.approx(0.0, abs=0.3)  # advantages are whitened over both updates
    assert (tmp_path / "model" / FILE).exists()


@pytest.mark.parametrize("lora", [None, LoraSettings(r=4)], ids=["copy", "adapter_off"])
def test_leaving_the_reference_is_told_and_weighed(lora: LoraSettings | None, tmp_path: Path) -> None:
    credit = GAE(kl=0.1, kl_target=1e-6, kl_horizon=80)
    changes: dict[str, Any] = {"lora": lora, "reference": "start" if lora is None else "adapter_off", "lr": 1e-2}
    history = trainer(tmp_path, objective=PPO(), online=replace(CRITIC, credit=credit), **changes).train().history
    assert history[0]["kl_played"] == pytest.approx(0.0, abs=1e-5)
    assert history[0]["kl_weight"] == 0.1
    assert abs(history[2]["kl_played"]) > 1e-5
    assert history[1]["kl_weight"] == pytest.approx(0.1 * (1 - 0.2 * 8 / 80))


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["ppo", "sft"])
def test_a_resumed_run_is_the_run(objective: str, tmp_path: Path) -> None:
    """With the weight of the penalty as it was, and heads."""
    if objective == "ppo":
        how: dict[str, Any] = {"objective": PPO(), "online": replace(CRITIC, credit=GAE(kl=0.1, kl_target=0.01))}
    else:
        how = {"objective": SFT(), "online": OnlineSettings(k=4, keep=0.4, rewards=HURRY, lock_step=True)}
    whole = trainer(tmp_path / "a", max_steps=4, save_steps=2, **how).train().history
    first = trainer(tmp_path / "b", max_steps=4, save_steps=2, **how)
    first.add_callback(stop_at(2))
    first.train()
    saved = json.loads((tmp_path / "b" / "checkpoint-2" / "online.json").read_text())
    assert (saved["kl"] != 0.0) == (objective == "ppo")
    rest = trainer(tmp_path / "b", max_steps=4, save_steps=2, **how).train(resume=True).history
    assert without_clocks(rest) == without_clocks(whole)


@pytest.mark.thorough
def test_the_best_share_of_a_rollout_is_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best by the rewards of the mix; the rest is counted in the log and not trained."""
    online = OnlineSettings(k=4, keep=0.4, rewards=HURRY)
    t = trainer(tmp_path, objective=SFT(), online=online)
    seen: list[tuple[list[float], list[float]]] = []

    def noted(groups: Any, *how: Any) -> Any:
        kept = keep_best(groups, *how)
        seen.append(tuple([sum(s.rewards) for g in some for s in g.samples] for some in (groups, kept)))  # type: ignore[arg-type]
        return kept

    monkeypatch.setattr("sonde.train.online.trainer.keep_best", noted)
    history = t.train().history
    for entry, (played, kept) in zip(history, seen, strict=True):
        assert sorted(kept) == sorted(played)[-4:]  # .4 of 8 episodes, rounded up
        assert entry["reward"] == pytest.approx(np.mean(played))


@pytest.mark.parametrize(
    ("objective", "online", "message"),
    [
        (PPO(), OnlineSettings(k=4), r"credit: got 'GroupRelative', allowed: gae \(online\.credit=gae\), for ppo"),
        (GRPO(), CRITIC, "credit: got 'GAE', allowed: one without a critic, such as group_relative, for grpo"),
        (ILQL(), CRITIC, "objective: got 'ilql', allowed: one that learns from single episodes, such as grpo"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_named(
    objective: Any, online: OnlineSettings, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        trainer(tmp_path, objective=objective, online=online)


def test_one_sample_of_a_task_is_enough_for_a_critic_alone() -> None:
    assert OnlineSettings(k=1, credit=GAE()).k == OnlineSettings(k=1, keep=0.5).k == 1
    with pytest.raises(UserError, match="online: k: got 1, allowed: 2 or more"):
        OnlineSettings(k=1)


# --- demonstrations --------------------------------------------------------------------------------------------------


def lessons(n: int = 12) -> list[Any]:
    """Episodes of one who asks and then says the colour, as the model would have been shown them."""
    shown = collect_trajectories(ENV, {AGENT: Knower()}, ENV.tasks("train"), Plan(k=n // 6))
    chat = Chat(tiny_tokenizer(WORDS), label="tiny", template={})
    return list(prepare_data("bc", shown, chat).items)


def with_lessons(folder: Path, micro_batch: int = 8, **changes: Any) -> OnlineTrainer:
    from sonde.train.online.trainer import OnlineTrainer

    items, tokenizer = lessons(), tiny_tokenizer(WORDS)
    settings = TrainSettings(
        folder=str(folder), lr=1e-2, batch_size=8, micro_batch=micro_batch, max_steps=3, schedule="constant",
        warmup=0.0, save_steps=1, **changes,
    )  # fmt: skip
    games = [Game(ENV, ENV.tasks("train"), "asking")]
    model = tiny_model(0, vocab=len(tokenizer))
    return OnlineTrainer(model, PPO(bc=2.0), games, settings, CRITIC, tokenizer=tokenizer, shown=items)


@pytest.mark.thorough
def test_demonstrations_are_imitated_beside(tmp_path: Path) -> None:
    """However a step is cut; as a mean of its own, so that the loss of the first step is its parts by hand."""
    whole, cut = (with_lessons(tmp_path / str(n), n).train().history for n in (8, 1))
    first = whole[0]
    assert first["loss"] == pytest.approx(first["policy"] + first["value"] + 2.0 * first["nll_shown"], abs=1e-5)
    assert cut[0]["loss"] == pytest.approx(first["loss"], abs=1e-5)
    assert [e["nll_shown"] for e in cut] == pytest.approx([e["nll_shown"] for e in whole], abs=1e-2)
    assert whole[-1]["nll_shown"] < first["nll_shown"] - 0.2
    again = with_lessons(tmp_path / "8")
    rest = again.train(resume=tmp_path / "8" / "checkpoint-2").history
    assert without_clocks(rest) == without_clocks(whole)


def test_demonstrations_without_a_weight_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"online: demonstrations: got '0 episodes', allowed: some with an objective that imitates"
    ):
        trainer(tmp_path, objective=PPO(bc=1.0), online=CRITIC)


def test_what_is_drawn_depends_on_seed_and_step_alone() -> None:
    items = lessons()
    a, b, c = (draw_demonstrations(items, 4, 3, step) for step in (0, 0, 1))
    assert [s.trajectory for s in a] == [s.trajectory for s in b] != [s.trajectory for s in c]
    assert len(draw_demonstrations(items, 99, 3, 0)) == len(items) == 12


# --- learning --------------------------------------------------------------------------------------------------------

SIZES: dict[str, Any] = {"batch_size": 64, "micro_batch": 64, "lr": 5e-3}


def learned(t: OnlineTrainer) -> tuple[float, float]:
    """The share of games won at the beginning and at the end."""
    success = [entry["success"] for entry in t.train().history]
    return float(np.mean(success[:2])), float(np.mean(success[-5:]))


@pytest.mark.parametrize(
    ("level", "steps"), [("token", 25), pytest.param("turn", 45, marks=pytest.mark.slow)], ids=["token", "turn"]
)
def test_a_random_model_learns_to_ask_first_by_its_critic(level: Any, steps: int, tmp_path: Path) -> None:
    """From about no game won in a hundred to most, with one sample of each task."""
    online = OnlineSettings(k=1, credit=GAE(discount=1.0, lam=0.95, level=level), lock_step=True)
    t = trainer(tmp_path, objective=PPO(value_clip=0.5), online=online, max_steps=steps, **SIZES)
    before, after = learned(t)
    assert before < 0.15 and after > 0.6


@pytest.mark.slow
def test_a_random_model_learns_by_cloning_its_best(tmp_path: Path) -> None:
    """Slower, as it learns from wins alone: a half is what asking and saying a colour at random wins."""
    t = trainer(tmp_path, objective=SFT(), online=OnlineSettings(k=1, keep=0.3, lock_step=True), max_steps=40, **SIZES)
    before, after = learned(t)
    assert before < 0.15 and after > 0.4
