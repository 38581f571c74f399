"""Shapings of gains against values computed by hand, and their common properties."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import UserError
from sonde.train.rewarders import SHAPINGS, shape_gains

NAN = math.nan
GAINS = {"g": [np.array([2.0, -3.0, NAN]), np.array([-1.0, 1.0]), np.array([0.5])], "h": [np.array([NAN])]}


def after(*names: str, **options: Any) -> list[list[float]]:
    return [row.tolist() for row in shape_gains(GAINS, names, **options)["g"]]


def test_games_one_by_one() -> None:
    assert after() == [[2, -3, 0], [-1, 1], [0.5]]
    assert after("relu") == [[2, 0, 0], [0, 1], [0.5]]
    assert after("min_max") == [[2, -2, 0], [-1, 1], [0.5]]
    assert after("min_max", clip=(0.0, 0.75)) == [[0.75, 0, 0], [0, 0.75], [0.5]]
    assert after("tanh", tau=0.5)[0] == pytest.approx([math.tanh(1.0), math.tanh(-1.5), 0.0])
    assert after("sigmoid")[1] == pytest.approx([1 / (1 + math.e), 1 / (1 + 1 / math.e)])
    assert after("sigmoid")[0][2] == 0.0  # the turn that wins has no gain, and not one of zero
    assert after("episode_centring") == [[2.5, -2.5, 0], [-1, 1], [0]]


def test_games_of_a_group_turn_by_turn() -> None:
    """Turn 0 has 2, -1 and .5 (mean .5), turn 1 has -3 and 1 (mean -1); nobody has a gain on turn 2."""
    assert after("group_centring") == [[1.5, -2, 0], [-1.5, 2], [0]]
    deviation = math.sqrt((1.5**2 + 1.5**2) / 3)
    assert after("group_centring", "group_std")[0] == pytest.approx([1.5 / deviation, -1.0, 0.0])
    assert after("group_min_max")[0] == pytest.approx([1, 0, 0]) and after("group_min_max")[1] == pytest.approx([0, 1])
    assert after("group_min_max")[2] == pytest.approx([0.25])
    assert after("group_centring", "relu") == [[1.5, 0, 0], [0, 2], [0]]


def test_shapings_have_names() -> None:
    with pytest.raises(UserError, match=r"shaping: unknown name 'rellu' .did you mean 'relu'"):
        shape_gains(GAINS, ("rellu",))


rows = st.lists(st.floats(-30, 30) | st.just(NAN), min_size=0, max_size=5).map(np.array)
groups = st.lists(rows, min_size=1, max_size=5)


@given(groups, st.lists(st.sampled_from(SHAPINGS), max_size=3))
def test_gains_stay_finite_and_in_place(group: list[np.ndarray], names: list[str]) -> None:
    before = [row.copy() for row in group]
    (found,) = shape_gains({"g": group}, names).values()
    assert [len(row) for row in found] == [len(row) for row in group]
    for row, given_row in zip(found, group, strict=True):
        assert np.isfinite(row).all() and not row[np.isnan(given_row)].any()
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, group, strict=True))


@given(groups)
def test_what_is_centred_sums_to_nothing(group: list[np.ndarray]) -> None:
    (found,) = shape_gains({"g": group}, ("group_centring",)).values()
    for t in range(max(map(len, group))):
        assert sum(row[t] for row in found if len(row) > t) == pytest.approx(0.0, abs=1e-9)
    (found,) = shape_gains({"g": group}, ("episode_centring",)).values()
    assert [row.sum() for row in found] == pytest.approx([0.0] * len(found), abs=1e-9)
    (found,) = shape_gains({"g": group}, ("group_min_max",)).values()
    assert all(((row >= 0.0) & (row <= 1.0)).all() for row in found)
