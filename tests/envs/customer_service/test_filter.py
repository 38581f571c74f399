"""The exact rules behind customer service: replies, posteriors against brute force, gains, and looking ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as every

import pytest

from sonde.core import entropy
from sonde.envs.customer_service.answering import GOAL, answer_finding, answer_message
from sonde.envs.customer_service.filter import (
    LOST,
    cause_gain,
    exclude_cause,
    finding_gain,
    observe_value,
    prior_weights,
    rank_moves,
    turns_left,
    value_chances,
)
from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.reading import Query
from tests.cases import each

FRIDGE = load_products()["fridge_warm"]
SEAL = FRIDGE.cause_index("seal")


def test_replies_by_hand() -> None:
    paper, values = FRIDGE.finding_index("paper"), (1, 0, 1, 1, 1)
    slips = "The strip of paper slides straight out of the closed door."
    assert answer_message(FRIDGE, Query("finding", paper), SEAL, values, "") == slips
    assert answer_message(FRIDGE, Query("finding", paper, (), True), SEAL, values, "") == f"I could not say. {slips}"
    assert answer_message(FRIDGE, Query("fix", SEAL), SEAL, values, "") == GOAL
    assert answer_message(FRIDGE, Query("fix", 0), SEAL, values, "") == FRIDGE.causes[0].failed
    assert answer_message(FRIDGE, Query("cause", SEAL), SEAL, values, "") == GOAL
    wrong = "No, it is not that it was turned down to the weakest level."
    assert answer_message(FRIDGE, Query("cause", 0), SEAL, values, "") == wrong


def test_every_reply_about_a_finding_tells_its_value_in_a_sentence() -> None:
    for p in load_products().values():
        for f, found in enumerate(p.findings):
            texts = [answer_finding(p, Query("finding", f), v) for v in range(len(found.values))]
            assert len(set(texts)) == len(texts)
            assert all(len(text.split()) > 2 and text[-1] in ".!?" for text in texts), texts


@each("name", sorted(load_products())[::8])
def test_the_posterior_is_brute_force(name: str) -> None:
    """Over all pairs of a cause and the values of all findings, weighed by their probability."""
    product = load_products()[name]
    worlds = list(_worlds(name))
    asked = [0, 1, 2]
    for values in {tuple(v[f] for f in asked) for _, _, v in worlds}:
        weights = prior_weights(product)
        for f, value in zip(asked, values, strict=True):
            weights = observe_value(product, weights, f, value)
        mass = [0.0] * len(product.causes)
        for p, cause, drawn in worlds:
            if all(drawn[f] == value for f, value in zip(asked, values, strict=True)):
                mass[cause] += p
        assert weights == pytest.approx([m / sum(mass) for m in mass])


def _worlds(name: str) -> list[tuple[float, int, Sequence[int]]]:
    product, weights = load_products()[name], prior_weights(load_products()[name])
    rows: list[tuple[float, int, Sequence[int]]] = []
    for c, cause in enumerate(product.causes):
        for drawn in every(*(range(len(row)) for row in cause.likelihood)):
            p = weights[c] * math.prod(row[v] for row, v in zip(cause.likelihood, drawn, strict=True))
            if p > 0.0:
                rows.append((p, c, drawn))
    return rows


def test_gains_are_falls_in_entropy() -> None:
    weights = prior_weights(FRIDGE)
    for f in range(len(FRIDGE.findings)):
        after = 0.0
        for v in range(len(FRIDGE.findings[f].values)):
            p = sum(w * c.likelihood[f][v] for w, c in zip(weights, FRIDGE.causes, strict=True))
            after += p * entropy([w for w in observe_value(FRIDGE, weights, f, v) if w]) if p else 0.0
        assert finding_gain(FRIDGE, weights, f) == pytest.approx(entropy(weights) - after)
    p = weights[SEAL]
    rest = entropy([w for w in exclude_cause(weights, SEAL) if w])
    assert cause_gain(weights, SEAL) == pytest.approx(entropy(weights) - (1 - p) * rest)
    assert cause_gain((1.0, 0.0), 0) == cause_gain((1.0, 0.0), 1) == 0.0


def test_errors_keep_every_cause_possible() -> None:
    rows = value_chances(FRIDGE, 0, 0.1)
    assert all(sum(row) == pytest.approx(1.0) and min(row) >= 0.1 - 1e-12 for row in rows)


def test_looking_ahead_by_hand() -> None:
    """Known: one message. Two alike and nothing that tells them apart: one and a half."""
    n = len(FRIDGE.causes)
    every_finding = frozenset(range(len(FRIDGE.findings)))
    sure = tuple(float(i == SEAL) for i in range(n))
    even = tuple(0.5 if i < 2 else 0.0 for i in range(n))
    assert turns_left("fridge_warm", sure, frozenset()) == 1.0
    assert turns_left("fridge_warm", even, every_finding) == pytest.approx(1.5)
    assert turns_left("fridge_warm", even, frozenset()) == pytest.approx(1.5)
    third = tuple(1 / 3 if i < 3 else 0.0 for i in range(n))
    assert turns_left("fridge_warm", third, every_finding) == pytest.approx((1 + 2 + 3) / 3)


def test_looking_ahead_with_an_impatient_customer_by_hand() -> None:
    """Three alike and nothing that tells them apart. With the first wrong proposal all is lost: two thirds of the time.
    With the second: after one wrong proposal two are left, of which the next is wrong half the time. Three proposals
    cannot fail three times."""
    n = len(FRIDGE.causes)
    third = tuple(1 / 3 if i < 3 else 0.0 for i in range(n))
    expected = {1: 1 + LOST * 2 / 3, 2: 1 + 2 / 3 * (1 + LOST / 2), 3: 2.0, None: 2.0}
    for patience, cost in expected.items():
        found = turns_left("fridge_warm", third, frozenset(range(len(FRIDGE.findings))), patience)
        assert found == pytest.approx(cost), patience


@each("name", sorted(load_products())[::11])
def test_the_less_patience_the_more_messages_and_no_lost_case(name: str) -> None:
    prior = prior_weights(load_products()[name])
    costs = [turns_left(name, prior, frozenset(), patience) for patience in (None, 3, 2, 1)]
    assert costs == sorted(costs) and costs[-1] < 5


@each("name", sorted(load_products())[::11])
def test_no_move_is_better_than_looking_ahead_says(name: str) -> None:
    rows = rank_moves(name, prior_weights(load_products()[name]), frozenset())
    assert min(cost for _, _, cost in rows) == turns_left(name, prior_weights(load_products()[name]), frozenset())
    assert 1.0 < min(cost for _, _, cost in rows) < len(load_products()[name].causes)
