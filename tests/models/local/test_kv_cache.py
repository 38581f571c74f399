"""Kept keys and values: the longest prefix is found, what is found is what was put in, and the budget holds."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from sonde.models.local.kv_cache import DecodingBatch, PrefixCache

torch = pytest.importorskip("torch")


TOKEN = 2 * 2 * 4  # bytes of one token below: keys and values, two heads, one float each

Runs = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=25)


def kv(ids: array[int], a: int, b: int) -> list[Any]:
    """Keys that say which tokens they stand for: the sum of all tokens up to each."""
    sums = torch.tensor([float(total) + 100 * i for i, total in enumerate(accumulate(ids))])
    keys = sums[None, a:b, None].expand(2, -1, 1)
    return [torch.stack([keys, -keys])]


def found(slots: PrefixCache, ids: array[int]) -> tuple[int, list[float]]:
    n, path = slots.match_prefix(ids)
    return n, [x for node, m in path for x in node.kv[0][0, 0, :m, 0].tolist()]


@given(Runs)
def test_the_tree_is_a_set_of_prefixes(runs: list[list[int]]) -> None:
    from sonde.models.local.kv_cache import PrefixCache

    slots = PrefixCache(1 << 30)
    seen: list[array[int]] = []
    for run in runs:
        ids = array("i", run)
        expected = max((_common(ids, other) for other in seen), default=0)
        n, values = found(slots, ids)
        assert n == expected
        assert values == kv(ids, 0, n)[0][0, 0, :, 0].tolist()
        slots.insert_ids(ids, lambda a, b, ids=ids: kv(ids, a, b))
        seen.append(ids)
        assert found(slots, ids) == (len(ids), kv(ids, 0, len(ids))[0][0, 0, :, 0].tolist())
    assert slots.nbytes == TOKEN * len({tuple(ids[: i + 1]) for ids in seen for i in range(len(ids))})


@given(Runs, st.integers(0, 20))
def test_the_budget_holds_and_what_is_left_is_right(runs: list[list[int]], tokens: int) -> None:
    from sonde.models.local.kv_cache import PrefixCache

    slots = PrefixCache(tokens * TOKEN)
    for run in runs:
        ids = array("i", run)
        slots.count_requests(len(run) % 2)
        slots.insert_ids(ids, lambda a, b, ids=ids: kv(ids, a, b))
        assert slots.nbytes <= tokens * TOKEN
        assert slots.free_tokens() >= tokens - slots.nbytes // TOKEN
        n, values = found(slots, ids)
        assert values == kv(ids, 0, n)[0][0, 0, :, 0].tolist()


def _common(a: array[int], b: array[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def test_what_was_used_longest_ago_goes_first() -> None:
    from sonde.models.local.kv_cache import PrefixCache

    slots = PrefixCache(9 * TOKEN)
    runs = [array("i", [first, 5, 6]) for first in range(3)]
    for ids in runs:
        slots.count_requests(1)
        slots.insert_ids(ids, lambda a, b, ids=ids: kv(ids, a, b))
    slots.count_requests(1)
    slots.match_prefix(runs[0])
    new = array("i", [9, 9])
    slots.insert_ids(new, lambda a, b: kv(new, a, b))
    assert [slots.match_prefix(ids)[0] for ids in (*runs, new)] == [3, 0, 3, 2]
    assert slots.evicted == 3


def test_chains_stay_short() -> None:
    from sonde.models.local.kv_cache import PrefixCache

    slots = PrefixCache(1 << 30)
    ids = array("i")
    for turn in range(400):
        ids = ids + array("i", [turn % 7] * 10)
        whole = ids[:]
        slots.insert_ids(whole, lambda a, b, whole=whole: kv(whole, a, b))
    n, path = slots.match_prefix(ids)
    assert n == 4000
    assert len(path) <= 12


def write(deck: DecodingBatch, new: Any) -> None:
    deck.cache.update(new, new, 0)


def test_rows_stay_whole_while_a_deck_grows_and_shrinks() -> None:
    from sonde.models.local.kv_cache import DecodingBatch

    deck = DecodingBatch(1)
    rows: list[tuple[int, list[float]]] = []
    step = 0
    for length in (3, 7, 2, 400, 5):
        first = len(deck.lengths)
        deck.make_room(first + 1, length + 1, 1)
        deck.lengths.append(length)
        values = [float(1000 * length + i) for i in range(length)]
        deck.open_window(first, first + 1, length, length)
        write(deck, torch.tensor(values)[None, None, :, None])
        rows.append((length, values))
        for _ in range(90):
            deck.make_room(len(rows), max(deck.lengths) + 1, 1)
            deck.end += 1
            deck.lengths = [n + 1 for n in deck.lengths]
            deck.open_window(0, len(rows), max(deck.lengths), 1)
            step += 1
            write(deck, torch.full((len(rows), 1, 1, 1), float(-step)))
            for _, values in rows:
                values.append(float(-step))
        if len(rows) == 3:
            deck.remove_row(0)
            rows[0] = rows.pop()
    for row, (_, values) in enumerate(rows):
        keys = deck.copy_tokens(row, 0, deck.lengths[row])[0]
        assert keys[0, 0, :, 0].tolist() == values


def test_planes_of_one_shape_lie_together_and_those_never_written_nowhere() -> None:
    """Two layers: keys of one head, values of two; the second layer, as where layers share keys, writes none."""
    from sonde.models.local.kv_cache import DecodingBatch, PrefixCache

    deck = DecodingBatch(2)
    deck.make_room(2, 4, 1)
    deck.lengths += [3, 3]
    deck.open_window(0, 2, 3, 3)
    key, value = torch.rand(2, 1, 3, 2), torch.rand(2, 2, 3, 2)
    deck.cache.update(key, value, 0)
    two = deck.plane_view(3, key)
    assert two is not None
    two[:] = 2 * key
    kept = [run for run in deck.copy_tokens(1, 0, 3) if run is not None]
    assert [tuple(run.shape) for run in kept] == [(2, 1, 3, 2), (1, 2, 3, 2)]
    assert torch.equal(kept[0], torch.stack([key[1], 2 * key[1]]))
    assert torch.equal(kept[1][0], value[1])
    deck.remove_row(0)
    assert all(
        torch.equal(a, b) for a, b in zip(kept, (r for r in deck.copy_tokens(0, 0, 3) if r is not None), strict=True)
    )
    deck.clear_rows()
    deck.make_room(1, 4, 1)
    deck.lengths.append(3)
    slots = PrefixCache(1 << 20)
    slots.insert_ids(array("i", [1, 2]), lambda a, b: [None if r is None else r[:, :, a:b] for r in [*kept, None]])
    deck.load_row(0, slots.match_prefix(array("i", [1, 2]))[1], 3, 1)
    assert torch.equal(deck.copy_tokens(0, 0, 2)[0], kept[0][:, :, :2])
