"""Our objectives and TRL's own loss code give the same numbers, and gradients, on the same model and tokens.

TRL's trainers are built on a tiny Llama, their own data pipeline makes the batch, their own `_compute_loss` the loss.
Ours is computed from log-probabilities that plain transformers gives for that batch.

Parity is on single turns. In a dialogue TRL's DPO, KTO and prompt-completion SFT count everything after the prompt as
the model's, what the environment said included (`test_trl_counts_what_the_environment_said`); ours counts the agent's
tokens. Its GRPO has a mask for them, and parity holds with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from sonde.train.objectives import make_objective
from sonde.train.types import Batch, Objective, count_units

from ..tiny import tiny_model, tiny_tokenizer, write

pytestmark = [
    pytest.mark.skipif(not (find_spec("trl") and find_spec("datasets")), reason="needs the development extra"),
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]

PROMPTS = ("the maze", "goal", "go to start , answer")
GOOD = ("move left right", "up", "wall free you are the")
BAD = ("stay", "down wall free you", "a maze")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The reference model and tokenizer on disk. Afterwards, what the trainers set for the whole process is undone."""
    from accelerate.state import AcceleratorState, GradientState

    generator = torch.get_rng_state()
    yield write(tmp_path_factory.mktemp("trl"))
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    torch.set_rng_state(generator)


# --- TRL's side ------------------------------------------------------------------------------------------------------


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def pairs() -> list[dict[str, Any]]:
    columns = zip(PROMPTS, GOOD, BAD, strict=True)
    return [{"prompt": [user(p)], "chosen": [agent(g)], "rejected": [agent(b)]} for p, g, b in columns]


def trainer(kind: str, folder: Path, rows: Sequence[dict[str, Any]], **options: Any) -> Any:
    """One of TRL's trainers; where it has a reference, that is the model on disk, and the policy is another one."""
    import trl
    from datasets import Dataset

    size = options.pop("per_device_train_batch_size", len(rows))
    reward = {"reward_funcs": lambda completions, **_: [0.0] * len(completions)} if kind == "GRPO" else {}
    config = getattr(trl, f"{kind}Config")(
        output_dir=str(folder / "out"), per_device_train_batch_size=size, report_to=[], use_cpu=True, bf16=False,
        activation_checkpointing=False,
        disable_tqdm=True, **options,
    )  # fmt: skip
    made = getattr(trl, f"{kind}Trainer")(
        model=str(folder), args=config, train_dataset=Dataset.from_list(list(rows)),
        processing_class=tiny_tokenizer(), **reward,
    )  # fmt: skip
    made.model.load_state_dict(tiny_model(seed=1).state_dict())
    return made


def first(made: Any) -> dict[str, Tensor]:
    """The batch that TRL makes of its data."""
    return next(iter(made.get_train_dataloader()))


def gradient(loss: Tensor, model: Any) -> Tensor:
    """Of the embeddings, which are tied to the head."""
    model.zero_grad()
    loss.backward()
    found = model.get_input_embeddings().weight.grad.clone()
    model.zero_grad()
    return found


# --- our side --------------------------------------------------------------------------------------------------------


def logprobs(model: Any, inputs: dict[str, Tensor], mask: Tensor) -> Tensor:
    """Log-probabilities of the tokens in `mask`, zero elsewhere, from the logits of the plain forward pass."""
    logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False).logits
    next_ids = inputs["input_ids"][:, 1:, None]
    said = logits[:, :-1].float().log_softmax(-1).gather(-1, next_ids).squeeze(-1)
    return torch.where(mask.bool(), torch.nn.functional.pad(said, (1, 0)), 0.0)


def batch_of(mask: Tensor, owner: Tensor | None = None, **fields: Any) -> Batch:
    """One row per sample unless told."""
    rows = torch.arange(len(mask)) if owner is None else owner
    n = int(rows.max()) + 1
    good = torch.zeros(n, dtype=torch.bool)
    values = {"score_S": torch.zeros(n), "success_S": good, "turn_RT": torch.where(mask.bool(), 0, -1), **fields}
    return Batch(agent_RT=mask.bool(), owner_R=rows, n_samples=n, **values)


def paired(mask: Tensor, reference: Tensor) -> Batch:
    """TRL's order is all chosen, then all rejected."""
    n = len(mask) // 2
    owner = torch.cat([2 * torch.arange(n), 2 * torch.arange(n) + 1])
    return batch_of(mask, owner, reference_RT=reference)


def mean(ours: Objective, logprob: Tensor, batch: Batch) -> Tensor:
    return ours(logprob, batch).total / count_units(batch, ours.unit)


def same(made: Any, theirs: Tensor, ours: Tensor) -> None:
    """Equal losses and equal gradients, and not for want of any."""
    assert float(theirs.detach()) == pytest.approx(float(ours.detach()), abs=1e-5)
    one, other = gradient(theirs, made.model), gradient(ours, made.model)
    assert float(one.abs().max()) > 1e-4
    assert torch.allclose(one, other, atol=1e-5)


# --- the same numbers ------------------------------------------------------------------------------------------------


def test_sft(folder: Path) -> None:
    rows = [{"prompt": [user(p)], "completion": [agent(g)]} for p, g in zip(PROMPTS, GOOD, strict=True)]
    made = trainer("SFT", folder, rows)
    inputs = first(made)
    mask = inputs["labels"] != -100
    ours = mean(make_objective("sft"), logprobs(made.model, inputs, mask), batch_of(mask))
    same(made, made.compute_loss(made.model, inputs), ours)


@pytest.mark.parametrize(
    ("name", "options", "loss"),
    [
        ("dpo", {"beta": 0.3}, {"beta": 0.3, "loss_type": ["sigmoid"]}),
        ("ipo", {}, {"loss_type": ["ipo"]}),
        ("ln_dpo", {"beta": 2.0}, {"beta": 2.0, "loss_type": ["sigmoid_norm"]}),
    ],
)
def test_preferences(folder: Path, name: str, options: dict[str, Any], loss: dict[str, Any]) -> None:
    made = trainer("DPO", folder, pairs(), **loss)
    inputs = first(made)
    mask = inputs["completion_mask"]
    seen = paired(mask, logprobs(made.ref_model, inputs, mask).detach())
    ours = mean(make_objective(name, **options), logprobs(made.model, inputs, mask), seen)
    same(made, made.compute_loss(made.model, inputs), ours)


def test_rpo(folder: Path) -> None:
    """Pair by pair: in a micro-batch, TRL's likelihood term weighs pairs by the chosen one's tokens, ours equally."""
    options = {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.7], "per_device_train_batch_size": 1}
    made = trainer("DPO", folder, pairs(), **options)
    seen, rpo = list(made.get_train_dataloader()), make_objective("rpo", alpha=0.7)
    assert len(seen) == len(PROMPTS)
    for inputs in seen:
        mask = inputs["completion_mask"]
        batch = paired(mask, logprobs(made.ref_model, inputs, mask).detach())
        same(made, made.compute_loss(made.model, inputs), mean(rpo, logprobs(made.model, inputs, mask), batch))


@pytest.mark.parametrize(
    ("ours", "theirs"), [({}, "kto"), ({"baseline": "zero"}, "apo_zero_unpaired"), ({"undesirable": 0.4}, "kto")]
)
def test_kto(folder: Path, ours: dict[str, Any], theirs: str) -> None:
    """With z0 from the batch's own completions, which TRL is handed in place of its mismatched ones."""
    rows = [{"prompt": [user(p)], "completion": [agent(g)], "label": True} for p, g in zip(PROMPTS, GOOD, strict=True)]
    rows += [{"prompt": [user(p)], "completion": [agent(b)], "label": False} for p, b in zip(PROMPTS, BAD, strict=True)]
    made = trainer("KTO", folder, rows, loss_type=theirs, undesirable_weight=ours.get("undesirable", 1.0))
    made.model.load_state_dict(tiny_model(seed=0).state_dict())
    _push(made, first(made))  # so that the mean log ratio is above 0 and z0 takes part
    inputs = first(made)
    if theirs == "kto":
        inputs |= {f"KL_{k}": inputs[k] for k in ("input_ids", "attention_mask", "completion_mask")}
    mask = inputs["completion_mask"]
    reference = logprobs(made.ref_model, inputs, mask).detach()
    seen = batch_of(mask, reference_RT=reference, success_S=inputs["label"].bool())
    kto, logprob = make_objective("kto", **ours), logprobs(made.model, inputs, mask)
    assert float((logprob - reference).sum().detach()) > 0.1
    same(made, made.compute_loss(made.model, inputs), mean(kto, logprob, seen))


def _push(made: Any, inputs: dict[str, Tensor]) -> None:
    """One step of gradient ascent on the likelihood of the batch."""
    logprobs(made.model, inputs, inputs["completion_mask"]).sum().backward()
    torch.optim.SGD(made.model.parameters(), lr=0.001, maximize=True).step()
    made.model.zero_grad()


@pytest.mark.parametrize("loss_type", ["grpo", "bnpo", "dapo"])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"dual_clip": 3.0}, {"delta": 3.0}),
        ({"kl": 0.1}, {"beta": 0.1}),
        ({"kl": 0.1, "kl_ratio": False}, {"beta": 0.1, "use_bias_correction_kl": False}),
    ],
    ids=str,
)
def test_grpo(folder: Path, loss_type: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Also on dialogues: TRL's tool mask leaves out what was not said by the model."""
    options = {"loss_type": loss_type, "epsilon": 0.2, "epsilon_high": 0.28, "num_generations": 3, **theirs}
    made = trainer("GRPO", folder, [{"prompt": [user(p)]} for p in PROMPTS], **options)
    made.model.eval()  # one micro-batch by itself: no division by accumulation steps
    inputs, mask = _dialogues()
    logprob = logprobs(made.model, inputs, mask)
    moved = torch.tensor([0.5, -0.5, 1.3, -1.3, 0.1]).repeat(3)[: mask.shape[1]]  # log ratios that meet every clip
    sampled = torch.where(mask.bool(), logprob.detach() - moved, 0.0)
    reference = logprobs(tiny_model(seed=0), inputs, mask).detach()
    advantage = torch.tensor([1.2, -0.7, -0.5])[:, None] * mask
    seen = batch_of(mask, sampled_RT=sampled, reference_RT=reference, advantage_RT=advantage)
    aggregation = "seq-mean-token-mean" if loss_type == "grpo" else "token-mean"
    grpo = make_objective("grpo", aggregation=aggregation, **ours)
    clipped = grpo(logprob, seen).metrics
    assert min(float(clipped[k][0]) for k in clipped if k.startswith("clipped")) > 0
    cut = 4  # the prompt's length
    theirs_inputs = {
        "prompt_ids": inputs["input_ids"][:, :cut], "prompt_mask": inputs["attention_mask"][:, :cut],
        "completion_ids": inputs["input_ids"][:, cut:], "completion_mask": inputs["attention_mask"][:, cut:],
        "tool_mask": mask[:, cut:], "advantages": torch.tensor([1.2, -0.7, -0.5]),
        "old_per_token_logps": sampled[:, cut:], "ref_per_token_logps": reference[:, cut:],
        "num_items_in_batch": mask.sum(),
    }  # fmt: skip
    same(made, made.compute_loss(made.model, theirs_inputs), mean(grpo, logprob, seen))


def _dialogues() -> tuple[dict[str, Tensor], Tensor]:
    """Three dialogues with the same length of prompt: ids, and a mask of what the agent said."""
    generator = torch.Generator().manual_seed(5)
    mask = torch.tensor(
        [
            [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1],
            [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1],
            [0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1],
        ]
    )
    ids = torch.randint(5, len(tiny_tokenizer()), mask.shape, generator=generator)
    attention = torch.ones_like(mask)
    attention[1, 10:] = 0  # the second one is shorter
    return {"input_ids": ids, "attention_mask": attention}, mask * attention


@pytest.mark.filterwarnings("ignore:.*experimental:UserWarning")
def test_simpo() -> None:
    """TRL's function of two mean log-probabilities; its gamma stands outside beta as ours does."""
    from trl.experimental.cpo import CPOTrainer

    settings = SimpleNamespace(
        alpha=0.0, accelerator=SimpleNamespace(device="cpu"), loss_type="simpo", simpo_gamma=1.4, beta=2.5,
        label_smoothing=0.0,
    )  # fmt: skip
    logprob = torch.tensor([[-1.0, -2.0], [-3.0, 0.0], [-0.4, -0.1], [-0.2, -0.3]])
    mask = logprob != 0
    means = logprob.sum(1) / mask.sum(1)
    loss: Any = CPOTrainer.cpo_loss
    theirs, *_ = loss(settings, means[0::2], means[1::2])
    ours = make_objective("simpo")(logprob, batch_of(mask)).total
    assert float(ours) == pytest.approx(float(theirs.sum()), abs=1e-6)


# --- where TRL differs -----------------------------------------------------------------------------------------------


def test_trl_counts_what_the_environment_said(folder: Path) -> None:
    """TRL's DPO takes the environment's tokens in the completion for the model's. Told so, ours agrees; told the truth,
    it does not."""
    rows = [
        {
            "prompt": [user("go")],
            "chosen": [agent("left"), user("wall you lost"), agent("up")],
            "rejected": [agent("no")],
        }
    ]
    made = trainer("DPO", folder, rows)
    inputs = first(made)
    mask = inputs["completion_mask"]
    wall = inputs["input_ids"] == tiny_tokenizer().convert_tokens_to_ids("wall")
    assert mask[wall].tolist() == [1]
    seen = paired(mask, logprobs(made.ref_model, inputs, mask).detach())
    theirs = made.compute_loss(made.model, inputs)
    logprob = logprobs(made.model, inputs, mask)
    same(made, theirs, mean(make_objective("dpo"), logprob, seen))
    said = mask.bool() & ~_between(inputs["input_ids"])
    assert int(said.sum()) < int(mask.sum())
    truth = mean(make_objective("dpo"), logprobs(made.model, inputs, mask), replace(seen, agent_RT=said))
    assert float(truth.detach()) != pytest.approx(float(theirs.detach()), abs=1e-3)


def _between(ids: Tensor) -> Tensor:
    """Tokens of messages that are not the agent's: from a user's mark to the agent's mark, both included."""
    vocabulary = tiny_tokenizer().get_vocab()
    theirs = torch.zeros_like(ids, dtype=torch.bool)
    for r, row in enumerate(ids.tolist()):
        inside = False
        for t, token in enumerate(row):
            inside = inside or token == vocabulary["<|user|>"]
            theirs[r, t] = inside
            inside = inside and token != vocabulary["<|agent|>"]
    return theirs
