"""Rewards from the environment's filter and from a model's belief: by hand, in the loop, and credited again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from sonde.agents.llm import LLM
from sonde.beliefs import records as believed
from sonde.beliefs.elicitation import Elicited
from sonde.core import Episode, Message, Probe, Trajectory, UserError, run_sync
from sonde.models.hf import HF
from sonde.runs.store import Run
from sonde.train.collect import Game
from sonde.train.credit import ReturnToGo, TurnWise
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.episode_log import recredit_episodes
from sonde.train.online.groups import PlannedTask, assign_credit, play_groups
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewarders import BeliefGain, ExactGain, Measurements
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings, TrainSettings

from .asking import WORDS, Asking
from .tiny import tiny_model, tiny_tokenizer

if TYPE_CHECKING:
    from sonde.train.online.trainer import OnlineTrainer

ENV = Asking()
ASKED = "Is the secret"


def played(*texts: str, sample: int = 0, env: Asking = ENV) -> Trajectory:
    ep = Episode.begin(env, env.task("red"), seed=1, sample=sample)
    for text in texts:
        ep = ep.step(text)
    return ep.to_trajectory()


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_exact_gains_by_hand() -> None:
    """Two colours: asking tells which, one bit, however late; a guess without asking is lost either way and tells
    nothing. Shaped like any gain."""
    games = [played("ask", "red"), played("hm", "ask", "red"), played("blue"), played("hm", "hm", "hm", "hm")]
    rewarder = ExactGain()
    found = rewarder.compute_rewards({"g": games}, rewarder.measure_episodes(ENV, games, None))
    bits = [[1.0, 0.0], [0.0, 1.0, 0.0], [0.0], [0.0] * 4]
    for t, by_hand in zip(games, bits, strict=True):
        assert found[t.id]["exact_gain"].tolist() == found[t.id]["truth_gain"].tolist() == by_hand
    assert rewarder.measure_episodes(ENV, games[:1], None).found[games[0].id]["truth_gain"].tolist() == [1.0, 0.0]
    half = replace(rewarder, shaping=("min_max",), clip=(0.0, 0.5))
    shaped = half.compute_rewards({"g": games[:1]}, half.measure_episodes(ENV, games, None))
    assert shaped[games[0].id]["exact_gain"].tolist() == [0.5, 0]


def test_belief_gains_by_hand() -> None:
    """ln b: -3, -1, -2 and, after the game was won, -.1, which is not asked for; lost without a word, there is none."""
    won, lost = played("hm", "ask", "red"), played("hm", "hm", "hm", "hm", sample=1)
    told = {won.id: beliefs(-3.0, -1.0, -2.0, -0.1), lost.id: beliefs(-3.0, -2.5, -2.5, -4.0)}
    raw = BeliefGain(shaping=())
    found = raw.compute_rewards({"g": [won, lost]}, Measurements(told))
    assert found[won.id]["belief"].tolist() == [2.0, -1.0, 0.0]
    assert found[lost.id]["belief"].tolist() == [0.5, 0.0, -1.5, 0.0]
    relu = BeliefGain().compute_rewards({"g": [won, lost]}, Measurements(told))
    assert relu[won.id]["belief"].tolist() == [2.0, 0.0, 0.0]
    centred = BeliefGain(shaping=("group_centring",)).compute_rewards({"g": [won, lost]}, Measurements(told))
    assert centred[won.id]["belief"].tolist() == [0.75, -0.5, 0.0]
    assert centred[lost.id]["belief"].tolist() == [-0.75, 0.5, 0.0, 0.0]
    with pytest.raises(UserError, match="got 2 beliefs, allowed: one before each of 4 turns"):
        raw.compute_rewards({"g": [lost]}, Measurements({lost.id: beliefs(-3.0, -2.5)}))


def test_gains_over_a_lagged_model_by_hand() -> None:
    """The player's ln b: -3, -1, -2; the moving average's: -4, -2, -2.5. Its code subtracts the average's belief before
    the turn from the player's after it: -1 - -4, -2 - -2; the sum is no change of one model's belief (1 and 1.5)."""
    won, lost = played("hm", "ask", "red"), played("hm", "hm", "hm", "hm", sample=1)
    own = {won.id: beliefs(-3.0, -1.0, -2.0, -0.1), lost.id: beliefs(-3.0, -2.5, -2.5, -4.0)}
    average = {won.id: beliefs(-4.0, -2.0, -2.5, -0.2), lost.id: beliefs(-4.0, -3.0, -3.0, -5.0)}
    told = Measurements(own, baseline=Measurements(average))
    for baseline in ("average", "start"):
        raw = BeliefGain(shaping=(), baseline=baseline).compute_rewards({"g": [won, lost]}, told)
        assert raw[won.id]["belief"].tolist() == [3.0, 0.0, 0.0]
        assert raw[lost.id]["belief"].tolist() == [1.5, 0.5, -1.0, 0.0]
    with pytest.raises(UserError, match="baseline: got 'average', but only the player's own beliefs were measured"):
        BeliefGain(baseline="average").compute_rewards({"g": [won]}, Measurements(own))


def test_gains_among_candidates_by_hand() -> None:
    """Both colours get twice as likely, then red four times and blue twice, then red alone loses half: of what is
    believed, the share of red goes 1/2, 1/2, 2/3, 1/2. Raw gains are those of red alone."""
    game = played("hm", "hm", "hm", "hm")
    logs = [(-4.0, -4.0), (-3.0, -3.0), (-3.0 + math.log(4), -3.0 + math.log(2)), (-2.0, -2.0)]
    told = Measurements({game.id: tuple(Elicited(red, {"red": red, "blue": blue}) for red, blue in logs)})
    rises = math.log((2 / 3) / (1 / 2))
    among = BeliefGain(among="all", shaping=()).compute_rewards({"g": [game]}, told)[game.id]["belief"]
    assert among.tolist() == pytest.approx([0.0, rises, -rises, 0.0])
    raw = BeliefGain(shaping=()).compute_rewards({"g": [game]}, told)[game.id]["belief"]
    assert raw.tolist() == pytest.approx([1.0, math.log(4), 1.0 - math.log(4), 0.0])
    with pytest.raises(UserError, match="among: got 'all', but the beliefs were stored without candidates"):
        BeliefGain(among="all").compute_rewards({"g": [game]}, Measurements({game.id: beliefs(-3.0, -2.5, -2.5, -4.0)}))


def test_what_makes_every_candidate_likelier_is_no_gain_among_them() -> None:
    """The truth and the other one get the same, times any factor at any turn: nothing is gained among them."""
    game, seat = played("hm", "ask", "blue"), player()
    raw = BeliefGain(among=("red", "blue"), shaping=()).measure_episodes(ENV, [game], seat).found[game.id]
    drift = [0.0, 3.0, -1.0, 5.0]
    moved = tuple(
        Elicited(b.target + d, {name: p + d for name, p in (b.candidates or {}).items()})
        for b, d in zip(raw, drift, strict=False)
    )
    one, other = (
        BeliefGain(among="all", shaping=()).compute_rewards({"g": [game]}, Measurements({game.id: found}))[game.id][
            "belief"
        ]
        for found in (raw, moved)
    )
    assert one == pytest.approx(other, abs=1e-9) and np.abs(one).max() > 1e-4


def beliefs(*logs: float) -> tuple[Elicited, ...]:
    return tuple(Elicited(x, tokens=1) for x in logs)


def player(**options: Any) -> LLM:
    tokenizer = tiny_tokenizer(WORDS)
    return LLM(model=HF.from_module(tiny_model(vocab=len(tokenizer)), tokenizer, model="tiny"), **options)


def test_belief_is_what_the_model_gives_the_truth_in_the_game_as_it_sees_it() -> None:
    game = played("hm", "ask", "blue")
    for seat, history in ((player(), ("start", "hm", "again", "ask", "red")), (player(context="render"), ("red",))):
        rewarder = BeliefGain(shaping=())
        found = rewarder.measure_episodes(ENV, [game], seat)
        roles = ("user", "assistant") * 3
        told = tuple(Message(role, text) for role, text in zip(roles, history, strict=False))  # type: ignore[arg-type]
        probe = Probe((*told, Message("assistant", f"{ASKED} red")), span=(14, 17))
        ((by_hand,),) = run_sync(seat.model.score([probe]))
        assert found.found[game.id][2].target == pytest.approx(by_hand, abs=1e-5)
        gains = rewarder.compute_rewards({"g": [game]}, found)[game.id]["belief"]
        logs = [belief.target for belief in found.found[game.id]]
        assert gains == pytest.approx(np.diff(logs)) and np.abs(gains).max() > 0.01
        assert found.setting["template"] == "statement" and found.setting["shown"]["context"] == seat.context


@dataclass(frozen=True, kw_only=True)
class Unfiltered(Asking):
    """The same, but nobody can say what can be known, nor what it is called."""

    def filter(self, public: Any) -> None:
        return None

    def in_words(self, hypothesis: Any) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Unlisted(Asking):
    """It can be said what is hidden, and not what can be known of it."""

    def filter(self, public: Any) -> None:
        return None


def test_what_cannot_be_measured_is_said_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"exact_gain: env: got .*, allowed: an environment with an exact filter"):
        trainer(tmp_path, env=Unfiltered(), rewarders=(ExactGain(),))
    with pytest.raises(UserError, match=r"whose hypothesis 'red' has no text|whose hypothesis 'blue' has no text"):
        trainer(tmp_path, env=Unfiltered(), rewarders=(BeliefGain(),))
    with pytest.raises(UserError, match=r"elicit: template: got 'Is it\?'"):
        BeliefGain(template="Is it?")
    with pytest.raises(UserError, match=r"belief: shaping: unknown name 'rely' .did you mean 'relu'"):
        BeliefGain(shaping=("rely",))
    with pytest.raises(UserError, match="belief: baseline: got 'now'"):
        BeliefGain(baseline="now")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="belief: among: got 'target', allowed: all, a number, texts, or nothing"):
        BeliefGain(among="target")
    with pytest.raises(UserError, match="has no filter that lists them"):
        trainer(tmp_path, env=Unlisted(), rewarders=(BeliefGain(among="all"),))
    with pytest.raises(UserError, match="belief: player: got none"):
        BeliefGain().measure_episodes(ENV, [], None)
    with pytest.raises(UserError, match="online: rewards: unknown name 'belief'"):
        OnlineSettings(rewards=RewardMix.from_paper("delta_belief"))
    with pytest.raises(UserError, match=r"rewarders: got .'exact_gain', 'truth_gain'.*, allowed: each name once"):
        OnlineSettings(rewarders=(ExactGain(), ExactGain()))


# --- in the loop -----------------------------------------------------------------------------------------------------

HURRY = RewardMix({"success": 1.0, "turns": -0.1})
MIX = RewardMix({"success": 1.0, "turns": -0.1, "truth_gain": 0.5})


def trainer(folder: Path, *, env: Asking = ENV, lora: LoraSettings | None = None, max_steps: int = 2,
            save_steps: int | None = None, lr: float = 3e-3, **online: Any) -> OnlineTrainer:  # fmt: skip
    from sonde.train.online.trainer import OnlineTrainer

    settings = TrainSettings(
        folder=str(folder), lr=lr, batch_size=8, micro_batch=8, max_steps=max_steps, schedule="constant",
        warmup=0.0, lora=lora, save_steps=save_steps, keep=5,
    )  # fmt: skip
    tokenizer = tiny_tokenizer(WORDS)
    model = tiny_model(vocab=len(tokenizer))
    games = [Game(env, env.tasks("train"), "asking")]
    how = OnlineSettings(k=4, lock_step=True, **online)
    return OnlineTrainer(model, GRPO(), games, settings, how, tokenizer=tokenizer)


def per_turn(sample: Any) -> list[set[float]]:
    """The advantages on the tokens of each turn."""
    found: list[set[float]] = [set() for _ in range(sample.turns)]
    for row in sample.rows:
        for turn, advantage in zip(row.turns, row.advantages, strict=True):
            if turn >= 0:
                found[turn].add(round(advantage, 6))
    return found


def watch_groups(t: OnlineTrainer) -> list[Any]:
    """The groups of every rollout, as it plays them."""
    seen: list[Any] = []
    check = t._check_played

    def remember(groups: Any, played: Any) -> None:
        seen.extend(groups)
        check(groups, played)

    t._check_played = remember  # type: ignore[method-assign]
    return seen


@pytest.mark.thorough
def test_exact_gains_reach_the_tokens_of_their_turns(tmp_path: Path) -> None:
    """Every token of a turn has the turn's advantage, turns of a game differ, and bits are in the history."""
    t = trainer(tmp_path, rewarders=(ExactGain(),), rewards=MIX, credit=ReturnToGo())
    seen = watch_groups(t)
    history = t.train().history
    found = [per_turn(sample) for group in seen for sample in group.samples]
    assert len(found) == 16 and all(len(values) == 1 for turns in found for values in turns)
    assert any(len(set.union(*turns)) > 1 for turns in found if len(turns) > 1)
    assert all(0.0 <= entry["truth_gain"] <= 1.0 for entry in history) and history[0]["truth_gain"] > 0.0
    assert all(entry["seconds_measuring"] > 0.0 for entry in history)


@pytest.mark.thorough
@pytest.mark.parametrize("rewarder", [ExactGain(), BeliefGain(shaping=("tanh",)), BeliefGain(among="all")])
def test_what_was_kept_is_credited_again_without_a_model(tmp_path: Path, rewarder: Any) -> None:
    (name, *_) = rewarder.names
    settings: dict[str, Any] = {
        "rewarders": (rewarder,), "rewards": RewardMix({"success": 1.0, name: 0.5}), "credit": TurnWise(),
        "save_episodes": True,
    }  # fmt: skip
    t = trainer(tmp_path, **settings)
    seen = watch_groups(t)
    t.train()
    folder = tmp_path / "episodes" / "asking"
    again = {s.trajectory: s for group in recredit_episodes(folder, t.online) for s in group.samples}
    before = {s.trajectory: s for group in seen for s in group.samples}
    assert again.keys() == before.keys() and len(again) > 8
    for key, sample in before.items():
        assert [row.advantages for row in again[key].rows] == [row.advantages for row in sample.rows]
    other = replace(t.online, credit=ReturnToGo(), rewarders=(replace(rewarder, shaping=()),))
    differing = {s.trajectory: s for group in recredit_episodes(folder, other) for s in group.samples}
    assert any(per_turn(differing[key]) != per_turn(sample) for key, sample in before.items())


@pytest.mark.thorough
def test_beliefs_are_kept_as_sonde_elicit_keeps_them(tmp_path: Path) -> None:
    trainer(tmp_path, rewarders=(BeliefGain(),), save_episodes=True).train()
    folder = tmp_path / "episodes" / "asking"
    notes, run = believed.load_beliefs(folder), list(Run.load(folder))
    assert {t.id for t in run} == set(notes.beliefs) and notes.setting["aggregate"] == "sum"
    assert notes.setting["model"]["weights"] == "step-1"
    for t in run:
        assert len(notes.beliefs[t.id]) in (len(t.turns), len(t.turns) + 1)
        assert all(belief.target < 0.0 for belief in notes.beliefs[t.id])
    with pytest.raises(UserError, match=r"asking has no beliefs \(elicited\) for 1 of 1 episodes"):
        BeliefGain().load_measurements(folder, ENV, [played("ask")])


def test_the_log_counts_what_stands_on_every_turn_once() -> None:
    """What games earned is 2 for a win, -.1 for each turn and -5 for an invalid one, though a win stands on each."""
    mix = RewardMix({"invalid": -5.0}, every={"success": 2.0, "turns": -0.1})
    chosen = [PlannedTask(Game(ENV, ENV.tasks("train"), "asking"), ENV.task("red"), 1, "asking")]
    (group,) = play_groups(chosen, player(temperature=1.0, min_p=0.0), {}, 8)
    (found,) = assign_credit(chosen, [group], OnlineSettings(k=8, rewards=mix))
    wins = sum(t.outcome is not None and t.outcome.success for t in group)
    turns, wrong = (
        sum(len(t.turns) for t in group),
        sum(turn.info.get("result") == "invalid" for t in group for turn in t.turns),
    )
    assert wrong > 0 and found.sums["reward"] == (pytest.approx(2.0 * wins - 0.1 * turns - 5.0 * wrong), 8.0)
    assert (found.sums["invalid"], found.sums["repeated"]) == ((wrong, 8.0), (0.0, 8.0))


# --- other weights ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("lora", [None, LoraSettings(r=4)])
def test_beliefs_of_the_start_stay_and_those_of_now_move(tmp_path: Path, lora: LoraSettings | None) -> None:
    games = [played("ask", "blue"), played("hm", "ask", "blue", sample=1)]
    found: dict[str, list[list[float]]] = {}
    for baseline in ("start", "current", "average"):
        rewarder = BeliefGain(baseline=baseline, shaping=())
        t = trainer(tmp_path / baseline, lora=lora, lr=3e-2, rewarders=(rewarder,), rewards=HURRY)
        found[baseline] = [logs(t, games)]
        t.train()
        found[baseline].append(logs(t, games))
        assert_gains_are_over_the_baseline(t, games)
    before = found["current"][0]
    assert found["start"][0] == before == found["average"][0] == found["start"][1]
    moved = {name: distance(found[name][1], before) for name in ("current", "average")}
    assert moved["current"] > 1e-3 and 0.0 < moved["average"] < 0.5 * moved["current"]


def logs(t: OnlineTrainer, games: Sequence[Trajectory]) -> list[float]:
    """Of the baseline."""
    (rewarder,) = t.online.rewarders
    measured = rewarder.measure_under(ENV, games, t._agent_under)  # pyright: ignore[reportPrivateUsage]
    found = (measured.baseline or measured).found
    return [belief.target for game in games for belief in found[game.id]]


def assert_gains_are_over_the_baseline(t: OnlineTrainer, games: Sequence[Trajectory]) -> None:
    """ln b after a turn under the weights of now, less that before it under the baseline's."""
    (rewarder,) = t.online.rewarders
    measured = rewarder.measure_under(ENV, games, t._agent_under)  # pyright: ignore[reportPrivateUsage]
    gains = rewarder.compute_rewards({"g": games}, measured)
    for game in games:
        own, lagged = measured.found[game.id], (measured.baseline or measured).found[game.id]
        by_hand = [b.target - a.target for a, b in zip(lagged, own[1:], strict=False)]
        assert gains[game.id]["belief"][: len(by_hand)].tolist() == pytest.approx(by_hand)


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def test_versions_put_back_what_was_there(tmp_path: Path) -> None:
    from sonde.train.online.weight_snapshots import WeightSnapshots

    module = torch.nn.Linear(2, 1, bias=False)
    module.weight.data = torch.tensor([[1.0, 2.0]])
    versions = WeightSnapshots(module, ("start", "average"))
    module.weight.data += 1.0
    versions.update_average()
    with versions.use_weights("start"):
        assert module.weight.tolist() == [[1.0, 2.0]]
    with versions.use_weights("average"):
        assert module.weight.tolist() == [pytest.approx([1.05, 2.05])]
    assert module.weight.tolist() == [[2.0, 3.0]]
    with pytest.raises(RuntimeError), versions.use_weights("start"):
        raise RuntimeError
    assert module.weight.tolist() == [[2.0, 3.0]]
    versions.save_average(tmp_path)
    other = WeightSnapshots(module, ("average",))
    other.load_average(tmp_path)
    with other.use_weights("average"):
        assert module.weight.tolist() == [pytest.approx([1.05, 2.05])]
    with pytest.raises(UserError, match="the moving average of weights cannot be recomputed"):
        other.load_average(tmp_path / "nowhere")


@pytest.mark.thorough
def test_a_resumed_run_has_the_average_that_it_had(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "rewarders": (BeliefGain(baseline="average"),), "rewards": RewardMix({"success": 1.0, "belief": 0.5}),
        "credit": TurnWise(), "max_steps": 4, "save_steps": 2, "lr": 3e-2,
    }  # fmt: skip
    straight = trainer(tmp_path / "whole", **options).train().history
    trainer(tmp_path / "parts", **options).train()
    resumed = trainer(tmp_path / "parts", **options)
    again = resumed.train(resume=tmp_path / "parts" / "checkpoint-2").history
    assert [entry["belief"] for entry in again] == [entry["belief"] for entry in straight]
    assert [entry["grad_norm"] for entry in again] == [entry["grad_norm"] for entry in straight]
    assert resumed.resume_identity["rewarders"]["belief"]["baseline"] == "average"
