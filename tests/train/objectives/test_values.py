"""MC, ILQL and PPO against values computed by hand, and invariances."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import UserError
from sonde.train.credit import whiten
from tests.cases import each

pytest.importorskip("torch")
import torch
from torch import Tensor

from sonde.train.objectives.ilql import expectile_loss, ilql_loss
from sonde.train.objectives.mc import mc_loss
from sonde.train.objectives.ppo import PPO, ppo_loss
from sonde.train.types import Batch, count_units

from ..batches import doubles

Given = dict[str, Any]


def bools(rows: list[list[int]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.bool)


# Row 0: prompt, token 1, the environment, token 0. Row 1: prompt, token 1, then padding. Three tokens are the agent's.
AGENT = bools([[0, 1, 0, 1], [0, 1, 0, 0]])
TOKEN = torch.tensor([[1, 1, 0, 0], [0, 1, 0, 0]])
Q = doubles([[0, 0], [1, 2], [9, 9], [3, 0]]), doubles([[0, 0], [0, 0], [9, 9], [9, 9]])
Q_RTV = torch.stack(Q)
Q_RT = Q_RTV.gather(-1, TOKEN[..., None])[..., 0]
LOGP_RT = Q_RTV.log_softmax(-1).gather(-1, TOKEN[..., None])[..., 0]
"""Of the token that was said: its value, and its log-probability under the softmax of all values."""


def means(terms: Any) -> Any:
    """Means over the agent's tokens; what stands elsewhere is zero (the ratio, one)."""
    for name, x in terms._asdict().items():
        assert (x[~AGENT] == (1 if name == "ratio" else 0)).all(), name
    return type(terms)(*(x[AGENT].mean() for x in terms))


def mc(**changes: Any) -> Given:
    return {"q_RT": Q_RT, "logp_RT": LOGP_RT, "return_RT": doubles([[0, 4, 0, 1], [0, -2, 0, 0]]), "agent_RT": AGENT,
            "cql": 0.5, **changes}  # fmt: skip


def test_mc_by_hand() -> None:
    # Q of what was said: 2, 3, 0 against 4, 1, -2: (4 + 4 + 4) / 2 = 6 over 3 tokens
    # CQL: log(1 + e^-1), log(1 + e^-3), log 2
    terms = means(mc_loss(**mc()))
    conservative = (log(1 + exp(-1)) + log(1 + exp(-3)) + log(2)) / 3
    assert float(terms.q) == pytest.approx(2.0, abs=1e-12)
    assert float(terms.cql) == pytest.approx(conservative, abs=1e-12)
    assert float(terms.total) == pytest.approx(2.0 + 0.5 * conservative, abs=1e-12)


def ilql(**changes: Any) -> Given:
    return {
        "q1_RT": Q_RT, "q2_RT": Q_RT + 1, "logp1_RT": LOGP_RT, "logp2_RT": LOGP_RT,
        "v_RT": doubles([[7, 1, 7, 2], [7, -1, 7, 7]]),
        "final_R": torch.tensor([0.0, 4.0], dtype=torch.float64), "agent_RT": AGENT, "discount": 0.5, "tau": 0.8,
        "target_q1_RT": doubles([[7, 3, 7, 1], [7, -1, 7, 7]]), "cql": 0.25,
        "target_q2_RT": doubles([[7, 2, 7, 5], [7, 0, 7, 7]]), "reward_RT": doubles([[7, -1, 7, 1], [7, -1, 7, 7]]),
        **changes,
    }  # fmt: skip


def test_ilql_by_hand() -> None:
    # r + .5 V': -1 + .5 * 2 = 0 (across the environment's token), 1 + .5 * 0 = 1 (over), -1 + .5 * 4 = 1 (cut short)
    # Q1 2, 3, 0: (4 + 4 + 1) / 2 / 3 = 1.5; Q2 3, 4, 1: (9 + 9 + 0) / 2 / 3 = 3
    # least targets 2, 1, -1 against V 1, 2, -1: .8 * 1/2, .2 * 1/2, 0: .5 / 3
    terms = means(ilql_loss(**ilql()))
    conservative = (log(1 + exp(-1)) + log(1 + exp(-3)) + log(2)) / 3
    assert float(terms.q1) == pytest.approx(1.5, abs=1e-12)
    assert float(terms.q2) == pytest.approx(3.0, abs=1e-12)
    assert float(terms.v) == pytest.approx(0.5 / 3, abs=1e-12)
    assert float(terms.cql1) == pytest.approx(conservative, abs=1e-12)
    assert float(terms.cql2) == pytest.approx(conservative, abs=1e-12)
    assert float(terms.total) == pytest.approx(4.5 + 0.5 / 3 + 0.5 * conservative, abs=1e-12)


def test_a_discount_per_turn() -> None:
    # the first token of row 0 is followed by one of the same turn, the others end theirs: -1 + 1 * 2 = 1 against Q1 2
    per_turn = doubles([[1, 1, 1, 0.5], [1, 0.5, 1, 1]])
    assert float(means(ilql_loss(**ilql(discount=per_turn))).q1) == pytest.approx((1 + 4 + 1) / 6, abs=1e-12)


@pytest.mark.thorough
@given(st.lists(st.floats(-9, 9), min_size=1, max_size=9), st.floats(0.05, 0.95))
def test_what_minimises_the_expectile_loss_is_the_expectile(values: list[float], tau: float) -> None:
    """tau sum of what lies above equals 1 - tau sum of what lies below; tau .5 is the mean."""
    target = torch.tensor([values], dtype=torch.float64)
    agent = torch.ones_like(target, dtype=torch.bool)
    low, high = min(values), max(values)
    for _ in range(80):
        v = torch.tensor((low + high) / 2, dtype=torch.float64, requires_grad=True)
        expectile_loss(v.expand_as(target), target, tau, agent).sum().backward()
        low, high = (float(v.detach()), high) if v.grad < 0 else (low, float(v.detach()))
    above, below = (target - low).clamp(min=0).sum(), (low - target).clamp(min=0).sum()
    assert float(tau * above) == pytest.approx(float((1 - tau) * below), abs=1e-9)


def ppo(**changes: Any) -> Given:
    old = log(0.5)
    return {
        "logprob_RT": doubles([[0, log(0.75), 0, log(0.25)], [0, old, 0, 0]]),
        "sampled_RT": doubles([[0, old, 0, old], [0, old, 0, 0]]), "value_RT": doubles([[7, 2, 7, 1], [7, 0, 7, 7]]),
        "old_value_RT": doubles([[7, 1, 7, 1.1], [7, 0, 7, 7]]), "return_RT": doubles([[7, 3, 7, 0], [7, 1, 7, 7]]),
        "advantage_RT": doubles([[7, 2, 7, -1], [7, 1, 7, 7]]), "agent_RT": AGENT, "clip": 0.2, "value_clip": 0.5,
        "value_weight": 0.5, **changes,
    }  # fmt: skip


def test_ppo_by_hand() -> None:
    # ratios 1.5, .5, 1 at 2, -1, 1: -1.2 * 2, the larger of .5 and .8, -1: (-2.4 + .8 - 1) / 3
    # values: max((2 - 3)^2, (1.5 - 3)^2) = 2.25, max(1, 1) = 1, max(1, 1) = 1: 4.25 / 2 / 3
    # kl: 1.5 - 1 - log 1.5, .5 - 1 - log .5, 0
    terms = means(ppo_loss(**ppo()))
    assert float(terms.policy) == pytest.approx(-2.6 / 3, abs=1e-12)
    assert float(terms.value) == pytest.approx(4.25 / 6, abs=1e-12)
    assert float(terms.kl) == pytest.approx((0.5 - log(1.5) - 0.5 - log(0.5)) / 3, abs=1e-12)
    assert float(terms.total) == pytest.approx(-2.6 / 3 + 4.25 / 12, abs=1e-12)


def test_ppo_and_imitation_by_hand() -> None:
    """Row 0 was played, row 1 is shown and weighs 2 per token: it is no unit, and only its likelihood counts."""
    given = ppo()
    seen = Batch(
        agent_RT=AGENT, turn_RT=torch.where(AGENT, 0, -1), owner_R=torch.tensor([0, 1]), n_samples=2,
        score_S=torch.zeros(2), success_S=torch.tensor([False, True]), sampled_RT=given["sampled_RT"],
        advantage_RT=torch.where(torch.tensor([[True], [False]]), given["advantage_RT"], 2.0),
        return_RT=given["return_RT"], old_value_RT=given["old_value_RT"], head={"v": given["value_RT"]},
        shown_S=torch.tensor([False, True]),
    )  # fmt: skip
    loss = PPO(clip=0.2, value_clip=0.5, value_weight=0.5, bc=3.0)(given["logprob_RT"], seen)
    played = (-2.4 + 0.8) + 0.5 * (2.25 + 1) / 2
    assert float(loss.total) == pytest.approx(played + 3.0 * 2 * log(2), abs=1e-12)
    assert count_units(seen, "token") == 2
    assert [float(x) for x in loss.metrics["nll_shown"]] == pytest.approx([log(2), 1])
    assert float(loss.metrics["ratio"][1]) == 2


class Case(NamedTuple):
    """A loss, its arguments, and those through which gradients flow."""

    loss: Callable[..., Any]
    given: Callable[..., Given]
    learns: tuple[str, ...]


CASES = [
    pytest.param(Case(mc_loss, mc, ("q_RT", "logp_RT")), id="mc"),
    pytest.param(Case(ilql_loss, ilql, ("q1_RT", "q2_RT", "logp1_RT", "logp2_RT", "v_RT")), id="ilql"),
    pytest.param(Case(ppo_loss, ppo, ("logprob_RT", "value_RT")), id="ppo"),
]
ODD = [float("nan"), float("inf"), 1e30]


def floats(given: Given) -> list[str]:
    return [name for name, x in given.items() if isinstance(x, Tensor) and x.is_floating_point()]


def followed(given: Given) -> Given:
    """The same arguments, each of which notes its gradient."""
    return {k: x.clone().requires_grad_() if k in floats(given) else x for k, x in given.items()}


@each("odd", ODD)
@each("case", CASES)
def test_what_others_said_changes_nothing(case: Case, odd: float) -> None:
    plain, noisy = followed(case.given()), followed(case.given())
    for name in floats(noisy):
        if not name.endswith("_R"):
            noisy[name].data[~AGENT] = odd
    a, b = case.loss(**plain), case.loss(**noisy)
    assert [x.tolist() for x in a] == [x.tolist() for x in b]
    b.total.sum().backward()
    a.total.sum().backward()
    for name in case.learns:
        assert torch.equal(plain[name].grad, noisy[name].grad), name
        assert not noisy[name].grad[~AGENT].any()


@each("case", CASES)
def test_gradients_flow_through_predictions_alone(case: Case) -> None:
    arguments = followed(case.given())
    case.loss(**arguments).total.sum().backward()
    touched = {name for name in floats(arguments) if arguments[name].grad is not None and arguments[name].grad.any()}
    assert touched == set(case.learns)


def test_v_follows_its_targets_and_no_q() -> None:
    """The value of the next state teaches Q, and is not taught by it: only its own expectile moves V."""
    arguments = followed(ilql())
    ilql_loss(**arguments).q1.sum().backward()
    assert arguments["v_RT"].grad is None
    again = followed(ilql())
    ilql_loss(**again).v.sum().backward()
    assert [name for name in floats(again) if again[name].grad is not None] == ["v_RT"]


@each("case", CASES)
def test_gradients_are_those_of_the_loss(case: Case) -> None:
    """In Q, of ILQL: its targets hold V, which has no gradient there on purpose."""
    name = case.learns[0]

    def loss(x: Tensor) -> Tensor:
        return case.loss(**{**case.given(), name: x}).total.sum()

    assert torch.autograd.gradcheck(loss, (case.given()[name].clone().requires_grad_(),), eps=1e-6, atol=1e-6)


@each("case", CASES)
def test_precision_is_kept(case: Case) -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        arguments = {k: x.to(dtype) if k in floats(case.given()) else x for k, x in case.given().items()}
        assert {x.dtype for x in case.loss(**arguments)} == {torch.promote_types(dtype, torch.float32)}


def test_whiten_by_hand() -> None:
    # mean 2, variance (1 + 1 + 4 + 4) / 4 = 2.5
    values = np.array([1.0, 3.0, 0.0, 4.0])
    assert whiten(values).tolist() == pytest.approx([-(0.4**0.5), 0.4**0.5, -(1.6**0.5), 1.6**0.5])
    assert whiten(values, eps=1.5)[3] == pytest.approx(1.0)
    of_torch = whiten(torch.tensor(values))
    assert of_torch.dtype == torch.float64
    assert of_torch.tolist() == pytest.approx(whiten(values).tolist(), abs=1e-15)
    assert whiten(np.full(3, 7.0)).tolist() == [0.0, 0.0, 0.0]
    assert whiten([]).tolist() == []
    assert whiten(torch.tensor([1, 3]), eps=0.0).tolist() == [-1.0, 1.0]


@each("case", CASES)
def test_shapes_that_differ_are_refused(case: Case) -> None:
    """A column beside rows of tokens would be spread over all of them, and counted as often."""
    for name in case.given().keys() - {"agent_RT", "discount", "tau", "cql", "clip", "value_clip", "value_weight"}:
        wrong = case.given()[name][:, :1] if name != "final_R" else case.given()[name][:1]
        with pytest.raises(UserError, match=f"{name}: shape: got"):
            case.loss(**{**case.given(), name: wrong})
    with pytest.raises(UserError, match=r"agent_RT: got torch.float64, allowed: torch.bool"):
        case.loss(**{**case.given(), "agent_RT": AGENT.double()})
