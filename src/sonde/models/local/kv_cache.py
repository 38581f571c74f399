"""Keys and values of past tokens: the cache between calls, and the batch that is being decoded.

`PrefixCache` is the cache between calls, a radix tree over token ids: a node holds one run of tokens, its children what
followed. By the longest matching prefix, a conversation finds its own past, a fork the part that it shares, and tasks
with the same few-shot opening share one copy of it.

When the byte budget is exhausted, `PrefixCache` evicts the nodes that were unused for longer than conversations take
to come back, oldest first. If everything in the cache belongs to running conversations, new entries are kept only as
far as there is room. Otherwise conversations that take turns would evict each other's past just before it is needed,
and a budget that suffices for most of them would be worth no more than none.

`DecodingBatch` is the batch that is being decoded: a plane of shape (rows, heads, columns, head size) for the keys of
every layer, and one for its values. Rows are aligned at the right, at column `end`, and have no holes, so a model sees
ordinary left-padded input with a two-dimensional mask and any attention pattern stays correct; new tokens are written
in place.

Planes of equal shape, usually all of them, lie in one tensor, a stack, so that one copy moves a row in or out instead
of one copy per plane: for a small model these copies are half the cost of play.

Source: the tree follows RadixAttention (SGLang, arXiv 2312.07104), without paging; the eviction rule is ours.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import (
    Cache,
    CacheLayerMixin,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from sonde.core.errors import UserError

from ..chat.chat import common_prefix_length
from .attention import attention_windows

KV = list[Tensor | None]
"""Keys and values of a run of tokens: its part of every stack of a decoding batch, (planes, heads, tokens, head size);
None for a stack that the model never wrote."""

ROOM = 256
"""Extra columns on either side when a decoding batch is enlarged, because moving it copies all rows."""


ABSENCES = 256
"""Number of latest returns of conversations whose longest absence counts."""

AWAY = 1 << 16
"""Number of absent conversations that are remembered."""


@dataclass(eq=False, slots=True)
class CacheNode:
    """A run of tokens that was always seen as a whole, with its keys and values."""

    ids: array[int]
    kv: KV
    parent: CacheNode | None
    children: dict[int, CacheNode] = field(default_factory=dict[int, "CacheNode"])
    used: int = 0

    @property
    def nbytes(self) -> int:
        return sum(t.nbytes for t in self.kv if t is not None)


class PrefixCache:
    """The cache between calls. Not thread-safe: one worker owns it."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.nbytes = 0
        self.evicted = 0
        """Tokens that were dropped or not kept, so far, to stay within the budget."""
        self._root = CacheNode(array("i"), [], None)
        self._clock = 0  # in requests
        self._size = 0  # bytes of a token, once known
        self._away: dict[int, int] = {}  # when each conversation was answered last
        self._absences: deque[int] = deque(maxlen=ABSENCES)
        self._returned = 0  # when the last one came back

    def count_requests(self, requests: int) -> None:
        """Count requests that arrive together. What any of them uses stays until the next requests arrive."""
        self._clock += requests

    def mark_gone(self, conversation: int) -> None:
        """Record that this conversation was answered; it may come back."""
        self._away[conversation] = self._clock
        if len(self._away) > AWAY:
            del self._away[next(iter(self._away))]

    def mark_returned(self, conversation: int) -> None:
        """Record that this conversation has come back, if it was here before."""
        if (gone := self._away.pop(conversation, None)) is not None:
            self._absences.append(self._clock - gone)
            self._returned = self._clock

    def free_tokens(self) -> int:
        """How many tokens could be kept now; as many as there are bytes if nothing was kept yet."""
        if not self._size:
            return self.budget
        old = self._clock - self._longest_wait()
        return (self.budget - self.nbytes + sum(n.nbytes for n in self._iterate_nodes() if n.used < old)) // self._size

    def match_prefix(self, ids: array[int]) -> tuple[int, list[tuple[CacheNode, int]]]:
        """How many of `ids` are in the cache, and the nodes that hold them with the number of matching tokens of
        each."""
        node, at, path = self._root, 0, list[tuple[CacheNode, int]]()
        while at < len(ids) and (child := node.children.get(ids[at])):
            child.used = self._clock
            n = common_prefix_length(child.ids, ids[at : at + len(child.ids)])
            path.append((child, n))
            at += n
            if n < len(child.ids):
                break
            node = child
        return at, path

    def insert_ids(self, ids: array[int], copy_tokens: Callable[[int, int], KV]) -> None:
        """Keep `ids` as far as there is room. `copy_tokens(a, b)` returns the keys and values of tokens a to b,
        requested only for what is not in the cache yet."""
        at, path = self.match_prefix(ids)
        if at == len(ids) or not self.budget:
            return
        self._size = self._size or sum(t.nbytes for t in copy_tokens(at, at + 1) if t is not None)
        self._evict_old((len(ids) - at) * self._size)
        end = min(len(ids), at + (self.budget - self.nbytes) // self._size)
        self.evicted += len(ids) - end
        if end == at:
            return
        parent = self._root
        if path:
            parent, n = path[-1]
            if n < len(parent.ids):
                parent = self._split_node(parent, n)
        leaf = CacheNode(ids[at:end], copy_tokens(at, end), parent, used=self._clock)
        parent.children[leaf.ids[0]] = leaf
        self.nbytes += leaf.nbytes
        self._merge_chain(leaf)

    def _split_node(self, node: CacheNode, n: int) -> CacheNode:
        """Cut `node` after `n` tokens; returns the new upper part, whose only child is the lower."""
        parent = node.parent
        assert parent is not None
        upper = CacheNode(node.ids[:n], _copy_range(node.kv, 0, n), parent, {node.ids[n]: node}, node.used)
        parent.children[upper.ids[0]] = upper
        node.ids, node.kv, node.parent = node.ids[n:], _copy_range(node.kv, n, len(node.ids)), upper
        return upper

    def _merge_chain(self, leaf: CacheNode) -> None:
        """Merge a leaf into a parent of similar length or less that has no other child, so that chains stay short."""
        while (parent := leaf.parent) and parent.parent and len(parent.children) == 1:
            if len(parent.ids) > 2 * len(leaf.ids):
                return
            parent.ids += leaf.ids
            pairs = zip(parent.kv, leaf.kv, strict=True)
            parent.kv = [None if a is None or b is None else torch.cat((a, b), 2) for a, b in pairs]
            parent.children, parent.used = {}, leaf.used
            leaf = parent

    def _evict_old(self, wanted: int) -> None:
        """Evict what no running conversation waits for, until this many bytes are free."""
        old = self._clock - self._longest_wait()
        while self.nbytes + wanted > self.budget:
            leaves = (node for node in self._iterate_nodes() if not node.children and node.used < old)
            leaf = min(leaves, key=lambda node: node.used, default=None)
            if leaf is None:
                return
            assert leaf.parent is not None
            del leaf.parent.children[leaf.ids[0]]
            self.nbytes -= leaf.nbytes
            self.evicted += len(leaf.ids)

    def _longest_wait(self) -> int:
        """After how many requests an unused node counts as abandoned: twice the longest recent absence, or zero if
        nobody has come back for that long."""
        longest = 2 * max(self._absences, default=0)
        return longest if self._clock - self._returned <= longest else 0

    def _iterate_nodes(self) -> Iterator[CacheNode]:
        stack = [*self._root.children.values()]
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            yield node


def _copy_range(kv: KV, a: int, b: int) -> KV:
    """A copy, so that the memory of the rest is freed with the rest."""
    return [t if t is None else t[:, :, a:b].clone() for t in kv]


class DecodingBatch:
    """The rows being decoded. `lengths[r]` tokens of row r end at column `end`."""

    def __init__(self, n_layers: int) -> None:
        self.lengths: list[int] = []
        self.end = 0
        self._groups = [[plane] for plane in range(2 * n_layers)]  # the planes of each stack
        self._stacks: KV = [None] * (2 * n_layers)  # (planes, rows, heads, columns, size), allocated at the first write
        self._where = [(plane, 0) for plane in range(2 * n_layers)]  # the stack of each plane, and its place there
        self._settled = False  # whether planes of equal shape were combined
        self._rows = self._columns = 0
        self._window = (0, 0, 0, 0)  # first and last row, first and last column
        self.past = 0
        """Columns of the open window that held tokens before."""
        self._lanes = [_LayerView(self, layer) for layer in range(n_layers)]
        self.cache = Cache(layers=[*self._lanes])

    def make_room(self, rows: int, left: int, right: int) -> None:
        """Make space for `rows` rows in total, `left` columns before `end` and `right` after it."""
        if not self.lengths:  # nothing to move: center the window
            self.end = max(left, (left + self._columns - right) // 2)
        if rows <= self._rows and left <= self.end and self.end + right <= self._columns:
            return
        self._close_window()
        used, n, end = max(self.lengths, default=0), len(self.lengths), self.end
        self._rows = self._rows if rows <= self._rows else max(rows, 2 * self._rows)
        self._columns, self.end = max(left, used) + right + 2 * ROOM, max(left, used) + ROOM
        for i, old in enumerate(self._stacks):
            self._stacks[i] = None
            if old is not None and n:
                new = self._get_stack(i, old)
                new[:, :n, :, self.end - used : self.end] = old[:, :n, :, end - used : end]

    def load_row(self, row: int, path: Sequence[tuple[CacheNode, int]], length: int, fed: int) -> None:
        """Copy the first `length - fed` tokens of a row into place; `path` comes from `PrefixCache.match_prefix`."""
        at, past = self.end - length, self.end - fed
        for node, matched in path:
            n = min(matched, past - at)
            if n <= 0:
                return
            for i, run in enumerate(node.kv):
                if run is not None:
                    self._get_stack(i, run)[:, row, :, at : at + n] = run[:, :, :n]
            at += n

    def open_window(self, first: int, last: int, width: int, fed: int) -> Cache:
        """The cache for one forward pass of rows `first` to `last`, whose last `fed` of `width` columns are new."""
        self._window = (first, last, self.end - width, self.end)
        self.past = width - fed
        for layer, lane in enumerate(self._lanes):
            lane.keys, lane.values = self.plane_view(2 * layer), self.plane_view(2 * layer + 1)
        return self.cache

    def plane_view(self, plane: int, like: Tensor | None = None) -> Tensor | None:
        """A plane of the open window; if it was never written, it is created `like` the given tensor, or None is
        returned."""
        i, at = self._where[plane]
        first, last, left, end = self._window
        stack = self._stacks[i] if like is None else self._get_stack(i, like)
        return None if stack is None else stack[at, first:last, :, left:end]

    def _close_window(self) -> None:
        """Close the window, so that the memory behind its views can be freed."""
        for lane in self._lanes:
            lane.keys = lane.values = None

    def copy_tokens(self, row: int, a: int, b: int) -> KV:
        """Copy tokens `a` to `b` of a row."""
        self._merge_planes()
        start = self.end - self.lengths[row]
        return [s if s is None else s[:, row, :, start + a : start + b].clone() for s in self._stacks]

    def remove_row(self, row: int) -> None:
        """Remove a row; the last row takes its place."""
        last = len(self.lengths) - 1
        if row != last:
            self._merge_planes()
            n = self.lengths[last]
            for stack in self._stacks:
                if stack is not None:
                    stack[:, row, :, self.end - n : self.end] = stack[:, last, :, self.end - n : self.end]
            self.lengths[row] = n
        self.lengths.pop()

    def zero_non_finite(self) -> None:
        """Replace non-finite values by zero everywhere: a masked column has weight zero, which is harmless only if it
        is finite."""
        for stack in self._stacks:
            if stack is not None:
                stack.nan_to_num_(0.0, 0.0, 0.0)

    def clear_rows(self) -> None:
        """Remove all rows and free their memory."""
        self._close_window()
        self._stacks = [None] * len(self._stacks)
        self.lengths, self.end, self._rows, self._columns = [], 0, 0, 0

    def _get_stack(self, i: int, like: Tensor) -> Tensor:
        stack = self._stacks[i]
        if stack is None:  # zeros, because a masked column must be finite
            heads, size = like.shape[-3], like.shape[-1]
            shape = (len(self._groups[i]), self._rows, heads, self._columns, size)
            stack = self._stacks[i] = like.new_zeros(shape)
        return stack

    def _merge_planes(self) -> None:
        """After the first pass, when the shape of every plane is known, combine planes of equal shape into one
        stack."""
        if self._settled:
            return
        alike = dict[Any, list[int]]()
        for i, stack in enumerate(self._stacks):
            alike.setdefault(i if stack is None else (stack.shape, stack.dtype, stack.device), []).append(i)
        self._settled, self._groups = True, list(alike.values())
        self._stacks = [_concatenate_stacks([self._stacks[i] for i in group]) for group in self._groups]
        for i, group in enumerate(self._groups):
            for at, plane in enumerate(group):
                self._where[plane] = i, at


def _concatenate_stacks(stacks: Sequence[Tensor | None]) -> Tensor | None:
    made = [stack for stack in stacks if stack is not None]
    return torch.cat(made) if made else None


class _LayerView(CacheLayerMixin):
    """A layer of a decoding batch with transformers' cache interface: views of the open window, whose last columns are
    written."""

    is_sliding = False  # all columns are kept; a sliding layer's mask still hides what is out of its window

    def __init__(self, batch: DecodingBatch, layer: int) -> None:
        super().__init__()
        self.batch, self.layer = batch, layer
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do: the batch creates its tensors at the first write."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        device = key_states.device.type
        if torch.is_autocast_enabled(device):  # attention casts to this type anyway; rotated keys come in float32
            dtype = torch.get_autocast_dtype(device)
            key_states, value_states = key_states.to(dtype), value_states.to(dtype)
        if self.keys is None:  # first write
            self.keys = self.batch.plane_view(2 * self.layer, key_states)
            self.values = self.batch.plane_view(2 * self.layer + 1, value_states)
        assert self.keys is not None and self.values is not None
        fed = key_states.shape[-2]
        self.keys[:, :, -fed:] = key_states
        self.values[:, :, -fed:] = value_states
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.batch.past + query_length, 0

    def get_seq_length(self) -> int:
        return self.batch.past

    def get_max_length(self) -> int:
        return -1


class PolicyWithValueModel(torch.nn.Module):
    """Two models that read the same tokens, each with its own layers of one cache: first the policy's, then those of
    the model whose hidden states the value heads read. The output is the policy's."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        self.first, self.second, self._cut = first, second, count_layers(first)
        self.device, self.dtype, self.config = first.device, first.dtype, first.config
        # The flag of transformers' models.
        self._supports_attention_backend = attention_windows(first, second) is not None

    def forward(self, *, past_key_values: Cache, **inputs: Any) -> Any:
        own, others = past_key_values.layers[: self._cut], past_key_values.layers[self._cut :]
        self.second(past_key_values=Cache(layers=others), **inputs)
        return self.first(past_key_values=Cache(layers=own), **inputs)


def count_layers(model: Any) -> int:
    """The number of layers of a model's cache. Raises `UserError` for a model that keeps anything but keys and values
    per token."""
    found = DynamicCache(config=model.config).layers
    others = {type(layer).__name__ for layer in found} - {
        DynamicLayer.__name__,
        DynamicSlidingWindowLayer.__name__,
    }
    if others:
        named = str(getattr(model.config, "name_or_path", "")) or type(model).__name__
        raise UserError(f"hf: model: {named!r} keeps {', '.join(sorted(others))}, allowed: keys and values per token")
    return len(found)
