"""Value heads on a model: their predictions, target copies, saving, and what they leave unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

from sonde import UserError
from sonde.models.local import heads as heads_module
from sonde.models.local.heads import NAME, Heads, HeadSpec, attach_heads, load_heads, model_sizes, perturb_logits
from sonde.train.collate import collate
from sonde.train.logprobs import token_logprobs, token_values
from sonde.train.model_io import attach_adapter
from sonde.train.settings import LoraSettings
from sonde.train.types import item_rows

from .tiny import END, mixed, tiny_model

ALL = HeadSpec(v=True, q=2, target=True)


def random_heads(model: Any, spec: HeadSpec = ALL, seed: int = 1) -> Heads:
    """Heads whose last layers are no longer zero."""
    heads = attach_heads(model, spec, seed)
    with torch.no_grad():
        for p in heads.parameters():
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) * 0.3)
    return heads


def plain(model: Any, ids: Any) -> Tensor:
    """The hidden states of one row, by one forward pass."""
    with torch.no_grad():
        return model.model(input_ids=torch.tensor([list(ids)])).last_hidden_state[0]


@each("packed", [False, True])
def test_a_head_says_of_a_token_what_the_state_before_it_is_worth(packed: bool) -> None:
    model, items = tiny_model(), mixed(5, rows=2)
    heads = random_heads(model)
    tensors = collate(items, needs=frozenset({"reward"}), pad_id=END, packed=packed)
    with torch.no_grad():
        logprob_RT, head = token_values(model, heads, tensors)
        without = collate(items, needs=frozenset(), pad_id=END, packed=packed)
        torch.testing.assert_close(logprob_RT, token_logprobs(model, without), atol=1e-6, rtol=0)
    assert set(head) == {"v", "q1", "q1_logp", "q1_target", "q2", "q2_logp", "q2_target"}
    for r, row in enumerate(item_rows(items)):
        hidden_TH, said = plain(model, row.ids), [t for t, a in enumerate(row.agent) if a]
        before = torch.tensor(said) - 1
        q1 = heads.q[0](hidden_TH)
        wanted = {
            "v": heads.state_value(hidden_TH)[before], "q1": q1[before, torch.tensor(list(row.ids))[said]],
            "q1_logp": q1.log_softmax(-1)[before, torch.tensor(list(row.ids))[said]],
            "q2_target": heads.target[1](hidden_TH)[before, torch.tensor(list(row.ids))[said]],
        }  # fmt: skip
        for name, values in wanted.items():
            torch.testing.assert_close(head[name][r, said], values, atol=1e-4, rtol=0)
            assert int(head[name][r].count_nonzero()) <= len(said)


def test_values_begin_at_zero_and_differ_by_seed_only_within() -> None:
    a, b = (Heads(ALL, hidden=8, vocab=5, seed=seed) for seed in (1, 2))
    hidden = torch.randn(3, 8, generator=torch.Generator().manual_seed(0))
    for heads in (a, b):
        assert not heads.state_value(hidden).any() and not heads.least_q(hidden).any()
    assert not torch.equal(a.q[0][0].weight, b.q[0][0].weight)
    again = Heads(ALL, hidden=8, vocab=5, seed=1)
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), again.parameters(), strict=True))
    state = torch.random.get_rng_state()
    Heads(ALL, hidden=8, vocab=5, seed=3)
    assert torch.equal(state, torch.random.get_rng_state())


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = random_heads(tiny_model())
    hidden = torch.randn(7, 32, generator=torch.Generator().manual_seed(0)).requires_grad_()
    target = torch.arange(7)

    def found() -> tuple[dict[str, Tensor], Tensor]:
        said = heads(hidden, target)
        return said, torch.autograd.grad(sum(x.sum() for x in said.values()), hidden)[0]

    whole, gradient = found()
    monkeypatch.setattr(heads_module, "BLOCK", 2 * heads.vocab)
    cut, of_cut = found()
    for name, values in whole.items():
        torch.testing.assert_close(cut[name], values)
    torch.testing.assert_close(of_cut, gradient)


@each("trunk, moves", [("shared", True), ("detached", False), ("frozen", False)])
def test_whom_the_gradients_of_heads_reach(trunk: Any, moves: bool) -> None:
    model = tiny_model()
    heads = random_heads(model, HeadSpec(v=True, q=1, trunk=trunk))
    tensors = collate(mixed(2), needs=frozenset({"reward"}), pad_id=END)
    logprob_RT, head = token_values(model, heads, tensors)
    (head["v"].sum() + head["q1"].sum()).backward()
    layers = [p for name, p in model.named_parameters() if NAME not in name]
    assert any(p.grad is not None and p.grad.any() for p in layers) == moves
    assert all(p.grad is not None and p.grad.any() for p in heads.parameters())
    assert logprob_RT.requires_grad == (trunk != "frozen")


def test_slow_copies_follow() -> None:
    heads = Heads(HeadSpec(q=2, target=True, polyak=0.25), hidden=4, vocab=3)
    with torch.no_grad():
        for p in heads.q.parameters():
            p.fill_(1.0)
        for p in heads.target.parameters():
            p.fill_(-3.0)
    heads.update_targets()
    assert {float(x) for p in heads.target.parameters() for x in p.flatten()} == {-2.0}  # -3 + .25 * 4
    assert not any(p.requires_grad for p in heads.target.parameters())
    heads.spec = HeadSpec(q=2, target=True, polyak=1.0)
    heads.update_targets()
    assert all(torch.equal(a, b) for a, b in zip(heads.q.parameters(), heads.target.parameters(), strict=True))


def test_least_is_the_smaller_of_the_slow_copies() -> None:
    heads = random_heads(tiny_model())
    hidden = torch.randn(4, 32, generator=torch.Generator().manual_seed(0))
    assert torch.equal(heads.least_q(hidden), torch.minimum(heads.target[0](hidden), heads.target[1](hidden)))
    single = random_heads(tiny_model(), HeadSpec(q=1))
    assert torch.equal(single.least_q(hidden), single.q[0](hidden))


# --- the model that they are on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("adapter", [False, True])
def test_a_model_is_saved_without_them_and_they_beside_it(adapter: bool, tmp_path: Path) -> None:
    model = tiny_model()
    if adapter:
        model = attach_adapter(model, LoraSettings(r=2), seed=0)
    before = set(model.state_dict())
    heads = random_heads(model)
    assert set(model.state_dict()) == before
    assert any(NAME in name for name, _ in model.named_parameters())
    assert not model.load_state_dict(model.state_dict(), strict=False).missing_keys
    heads.save(tmp_path)
    again = load_heads(tmp_path, tiny_model())
    assert again.spec == heads.spec
    for a, b in zip(heads.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


SAVE = """
import sys, torch
from pathlib import Path
from sonde.models.local.heads import Heads, HeadSpec
Heads(HeadSpec(v=True, q=2, target=True), hidden=4, vocab=5, seed=3).save(Path(sys.argv[1]))
"""


def test_equal_heads_are_equal_files(tmp_path: Path) -> None:
    """Also from process to process, whatever the order of sets there: a folder's bytes identify a model."""
    found = set[bytes]()
    for seed in "12":
        (folder := tmp_path / seed).mkdir()
        seeded = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", SAVE, str(folder)], check=True, env=seeded)
        found.add((folder / "heads.safetensors").read_bytes())
    assert len(found) == 1


def test_heads_of_older_files_are_read(tmp_path: Path) -> None:
    model = tiny_model()
    heads = random_heads(model)
    hidden, vocab = model_sizes(model)
    facts = {"spec": json.dumps(asdict(heads.spec)), "hidden": str(hidden), "vocab": str(vocab)}
    save_file({name: p.detach() for name, p in heads.named_parameters()}, tmp_path / "heads.safetensors", facts)
    again = load_heads(tmp_path, model)
    assert again.spec == heads.spec
    assert all(torch.equal(a, b) for a, b in zip(heads.parameters(), again.parameters(), strict=True))
    save_file({"x": torch.zeros(1)}, tmp_path / "heads.safetensors", {"sonde": "[]"})
    with pytest.raises(UserError, match="was not written by sonde"):
        load_heads(tmp_path, model)


def test_heads_that_do_not_fit_are_named(tmp_path: Path) -> None:
    model = tiny_model()
    random_heads(model).save(tmp_path)
    with pytest.raises(UserError, match=r"has hidden states of 32 and 59 tokens, allowed: \(64, 59\), as this model"):
        load_heads(tmp_path, tiny_model(hidden_size=64))
    with pytest.raises(UserError, match="is missing; allowed: the folder of a model trained with heads"):
        load_heads(tmp_path / "nowhere", model)
    with pytest.raises(UserError, match=r"holds \[.*allowed: \['q"):
        attach_heads(model, HeadSpec(q=1), 0).load(tmp_path)
    (tmp_path / "heads.safetensors").write_bytes(b"damaged")
    with pytest.raises(UserError, match="damaged"):
        load_heads(tmp_path, model)
    assert model_sizes(model) == (32, 59)


@each("wrong, message",
    [({}, "heads: q: got 0"), ({"q": 3}, "heads: q"), ({"q": 1, "polyak": 0.0}, "heads: polyak"),
     ({"v": True, "every": 0}, "heads: every"), ({"v": True, "trunk": "shard"}, "heads: trunk: got 'shard'"),
     ({"v": True, "width": 0.0}, "heads: width"), ({"v": True, "q": 1, "linear": True}, "heads: linear")],
)  # fmt: skip
def test_bad_specifications_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        HeadSpec(**wrong)


# --- decoding --------------------------------------------------------------------------------------------------------


def test_perturbed_by_hand() -> None:
    # pi = .5, .25, .25; Q = 0, log 2, log 4; beta 2: .5 * 1, .25 * 4, .25 * 16 = .5, 1, 4 of 5.5
    logits, q = torch.tensor([[0.5, 0.25, 0.25]]).log() + 7, torch.tensor([[1.0, 2.0, 4.0]]).log()
    found = perturb_logits(logits, q, None, beta=2.0).softmax(-1)[0]
    assert found.tolist() == pytest.approx([0.5 / 5.5, 1 / 5.5, 4 / 5.5], abs=1e-6)
    kept = perturb_logits(logits, q, torch.zeros(1), beta=2.0, top_k=1).softmax(-1)[0]
    assert kept.tolist() == [1.0, 0.0, 0.0]
    assert torch.equal(perturb_logits(logits, q, None, beta=0.0), logits.log_softmax(-1))


numbers = st.floats(-5, 5)


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=6), numbers, st.floats(0, 4))
def test_taking_the_state_value_away_changes_no_probability(
    pairs: list[tuple[float, float]], v: float, beta: float
) -> None:
    """So the paper's equation 5 and its code, which leaves V out, say the same."""
    logits, q = (torch.tensor([column]) for column in zip(*pairs, strict=True))
    a = perturb_logits(logits, q, torch.tensor([v]), beta=beta)
    b = perturb_logits(logits, q, None, beta=beta)
    torch.testing.assert_close(a - b, torch.full_like(a, -beta * v), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(a.softmax(-1), b.softmax(-1), atol=1e-5, rtol=1e-4)
