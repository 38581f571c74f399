"""The network and its training from scratch: next-token prediction on the teachers' observations and answers.

Source of the architecture: Llama (RMS norm, rotary positions, SwiGLU) with tied embeddings. Ours: the sizes and the
schedule. Weights are float32; computation is in bfloat16 if the plan says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import corpus
import torch
from games import Plan
from torch import Tensor
from torch.nn import functional

from sonde.core import derive

WARMUP = 50
SAVE = 500
"""Steps between checkpoints."""
EAGER = 512
"""Up to this length of rows, attention is faster backwards without the fused kernel, with heads this small."""
LAST = 0.05
"""The final learning rate, as a share of the highest."""

Report = Callable[[int, float, float], None]
"""Called with the step, the mean loss of the agent's tokens since the last call, and the CPU seconds so far."""


class Trained(NamedTuple):
    """A trained model, the number of training tokens, its last loss, the CPU seconds of the training alone, and how
    many updates were planned: more than one number if a finished training was continued."""

    model: Any
    tokens: int
    loss: float
    cpu_seconds: float
    planned: tuple[int, ...]


class Progress(NamedTuple):
    """What a checkpoint says of the training so far: its updates, tokens and CPU seconds, and the plans."""

    done: int = 0
    tokens: int = 0
    spent: float = 0.0
    planned: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shape:
    """The size of a network: its width, the width of its feed-forward layers, and the numbers of layers and heads."""

    width: int = 96
    inner: int = 256
    layers: int = 3
    heads: int = 4


def make_network(vocabulary: int, window: int, end: int, pad: int, seed: int, shape: Shape = Shape()) -> Any:
    """A Llama model with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=window,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        initializer_range=0.05,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=pad,
        use_cache=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "tiny", "weights") % 2**63)
        return LlamaForCausalLM(config)


def train_network(
    plan: Plan,
    model: Any,
    source: Iterator[corpus.Batch],
    steps: int,
    report: Report,
    checkpoint: Path | None = None,
) -> Trained:
    """Train for `steps` updates. The learning rate rises over the first ones and then falls linearly to a twentieth.
    With a `checkpoint` file, an interrupted training continues there and skips the batches that it has seen; a finished
    one continues if `steps` are more, at the learning rate of a training of that length."""
    own, own_loss, loss = 0.0, 0.0, 0.0
    optimisers = make_optimizers(model, plan)
    done, tokens, spent, planned = _load_checkpoint(checkpoint, model, optimisers)
    planned = planned if steps in planned else (*planned, steps)
    began = time.process_time() - spent
    model.train()
    for step in range(1, steps + 1):
        batch = next(source)
        if step <= done:
            continue
        model.set_attn_implementation("eager" if batch.ids_BT.shape[1] <= EAGER else "sdpa")
        learned_BT = batch.weights_BT[:, 1:] > 0
        nats, weights = token_surprise(model, batch.ids_BT, learned_BT, plan.half), batch.weights_BT[:, 1:][learned_BT]
        ((nats * weights).sum() / weights.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = plan.rate * schedule_share(step, steps)
            optimiser.step()
            optimiser.zero_grad()
        mine = batch.own_BT[:, 1:][learned_BT]
        own_loss += float((nats.detach() * mine).sum())
        own += float(mine.sum())
        tokens += len(weights)
        if step % 100 == 0 or step == steps:
            loss, own, own_loss = own_loss / own, 0.0, 0.0
            report(step, loss, time.process_time() - began)
        if checkpoint is not None and step % SAVE == 0:
            progress = Progress(step, tokens, time.process_time() - began, planned)
            _save_checkpoint(checkpoint, model, optimisers, progress)
    model.eval()
    return Trained(model, tokens, loss, time.process_time() - began, planned)


def _save_checkpoint(file: Path, model: Any, optimisers: Sequence[torch.optim.Optimizer], progress: Progress) -> None:
    states = [optimiser.state_dict() for optimiser in optimisers]
    torch.save({"model": model.state_dict(), "optimisers": states, **progress._asdict()}, file.with_suffix(".new"))
    file.with_suffix(".new").replace(file)


def _load_checkpoint(file: Path | None, model: Any, optimisers: Sequence[torch.optim.Optimizer]) -> Progress:
    """Load the weights and the optimisers' states from the file, if there is one."""
    if file is None or not file.is_file():
        return Progress()
    found = torch.load(file, weights_only=True)
    model.load_state_dict(found["model"])
    for optimiser, state in zip(optimisers, found["optimisers"], strict=True):
        optimiser.load_state_dict(state)
    return Progress(*(found[name] for name in Progress._fields))


class Muon(torch.optim.Optimizer):
    """Momentum orthogonalised by five Newton-Schulz iterations (Jordan et al. 2024), with steps scaled to the size of
    AdamW's (Liu et al. 2025). The same as `torch.optim.Muon`, whose own steps are in bfloat16, however: a CPU without
    bfloat16 takes ten times as long for those as for all the rest."""

    def __init__(self, matrices: Sequence[Tensor], *, lr: float) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": 0.95, "weight_decay": 0.01})

    @torch.no_grad()
    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            for p in group["params"]:
                mean = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - group["momentum"])
                ahead = p.grad.lerp(mean, group["momentum"])
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(orthogonalize(ahead), alpha=-0.2 * max(p.shape) ** 0.5 * group["lr"])


def orthogonalize(matrix_MN: Tensor) -> Tensor:
    """About U V^T of a matrix U S V^T."""
    if matrix_MN.shape[0] > matrix_MN.shape[1]:
        return orthogonalize(matrix_MN.T).T
    x_MN = matrix_MN / matrix_MN.norm().clamp(min=1e-7)
    for _ in range(5):
        square_MM = x_MN @ x_MN.T
        step_MM = torch.addmm(square_MM, square_MM, square_MM, beta=-4.7750, alpha=2.0315)
        x_MN = torch.addmm(x_MN, step_MM, x_MN, beta=3.4445)
    return x_MN


def make_optimizers(model: Any, plan: Plan) -> tuple[torch.optim.Optimizer, ...]:
    """Muon for the matrices of the layers and AdamW for embeddings and norms, or AdamW for all."""
    fast = [p for name, p in model.named_parameters() if plan.muon and p.ndim == 2 and "embed" not in name]
    rest = [p for p in model.parameters() if all(p is not other for other in fast)]
    adam = torch.optim.AdamW(rest, lr=plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
    return (Muon(fast, lr=plan.rate), adam) if fast else (adam,)


def schedule_share(step: int, steps: int) -> float:
    """The share of the learning rate at a step."""
    rest = 1.0 - (1.0 - LAST) * max(0, step - WARMUP) / max(1, steps - WARMUP)
    return min(step / WARMUP, rest)


def token_surprise(model: Any, ids_BT: Tensor, learned_BT: Tensor, half: bool) -> Tensor:
    """Negative log-probability of the chosen tokens, of all but the first of each row (`learned_BT`, `(B, T - 1)`).
    Rows are padded on the right, where causal attention never looks, so no mask is needed."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        hidden_BTH = model.model(input_ids=ids_BT).last_hidden_state
        logits_NV = model.lm_head(hidden_BTH[:, :-1][learned_BT])
    return functional.cross_entropy(logits_NV.float(), ids_BT[:, 1:][learned_BT], reduction="none")
