"""Seeds by hash: the same on every machine, told apart by the whole path, drawn only when needed."""

from __future__ import annotations

import random

import pytest

from sonde.core import Rng, derive
from tests.cases import each


def test_known_seeds_never_change() -> None:
    """A change here makes every recorded trajectory replay differently."""
    assert derive(0) == 9523843951405948789
    assert derive(0, "reset", "0a54b4dd5a2cd0ed06d9") == 5342735439459460987
    assert derive(7, "step", "x", 3) == 6209964728942060398
    assert derive(-1, "policy", "x", 0, "agent", 2) == 12856535776973392960


@each(
    "one, other",
    [
        ((0, "a"), (1, "a")), ((0, "a", 1), (0, "a1")), ((0, "a", 1), (0, "a", "1")), ((0, "ab", "c"), (0, "a", "bc")),
        ((0, "a/s1:b"), (0, "a", "b")), ((0,), (0, "")), ((0, "a"), (0, "a", "")), ((1, "2"), (12,)), ((0, -1), (0, 1)),
    ],
)  # fmt: skip
def test_different_paths_give_different_seeds(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    assert derive(*one) != derive(*other)


def test_seeds_have_64_bits_and_no_collisions_in_a_sample() -> None:
    seeds = {derive(0, "x", i) for i in range(20_000)}
    assert len(seeds) == 20_000
    assert all(0 <= s < 1 << 64 for s in seeds)
    assert abs(sum(s >> 63 for s in seeds) / 20_000 - 0.5) < 0.02


def test_any_text_may_be_in_a_path() -> None:
    assert derive(0, "\ud800") != derive(0, "\ud801")
    assert derive(0, "é") != derive(0, "e\u0301")


PATH = (7, "step", "t", 3)


def test_an_rng_is_the_generator_of_its_path() -> None:
    mine, plain = Rng(*PATH), random.Random(derive(*PATH))
    assert [mine.randrange(100), mine.choice("abc"), mine.sample(range(9), 3), mine.random()] == [
        plain.randrange(100), plain.choice("abc"), plain.sample(range(9), 3), plain.random(),
    ]  # fmt: skip


def test_a_first_random_is_the_seed_itself_and_the_rest_is_the_generator() -> None:
    mine, plain = Rng(*PATH), random.Random(derive(*PATH))
    assert mine.random() == (derive(*PATH) >> 11) / 2**53
    assert [mine.random(), mine.randrange(100)] == [plain.random(), plain.randrange(100)]


def test_first_randoms_are_uniform() -> None:
    drawn = sorted(Rng(0, "u", i).random() for i in range(10_000))
    # Kolmogorov and Smirnov's distance; 1.95 / sqrt(n) is passed by 999 of 1000 uniform samples.
    distance = max(abs(u - i / 10_000) for i, u in enumerate(drawn))
    assert distance < 1.95 / 100
    assert drawn[0] >= 0.0
    assert drawn[-1] < 1.0


def test_an_rng_seeds_once_and_on_its_first_draw_only(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr("sonde.core.seeding.derive", lambda *path: calls.append(path) or 1)
    rng = Rng(7, "step")
    assert calls == []
    rng.random()
    rng.random()
    rng.randrange(3)
    assert calls == [(7, "step")]


def test_rngs_leave_the_global_generator_alone() -> None:
    state = random.getstate()
    Rng(0, "x").random()
    assert random.getstate() == state
