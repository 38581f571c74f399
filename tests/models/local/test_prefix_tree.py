"""Radix trees and their blocks: every distinct beginning once, every run once, within the bounds."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sonde.models.local.prefix_tree import Block, PrefixTree, TokenRun, cut_blocks


@st.composite
def rows(draw: st.DrawFn) -> list[array[int]]:
    """Sequences most of which go on from somewhere in an earlier one."""
    tokens = st.lists(st.integers(0, 2), min_size=1, max_size=30)
    found = [array("i", draw(tokens))]
    for _ in range(draw(st.integers(0, 12))):
        other = draw(st.sampled_from(found))
        start = draw(st.integers(0, len(other)))
        found.append(other[:start] + array("i", draw(tokens)) if start < len(other) else other[:])
    return found


def way(run: TokenRun | None) -> list[int]:
    """All tokens from the start to the end of a run."""
    return [] if run is None else way(run.parent) + run.ids.tolist()


def flat(found: list[Block]) -> Iterator[Block]:
    for block in found:
        yield block
        yield from flat(block.after)


@given(rows(), st.integers(1, 40))
def test_a_tree_holds_every_beginning_once(rows: list[array[int]], longest: int) -> None:
    tree = PrefixTree(rows, longest=longest)
    for r, ids in enumerate(rows):
        assert way(tree.ends[r]) == ids.tolist()
        for position, token in enumerate(ids):
            run = tree.find_run(r, position)
            assert run.ids[position - run.start] == token
    distinct = {tuple(ids[: n + 1]) for ids in rows for n in range(len(ids))}
    runs = list(tree.runs)
    assert sum(len(run.ids) for run in runs) == len(distinct)
    assert all(0 < len(run.ids) <= longest for run in runs)
    for run in runs:
        assert run.start == (run.parent.end if run.parent else 0)
        beside = run.parent.children if run.parent else tree.roots
        assert run in beside
        if len({other.ids[0] for other in beside}) < len(beside):
            raise AssertionError("two runs that begin alike")


@given(rows(), st.integers(4, 60), st.integers(2, 9), st.booleans(), st.data())
def test_blocks_hold_every_run_once_after_what_leads_to_it(
    rows: list[array[int]], tokens: int, wanted: int, alone: bool, data: st.DataObject
) -> None:
    tree = PrefixTree(rows, longest=min(tokens, wanted))
    for run in tree.runs:
        run.wanted = data.draw(st.integers(0, len(run.ids)))
    found = cut_blocks(tree, tokens=tokens, wanted=wanted, alone=alone)
    held = [run for block in flat(found) for run in block.runs]
    assert len(held) == len(set(held)) and set(held) == set(tree.runs)
    assert all(block.base is None for block in found)
    for block in flat(found):
        assert sum(len(run.ids) for run in block.runs) <= tokens
        assert sum(run.wanted for run in block.runs) <= wanted
        assert len(block.runs) == 1 or not alone
        for i, run in enumerate(block.runs):
            assert run.parent is block.base or run.parent in block.runs[:i]
        for child in block.after:
            assert child.base in block.runs


def test_a_conversation_and_its_branches_go_together_and_a_shared_prompt_goes_first() -> None:
    """Three turns of 10 tokens, each with a branch of 2, after a prompt of 20 that two such episodes share."""
    prompt = array("i", [9] * 20)
    episodes: list[array[int]] = []
    for e in (1, 2):
        told = prompt + array("i")
        for turn in range(3):
            told = told + array("i", [e] + [turn] * 9)
            episodes.append(told + array("i", [7, 7]))
    tree = PrefixTree(episodes, longest=40)
    assert sum(len(run.ids) for run in tree.runs) == 20 + 2 * 36
    [first] = cut_blocks(tree, tokens=40, wanted=40)
    assert [len(run.ids) for run in first.runs] == [20]
    assert [sum(len(run.ids) for run in block.runs) for block in first.after] == [36, 36]
    [whole] = cut_blocks(tree, tokens=92, wanted=40)
    assert len(whole.runs) == 1 + 2 * 5 and not whole.after


def test_many_candidates_of_one_turn_are_put_together() -> None:
    turn = array("i", [0] * 10)
    tree = PrefixTree([turn + array("i", [i, 1, 2, 3]) for i in range(1, 101)], longest=40)
    [first] = cut_blocks(tree, tokens=40, wanted=40)
    assert len(first.after) == 10, "93 of them are left, 10 to a block"
    assert {len(block.runs) for block in first.after} == {10, 3}
