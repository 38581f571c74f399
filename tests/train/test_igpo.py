"""IGPO: gains in probability and their normalised sums by hand, its settings, and a step of it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sonde.beliefs.elicitation import Elicited
from sonde.core import Episode, Trajectory, UserError
from sonde.train.igpo import NormalisedReturn, ProbabilityGain
from sonde.train.presets import preset
from sonde.train.rewarders import Measurements
from sonde.train.rewards import RewardMix, named_rewards
from tests.cases import each

from .asking import Asking

ENV = Asking()


def played(*texts: str, sample: int = 0) -> Trajectory:
    ep = Episode.begin(ENV, ENV.task("red"), seed=1, sample=sample)
    for text in texts:
        ep = ep.step(text)
    return ep.to_trajectory()


WON = played("hm", "ask", "red")
LOST = played("hm", "hm", "hm", "hm", sample=1)
BELIEFS = Measurements({
    WON.id: tuple(Elicited(math.log(b), tokens=1) for b in (0.1, 0.2, 0.7, 0.9)),
    LOST.id: tuple(Elicited(math.log(b), tokens=1) for b in (0.1, 0.1, 0.3, 0.2, 0.4)),
})  # fmt: skip


def test_gains_in_probability_by_hand() -> None:
    """.1, .2, .7 before the three turns of a game that is won; .1, .1, .3, .2 before the four of one that is not. The
    last turn has no gain, won or lost."""
    found = ProbabilityGain().compute_rewards({"g": [WON, LOST]}, BELIEFS)
    assert found[WON.id]["probability_gain"].tolist() == pytest.approx([0.1, 0.5, 0.0])
    assert found[LOST.id]["probability_gain"].tolist() == pytest.approx([0.0, 0.2, -0.1, 0.0])
    logs = ProbabilityGain(change="log").compute_rewards({"g": [WON, LOST]}, BELIEFS)
    assert logs[WON.id]["probability_gain"].tolist() == pytest.approx([math.log(2), math.log(3.5), 0.0])
    assert logs[LOST.id]["probability_gain"].tolist() == pytest.approx([0.0, math.log(3), math.log(2 / 3), 0.0])


def test_rewards_are_gains_and_on_the_last_turn_the_outcome() -> None:
    brought = ProbabilityGain().compute_rewards({"g": [WON, LOST]}, BELIEFS)
    mix = RewardMix.from_paper("igpo")
    assert mix({**named_rewards(WON), **brought[WON.id]}).tolist() == pytest.approx([0.1, 0.5, 1.0])
    assert mix({**named_rewards(LOST), **brought[LOST.id]}).tolist() == pytest.approx([0.0, 0.2, -0.1, 0.0])


@each("norm, discount, by_hand", [
    # All of 1, 3, 5, 7: mean 4, deviation sqrt 5; -3, -1, 1, 3 over it, and summed to the end of each game.
    ("joint", 1.0, [[-4.0, -1.0], [4.0, 3.0]]),
    ("joint", 0.5, [[-3.5, -1.0], [2.5, 3.0]]),
    # Ends 3 and 7 and the others 1 and 5, each with deviation 2: -1 and 1.
    ("separate", 1.0, [[-2.0, -1.0], [2.0, 1.0]]),
])  # fmt: skip
def test_normalised_returns_by_hand(norm: str, discount: float, by_hand: list[list[float]]) -> None:
    credit = NormalisedReturn(norm=norm, discount=discount, eps=0.0)  # type: ignore[arg-type]
    found = credit({"g": [np.array([1.0, 3.0]), np.array([5.0, 7.0])], "alone": [np.array([2.0])], "none": []})
    scale = math.sqrt(5) if norm == "joint" else 1.0
    assert [(scale * row).tolist() for row in found["g"]] == [pytest.approx(row) for row in by_hand]
    assert [row.tolist() for row in found["alone"]] == [[0.0]] and found["none"] == []


def test_games_of_any_length_share_one_mean() -> None:
    """Rewards 0, 0, 1 | 0 | none: mean 1/4, deviation sqrt 3 / 4. The two turns before the win answer for it less what
    they cost: 2 (-1/4) + 3/4, then -1/4 + 3/4."""
    credit = NormalisedReturn(eps=0.0)
    found = credit({"g": [np.array([0.0, 0.0, 1.0]), np.array([0.0]), np.zeros(0)]})["g"]
    unit = 4 / math.sqrt(3)
    assert found[0].tolist() == pytest.approx([0.25 * unit, 0.5 * unit, 0.75 * unit])
    assert found[1].tolist() == pytest.approx([-0.25 * unit]) and found[2].tolist() == []
    apart = NormalisedReturn(norm="separate", eps=0.0)({"g": [np.array([0.0, 0.0, 1.0]), np.array([0.0])]})["g"]
    assert [row.tolist() for row in apart] == [[1.0, 1.0, 1.0], [-1.0]]


def test_equal_rewards_give_no_credit() -> None:
    found = NormalisedReturn()({"g": [np.array([0.1 + 0.2, 0.3]), np.array([0.3, 0.3])]})["g"]
    assert [row.tolist() for row in found] == [[0.0, 0.0], [0.0, 0.0]]


def test_bad_settings_are_named() -> None:
    with pytest.raises(UserError, match="credit: norm: got 'apart', allowed: joint, separate"):
        NormalisedReturn(norm="apart")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"credit: discount: got 1\.5"):
        NormalisedReturn(discount=1.5)
    with pytest.raises(UserError, match="probability_gain: change: got 'bits', allowed: probability, log"):
        ProbabilityGain(change="bits")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="probability_gain: among: got 'target'"):
        ProbabilityGain(among="target")
    with pytest.raises(
        UserError, match=r"probability_gain: trajectory .* got 1 beliefs, allowed: one before each of 4"
    ):
        ProbabilityGain().compute_rewards({"g": [LOST]}, Measurements({LOST.id: (Elicited(-1.0),)}))


def test_the_preset_is_the_papers() -> None:
    known = preset("igpo")
    assert known.options["clip_high"] == 0.2 and known.options["kl"] == 0.001 and not known.options["kl_ratio"]
    assert known.settings.batch_size == 32 * 16 and known.settings.lr == 1e-6 and known.online.k == 16
    assert known.online.credit == NormalisedReturn() and known.online.rewarders == (ProbabilityGain(),)
    assert preset("tiny_igpo").options == known.options


@pytest.mark.slow
def test_a_step_of_it_on_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import json

    from ..cli.invoke import run

    short = ("-o", "settings.max_steps=1", "-o", "settings.batch_size=8", "-o", "settings.save_steps=1")
    asked = ("-o", "online.max_new_tokens=12", "-o", "online.rewarders.probability_gain.template=statement")
    separate = ("-o", "online.credit=normalised_return", "-o", "online.credit.norm=separate")
    model = ("--model", "sonde-tiny-twenty_questions", "--out", str(tmp_path / "out"), "--json")
    found = json.loads(run("train", "tiny_igpo", "twenty_questions", *model, *short, *asked, *separate))
    last = found["last"]
    assert found["steps"] == 1 and -1.0 <= last["probability_gain"] <= 1.0 and last["grad_norm"] > 0
