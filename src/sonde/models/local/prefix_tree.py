"""Token sequences as a radix tree, cut into blocks that are computed one after another. No torch here.

A *run* is a piece of the tree without branches: tokens that several sequences share appear in it once. A *block* is one
or more runs that are fed to the model together: neighbours in the tree that all follow the end of one run in an earlier
block, their *base*, or that begin at the start. So the context of a block is one sequence, the same for all of it, and
the keys and values of a run are computed once, however many sequences pass through it.

Source: ours; masks over a tree of tokens are those of speculative decoding (SpecInfer, arXiv 2305.09781), and a tree of
shared prefixes that of RadixAttention (SGLang, arXiv 2312.07104).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..chat.chat import common_prefix_length


@dataclass(eq=False, slots=True)
class TokenRun:
    """`ids` at the positions from `start` on; `wanted`: at how many of them the next token is to be predicted."""

    ids: array[int]
    start: int
    parent: TokenRun | None = None
    children: list[TokenRun] = field(default_factory=list["TokenRun"])
    wanted: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.ids)


class PrefixTree:
    """The radix tree of `rows`. Row r ends with the run `ends[r]`; no run is longer than `longest`.

    >>> tree = PrefixTree([array("i", [1, 2, 3]), array("i", [1, 2]), array("i", [1, 2, 4, 5])], longest=9)
    >>> sorted(run.ids.tolist() for run in tree.runs)
    [[1, 2], [3], [4, 5]]
    """

    def __init__(self, rows: Sequence[array[int]], *, longest: int) -> None:
        self.longest = longest
        self.roots: list[TokenRun] = []
        ends: dict[int, TokenRun] = {}
        path: list[TokenRun] = []
        before = array("i")
        for r in sorted(range(len(rows)), key=lambda r: rows[r].tobytes()):  # shared prefixes become neighbours
            self._extend_path(path, rows[r], common_prefix_length(before, rows[r]))
            before = rows[r]
            ends[r] = path[-1]
        self.ends = [ends[r] for r in range(len(rows))]

    def _extend_path(self, path: list[TokenRun], ids: array[int], shared: int) -> None:
        """Turn `path`, the runs of a sequence that shares `shared` tokens with `ids`, into the runs of `ids`."""
        while path and path[-1].start >= shared:
            path.pop()
        if path and path[-1].end > shared:
            path[-1] = self._split_run(path[-1], shared)
        for at in range(shared, len(ids), self.longest):
            run = TokenRun(ids[at : at + self.longest], at, path[-1] if path else None)
            self._siblings_of(run).append(run)
            path.append(run)

    def _split_run(self, run: TokenRun, at: int) -> TokenRun:
        """Cut a run in two and return the first part. The object itself becomes the second part, where sequences
        end."""
        first = TokenRun(run.ids[: at - run.start], run.start, run.parent, [run])
        beside = self._siblings_of(run)
        beside[beside.index(run)] = first
        run.ids, run.start, run.parent = run.ids[at - run.start :], at, first
        return first

    def _siblings_of(self, run: TokenRun) -> list[TokenRun]:
        return run.parent.children if run.parent else self.roots

    @property
    def runs(self) -> Iterator[TokenRun]:
        """All runs, each before those that follow it."""
        stack = self.roots[::-1]
        while stack:
            run = stack.pop()
            stack.extend(reversed(run.children))
            yield run

    def find_run(self, row: int, position: int) -> TokenRun:
        """The run that contains a row's token at this position."""
        run = self.ends[row]
        while run.start > position:
            assert run.parent is not None
            run = run.parent
        return run


@dataclass(eq=False, slots=True)
class Block:
    """Runs that are computed together, each after the one it follows, and the blocks that follow them."""

    runs: list[TokenRun]
    base: TokenRun | None
    after: list[Block] = field(default_factory=list["Block"])


def cut_blocks(tree: PrefixTree, *, tokens: int, wanted: int, alone: bool = False) -> list[Block]:
    """Cut the tree into blocks with at most `tokens` tokens and `wanted` predictions, as far as single runs allow;
    returns the blocks that begin at the start. With `alone` every run is a block.

    From the leaves up, every run keeps the lightest of its children that fit into its block, which gives the fewest
    blocks if cut children were blocks of their own. Cut children of one run are then combined as far as they fit.
    """
    return _BlockCutter(tokens, wanted, alone).cut_tree(tree)


@dataclass(eq=False, slots=True)
class _Part:
    """Adjacent runs, with the size of all that they keep."""

    runs: list[TokenRun]
    tokens: int
    wanted: int

    def add_part(self, other: _Part) -> None:
        self.runs += other.runs
        self.tokens += other.tokens
        self.wanted += other.wanted


class _BlockCutter:
    """Which runs every run keeps in its block, and which are cut off; None stands for the start."""

    def __init__(self, tokens: int, wanted: int, alone: bool) -> None:
        self.tokens, self.wanted, self.alone = tokens, wanted, alone
        self.kept: dict[TokenRun, list[TokenRun]] = {}
        self.cut: dict[TokenRun | None, list[_Part]] = {}

    def cut_tree(self, tree: PrefixTree) -> list[Block]:
        parts: dict[TokenRun, _Part] = {}
        for run in sorted(tree.runs, key=lambda run: run.start, reverse=True):
            below = _Part([], len(run.ids), run.wanted)
            self.cut[run] = self._combine_parts(self._take_lightest(below, [parts[child] for child in run.children]))
            self.kept[run] = below.runs
            parts[run] = _Part([run], below.tokens, below.wanted)
        self.cut[None] = self._combine_parts([parts[root] for root in tree.roots])
        first = self._blocks_after(None)
        stack = first[:]
        while stack:
            block = stack.pop()
            block.after = [child for run in block.runs for child in self._blocks_after(run)]
            stack += block.after
        return first

    def _fit_together(self, a: _Part, b: _Part) -> bool:
        return not self.alone and a.tokens + b.tokens <= self.tokens and a.wanted + b.wanted <= self.wanted

    def _take_lightest(self, own: _Part, children: Sequence[_Part]) -> list[_Part]:
        """The parts that remain after `own` took the lightest that fit."""
        rest: list[_Part] = []
        for child in sorted(children, key=lambda part: part.tokens):
            if self._fit_together(own, child):
                own.add_part(child)
            else:
                rest.append(child)
        return rest

    def _combine_parts(self, parts: Sequence[_Part]) -> list[_Part]:
        """Combine parts, the heaviest first, each into the first one with room for it."""
        combined: list[_Part] = []
        for part in sorted(parts, key=lambda part: part.tokens, reverse=True):
            room = next((other for other in combined if self._fit_together(other, part)), None)
            if room:
                room.add_part(part)
            else:
                combined.append(_Part([*part.runs], part.tokens, part.wanted))
        return combined

    def _blocks_after(self, base: TokenRun | None) -> list[Block]:
        """The blocks that follow the end of a run, or begin at the start."""
        return [Block(self._collect_runs(part.runs), base) for part in self.cut[base]]

    def _collect_runs(self, runs: Sequence[TokenRun]) -> list[TokenRun]:
        """These runs and all that they keep, each after the one it follows."""
        collected: list[TokenRun] = []
        stack = [*reversed(runs)]
        while stack:
            collected.append(stack.pop())
            stack += reversed(self.kept[collected[-1]])
        return collected
