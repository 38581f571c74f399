"""What transformers' `Trainer` is told, from our settings, and the process's generators while it runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import TrainingArguments, set_seed

from .settings import TrainSettings


def arguments(s: TrainSettings, model: Any) -> TrainingArguments:
    """Trainer's own arguments. One batch is one optimizer step (see the module), so it accumulates nothing itself."""
    return TrainingArguments(
        output_dir=s.folder,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=1,
        num_train_epochs=s.epochs,
        max_steps=s.max_steps or -1,
        learning_rate=s.lr,
        lr_scheduler_type=s.schedule,
        warmup_steps=s.warmup,
        adam_beta1=s.betas[0],
        adam_beta2=s.betas[1],
        weight_decay=s.weight_decay,
        max_grad_norm=s.clip,
        seed=s.seed % 2**32,
        bf16=s.bf16,
        use_cpu=not torch.accelerator.is_available(),
        activation_checkpointing=s.gradient_checkpointing,
        activation_checkpointing_kwargs={"use_reentrant": False} if s.gradient_checkpointing else None,
        logging_steps=s.logging_steps,
        logging_nan_inf_filter=False,  # a loss that is no number ends the run
        save_strategy="no" if s.save_steps is None else "steps",
        save_steps=s.save_steps or 1,
        save_total_limit=s.keep,
        report_to=list(s.report_to) or "none",
        disable_tqdm=True,  # its bar prints every entry as a dictionary; `watch.Watch` tells who wants to know
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        use_cache=bool(getattr(model.config, "use_cache", True)),  # Trainer writes this into the model's configuration
    )


def pad_id(model: Any, tokenizer: Any) -> int:
    """Any valid id does: what is padding is told by the mask."""
    found = [getattr(tokenizer, "pad_token_id", None), model.config.get_text_config().pad_token_id, 0]
    return next(int(i) for i in found if isinstance(i, int) and i >= 0)


@contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Trainer seeds the process's generators; what they were before is put back."""
    python, legacy, cpu = random.getstate(), np.random.get_state(), torch.random.get_rng_state()  # noqa: NPY002
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    set_seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
        torch.random.set_rng_state(cpu)
        if devices:
            torch.cuda.set_rng_state_all(devices)
