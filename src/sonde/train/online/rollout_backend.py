"""Rollout backends: where episodes are played during online training, in this process or on a server.

    player.publish("step-3")                 # play with the weights as they are now
    player.agent                             # the policy for the agent's seat
    player.confirm()                         # verify that these weights played
    player.release()                         # no play until the next publish: free memory for training

A server loads the weights from a folder that it sees under the same path: an adapter if there is one, otherwise all of
them. A probe verifies that it plays with them (`off_policy.Agreement`); after a rollout it is asked whether it still
does. Every completion names the version that sampled it. `BackgroundPlay` plays in a thread while this process trains.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import warnings
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sonde.agents.llm import LLM, SHOWN
from sonde.core import Model, Sampling, Trajectory, UserError, invalid, run_sync
from sonde.models.files.loading import holds_adapter
from sonde.models.hf import HF
from sonde.models.remote.served_weights import make_weight_probe
from sonde.models.remote.token_client import TokenEndpoint

from ..curriculum import Choice, CurriculumState
from ..model_io import has_adapter, save_folder
from ..sharded import full_weights, is_sharded
from .groups import PlannedTask, Sums
from .off_policy import Agreement, EngineWarning
from .settings import OnlineSettings

SERVED = "served"
"""Subfolder for the weights that a server plays with."""

R = TypeVar("R")


class RolloutBackend(Protocol):
    """Plays episodes during training; see the module."""

    @property
    def agent(self) -> LLM: ...

    def publish(self, version: str) -> None: ...

    def confirm(self) -> None:
        """Raise `UserError` if weights other than the published ones may have played."""
        ...

    def check_drift(self, noted: Sums) -> None:
        """Warn if the sampled log-probabilities of this step's weights disagree with those computed here."""
        ...

    def release(self) -> None: ...


@dataclass(frozen=True)
class LocalBackend:
    """Plays in this process, with the module itself."""

    hf: HF
    online: OnlineSettings

    @property
    def agent(self) -> LLM:
        return seat_model(self.hf, self.online)

    def publish(self, version: str) -> None:
        self.hf.renew_weights(weights=version)

    def confirm(self) -> None:
        """Nothing to verify: nobody else can change the weights."""

    def check_drift(self, noted: Sums) -> None:
        """Nothing to verify: the arithmetic is the same, up to the shapes of batches."""

    def release(self) -> None:
        self.hf.release_cache()


@dataclass(frozen=True)
class ServerBackend:
    """Plays on `server`, which loads the weights of `module` from `folder`. `main`: whether this process talks to the
    server; `meet` waits for all processes. `hf` is the module here, with full weights and in evaluation mode within
    `playing`; `agreement` compares a probe."""

    server: TokenEndpoint
    online: OnlineSettings
    module: Any
    tokenizer: Any
    folder: Path
    main: bool
    meet: Callable[[], None]
    hf: HF
    playing: Callable[[], AbstractContextManager[Any]]
    agreement: Agreement
    _before: list[Path] = field(default_factory=list[Path])

    @classmethod
    def for_trainer(cls, trainer: Any, server: TokenEndpoint) -> ServerBackend:
        """The backend of a trainer, whose first process talks to the server."""
        module, wait = trainer.accelerator.unwrap_model(trainer.model), trainer.accelerator.wait_for_everyone
        if has_adapter(module) and holds_adapter(module):
            raise UserError(
                "online: server: an adapter is trained on a model that is itself an adapter, and a server adds one "
                "adapter to its model; allowed: a whole model, as a training saves in `model`, or settings.lora=null"
            )
        main = trainer.is_world_process_zero()
        return cls(
            server, trainer.online, module, trainer.tokenizer, trainer.folder, main, wait, trainer.hf,
            trainer.evaluation_mode, Agreement(trainer.folder),
        )  # fmt: skip

    @property
    def agent(self) -> LLM:
        return seat_model(self.server, self.online)

    def publish(self, version: str) -> None:
        """Save and load the weights, and remove the previous version's folder: the server may still read the newest."""
        folder, adapter = self.folder / SERVED / version, has_adapter(self.module)
        if folder in self._before:  # it already plays with them: nothing was learned since
            return
        tensors = full_weights(self.module) if is_sharded(self.module) else None
        if self.main:
            save_folder(self.module, self.tokenizer, folder, tensors)
            run_sync(self.server.publish_weights(folder, version, adapter=adapter))
        self.meet()
        if not self.main:
            self.server.follow_published(folder, version, adapter=adapter)
        self._check_agreement(version)
        self.meet()
        for old in self._before:
            if self.main:
                shutil.rmtree(old, ignore_errors=True)
        self._before[:] = [folder]

    def _check_agreement(self, version: str) -> None:
        """Raise `UserError` if the server plays with other weights than these."""
        probe = make_weight_probe(self.tokenizer)
        self.hf.renew_weights(weights=version)
        with self.playing():
            here = run_sync(self.hf.score_ids(probe))
        self.hf.release_cache()
        if self.main:
            there = run_sync(self.server.score_ids(probe))
            run_sync(self.server.confirm_weights())  # another training may have published in between
            self.agreement.check_version(version, here, there)

    def confirm(self) -> None:
        if self.main:
            run_sync(self.server.confirm_weights(played=True))

    def check_drift(self, noted: Sums) -> None:
        if self.main and (said := self.agreement.explain_mismatch(noted)):
            warnings.warn(said, EngineWarning, stacklevel=2)

    def release(self) -> None:
        """Nothing to free: the server has its own memory."""


def wrap_model(model: Any, tokenizer: Any, online: OnlineSettings) -> HF:
    """A backend that plays with the given model object (`models.hf`)."""
    name = str(getattr(model.config, "name_or_path", "") or "policy")
    options: dict[str, Any] = {"template": online.template, "max_batch": online.max_batch, "kv_bytes": online.kv_bytes}
    return HF.from_module(model, tokenizer, model=name, lock_step=online.lock_step, **options)


def seat_model(model: Model, online: OnlineSettings) -> LLM:
    """The policy: view and sampling follow the settings, and the distribution is not truncated."""
    shown = {name: getattr(online, name) for name in SHOWN}
    sampling = {"temperature": online.temperature, "min_p": 0.0, "max_new_tokens": online.max_new_tokens}
    return LLM(model=model, tools=online.tools, **sampling, **shown)


def check_server(server: TokenEndpoint | None, online: OnlineSettings, tokenizer: Any) -> TokenEndpoint | None:
    """The server, if it can play for training, with the trained model's tokenizer and template."""
    if server is None:
        if online.overlap:
            raise invalid(
                "online: overlap", True, "false without a server: the model in training cannot play at the same time"
            )
        return None
    if not server.gives_logprobs(Sampling(temperature=online.temperature)):
        raise invalid(
            "online: temperature", online.temperature,
            'the temperature of the server\'s log-probabilities: 1, or any with logprobs_mode "processed_logprobs" '
            "here and --logprobs-mode processed_logprobs there",
        )  # fmt: skip
    return server.with_tokenizer(tokenizer, online.template)


def settings_for_server(online: OnlineSettings, server: TokenEndpoint | None) -> OnlineSettings:
    """The settings with which this server can play: it forms its batches itself, so lock step is impossible. Dropping
    it causes a warning, because the settings of small models enable it."""
    if server is None or not online.lock_step:
        return online
    warnings.warn(
        "online: lock_step is off: a server makes its batches itself, so two equal runs differ in their rounding",
        EngineWarning,
        stacklevel=3,
    )
    return replace(online, lock_step=False)


class PlannedRollout(NamedTuple):
    """The plan of a rollout: the curriculum's choices, its state at that time, the tasks of this process, and the
    running play, if any."""

    choices: Sequence[Choice]
    waiting: CurriculumState
    mine: list[PlannedTask]
    playing: BackgroundPlay[list[list[Trajectory]]] | None = None

    def stop(self) -> None:
        if self.playing is not None:
            self.playing.stop()


class BackgroundPlay(Generic[R]):
    """A coroutine that runs in a separate thread."""

    def __init__(self, coroutine: Coroutine[Any, Any, R]) -> None:
        self._found: Future[R] = Future()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(coroutine)
        self._thread = threading.Thread(target=self._run_loop, name="sonde-ahead", daemon=True)
        self._thread.start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._found.set_result(self._loop.run_until_complete(self._task))
        except BaseException as error:
            self._found.set_exception(error)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def result(self) -> R:
        """Wait for its result, or raise its error."""
        return self._found.result()

    def stop(self) -> None:
        """Cancel it, and wait until it has ended."""
        with suppress(RuntimeError):  # the loop is closed, or closes just now
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
