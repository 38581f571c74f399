"""Log-probabilities of the agent's tokens: those of one plain forward pass, however rows are laid out."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from sonde import UserError
from sonde.train.collate import collate, rows_of, silent
from sonde.train.logprobs import chosen, said_logprobs, token_logprobs
from sonde.train.types import Row

from .tiny import END, mixed, sample, samples, tiny_model


def plain(model: Any, row: Row) -> list[float]:
    """By one forward pass over this row alone, all logits."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([list(row.ids)])).logits[0]
    found = torch.log_softmax(logits, -1)[torch.arange(len(row) - 1), torch.tensor(list(row.ids)[1:])].tolist()
    return [value if a else 0.0 for value, a in zip([0.0, *found], row.agent, strict=True)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_equal_to_one_plain_pass_per_row(packed: bool, attention: str) -> None:
    items, model = mixed(4, rows=2), tiny_model()
    model.set_attn_implementation(attention)
    found_RT = token_logprobs(model, collate(items, needs=frozenset(), pad_id=END, packed=packed))
    for r, row in enumerate(rows_of(items)):
        assert found_RT[r, : len(row)].tolist() == pytest.approx(plain(model, row), abs=1e-5)
        assert not found_RT[r, len(row) :].any()


@pytest.mark.parametrize("packed", [False, True])
def test_a_neighbour_changes_nothing(packed: bool) -> None:
    items, model = [sample(0, turns=6), *samples(3)[1:]], tiny_model()  # packed: a long row, and two in one line
    row = items[1].rows[0]
    other = replace(items[1], rows=(replace(row, ids=array("i", [9] * len(row))),))
    kinds = [[items[0], middle, items[2]] for middle in (items[1], other)]
    with torch.no_grad():
        a, b = (token_logprobs(model, collate(k, needs=frozenset(), pad_id=END, packed=packed)) for k in kinds)
    assert torch.equal(a[0], b[0]) and torch.equal(a[2], b[2]) and not torch.equal(a[1], b[1])


def test_gradients_do_not_depend_on_the_layout() -> None:
    grads: list[list[torch.Tensor]] = []
    for packed in (False, True):
        model = tiny_model()
        token_logprobs(model, collate(mixed(6), needs=frozenset(), pad_id=END, packed=packed)).sum().backward()
        grads.append([p.grad for p in model.parameters()])
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_a_pass_without_agent_tokens_reaches_every_weight() -> None:
    model = tiny_model()
    (0.0 * said_logprobs(model, silent(END)).sum()).backward()
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
    items = [replace(s, rows=tuple(replace(r, agent=bytes(len(r))) for r in s.rows)) for s in samples(2)]
    assert not token_logprobs(model, collate(items, needs=frozenset(), pad_id=END)).any()


def test_lower_precision_is_widened_block_by_block() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(17, 50, generator=generator).bfloat16().requires_grad_()
    target = torch.randint(50, (17,), generator=generator)
    found = chosen(logits, target, block=200)
    expected = torch.log_softmax(logits.detach().float(), -1).gather(-1, target[:, None])[:, 0]
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    hand = torch.nn.functional.one_hot(target, 50) - torch.softmax(logits.detach().float(), -1)
    torch.testing.assert_close(logits.grad, hand.bfloat16())


def test_a_model_that_ignores_the_mask_is_refused() -> None:
    model = tiny_model()

    def whole(**fed: Any) -> Any:
        return model(**{**fed, "logits_to_keep": 0})

    with pytest.raises(UserError, match="logits_to_keep"):
        token_logprobs(whole, collate(samples(2), needs=frozenset(), pad_id=END))
