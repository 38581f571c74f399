"""Log-probabilities of agent tokens equal those of one plain forward pass, however rows are laid out."""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")

import torch

from sonde import UserError
from sonde.train.collate import collate, empty_pass
from sonde.train.logprobs import agent_logprobs, gather_logprobs, token_logprobs
from sonde.train.objectives.sft import SFT
from sonde.train.settings import TrainSettings
from sonde.train.types import Row, item_rows

from .tiny import END, mixed, sample, samples, tiny_model, train_offline


def plain(model: Any, row: Row) -> list[float]:
    """By one forward pass over this row alone, all logits."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([list(row.ids)])).logits[0]
    found = torch.log_softmax(logits, -1)[torch.arange(len(row) - 1), torch.tensor(list(row.ids)[1:])].tolist()
    return [value if a else 0.0 for value, a in zip([0.0, *found], row.agent, strict=True)]


@each("packed", [False, True])
@each("attention", ["sdpa", "eager"])
def test_equal_to_one_plain_pass_per_row(packed: bool, attention: str) -> None:
    items, model = mixed(4, rows=2), tiny_model()
    model.set_attn_implementation(attention)
    found_RT = token_logprobs(model, collate(items, needs=frozenset(), pad_id=END, packed=packed))
    for r, row in enumerate(item_rows(items)):
        assert found_RT[r, : len(row)].tolist() == pytest.approx(plain(model, row), abs=1e-5)
        assert not found_RT[r, len(row) :].any()


@each("packed", [False, True])
def test_a_neighbour_changes_nothing(packed: bool) -> None:
    items, model = [sample(0, turns=6), *samples(3)[1:]], tiny_model()  # packed: a long row, and two in one line
    row = items[1].rows[0]
    other = replace(items[1], rows=(replace(row, ids=array("i", [9] * len(row))),))
    kinds = [[items[0], middle, items[2]] for middle in (items[1], other)]
    with torch.no_grad():
        a, b = (token_logprobs(model, collate(k, needs=frozenset(), pad_id=END, packed=packed)) for k in kinds)
    assert torch.equal(a[0], b[0]) and torch.equal(a[2], b[2]) and not torch.equal(a[1], b[1])


SMALL: dict[str, Any] = {
    "vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8,
}  # fmt: skip
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "gpt2": {"vocab_size": 60, "n_embd": 32, "n_layer": 2, "n_head": 4},
    "bloom": {"vocab_size": 60, "hidden_size": 32, "n_layer": 2, "n_head": 4},
    "falcon": {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True},
    "opt": {**SMALL, "word_embed_proj_dim": 32, "ffn_dim": 48, "init_std": 0.2},
    "gpt_neox": SMALL,
    "mistral": {**SMALL, "sliding_window": 8},
    "gemma3_text": {**SMALL, "sliding_window": 8},
    "qwen3": SMALL,
    "qwen3_moe": {**SMALL, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    "mamba": {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
}


@each("kind", ARCHITECTURES)
def test_no_architecture_sees_the_padding(kind: str) -> None:
    """Padding is after a row, and no mask marks it."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **ARCHITECTURES[kind])).eval()
    items = [sample(0, turns=6), *samples(3)[1:]]
    found_RT = token_logprobs(model, collate(items, needs=frozenset(), pad_id=END))
    for r, row in enumerate(item_rows(items)):
        assert found_RT[r, : len(row)].tolist() == pytest.approx(plain(model, row), abs=1e-5)


# --- flash attention -------------------------------------------------------------------------------------------------


def flash(q: Any, k: Any, v: Any, **options: Any) -> Any:
    """What the kernel computes for a batch of lines (batch, tokens, heads, size): causal attention within each."""
    repeat = q.shape[2] // k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k.repeat_interleave(repeat, 2), v.repeat_interleave(repeat, 2)))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=options["softmax_scale"])
    return out.transpose(1, 2)


def flash_varlen(q: Any, k: Any, v: Any, *, cu_seqlens_q: Any, max_seqlen_q: int, **options: Any) -> Any:
    """And for sequences end to end (tokens, heads, size), which begin where they are said to."""
    assert cu_seqlens_q.dtype == torch.int32 and cu_seqlens_q[-1] == len(q)
    assert int(cu_seqlens_q.diff().max()) <= max_seqlen_q
    parts = (x.split(cu_seqlens_q.diff().tolist()) for x in (q, k, v))
    return torch.cat([flash(a[None], b[None], c[None], **options)[0] for a, b, c in zip(*parts, strict=True)])


@pytest.fixture
def flash_model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model on transformers' own path of flash attention; only the kernels are emulated."""
    import transformers.modeling_flash_attention_utils as fa

    known = defaultdict(bool, max_seqlen_q=True, max_seqlen_k=True)
    process = partial(fa._process_flash_attention_kwargs, supports_mapping=known)
    kernels = (flash, flash_varlen, None, fa._pad_input, fa._unpad_input)
    monkeypatch.setattr(fa, "lazy_import_flash_attention", lambda *_, **__: (kernels, (process, None)))
    model = tiny_model()
    model.config._attn_implementation = "flash_attention_2"
    return model


@pytest.mark.parametrize("packed", [False, True])
def test_rows_in_several_lines_stay_apart_under_flash_attention(flash_model: Any, packed: bool) -> None:
    items = mixed(6)
    tensors = collate(items, needs=frozenset(), pad_id=END, packed=packed)
    assert len(tensors["input_ids"]) > 1
    found_RT, own = token_logprobs(flash_model, tensors), tiny_model()
    for r, row in enumerate(item_rows(items)):
        assert found_RT[r, : len(row)].tolist() == pytest.approx(plain(own, row), abs=1e-5)


def test_packing_with_kernels_that_nobody_looked_at_is_refused(tmp_path: Path) -> None:
    model = tiny_model()
    model.config._attn_implementation = "flex_attention"
    settings = TrainSettings(folder=str(tmp_path), packing=True)
    with pytest.raises(UserError, match="packing: got attention 'flex_attention', allowed: sdpa, eager or"):
        train_offline(model, SFT(), mixed(2), settings)


def test_packing_with_models_whose_rows_see_each_other_is_refused(tmp_path: Path) -> None:
    """OPT makes its mask without the positions."""
    from transformers import OPTConfig, OPTForCausalLM

    sizes: dict[str, Any] = {"vocab_size": 60, "hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 48}
    model = OPTForCausalLM(OPTConfig(**sizes, num_hidden_layers=1, num_attention_heads=4, init_std=0.2)).train()
    settings = TrainSettings(folder=str(tmp_path), packing=True)
    with pytest.raises(UserError, match="packing: got OPTForCausalLM, whose rows see those before them in a line"):
        train_offline(model, SFT(), mixed(2), settings)
    assert model.training


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
    (0.0 * agent_logprobs(model, empty_pass(END)).sum()).backward()
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
    items = [replace(s, rows=tuple(replace(r, agent=bytes(len(r))) for r in s.rows)) for s in samples(2)]
    assert not token_logprobs(model, collate(items, needs=frozenset(), pad_id=END)).any()


def test_lower_precision_is_widened_block_by_block() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(17, 50, generator=generator).bfloat16().requires_grad_()
    target = torch.randint(50, (17,), generator=generator)
    found = gather_logprobs(logits, target, block=200)
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
