"""The trainer for recorded items: any objective on any causal language model, by `transformers.Trainer`.

Trainer provides processes, devices, precision, schedules, checkpoints, resuming and loggers; only its public hooks are
used. For it, a batch is a whole optimizer step: the data loader yields the items of a step, `get_batch_samples` turns
this process's share of them into forward passes, and `training_step` runs these. Accumulation thus follows from the
lengths of rows and may differ from step to step.

The loss of a step is exactly the sum of `Loss.total` over its forward passes and processes, divided by the units in all
of them. Trainer 5.23 would divide by its accumulation steps (not with `loss_is_scaled_for_ga`); DDP, FSDP and DeepSpeed
average gradients over processes, and the logged loss is averaged likewise. Every pass therefore returns `total *
processes / units`, and sums of passes averaged over processes are right for gradients and for the log.

Processes. `torchrun` runs DDP or, with `settings.shard`, FSDP2 (`sharded.py`); every process runs the same number of
passes (one without items runs an empty pass). DeepSpeed: `accelerate launch --config_file`; leave
`gradient_accumulation_steps` at 1 and `gradient_clipping` at "auto"; with ZeRO stage 2 or more every pass reduces.
Tested: DDP and FSDP2 with two gloo processes. Untested: accelerate's own FSDP (on CPUs it silently runs DDP) and
DeepSpeed. The process's global random generators are restored after training. Source: ours.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import PrinterCallback, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer import TRAINER_STATE_NAME

from sonde.core.errors import StoreError, UserError, invalid
from sonde.core.seeding import derive
from sonde.models.files.saving import hide_progress_bars, report_full_disk
from sonde.models.local.heads import Heads, attach_heads

from .callbacks import FollowTargets, LogLastStep
from .checks import check_items, check_packing, check_reports, check_resume
from .collate import BatchSampler, ItemLoader, Tensors, collate, divide_passes, empty_pass, make_batch
from .logprobs import (
    LogprobScorer,
    ReferenceModel,
    agent_logprobs,
    agent_values,
    load_or_compute_reference,
    read_reference,
    token_logprobs,
    token_values,
)
from .model_io import (
    attach_adapter,
    base_dtype,
    convert_folder,
    convert_model,
    disable_dropout,
    has_adapter,
    merge_adapter,
    save_folder,
)
from .provenance import check_origin, describe_origin, write_origin
from .settings import TrainSettings, write_settings
from .sharded import ShardedTrainer, gather_weights
from .training_folder import (
    ADAPTER,
    HISTORY,
    MODEL,
    REFERENCE,
    SETTINGS,
    check_free,
    check_no_file,
    find_damage,
    is_complete,
    last_checkpoint,
    lock_folder,
    report_bad_pickles,
)
from .types import Headed, Item, Loss, Objective, count_units, longest_row


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """The result of a run: the model's folder, and one dict per log entry (step, epoch, loss, learning_rate, grad_norm,
    and the objective's metrics). `summary` is Trainer's: run time, samples per second. `best`: the folder of the
    weights that were best on held-out tasks, where these were played (`online.held_out`)."""

    folder: Path
    model: Path
    history: list[dict[str, float]]
    steps: int
    summary: dict[str, float]
    best: Path | None = None


class SondeTrainer(ShardedTrainer):
    """Trains on `items`; with None, a subclass supplies them (`get_batch_samples`), `settings.max_steps` times.

    The model is trained in place; with `settings.lora` an adapter is attached to it. `tokenizer` is saved beside it.
    `compared` is the reference, if it is neither this model nor given with the rows.
    """

    model: Any

    def __init__(
        self,
        model: Any,
        objective: Objective,
        items: Sequence[Item] | None,
        settings: TrainSettings,
        tokenizer: Any = None,
        callbacks: Sequence[TrainerCallback] = (),
        compared: ReferenceModel | None = None,
    ) -> None:
        self.objective, self.settings, self.tokenizer = objective, settings, tokenizer
        self.folder = Path(settings.folder)
        check_no_file(self.folder)
        check_packing(settings, model)
        check_reports(settings.report_to)
        self.items = None if items is None else check_items(items, objective, settings, model)
        self.compared, self.origin = (
            compared,
            describe_origin(model, objective, self.items, None if compared is None else compared.weights),
        )
        self._save_dtype = torch.float32 if settings.save_dtype == "float32" else base_dtype(model)
        if settings.lora is not None:
            model = attach_adapter(model, settings.lora, settings.seed, bf16=settings.bf16)
        self.heads = self._attach_heads(model)
        follows = [FollowTargets(self.heads)] if self.heads is not None and self.heads.spec.target else []
        self.pad_id = pad_id(model, tokenizer)
        self.metrics: dict[str, list[Any]] = {}
        self._history_begun = False
        if items is None and settings.max_steps is None:
            raise invalid("train: max_steps", None, "a number of steps, where the items are found on the way")
        with keep_generators(settings.seed):
            super().__init__(model, make_arguments(settings, model), callbacks=[LogLastStep(), *follows, *callbacks])
        if self.heads is not None and self._is_sharded:
            raise UserError(f"train: {objective.name}: got sharded weights, allowed: whole ones (DDP)")
        self.loss_is_scaled_for_ga = True
        self.remove_callback(PrinterCallback)
        if self.args.n_gpu > 1:
            raise UserError(f"train: got {self.args.n_gpu} devices in one process; use torchrun, or show it one device")

    @property
    def _needs_reference(self) -> bool:
        """Whether items need reference log-probabilities."""
        return "reference" in self.objective.needs

    @property
    def _compares_logprobs(self) -> bool:
        """Whether the loss compares log-probabilities with earlier ones, which are computed without dropout: with it,
        policies with the same weights would differ."""
        return bool(self.objective.needs & {"sampled", "proximal", "reference"})

    @property
    def _is_sharded(self) -> bool:
        return self.settings.shard or self.is_fsdp_enabled or self.is_deepspeed_enabled

    def _attach_heads(self, model: Any) -> Heads | None:
        """Attach the heads that the objective learns with."""
        if not isinstance(self.objective, Headed):
            return None
        spec = self.objective.heads
        if spec.trunk == "frozen" and self.settings.lora is not None:
            raise UserError('train: lora: got an adapter, allowed: none where trunk is "frozen": nothing trains it')
        return attach_heads(model, spec, derive(self.settings.seed, "train", "heads"))

    # --- running -----------------------------------------------------------------------------------------------------

    def train(self, resume: bool | str | Path = False, **kwargs: Any) -> TrainResult:  # type: ignore[override]
        """Train to the end and save. `resume`: a checkpoint, or True for the last one in the folder, if there is any;
        the folder must then have the same settings, base model and data. Raises `UserError` where another training is
        in the folder, or writing to it."""
        with lock_folder(self.folder):
            return self._train_to_end(resume, **kwargs)

    def _train_to_end(self, resume: bool | str | Path, **kwargs: Any) -> TrainResult:
        checkpoint = self._find_checkpoint(resume)
        check_resume(self.folder / SETTINGS, self.settings, resumed=resume is not False)
        check_origin(self.folder, self.origin)
        self.accelerator.wait_for_everyone()  # nobody writes before all have looked
        if checkpoint is not None and self.heads is not None:
            self.heads.load(Path(checkpoint))
        if self._needs_reference and self.items is not None:
            self.items = self._attach_reference(self.items, resumed=checkpoint is not None)
        if self.is_world_process_zero():
            write_settings(self.folder / SETTINGS, self.settings)
            write_origin(self.folder, self.origin)
        try:
            with keep_generators(self.settings.seed), report_full_disk(self.folder), report_bad_pickles(checkpoint):
                done = super().train(resume_from_checkpoint=checkpoint, **kwargs)
        finally:
            self.accelerator.unwrap_model(self.model, keep_fp32_wrapper=False)  # autocast ends with the run
            self.model.eval()
        history = [entry for entry in self.state.log_history if "loss" in entry]
        return TrainResult(
            folder=self.folder,
            model=self.save_trained(),
            history=history,
            steps=done.global_step,
            summary=done.metrics,
        )

    def save_trained(self) -> Path:
        """Save the model as `settings.save` says, and an adapter separately too. Returns the folder to play from."""
        adapter = has_adapter(self.model)
        name = ADAPTER if adapter and (self._is_sharded or self.settings.save == "adapter") else MODEL
        if self._is_sharded:
            self.save_model(str(self.folder / name))  # all processes take part, and shards cannot be merged
            if self.is_world_process_zero():
                self._convert_saved(self.folder / name)
        elif self.is_world_process_zero():
            if adapter:
                save_folder(self.model, self.tokenizer, self.folder / ADAPTER)
            if name == MODEL:
                trained = convert_model(merge_adapter(self.model), self._save_dtype)
                save_folder(trained, self.tokenizer, self.folder / MODEL)
            if self.heads is not None:
                self.heads.save(self.folder / name)
        self.accelerator.wait_for_everyone()
        return self.folder / name

    def _convert_saved(self, folder: Path) -> None:
        """Convert a saved model to the format of the settings; an adapter stays in float32."""
        if self._save_dtype != torch.float32 and not has_adapter(self.model):
            convert_folder(folder, self._save_dtype)

    def _find_checkpoint(self, resume: bool | str | Path) -> str | None:
        if resume is False:
            check_free(self.folder)
        if not isinstance(resume, bool) and not is_complete(Path(resume)):
            raise invalid("train: resume", str(resume), "a complete checkpoint folder, true or false")
        if not isinstance(resume, bool) and (fault := find_damage(Path(resume))):
            raise StoreError(f"train: resume: {fault}")
        chosen = last_checkpoint(self.folder) if isinstance(resume, bool) else resume
        return None if chosen is None else str(chosen)

    def _attach_reference(self, items: Sequence[Item], *, resumed: bool) -> list[Item]:
        other, file = self.compared, self.folder / REFERENCE
        if other is None and self.settings.reference == "given":
            return list(items)
        if other is not None and file.exists():  # its weights are part of the origin, so they are what they were
            return read_reference(file, items)
        off = other is None and self.settings.reference == "adapter_off"
        model = self.model if other is None else other.load().to(self.args.device)
        referee = LogprobScorer(
            model=model, pad_id=self.pad_id, off=off, bf16=self.settings.bf16,
            tempered="sampled" in self.objective.needs, rank=self.args.process_index, world=self.args.world_size,
        )  # fmt: skip
        with gather_weights(model):
            return load_or_compute_reference(file, referee, items, resumed=resumed and not off and other is None)

    @contextmanager
    def evaluation_mode(self) -> Iterator[Any]:
        """The bare model, in evaluation mode and with full weights, for computations between updates."""
        model = self.accelerator.unwrap_model(self.model)
        was_training = model.training
        model.eval()
        try:
            with gather_weights(model):
                yield model
        finally:
            model.train(was_training)

    # --- hooks of Trainer --------------------------------------------------------------------------------------------

    def get_train_dataloader(self) -> DataLoader[Any]:
        """One entry per optimizer step: item indices, or the step's own number where a subclass supplies the items."""
        if self.items is None:
            steps = int(self.args.max_steps)
            return ItemLoader(range(steps), batch_sampler=BatchSampler(steps, 1, 0, shuffle=False), collate_fn=list)  # type: ignore[arg-type]
        order = BatchSampler(len(self.items), self.settings.batch_size, self.settings.seed)
        return ItemLoader(range(len(self.items)), batch_sampler=order, collate_fn=list)  # type: ignore[arg-type]

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        """The forward passes of this process for the next optimizer step, and the units of all processes."""
        numbers = next(epoch_iterator, None)
        ended = self.state.global_step >= self.state.max_steps  # a run resumed at its end, within an epoch
        if numbers is None or ended or self.items is None:
            return [], None
        step = sorted((self.items[i] for i in numbers), key=longest_row, reverse=True)
        passes, n_units = self.make_passes(step[self.args.process_index :: self.args.world_size])
        return [passes], n_units

    def make_passes(self, items: Sequence[Item]) -> tuple[list[Tensors], Tensor]:
        """Forward passes over this process's items, and the number of units over all processes."""
        s = self.settings
        parts = divide_passes(items, most_items=s.micro_batch, most_tokens=s.micro_tokens, packed=s.packing)
        done = [collate(p, needs=self.objective.needs, pad_id=self.pad_id, packed=s.packing) for p in parts]
        n_units = sum(count_units(make_batch(tensors), self.objective.unit) for tensors in done)
        total, most = self._reduce_counts(n_units, len(done))
        if total == 0:
            raise UserError(f"train: step {self.state.global_step + 1} holds no {self.objective.unit} to learn from")
        return done + [empty_pass(self.pad_id)] * (most - len(done)), torch.tensor(float(total))

    def _reduce_counts(self, n_units: int, n_passes: int) -> tuple[int, int]:
        """The sum of the units, and the largest number of passes of any process."""
        if self.args.world_size == 1:
            return n_units, n_passes
        counts = self.accelerator.gather(torch.tensor([[n_units, n_passes]], device=self.args.device))
        return int(counts[:, 0].sum()), int(counts[:, 1].max())

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """Run all forward passes of an optimizer step; gradients are exchanged in the last."""
        total = torch.zeros((), device=self.args.device)
        for i, tensors in enumerate(inputs):
            last = i == len(inputs) - 1
            self.accelerator.sync_gradients = last  # DeepSpeed reads this
            with nullcontext() if last else self.accelerator.no_sync(model):
                total += super().training_step(model, tensors, num_items_in_batch)
        if not torch.isfinite(total):
            raise UserError(
                f"train: step {self.state.global_step + 1}: the loss is {total.item()}, not a finite number"
            )
        return total

    def compute_loss(
        self, model: Any, inputs: Tensors, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """This pass's part of the step's loss, times the number of processes (see the module)."""
        if self._compares_logprobs:
            disable_dropout(model)
        if "silent" in inputs:
            return 0.0 * self._touch_weights(model, inputs)
        loss = self._compute_pass_loss(model, inputs)
        for name, (value, count) in loss.metrics.items():
            kept = self.metrics.setdefault(name, [0.0, 0.0])
            kept[0] += value
            kept[1] += count
        return loss.total * (self.args.world_size / num_items_in_batch.to(loss.total.device))

    def _compute_pass_loss(self, model: Any, inputs: Tensors) -> Loss:
        batch = make_batch(inputs)
        if self.heads is None:
            return self.objective(token_logprobs(model, inputs), batch)
        logprob_RT, head = token_values(model, self.heads, inputs)
        loss = self.objective(logprob_RT, replace(batch, head=head))
        return loss._replace(total=loss.total + 0.0 * logprob_RT.sum())  # DDP wants a gradient of every weight

    def _touch_weights(self, model: Any, inputs: Tensors) -> Any:
        """A number that depends on all weights."""
        if self.heads is None:
            return agent_logprobs(model, inputs).sum()
        logprob_N, head = agent_values(model, self.heads, inputs)
        return logprob_N.sum() + sum(x.sum() for x in head.values())

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the objective's metrics, averaged over the entry's passes and processes, and write the history."""
        if "loss" in logs:
            logs |= self._average_metrics()
            bad = {
                name: value
                for name, value in logs.items()
                if name in ("loss", "grad_norm") and not math.isfinite(float(value))
            }
            if bad:
                raise UserError(f"train: step {self.state.global_step}: {bad} not finite; lower lr, or check the data")
        super().log(logs, start_time)
        if self.is_world_process_zero() and "loss" in logs:
            self._write_history()

    def _write_history(self) -> None:
        """Append the newest entry. The first one of a run rewrites the file, as a resumed run may start before its
        end."""
        entries = [entry for entry in self.state.log_history if "loss" in entry]
        new = entries[-1:] if self._history_begun else entries
        with (self.folder / HISTORY).open("ab" if self._history_begun else "wb") as file:
            file.writelines(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE) for entry in new)
        self._history_begun = True

    def _average_metrics(self) -> dict[str, float]:
        mine = {name: (float(value), float(count)) for name, (value, count) in self.metrics.items()}
        self.metrics.clear()
        shares = [mine]
        if self.args.world_size > 1:
            from accelerate.utils import gather_object

            shares = gather_object([mine])
        names = dict.fromkeys(name for share in shares for name in share)
        sums = {name: [sum(c) for c in zip(*(s[name] for s in shares if name in s), strict=True)] for name in names}
        return {name: value / count for name, (value, count) in sums.items() if count}

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save weights and tokenizer. Trainer does not get the tokenizer, as it would change the model's end tokens.

        A checkpoint that is written again is incomplete until its state is there anew, which Trainer writes last.
        """
        if _internal_call and output_dir is not None and self.args.should_save:
            (Path(output_dir) / TRAINER_STATE_NAME).unlink(missing_ok=True)
        with hide_progress_bars(), report_full_disk(Path(output_dir or self.folder)):
            super().save_model(output_dir, _internal_call)
        if self.heads is not None and output_dir is not None and self.args.should_save:
            self.heads.save(Path(output_dir))
        if self.tokenizer is not None and self.args.should_save:
            self.tokenizer.save_pretrained(output_dir or self.folder)

    def floating_point_ops(self, inputs: Any) -> int:
        """Six per weight and token."""
        return 6 * self._n_weights * sum(tensors["input_ids"].numel() for tensors in inputs)

    @cached_property
    def _n_weights(self) -> int:
        return sum(p.numel() for p in self.model.parameters())


# --- arguments of Trainer --------------------------------------------------------------------------------------------


def make_arguments(s: TrainSettings, model: Any) -> TrainingArguments:
    """Arguments for transformers' Trainer. One batch is one optimizer step (see the module), so it accumulates nothing
    itself."""
    return TrainingArguments(
        output_dir=s.folder,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=1,
        num_train_epochs=s.epochs,
        max_steps=s.max_steps or -1,
        learning_rate=s.lr,
        lr_scheduler_type="constant_with_warmup" if s.schedule == "constant" else s.schedule,
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
        logging_nan_inf_filter=False,  # a non-finite loss ends the run
        save_strategy="no" if s.save_steps is None else "steps",
        save_steps=s.save_steps or 1,
        save_total_limit=s.keep,
        report_to=list(s.report_to) or "none",
        disable_tqdm=True,  # its bar prints every entry as a dictionary; see `callbacks.ProgressCallback`
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        use_cache=bool(getattr(model.config, "use_cache", True)),  # Trainer writes this into the model's configuration
    )


def pad_id(model: Any, tokenizer: Any) -> int:
    """Any valid id will do: nothing sees padding, which is at the end of its line."""
    candidates = [getattr(tokenizer, "pad_token_id", None), model.config.get_text_config().pad_token_id, 0]
    return next(int(i) for i in candidates if isinstance(i, int) and i >= 0)


@contextmanager
def keep_generators(seed: int) -> Iterator[None]:
    """Trainer seeds the process's random generators; their states are restored afterwards."""
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
