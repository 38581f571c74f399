"""Sequences of tokens as one radix tree, and the tree as blocks that are computed one after another. No torch here.

A *run* is a piece of the tree without branches: what several sequences have in common stands in it once. A *block* is
one or more runs that are fed to the model together: neighbours in the tree, all of which hang from the end of one run
in an earlier block, their *base*, or begin at the start. So what comes before a block is one sequence, the same for all
of it, and the keys and values of a run are computed once, however many sequences go through it.

Source: ours; masks over a tree of tokens are those of speculative decoding (SpecInfer, arXiv 2305.09781), and a tree of
shared prefixes that of RadixAttention (SGLang, arXiv 2312.07104).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .chat import common


@dataclass(eq=False, slots=True)
class Run:
    """`ids` at the positions from `start` on; `wanted` says at how many of them a next token is to be predicted."""

    ids: array[int]
    start: int
    parent: Run | None = None
    children: list[Run] = field(default_factory=list["Run"])
    wanted: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.ids)


class Tree:
    """The radix tree of `rows`. Row r ends with the run `ends[r]`; no run is longer than `longest`.

    >>> tree = Tree([array("i", [1, 2, 3]), array("i", [1, 2]), array("i", [1, 2, 4, 5])], longest=9)
    >>> sorted(run.ids.tolist() for run in tree.runs)
    [[1, 2], [3], [4, 5]]
    """

    def __init__(self, rows: Sequence[array[int]], *, longest: int) -> None:
        self.longest = longest
        self.roots: list[Run] = []
        found: dict[int, Run] = {}
        path: list[Run] = []
        before = array("i")
        for r in sorted(range(len(rows)), key=lambda r: rows[r].tobytes()):  # what is shared becomes neighbours
            self._grow(path, rows[r], common(before, rows[r]))
            before = rows[r]
            found[r] = path[-1]
        self.ends = [found[r] for r in range(len(rows))]

    def _grow(self, path: list[Run], ids: array[int], shared: int) -> None:
        """Make `path`, the runs of a sequence that shares so many tokens with `ids`, the runs of `ids`."""
        while path and path[-1].start >= shared:
            path.pop()
        if path and path[-1].end > shared:
            path[-1] = self._split(path[-1], shared)
        for at in range(shared, len(ids), self.longest):
            run = Run(ids[at : at + self.longest], at, path[-1] if path else None)
            self._beside(run).append(run)
            path.append(run)

    def _split(self, run: Run, at: int) -> Run:
        """Cut a run in two; it stays its own second part, where sequences end. The first part."""
        first = Run(run.ids[: at - run.start], run.start, run.parent, [run])
        beside = self._beside(run)
        beside[beside.index(run)] = first
        run.ids, run.start, run.parent = run.ids[at - run.start :], at, first
        return first

    def _beside(self, run: Run) -> list[Run]:
        return run.parent.children if run.parent else self.roots

    @property
    def runs(self) -> Iterator[Run]:
        """All of them, each before those that hang from it."""
        stack = self.roots[::-1]
        while stack:
            run = stack.pop()
            stack.extend(reversed(run.children))
            yield run

    def holder(self, row: int, position: int) -> Run:
        """The run in which a row's token at this position stands."""
        run = self.ends[row]
        while run.start > position:
            assert run.parent is not None
            run = run.parent
        return run


@dataclass(eq=False, slots=True)
class Block:
    """Runs that are computed together, each after the one it hangs from, and the blocks that hang from these."""

    runs: list[Run]
    base: Run | None
    after: list[Block] = field(default_factory=list["Block"])


@dataclass(eq=False, slots=True)
class _Bin:
    """Runs whose kept subtrees go together."""

    runs: list[Run]
    tokens: int
    wanted: int


def blocks(tree: Tree, *, tokens: int, wanted: int, alone: bool = False) -> list[Block]:
    """The tree in blocks of at most so many tokens, and so many wanted predictions, as far as single runs allow; the
    ones that begin at the start. With `alone` every run is a block.

    From the leaves up, every run keeps the lightest of its children that fit in with it, which gives the fewest blocks
    if cut children were blocks of their own; those of one run are put together as far as they fit.
    """
    kept: dict[Run, _Bin] = {}
    cut: dict[Run | None, list[_Bin]] = {}

    def fits(a: _Bin, b: _Bin) -> bool:
        return not alone and a.tokens + b.tokens <= tokens and a.wanted + b.wanted <= wanted

    def gather(own: _Bin | None, children: Sequence[Run]) -> list[_Bin]:
        """What does not fit in with `own`, put together."""
        rest: list[_Bin] = []
        for child in sorted(children, key=lambda run: kept[run].tokens):
            if own and fits(own, kept[child]):
                _put(own, kept[child], [child])
            else:
                rest.append(_Bin([child], kept[child].tokens, kept[child].wanted))
        bins: list[_Bin] = []
        for one in reversed(rest):
            room = next((b for b in bins if fits(b, one)), None)
            if room:
                _put(room, one, one.runs)
            else:
                bins.append(one)
        return bins

    for run in sorted(tree.runs, key=lambda run: run.start, reverse=True):
        kept[run] = _Bin([], len(run.ids), run.wanted)
        cut[run] = gather(kept[run], run.children)
    cut[None] = gather(None, tree.roots)

    def build(roots: Sequence[Run], base: Run | None) -> Block:
        block = Block([], base)
        stack = [*reversed(roots)]
        while stack:
            run = stack.pop()
            block.runs.append(run)
            stack.extend(reversed(kept[run].runs))
        return block

    first = [build(one.runs, None) for one in cut[None]]
    stack = first[:]
    while stack:
        block = stack.pop()
        block.after = [build(one.runs, run) for run in block.runs for one in cut[run]]
        stack.extend(block.after)
    return first


def _put(into: _Bin, more: _Bin, runs: Sequence[Run]) -> None:
    into.runs.extend(runs)
    into.tokens += more.tokens
    into.wanted += more.wanted
