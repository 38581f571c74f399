"""A GPU is waited for once per decoded token of the whole batch. Counted here, without one, is every call that would
wait there: numbers that are read, shapes that depend on values, and tensors made elsewhere than in `to_device`."""

from __future__ import annotations

import asyncio
import sys
from array import array
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde import Message, Sampling
from sonde.models.hf import HF
from tests.cases import each

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode  # noqa: E402 (needs torch)
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from sonde.models.local.sampler import sample_tokens, to_device  # noqa: E402

from ..tiny import TEXT, tokenizer  # noqa: E402
from .test_score_packed import KINDS, network  # noqa: E402

READS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "unique_dim", "_unique2"}
"""Operations whose result the host needs; `if`, `int` and `.item()` are the first of them."""
SAMPLINGS = (
    Sampling(temperature=0.7, min_p=0.3),
    Sampling(temperature=1.0, top_p=0.9),
    Sampling(temperature=0.0),
)


class Reads(TorchDispatchMode):
    """Operations that wait for a value; an index of booleans is one, too."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        places = args[1] if name in ("index", "index_put", "index_put_") else ()
        if name in READS or any(i is not None and i.dtype == torch.bool for i in places):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


class Crossings(TorchFunctionMode):
    """Tensors that become lists, and lists that become tensors of the model's device, in `to_device` or not."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        made = name in ("tensor", "as_tensor") and sys._getframe(1).f_code is not to_device.__code__
        if made or name in ("tolist", "numpy", "cpu"):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


async def ask(hf: HF, sampling: Sampling, tokens: int) -> None:
    chats = [(Message("user", TEXT[: 20 * (i + 1)]),) for i in range(3)]
    told = [replace(sampling, max_new_tokens=tokens, seed=i) for i in range(3)]
    await asyncio.gather(*(hf.generate(chat, s) for chat, s in zip(chats, told, strict=True)))


def waits(kind: str, attention: str, sampling: Sampling) -> list[str]:
    """What is waited for in 8 steps of three rows."""
    ends = torch.tensor([2])
    hf = HF.from_module(
        network(kind, attention), tokenizer(), model="tiny", lock_step=True,
        steer=lambda hidden, logits: logits.index_fill(-1, ends, -torch.inf),
    )  # fmt: skip
    asyncio.run(ask(hf, sampling, 1))
    feed, modes, counts = hf._session.feed, (Reads(), Crossings()), list[list[str]]()
    assert feed is not None
    for tokens in (4, 12):
        for mode in modes:
            mode.found.clear()
            feed.run_on_worker_and_wait(mode.__enter__)  # modes belong to a thread
        steps = hf.stats.steps
        asyncio.run(ask(hf, sampling, tokens))
        for mode in reversed(modes):
            feed.run_on_worker_and_wait(lambda mode=mode: mode.__exit__(None, None, None))
        assert hf.stats.steps - steps == tokens - 1
        counts.append([name for mode in modes for name in mode.found])
    asyncio.run(hf.close())
    short, long = counts
    for name in short:
        long.remove(name)
    return long


@each("sampling", SAMPLINGS, ids=["min_p", "top_p", "greedy"])
@each("kind, attention", [("llama", "sdpa"), ("llama", "eager"), ("gemma3", "sdpa")])
def test_once_per_step(kind: str, attention: str, sampling: Sampling) -> None:
    assert kind in KINDS
    assert waits(kind, attention, sampling) == ["tolist"] * 8


CUTS = st.tuples(st.sampled_from([0.0, 0.7, 2.0]), st.sampled_from([0.0, 0.2]), st.sampled_from([0.1, 0.6, 1.0]))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), cuts=st.lists(CUTS, min_size=1, max_size=6))
def test_how_many_are_looked_at_first_changes_nothing(seed: int, cuts: list[tuple[float, float, float]]) -> None:
    """Nor who else is in the batch: every row is drawn as it is alone."""
    logits = 3 * torch.randn(len(cuts), 40, generator=torch.Generator().manual_seed(seed))
    samplings = [Sampling(temperature=t, min_p=m, top_p=p, seed=i) for i, (t, m, p) in enumerate(cuts)]
    found = sample_tokens(logits, samplings, [5] * len(cuts))
    assert sample_tokens(logits, samplings, [5] * len(cuts), top=2) == found
    alone = [sample_tokens(row[None], [sampling], [5]) for row, sampling in zip(logits, samplings, strict=True)]
    assert [t for tokens, _ in alone for t in tokens] == found[0]
    assert array("f", [p for _, logprobs in alone for p in logprobs]) == pytest.approx(array("f", found[1]), abs=1e-5)
