"""Properties of every objective, and the registry."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

import sonde
from sonde.core import UnknownName, UserError
from sonde.train.objectives import make_objective
from tests.cases import each

pytest.importorskip("torch")
import torch

from sonde.train.objectives._sums import sample_means, sample_sums, sample_tokens, spread_over_tokens
from sonde.train.types import Batch, Loss, Objective, count_units

from ..batches import Made, made, together

CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {"bc": 0.5} if name in ("mc", "ilql") else {}) for name in sonde.names("objectives")),
    ("ilql", {"bc": 0.5, "per": "turn", "limit": "end"}), ("sft", {"mean": "sample"}),
    ("dpo", {"label_smoothing": 0.2}), ("ipo", {"normalise": False}), ("kto", {"baseline": "zero", "desirable": 1.3}),
    ("rwr", {"weighting": "centred"}), ("rwr", {"weighting": "centred", "centre": 0.4}),
    ("grpo", {"aggregation": "token-mean", "dual_clip": 3.0}), ("grpo", {"kl": 0.05}),
    ("grpo", {"kl": 0.05, "kl_ratio": False}),
]  # fmt: skip
BY_BATCH = [("kto", {}), ("rwr", {"weighting": "centred"})]
"""Their loss depends on the micro-batch: z0 of KTO, and a centre of rewards that is the micro-batch's mean."""
ADDITIVE = [case for case in CASES if case not in BY_BATCH]


def shown(case: Any) -> str:
    return str(case)


def seen(name: str, options: dict[str, Any], samples: Sequence[Made], **how: bool) -> tuple[Any, Loss, Batch]:
    """The gradient, the loss and the batch."""
    logprob, batch = together(samples, **how)
    loss = make_objective(name, **options)(logprob, batch)
    loss.total.backward()
    return logprob.grad, loss, batch


def numbers(loss: Loss) -> dict[str, list[float]]:
    return {"total": [float(loss.total.detach()), 0], **{k: [float(x) for x in v] for k, v in loss.metrics.items()}}


def close(a: dict[str, list[float]], b: dict[str, list[float]]) -> None:
    assert a.keys() == b.keys()
    for key, value in a.items():
        assert value == pytest.approx(b[key], abs=1e-10), key


@each("case", CASES, ids=shown)
def test_only_agent_tokens_have_gradients(case: tuple[str, dict[str, Any]]) -> None:
    samples = made(6)
    gradient, _, batch = seen(*case, samples)
    assert torch.isfinite(gradient).all()
    assert not gradient[~batch.agent_RT].any()
    assert gradient[batch.agent_RT].count_nonzero() > 10


@each("case", CASES, ids=shown)
def test_what_others_said_changes_nothing(case: tuple[str, dict[str, Any]]) -> None:
    logprob, batch = together(made(6))
    noisy = torch.where(batch.agent_RT, logprob.detach(), torch.full_like(logprob, -3.0))
    chosen = make_objective(case[0], **case[1])
    close(numbers(chosen(noisy, batch)), numbers(chosen(logprob, batch)))


@each("case", CASES, ids=shown)
def test_rows_are_only_where_tokens_lie(case: tuple[str, dict[str, Any]]) -> None:
    samples = made(6)
    cut = [Made((*(part for r in s.rows for part in (r.cut(0, 3), r.cut(3, 99))),), *s[1:]) for s in samples]
    whole = numbers(seen(*case, samples)[1])
    close(numbers(seen(*case, cut)[1]), whole)
    close(numbers(seen(*case, cut, reverse=True)[1]), whole)


@each("case", ADDITIVE, ids=shown)
def test_micro_batches_add_up(case: tuple[str, dict[str, Any]]) -> None:
    samples = made(6)
    _, whole, batch = seen(*case, samples)
    parts = [seen(*case, samples[i : i + 2]) for i in (0, 2, 4)]
    each = [numbers(loss) for _, loss, _ in parts]
    close({k: [sum(e[k][0] for e in each), sum(e[k][1] for e in each)] for k in each[0]}, numbers(whole))
    unit = make_objective(case[0], **case[1]).unit
    assert sum(count_units(b, unit) for *_, b in parts) == count_units(batch, unit)


@each("case", BY_BATCH, ids=shown)
def test_those_that_depend_on_the_micro_batch_do(case: tuple[str, dict[str, Any]]) -> None:
    samples = made(6)
    whole = numbers(seen(*case, samples)[1])["total"][0]
    parts = [numbers(seen(*case, samples[i : i + 2])[1])["total"][0] for i in (0, 2, 4)]
    assert sum(parts) != pytest.approx(whole, abs=1e-6)


@each("case", [case for case in CASES if case != ("kto", {})], ids=shown)
def test_gradients_are_those_of_the_loss(case: tuple[str, dict[str, Any]]) -> None:
    """KTO aside: its z0 moves with the log-probabilities and has no gradient, on purpose."""
    logprob, batch = together(made(4))
    chosen = make_objective(case[0], **case[1])
    assert torch.autograd.gradcheck(lambda x: chosen(x, batch).total, (logprob,), eps=1e-6, atol=1e-6)


@each("case", CASES, ids=shown)
def test_metrics_carry_no_gradient(case: tuple[str, dict[str, Any]]) -> None:
    _, loss, _ = seen(*case, made(6))
    for values in loss.metrics.values():
        assert not any(getattr(v, "requires_grad", False) for v in values)


@each("case", CASES, ids=shown)
def test_plain_values(case: tuple[str, dict[str, Any]]) -> None:
    made_one: Objective = make_objective(case[0], **case[1])
    assert made_one.name == case[0]
    assert pickle.loads(pickle.dumps(made_one)) == made_one == make_objective(case[0], **case[1])
    with pytest.raises(AttributeError):
        made_one.beta = 3  # type: ignore[attr-defined]


def test_sums() -> None:
    logprob, batch = together(made(5))
    for i, sample in enumerate(made(5)):
        said = torch.cat([r.logprob[r.agent] for r in sample.rows])
        assert int(sample_tokens(batch)[i]) == len(said)
        assert float(sample_sums(logprob, batch)[i].detach()) == pytest.approx(float(said.sum()))
        assert float(sample_means(logprob, batch)[i].detach()) == pytest.approx(float(said.mean()))
    assert spread_over_tokens(torch.arange(5), batch).flatten().tolist() == batch.owner_R.tolist()


def test_unknown_names() -> None:
    with pytest.raises(
        UnknownName, match=r"objective: unknown name 'gpro' \(did you mean 'grpo'\?\); known: bc, dpo, "
    ):
        make_objective("gpro")
    with pytest.raises(UnknownName, match=r"objectives:dpo: unknown name 'betta' \(did you mean 'beta'\?\)"):
        make_objective("dpo", betta=0.1)
    with pytest.raises(UserError, match=r"objectives:dpo: beta: got '\.1', allowed: a number"):
        make_objective("dpo", beta=".1")
    with pytest.raises(UserError, match=r"nowhere:Thing cannot be loaded \(No module named 'nowhere'\)"):
        make_objective("nowhere:Thing")
    with pytest.raises(UserError, match="cannot be loaded"):
        make_objective("sonde.train.objectives.sft:Nothing")
    with pytest.raises(UserError, match="not a class derived from Env, Policy, Model or Objective"):
        make_objective("sonde.train.objectives.sft:token_nll")
    with pytest.raises(UserError, match=r"agents.random:Random is not derived from sonde.train.types.Objective"):
        make_objective("sonde.agents.random:Random")


def test_an_objective_of_ones_own() -> None:
    assert make_objective("sonde.train.objectives.sft:SFT", mean="sample") == make_objective("sft", mean="sample")


def test_listing_imports_no_torch() -> None:
    code = "import sys, sonde; sonde.names('objectives'); print('torch' in sys.modules, 'sonde.train' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False True"
