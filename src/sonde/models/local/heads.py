"""Value heads on a language model: values of states and of tokens, from the hidden states that the LM head reads.

    V(s)       one number per position
    Q(s, .)    one number per token of the vocabulary, for what could be said next
    target Q   copies of the Q heads that follow them slowly: target += polyak (Q - target)

Each head is a layer of the hidden state's size (times `width`), a rectifier, and a last layer that starts at zero, or
that last layer alone (`linear`, for V), so all values are 0 at first. Heads compute in single precision whatever the
model uses: for returns of some tens, bfloat16 has no decimals left. Heads are saved beside a model, in
`heads.safetensors`, and are not part of its weights: loading the model does not load them.

Source: ILQL (Snell et al. 2022) and LMRL-Gym's code (two-layer heads as wide as the model, last layer zero; one of its
scripts starts values at -4.4 by a bias, which is not offered).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sonde._util.argument_checks import Checked
from sonde.core.errors import UserError, invalid

from ..files.saving import report_full_disk

FILE = "heads.safetensors"
"""File name in a model's folder, and in every checkpoint."""
NAME = "sonde_heads"
"""Name of the module in the model that carries the heads."""
_ABOUT = "sonde"
"""Key in the file's metadata: a description of the heads, as JSON. Older files have one entry for each fact."""
BLOCK = 1 << 24
"""Most token values that are held for the backward pass at once."""

Trunk = Literal["shared", "detached", "frozen"]


@dataclass(frozen=True, kw_only=True)
class HeadSpec(Checked):
    """Which heads there are, and how they learn.

    `v`: a value of states; `q`: the number of heads with values of tokens, each with a slow copy if `target` is set.
    `trunk`: "shared" passes the heads' gradients on to the model; "detached" does not, so only the rest of the loss
    trains the model; "frozen" trains nothing but the heads. Slow copies move by `polyak` after `every` optimizer steps
    (polyak 1: a hard copy). `width`: size of the middle layer, as a multiple of the hidden state's. `linear`: V has no
    middle layer, as PPO's in LMRL-Gym (appendix G.2).
    """

    called = "heads"

    v: bool = False
    q: int = 0
    target: bool = False
    trunk: Trunk = "shared"
    polyak: float = 0.005
    every: int = 1
    width: float = 1.0
    linear: bool = False

    def __post_init__(self) -> None:
        if self.linear and (self.q or self.width != 1.0):
            raise invalid("heads: linear", True, "false with q, or with another width: it is one layer for v")
        if not 0 <= self.q <= 2 or not (self.v or self.q):
            raise invalid("heads: q", self.q, "0 (with v), 1 or 2")
        if not 0 < self.polyak <= 1:
            raise invalid("heads: polyak", self.polyak, "above 0, at most 1")
        if self.every < 1:
            raise invalid("heads: every", self.every, "1 or more")
        if not 0 < self.width < float("inf"):
            raise invalid("heads: width", self.width, "a number above 0")


class Heads(nn.Module):
    """The heads of one model (see the module); `hidden` and `vocab` are the sizes of that model."""

    def __init__(self, spec: HeadSpec, *, hidden: int, vocab: int, seed: int = 0) -> None:
        super().__init__()
        self.spec, self.hidden, self.vocab = spec, hidden, vocab
        middle = max(1, round(spec.width * hidden))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed % 2**63)
            self.v = _make_head(hidden, 0 if spec.linear else middle, 1) if spec.v else None
            self.q = nn.ModuleList(_make_head(hidden, middle, vocab) for _ in range(spec.q))
        slow = copy.deepcopy(self.q) if spec.target else nn.ModuleList()
        self.target = slow.requires_grad_(False)
        self.register_load_state_dict_post_hook(_ignore_missing_heads)

    def forward(self, hidden_NH: Tensor, target_N: Tensor) -> dict[str, Tensor]:
        """What the heads say about the token that follows each position: `v`; `q1` and `q1_logp`, its value and its
        log-probability under the softmax of all values; `q1_target`; and so on."""
        hidden_NH = hidden_NH.float() if self.spec.trunk == "shared" else hidden_NH.detach().float()
        outputs: dict[str, Tensor] = {} if self.v is None else {"v": self.state_value(hidden_NH)}
        for i, q in enumerate(self.q, 1):
            outputs[f"q{i}"], outputs[f"q{i}_logp"] = _evaluate_in_blocks(q, hidden_NH, target_N, self.vocab)
        for i, q in enumerate(self.target, 1):
            with torch.no_grad():
                outputs[f"q{i}_target"] = _evaluate_in_blocks(q, hidden_NH.detach(), target_N, self.vocab)[0]
        return outputs

    def state_value(self, hidden_NH: Tensor) -> Tensor:
        """V, shape `(N,)`."""
        assert self.v is not None
        with torch.autocast(hidden_NH.device.type, enabled=False):
            return self.v(hidden_NH.float())[:, 0]

    def least_q(self, hidden_BH: Tensor) -> Tensor:
        """The minimum over the Q heads of every token's value, by the slow copies if there are any, shape `(B, V)`."""
        heads = self.target if len(self.target) else self.q
        with torch.autocast(hidden_BH.device.type, enabled=False):
            return torch.stack([q(hidden_BH.float()) for q in heads]).amin(0)

    @torch.no_grad()
    def update_targets(self) -> None:
        """Move the slow copies towards the heads."""
        for slow, fast in zip(self.target.parameters(), self.q.parameters(), strict=True):
            slow.lerp_(fast, self.spec.polyak)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Empty: heads are not part of the weights of the model that carries them."""
        return kwargs.get("destination", args[0] if args else {})

    def save(self, folder: Path) -> None:
        """Save to `heads.safetensors` in this folder."""
        facts = {"spec": asdict(self.spec), "hidden": self.hidden, "vocab": self.vocab}
        about = {_ABOUT: json.dumps(facts, sort_keys=True)}  # one entry: safetensors would not keep an order
        with report_full_disk(folder):
            save_file(
                {name: p.detach().cpu().contiguous() for name, p in self.named_parameters()}, folder / FILE, about
            )

    @torch.no_grad()
    def load(self, folder: Path) -> None:
        """Load what `save` wrote for heads of the same kind. Raises `UserError` for other heads."""
        with _open_heads_file(folder) as file:
            mine = dict(self.named_parameters())
            if set(file.keys()) != set(mine):
                raise UserError(f"heads: {folder / FILE} holds {sorted(file.keys())}, allowed: {sorted(mine)}")
            for name, p in mine.items():
                saved = file.get_tensor(name)
                if saved.shape != p.shape:
                    raise _misfit_error(folder, f"{name} of shape {tuple(saved.shape)}", tuple(p.shape))
                p.copy_(saved)


def attach_heads(model: Any, spec: HeadSpec, seed: int) -> Heads:
    """Add heads to a causal language model (also under an adapter), as one of its modules. With "frozen", nothing else
    of it is trained from now on."""
    hidden, vocab = model_sizes(model)
    heads = Heads(spec, hidden=hidden, vocab=vocab, seed=seed)
    if spec.trunk == "frozen":
        model.requires_grad_(False)
    bare = model.get_base_model() if hasattr(model, "peft_config") else model
    bare.add_module(NAME, heads.to(model.device))
    return heads


def load_heads(folder: Path, model: Any) -> Heads:
    """Load the heads of a folder for this model. Raises `UserError` if there are none, or if they do not fit."""
    with _open_heads_file(folder) as file:
        about = file.metadata() or {}
    try:
        facts = json.loads(about[_ABOUT]) if _ABOUT in about else {**about, "spec": json.loads(about["spec"])}
        spec, saved_sizes = HeadSpec(**facts["spec"]), (int(facts["hidden"]), int(facts["vocab"]))
    except (KeyError, TypeError, ValueError) as e:
        raise UserError(f"heads: {folder / FILE} was not written by sonde ({e}); allowed: heads of a training") from e
    if saved_sizes != model_sizes(model):
        raise _misfit_error(folder, "hidden states of {} and {} tokens".format(*saved_sizes), model_sizes(model))
    heads = Heads(spec, hidden=saved_sizes[0], vocab=saved_sizes[1])
    heads.load(folder)
    return heads.to(model.device).eval()


def model_sizes(model: Any) -> tuple[int, int]:
    """Size of the hidden state that a model's own head reads, and of its vocabulary."""
    vocab, hidden = model.get_output_embeddings().weight.shape
    return int(hidden), int(vocab)


@contextmanager
def record_hidden_states(model: Any) -> Iterator[list[Tensor]]:
    """Record the inputs of the model's own head within this context, one tensor per forward pass."""
    seen: list[Tensor] = []
    bare = model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model
    hook = bare.get_output_embeddings().register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    try:
        yield seen
    finally:
        hook.remove()


def perturb_logits(
    logits_BV: Tensor, q_BV: Tensor, v_B: Tensor | None, *, beta: float, top_k: int | None = None
) -> Tensor:
    """Logits of a policy that prefers valuable tokens: `log pi + beta (Q - V)`, for every token; without `v_B` nothing
    is subtracted. With `top_k`, only so many of the policy's own most likely tokens are allowed.

    Source: LMRL-Gym, equation 5 (Q - V); its code leaves V out, which shifts all logits alike and changes no
    probability.

    >>> log_pi, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 3.0]]).log()
    >>> [round(p, 4) for p in perturb_logits(log_pi, q, None, beta=1.0).softmax(-1)[0].tolist()]
    [0.25, 0.75]
    """
    log_pi_BV = logits_BV.float().log_softmax(-1)
    gain_BV = q_BV if v_B is None else q_BV - v_B[:, None]
    out_BV = log_pi_BV + beta * gain_BV
    if top_k is None or top_k >= log_pi_BV.shape[-1]:
        return out_BV
    kept_BV = torch.zeros_like(log_pi_BV, dtype=torch.bool).scatter_(-1, log_pi_BV.topk(top_k).indices, True)
    return out_BV.masked_fill(~kept_BV, -torch.inf)


def make_steer(
    heads: Heads, *, beta: float, minus_v: bool = True, top_k: int | None = None
) -> Callable[[Tensor, Tensor], Tensor]:
    """A function from hidden states and logits to the logits of the policy that prefers valuable tokens (see
    `perturb_logits`)."""
    if not len(heads.q):
        raise UserError("heads: got heads without token values, allowed: heads of mc or ilql")

    def steer_logits(hidden_BH: Tensor, logits_BV: Tensor) -> Tensor:
        v_B = heads.state_value(hidden_BH) if minus_v and heads.v is not None else None
        return perturb_logits(logits_BV, heads.least_q(hidden_BH), v_B, beta=beta, top_k=top_k)

    return steer_logits


# --- parts -----------------------------------------------------------------------------------------------------------


def _make_head(hidden: int, middle: int, out: int) -> nn.Sequential:
    """A head with a middle layer of this size; 0: with none."""
    last = nn.Linear(middle or hidden, out)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(hidden, middle), nn.ReLU(), last) if middle else nn.Sequential(last)


def _evaluate_in_blocks(q: nn.Module, hidden_NH: Tensor, target_N: Tensor, vocab: int) -> tuple[Tensor, Tensor]:
    """Value and log-probability of one token per position. For many positions, the values are recomputed in the
    backward pass, so that not all are held in memory."""
    lines = max(1, BLOCK // vocab)
    if len(target_N) <= lines:
        return _value_and_logprob(q, hidden_NH, target_N)
    parts = zip(hidden_NH.split(lines), target_N.split(lines), strict=True)
    done: list[Any] = [checkpoint(_value_and_logprob, q, *part, use_reentrant=False) for part in parts]
    values, logps = zip(*done, strict=True)
    return torch.cat(values), torch.cat(logps)


def _value_and_logprob(q: nn.Module, hidden_NH: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
    with torch.autocast(hidden_NH.device.type, enabled=False):
        q_NV = q(hidden_NH)
    value_N = q_NV.gather(-1, target_N[:, None])[:, 0]
    return value_N, value_N - q_NV.logsumexp(-1)


def _ignore_missing_heads(module: nn.Module, keys: Any) -> None:
    """Do not report missing heads when a model's own weights are loaded."""
    keys.missing_keys[:] = [key for key in keys.missing_keys if NAME not in key.split(".")]


@contextmanager
def _open_heads_file(folder: Path) -> Iterator[Any]:
    file = folder / FILE
    if not file.is_file():
        raise UserError(f"heads: {file} is missing; allowed: the folder of a model trained with heads (mc, ilql)")
    try:
        with safe_open(file, "pt") as file_handle:
            yield file_handle
    except SafetensorError as e:
        raise UserError(f"heads: {file}: damaged ({e})") from e


def _misfit_error(folder: Path, got: str, allowed: object) -> UserError:
    return UserError(
        f"heads: {folder / FILE} has {got}, allowed: {allowed}, as this model has; use the heads with the model that "
        "they were trained on"
    )
