"""A compiled step says what the model says, in one graph for rows together and one for a row alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sonde import Completion, Message, Sampling, UserError
from sonde.models.hf import HF

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch._dynamo.utils import counters  # noqa: E402 (needs torch)

from ..tiny import TEXT, tokenizer  # noqa: E402
from .test_score_packed import KINDS, network  # noqa: E402


def said(net: Any, waves: tuple[int, ...], new: int = 9, **options: Any) -> tuple[list[Completion], int]:
    """What as many conversations at once as each wave has say, and in how many graphs."""
    before = counters["stats"]["unique_graphs"]
    hf = HF.around(net, tokenizer(), model="tiny", lock_step=True, **options)

    async def wave(n: int) -> list[Completion]:
        chats = [(Message("user", TEXT[: 9 * (i % 12 + 1)]),) for i in range(n)]
        told = [Sampling(temperature=0.7, max_new_tokens=new, seed=i) for i in range(n)]
        return list(await asyncio.gather(*(hf.generate(c, s) for c, s in zip(chats, told, strict=True))))

    found = [completion for n in waves for completion in asyncio.run(wave(n))]
    asyncio.run(hf.close())
    return found, counters["stats"]["unique_graphs"] - before


def same(a: list[Completion], b: list[Completion]) -> bool:
    ids = [list(c.ids) for c in a] == [list(c.ids) for c in b]
    pairs = [pair for c, d in zip(a, b, strict=True) for pair in zip(c.logprobs, d.logprobs, strict=True)]
    return ids and all(x == pytest.approx(y, abs=1e-4) for x, y in pairs)


SLOW = pytest.mark.slow  # each traces a model twice


@pytest.mark.parametrize(
    ("kind", "attention"),
    [
        pytest.param("llama", "sdpa", marks=pytest.mark.thorough),
        *(pytest.param(kind, "sdpa", marks=SLOW) for kind in KINDS if kind not in ("llama", "gemma2")),
        pytest.param("gemma2", "eager", marks=SLOW),  # which takes no other
    ],
)
def test_a_compiled_step_says_the_same_in_two_graphs(kind: str, attention: str) -> None:
    net, waves = network(kind, attention), (3, 1, 12, 7)
    plain, none = said(net, waves)
    compiled, graphs = said(net, waves, compile="eager")
    assert same(compiled, plain) and (none, graphs) == (0, 2)


@SLOW
def test_neither_a_longer_row_nor_a_larger_deck_takes_another_graph() -> None:
    net = network("llama", "eager")
    compiled, graphs = said(net, (2, 5, 40), new=290, compile="aot_eager", max_batch=40, steer=_endless)
    assert graphs == 2 and same(compiled, said(net, (2, 5, 40), new=290, max_batch=40, steer=_endless)[0])


def _endless(hidden: Any, logits: Any) -> Any:
    """Nothing ends, and the hidden states are those of the step."""
    return (logits + hidden.mean(-1, keepdim=True) * logits.tanh()).index_fill(
        -1, torch.tensor([2], device=logits.device), -torch.inf
    )


@SLOW
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # the compiler's own, when it is imported
def test_compiled_to_machine_code() -> None:
    net = network("llama", "sdpa")
    compiled, graphs = said(net, (3, 1, 7), compile="inductor")
    assert graphs == 2 and same(compiled, said(net, (3, 1, 7))[0])


@pytest.mark.parametrize(
    ("kind", "backend", "says"),
    [
        ("llama", "inducter", r"hf: compile: unknown name 'inducter' \(did you mean 'inductor'\?\)"),
        ("bloom", "eager", "hf: compile: got 'eager', allowed: nothing with attention 'eager' of this model"),
    ],
)
def test_what_cannot_be_compiled(kind: str, backend: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        said(network(kind, "eager"), (1,), compile=backend)
