"""GAE against values computed by hand, its gradient, and the rows that leave a rollout."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.cli.training_overrides import ESTIMATORS
from sonde.core import UserError
from sonde.train.credit import GAE, gae, whiten
from sonde.train.token_rewards import agent_token_order
from tests.cases import each

pytest.importorskip("torch")
import torch

from sonde.models.local.heads import HeadSpec
from sonde.train.online.advantages import Critic, assign_critic_credit, token_divergences
from sonde.train.types import Sample

from .test_heads import plain, random_heads
from .test_token_rewards import FORKED, played, row
from .tiny import END, samples, tiny_model

floats = st.floats(-3, 3)


def of(credit: GAE, rewards: Any, values: Any, turns: Any, final: float = 0.0) -> tuple[list[float], list[float]]:
    found = credit.estimate_advantages(np.array(rewards, float), np.array(values, float), np.array(turns), final)
    return found.advantages.tolist(), found.returns.tolist()


def test_per_token_by_hand() -> None:
    # errors: 0 + .5 * 2 - 1 = 0, 1 + .5 * 3 - 2 = .5, 2 + .5 * 4 - 3 = 1; sums with .5 * .5: 1, .5 + .25, 0 + .1875
    credit = GAE(discount=0.5, lam=0.5)
    assert of(credit, [0, 1, 2], [1, 2, 3], [0, 0, 1], 4.0) == ([0.1875, 0.75, 1.0], [1.1875, 2.75, 4.0])
    # discount 1 within turn 0: errors 0 + 2 - 1 = 1, .5, 1; 1, .75, 1 + .5 * .75
    per_turn = GAE(discount=0.5, lam=0.5, per="turn")
    assert of(per_turn, [0, 1, 2], [1, 2, 3], [0, 0, 1], 4.0)[0] == [1.375, 0.75, 1.0]


def test_per_turn_by_hand() -> None:
    # turn 0 earned 3 in all, from a state worth 1: 3 + .5 * 2 - 1 = 3; turn 1: 4 + .5 * 6 - 2 = 5; 3 + .25 * 5
    credit = GAE(discount=0.5, lam=0.5, level="turn")
    advantages, returns = of(credit, [1, 2, 4], [1, 9, 2], [0, 0, 1], 6.0)
    assert (advantages, returns) == ([4.25, 4.25, 5.0], [5.25, 5.25, 7.0])


@given(st.lists(st.tuples(floats, floats), min_size=1, max_size=8), st.floats(0, 1), st.floats(0, 1), floats)
def test_a_turn_of_one_token_is_that_token(
    steps: list[tuple[float, float]], g: float, lam: float, final: float
) -> None:
    rewards, values = zip(*steps, strict=True)
    turns = range(len(steps))
    token, turn = (
        of(GAE(discount=g, lam=lam, level=level), rewards, values, turns, final) for level in ("token", "turn")
    )
    assert np.allclose(token, turn, atol=1e-9)
    assert np.allclose(token[0], gae(rewards, values, discount=g, lam=lam, bootstrap=final), atol=1e-9)


def test_the_weight_of_the_penalty_follows_the_divergence() -> None:
    fixed, adaptive = GAE(kl=0.1), GAE(kl=0.1, kl_target=0.5, kl_horizon=1000)
    assert fixed.update_kl_weight(0.1, 9.0, 100) == 0.1
    assert adaptive.update_kl_weight(0.1, 0.55, 100) == pytest.approx(0.1 * (1 + 0.1 * 0.1))
    assert adaptive.update_kl_weight(0.1, 9.0, 100) == pytest.approx(0.1 * 1.02)  # the error is held at .2
    assert adaptive.update_kl_weight(0.1, 0.0, 100) == pytest.approx(0.1 * 0.98)


@each("wrong, message",
    [({"lam": 1.5}, "credit: lam"), ({"kl": -1.0}, "credit: kl"), ({"kl_target": 1.0}, "kl_target: got 1.0"),
     ({"kl_horizon": 0}, "kl_horizon"), ({"level": "word"}, "credit: level")],
)  # fmt: skip
def test_bad_settings_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        GAE(**wrong)
    assert ESTIMATORS["gae"] is GAE


# --- which gradient it gives -----------------------------------------------------------------------------------------

# Two turns of two tokens, each 0 or 1 with probability pi; what an episode earns is told by its four tokens.
PI = np.array([0.3, 0.6, 0.5, 0.2])
EARNED = {word: np.sin(3.0 + np.dot(word, [1, 2, 4, 7])) for word in product((0, 1), repeat=4)}


def chance(word: tuple[int, ...], start: int = 0) -> float:
    return float(np.prod([p if w else 1 - p for w, p in zip(word[start:], PI[start:], strict=True)]))


def value(begun: tuple[int, ...]) -> float:
    """What the policy earns from here."""
    return sum(chance(w, len(begun)) * r for w, r in EARNED.items() if w[: len(begun)] == begun)


def expected(credit: GAE, values: Any) -> np.ndarray:
    """The expected policy gradient in the logits of the four decisions, all episodes enumerated."""
    total = np.zeros(4)
    for word, earned in EARNED.items():
        v = [values(word[:t]) for t in range(4)]
        advantages, _ = of(credit, [0, 0, 0, earned], v, [0, 0, 1, 1])
        total += chance(word) * np.array(advantages) * (np.array(word) - PI)
    return total


@each("level", ["token", "turn"])
def test_with_values_of_the_policy_both_levels_are_the_gradient(level: Any) -> None:
    step = 1e-6
    true = []
    for t in range(4):
        moved = PI.copy()
        moved[t] += step
        parts = [
            np.prod([p if w else 1 - p for w, p in zip(word, moved, strict=True)]) * r for word, r in EARNED.items()
        ]
        true.append((sum(parts) - value(())) / step * PI[t] * (1 - PI[t]))
    for lam in (0.0, 0.7, 1.0):
        found = expected(GAE(discount=1.0, lam=lam, level=level), value)
        if level == "token" or lam == 1.0:
            assert found == pytest.approx(true, abs=1e-5)
    assert expected(GAE(discount=1.0, lam=1.0, level=level), lambda _: 0.4) == pytest.approx(true, abs=1e-5)
    assert expected(GAE(discount=1.0, lam=0.0, level="token"), lambda _: 0.4) != pytest.approx(true, abs=1e-2)


# --- rows ------------------------------------------------------------------------------------------------------------


def alone(mine: list[Any]) -> list[list[Any]]:
    return [mine]


def test_a_critic_sees_the_states_before_tokens() -> None:
    model = tiny_model()
    heads = random_heads(model, HeadSpec(v=True))
    items = [*samples(3, rows=2), FORKED]
    found = Critic(model=model, heads=heads, pad_id=END, tokens=40).estimate_values(items)
    for sample in items:
        values = found[sample.trajectory]
        hidden = [heads.state_value(plain(model, r.ids)).tolist() for r in sample.rows]
        before = [v for per_row in hidden for v in [0.0, *per_row[:-1]]]
        assert values.tolist() == pytest.approx([before[i] for i in agent_token_order(sample)], abs=1e-4)


def test_rows_leave_with_credit() -> None:
    credit = GAE(discount=0.5, lam=1.0, whiten=False)
    (done,) = assign_critic_credit([FORKED], {FORKED.trajectory: np.zeros(5)}, credit, 0.0, alone)
    first, second = done.rows
    assert list(first.returns or ()) == list(first.advantages or ()) == [0, 0, 8, 16, 0, 0, 100]
    assert list(second.returns or ()) == [0, 0, 30, 60] and list(second.values or ()) == [0, 0, 0, 0]
    cut, said = replace(FORKED, cut=True), np.array([1.0, 2, 3, 4, 5])
    for limit, last in (("bootstrap", 100 + 0.5 * 5), ("end", 100.0)):
        (done,) = assign_critic_credit([cut], {cut.trajectory: said}, replace(credit, limit=limit), 0.0, alone)
        assert (done.rows[0].returns or ())[-1] == last  # its last turn is of one token, whose state is worth 5
        assert list(done.rows[1].values or ()) == [0, 0, 3, 4]


def compared(sample: Sample) -> Sample:
    """Sampled at -1, and the reference at -1.5 for each token."""
    rows = [
        replace(r, logprobs=array("f", [-1.0] * len(r)), reference=array("d", [-1.5] * len(r))) for r in sample.rows
    ]
    return replace(sample, rows=tuple(rows))


def test_leaving_the_reference_costs() -> None:
    sample = compared(played([row((0, 2))], [3.0]))
    assert token_divergences(sample).tolist() == [0.5, 0.5]
    credit = GAE(discount=1.0, lam=1.0, whiten=False, kl=1.0)
    (done,) = assign_critic_credit([sample], {sample.trajectory: np.zeros(2)}, credit, 0.2, alone)
    assert list(done.rows[0].returns or ()) == pytest.approx([0, 0, 2.8, 2.9])


def test_whitening_is_over_all_that_was_played() -> None:
    items = [replace(played([row((0, n))], [r]), trajectory=str(n)) for n, r in ((1, 1.0), (2, 4.0), (3, -2.0))]
    values = {s.trajectory: np.zeros(len(agent_token_order(s))) for s in items}
    credit = GAE(discount=1.0, lam=1.0)
    wanted = whiten(np.array([1.0, 4, 4, -2, -2, -2])).tolist()

    def advantages(done: list[Sample]) -> list[float]:
        return [a for s in done for a, agent in zip(s.rows[0].advantages or (), s.rows[0].agent, strict=True) if agent]

    assert advantages(assign_critic_credit(items, values, credit, 0.0, alone)) == pytest.approx(wanted)
    others = [np.array([-2.0, -2, -2])]
    two = assign_critic_credit(items[:2], values, credit, 0.0, lambda mine: [others, mine], rank=1)
    assert advantages(two) == pytest.approx(wanted[:3])
    assert assign_critic_credit([], {}, credit, 0.0, lambda mine: [others, mine], rank=1) == []
    assert torch.is_grad_enabled()
