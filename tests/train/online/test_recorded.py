"""PPO on recorded episodes: rounds, rewards, references, what is learned, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from sonde.core import AGENT, Action, ProgramPolicy, Rng, UserError, View
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn, prepare_data
from sonde.train.credit import GAE, GroupRelative
from sonde.train.logprobs import LogprobScorer
from sonde.train.objectives.grpo import GRPO
from sonde.train.objectives.ppo import PPO
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.settings import TrainSettings
from sonde.train.training import Learning, Training
from sonde.train.types import Sample

from ..asking import COLOURS, WORDS, Asking
from ..test_by_name import Knower
from ..tiny import knowing, tiny_model, tiny_tokenizer

ENV = Asking()

CRITIC = OnlineSettings(k=1, updates_per_rollout=2, credit=GAE(discount=1.0, lam=1.0), rewards=RewardMix({"env": 0.5}))


@dataclass(frozen=True, kw_only=True)
class Guesser(ProgramPolicy):
    """Says a colour at once, which loses."""

    def act_now(self, view: View) -> Action:
        return Action(Rng(view.seed).choice(COLOURS))


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """Sixteen games that ask and win and sixteen that guess and lose."""
    tasks = ENV.tasks("train")[:4]
    played = [t for p in (Knower(), Guesser()) for t in collect_trajectories(ENV, {AGENT: p}, tasks, Plan(k=4))]
    assert sum(t.outcome.success for t in played if t.outcome) == 16
    chat = Chat(tiny_tokenizer(WORDS), label="tiny", template={})
    return list(prepare_data("ppo", played, chat, Learning(), recorded=True).items)  # type: ignore[arg-type]


def recorded(folder: Path, samples: list[Sample], objective: Any = None, online: Any = None, **how: Any) -> Any:
    """A trainer on these episodes, with an untrained model."""
    from sonde.train.online.recorded import RecordedTrainer

    usual: dict[str, Any] = {"lr": 3e-3, "batch_size": 8, "micro_batch": 8, "schedule": "constant", "warmup": 0.0}
    settings = TrainSettings(folder=str(folder), **{**usual, "epochs": 1.0, **how})
    tokenizer = tiny_tokenizer(WORDS)
    model = tiny_model(0, vocab=len(tokenizer))
    return RecordedTrainer(model, objective or PPO(), samples, settings, online or CRITIC, tokenizer=tokenizer)


def test_a_round_begins_where_the_weights_are(tmp_path: Path, samples: list[Sample]) -> None:
    """Four steps in rounds of two: ratio 1 in the first of each, whoever played; values begin at 0, so the first
    returns are the rewards, scaled."""
    t = recorded(tmp_path, samples, PPO(linear=True))
    history = t.train().history
    assert len(history) == 4
    for entry in history[::2]:
        assert entry["ratio"] == pytest.approx(1.0, abs=1e-5) and entry["clipped"] == 0.0
    assert all(entry["kl_sampled"] > 1e-8 for entry in history[1::2])
    assert history[0]["v"] == 0.0 and history[2]["v"] != 0.0
    assert [type(layer).__name__ for layer in t.heads.v] == ["Linear"]
    assert 0.0 < history[0]["return"] < 0.5, "the first step's returns: .5 of those that win, 0 of the others"


def test_good_episodes_become_likelier_than_bad_ones(tmp_path: Path, samples: list[Sample]) -> None:
    t = recorded(tmp_path, samples, epochs=6.0, lr=1e-2)

    def gap() -> float:
        """Mean log-probability of the winning episodes' tokens, less that of the others'."""
        scorer = LogprobScorer(model=t.model, pad_id=t.pad_id)
        scored: list[Sample] = scorer(samples, "proximal")  # type: ignore[assignment]
        mean = {s.trajectory: np.nanmean([x for row in s.rows for x in row.proximal or ()]) for s in scored}
        won = [mean[s.trajectory] for s in samples if s.success]
        lost = [mean[s.trajectory] for s in samples if not s.success]
        assert won and lost
        return float(np.mean(won) - np.mean(lost))

    before = gap()
    t.train()
    assert gap() > before + 0.1


def test_the_penalty_needs_a_reference_and_is_logged(tmp_path: Path, samples: list[Sample]) -> None:
    online = replace(CRITIC, credit=GAE(kl=0.1))
    history = recorded(tmp_path, samples, online=online, lr=1e-2).train().history
    assert history[0]["kl_recorded"] == pytest.approx(0.0, abs=1e-5)
    assert abs(history[2]["kl_recorded"]) > 1e-5


def test_what_does_not_go_together_is_refused(tmp_path: Path, samples: list[Sample]) -> None:
    for n, (objective, online, how, message) in enumerate(
        (
            (
                GRPO(),
                replace(CRITIC, k=4, credit=GroupRelative()),
                {},
                "train: recorded episodes: got 'grpo', allowed: ppo",
            ),
            (PPO(), replace(CRITIC, credit=GAE(kl=0.1, kl_target=0.1)), {}, "credit: kl_target: got 0.1"),
            (PPO(), replace(CRITIC, rewards=RewardMix({"success": 1.0})), {}, "online: rewards: got"),
            (PPO(), CRITIC, {"save_steps": 3}, "train: save_steps: got 3, allowed: a multiple"),
        )
    ):
        with pytest.raises(UserError, match=message):
            recorded(tmp_path / str(n), samples, objective, online, **how)


def test_learn_takes_recorded_episodes(tmp_path: Path) -> None:
    """As `sonde train tiny_ppo_offline RUN` does; and without `recorded` ppo is refused."""
    model = knowing(WORDS, tmp_path / "model")
    played = collect_trajectories(ENV, {AGENT: Knower()}, ENV.tasks("train"), Plan(k=2))
    settings = TrainSettings(folder=str(tmp_path / "t"), lr=1e-3, batch_size=4, micro_batch=4, warmup=0.0)
    training = Training(objective="ppo", settings=settings, online=CRITIC, recorded=True)
    assert not training.is_online and set(training.to_json()) >= {"learning", "online"}
    assert learn(model, training, played).steps == 3
    with pytest.raises(UserError, match="objective: unknown name 'ppo'"):
        learn(model, replace(training, recorded=False), played, fresh=True)
