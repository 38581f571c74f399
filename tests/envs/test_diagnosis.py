"""The exact rules behind customer service: replies, posteriors against brute force, gains, and looking ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as every

import pytest

from sonde.core import entropy
from sonde.envs._rules.diagnosis.products import (
    GOAL,
    Query,
    cause_gain,
    chances,
    finding_gain,
    moves,
    prior,
    products,
    seen,
    told,
    turns_left,
    without,
)
from sonde.envs._rules.diagnosis.talk import reply, small_talk

FRIDGE = products()["fridge_warm"]
SEAL = FRIDGE.cause("seal")


def test_replies_by_hand() -> None:
    paper, values = FRIDGE.finding("paper"), (1, 0, 1, 1, 1)
    slips, holds = Query("finding", paper, 0), Query("finding", paper, 1)
    assert reply(FRIDGE, Query("finding", paper), SEAL, values, "") == "The paper slides straight out."
    assert reply(FRIDGE, slips, SEAL, values, "") == "Yes. The paper slides straight out."
    assert reply(FRIDGE, holds, SEAL, values, "") == "No. The paper slides straight out."
    assert reply(FRIDGE, Query("fix", SEAL), SEAL, values, "") == GOAL
    assert reply(FRIDGE, Query("fix", 0), SEAL, values, "") == FRIDGE.causes[0].failed
    assert reply(FRIDGE, Query("cause", SEAL), SEAL, values, "") == GOAL


def test_answers_that_begin_with_no_need_no_other() -> None:
    ice = FRIDGE.finding("ice")
    assert FRIDGE.findings[ice].answers[1].startswith("Not ")
    assert told(FRIDGE, Query("finding", ice, 0), 1) == FRIDGE.findings[ice].answers[1]


def test_other_wordings_depend_on_the_message_alone() -> None:
    said = [f"message {i}" for i in range(50)]
    for kind in ("unknown", "several", "talk", "cause"):
        assert len({small_talk(FRIDGE, kind, text) for text in said}) > 1
        assert all(small_talk(FRIDGE, kind, text) == small_talk(FRIDGE, kind, text) for text in said)


def test_every_reply_about_a_finding_tells_its_value() -> None:
    for p in products().values():
        for f, found in enumerate(p.findings):
            for asked in range(-1, len(found.values)):
                texts = [told(p, Query("finding", f, asked), v) for v in range(len(found.values))]
                assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", sorted(products())[::8])
def test_the_posterior_is_brute_force(name: str) -> None:
    """Over all pairs of a cause and the values of all findings, weighed by their probability."""
    product = products()[name]
    worlds = list(_worlds(name))
    asked = [0, 1, 2]
    for values in {tuple(v[f] for f in asked) for _, _, v in worlds}:
        weights = prior(product)
        for f, value in zip(asked, values, strict=True):
            weights = seen(product, weights, f, value)
        mass = [0.0] * len(product.causes)
        for p, cause, drawn in worlds:
            if all(drawn[f] == value for f, value in zip(asked, values, strict=True)):
                mass[cause] += p
        assert weights == pytest.approx([m / sum(mass) for m in mass])


def _worlds(name: str) -> list[tuple[float, int, Sequence[int]]]:
    product, weights = products()[name], prior(products()[name])
    rows: list[tuple[float, int, Sequence[int]]] = []
    for c, cause in enumerate(product.causes):
        for drawn in every(*(range(len(row)) for row in cause.likelihood)):
            p = weights[c] * math.prod(row[v] for row, v in zip(cause.likelihood, drawn, strict=True))
            if p > 0.0:
                rows.append((p, c, drawn))
    return rows


def test_gains_are_falls_in_entropy() -> None:
    weights = prior(FRIDGE)
    for f in range(len(FRIDGE.findings)):
        after = 0.0
        for v in range(len(FRIDGE.findings[f].values)):
            p = sum(w * c.likelihood[f][v] for w, c in zip(weights, FRIDGE.causes, strict=True))
            after += p * entropy([w for w in seen(FRIDGE, weights, f, v) if w]) if p else 0.0
        assert finding_gain(FRIDGE, weights, f) == pytest.approx(entropy(weights) - after)
    p = weights[SEAL]
    rest = entropy([w for w in without(weights, SEAL) if w])
    assert cause_gain(weights, SEAL) == pytest.approx(entropy(weights) - (1 - p) * rest)
    assert cause_gain((1.0, 0.0), 0) == cause_gain((1.0, 0.0), 1) == 0.0


def test_errors_keep_every_cause_possible() -> None:
    rows = chances(FRIDGE, 0, 0.1)
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


@pytest.mark.parametrize("name", sorted(products())[::11])
def test_no_move_is_better_than_looking_ahead_says(name: str) -> None:
    rows = moves(name, prior(products()[name]), frozenset())
    assert min(cost for _, _, cost in rows) == turns_left(name, prior(products()[name]), frozenset())
    assert 1.0 < min(cost for _, _, cost in rows) < len(products()[name].causes)
