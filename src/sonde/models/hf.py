"""Any causal language model of transformers, by hub name or folder, on this machine.

Sampled tokens go back into later prompts unchanged: `Completion.ids` are what was sampled (`chat`). Requests of all
episodes share batches (`local.batching`, `local.engine`). Keys and values of past tokens stay in a cache with a byte
budget, so a conversation pays for each token once (`local.kv_cache`). Log-probabilities, at the temperature of the
call, equal those of one plain forward pass within 1e-4 in float32. The probes of all waiting calls of `score` share one
tree of tokens, in which equal beginnings are computed once (`local.prefix_tree`, `local.scoring`).

Every token is sampled with a random number that depends on `Sampling.seed` and its position alone, so the rest of the
batch never changes which number is used. Batch shapes do change rounding, so the backend does not declare itself
deterministic: alone or among seven others, log-probabilities of SmolLM2 differ by up to 1e-5 in float32 and 0.15 in
bfloat16 (`benchmarks/hf_generate.py`). The first call imports torch and transformers and loads the model, in the worker
thread.

`HF.from_module` plays with a model of this process, which may be trained between calls; `renew_weights` tells it that
the weights have changed, `release_cache` frees the cache.

Departure: models that keep anything but keys and values per token (recurrent or hybrid ones) are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from sonde._util.extras import require_extra
from sonde._util.frozen import freeze
from sonde.core.config import HOW
from sonde.core.errors import UserError, invalid
from sonde.core.model import Capabilities, Model, Probe, Sampling
from sonde.core.types import EMPTY, Completion, Json, Message, Usage

from .files import fetch
from .files.hub import report_loading_errors
from .files.loading import ModelParts, load_causal_model, load_tokenizer, locate_parts
from .files.weights import model_fingerprint
from .local.batching import EngineStats, GenerateRequest, ScoreRequest, completion_hash

if TYPE_CHECKING:
    from .chat.chat import Chat, ScoredIds
    from .local.batching import Feed, GeneratedTokens
    from .local.engine import Engine, Steer

_VALUES = ("heads", "heads_weights", "beta", "minus_v", "top_k")
DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class HF(Model):
    """See the module. `HF(model="smollm2")` needs nothing but a package index.

    `model`: a folder, a name of `files.fetch`, or a hub name; `revision` is for the hub. `weights` distinguishes the
    model from another one at the same path (`files.weights`); None computes it, and if it is given, loading another
    model is an error. `dtype` "auto" is the type in which the weights are stored. `device` None is CUDA if available,
    else the CPU. `max_batch` rows are decoded at once; `kv_bytes` limits the cache, not the rows being decoded (0:
    nothing is kept between calls). `template` holds arguments of the chat template, e.g. `{"enable_thinking": False}`,
    and under `training` the name of a template of ours that keeps history (`chat.templates`). `threads`
    sets torch's number of threads for the whole process; None leaves it unchanged. `steer(hidden, logits)` returns
    the logits to sample from, given the last hidden states (rows, hidden size) and logits (rows, vocabulary) of every
    decode step; recorded log-probabilities are those of the steered distribution; `score` is not steered, and `rank`
    by `heads` alone.

    `heads`: the folder of a model that was trained with values of tokens (`sonde train mc`, `ilql`). The model then
    samples from log pi + `beta` (min Q - V) (`local.heads`), which can be saved like any other configuration. If that
    folder is not `model` itself, the model in it reads along and `model` is the policy, as in LMRL-Gym, where values
    are added to those of the cloned behaviour. `minus_v`: whether V is subtracted, if there is one, as in the paper and
    not in its code; it changes no probability. `top_k`: only so many of the policy's most likely tokens are allowed.
    `heads_weights` is to `heads` what `weights` is to `model`.
    """

    model: str = "smollm2"
    weights: str | None = None
    revision: str | None = None
    dtype: str = "auto"
    device: str | None = field(default=None, metadata=HOW)
    max_batch: int = field(default=32, metadata=HOW)
    kv_bytes: int = field(default=2 << 30, metadata=HOW)
    threads: int | None = field(default=None, metadata=HOW)
    template: Mapping[str, Json] = EMPTY
    heads: str = ""
    heads_weights: str | None = None
    beta: float = 1.0
    minus_v: bool = True
    top_k: int | None = None
    steer: Steer | None = field(default=None, compare=False, repr=False)

    capabilities: ClassVar[Capabilities] = Capabilities(ids=True, logprobs=True, score=True, steer=True, tools=True)
    retired: ClassVar[frozenset[str]] = frozenset({"compile"})

    def __post_init__(self) -> None:
        if not self.model:
            raise invalid(
                "hf: model", self.model, "a folder, a hub name, or one of " + ", ".join(fetch.fetchable_models())
            )
        if self.dtype not in DTYPES:
            raise invalid("hf: dtype", self.dtype, ", ".join(DTYPES))
        if self.max_batch < 1:
            raise invalid("hf: max_batch", self.max_batch, "1 or more")
        if self.kv_bytes < 0:
            raise invalid("hf: kv_bytes", self.kv_bytes, "0 or more")
        if self.threads is not None and self.threads < 1:
            raise invalid("hf: threads", self.threads, "1 or more, or None")
        if self.steer is not None and not callable(self.steer):
            raise invalid("hf: steer", self.steer, "a function of hidden states and logits, in Python only")
        object.__setattr__(self, "template", freeze(self.template))
        self._check_heads()
        if self.weights is None:
            object.__setattr__(self, "weights", model_fingerprint(self.model))

    def _check_heads(self) -> None:
        if not self.heads:
            changed = [
                name for name in _VALUES[1:] if getattr(self, name) != type(self).__dataclass_fields__[name].default
            ]
            if changed:
                raise invalid(f"hf: {changed[0]}", getattr(self, changed[0]), "the default, unless heads is given")
            return
        if self.steer is not None:
            raise invalid("hf: steer", self.steer, "None with heads, which steer themselves")
        if not self.beta >= 0:
            raise invalid("hf: beta", self.beta, "a number >= 0")
        if self.top_k is not None and self.top_k < 1:
            raise invalid("hf: top_k", self.top_k, "1 or more, or None")
        if self.heads_weights is None:
            object.__setattr__(self, "heads_weights", model_fingerprint(self.heads))

    @classmethod
    def from_module(
        cls, module: Any, tokenizer: Any, *, model: str, weights: str = "0", lock_step: bool = False, **options: Any
    ) -> HF:
        """A backend that plays with `module` itself: nothing is copied, loaded or moved.

        `model` names it in records, `weights` the version of its weights, here and in the configuration. The module
        must be in evaluation mode while it plays. `dtype`, `device` and `revision` have no effect. With `lock_step` the
        batches do not depend on how fast episodes come back, so equal calls have equal numbers as far as torch's own
        kernels do: requests wait until no runnable episode remains and the whole previous batch is answered.
        """
        hf = cls(model=model, weights=weights, **options)
        hf._session.held = _HeldModule(module, tokenizer, weights, lock_step)
        return hf

    def renew_weights(self, weights: str) -> None:
        """The module's weights have changed to this version: drop all cached keys and values. Not while it is
        generating."""
        session = self._session
        if session.held is None:
            raise UserError(f"hf: renew: got {self.model!r}, loaded by name; allowed: a model made by HF.from_module")
        session.held = replace(session.held, weights=weights)
        self.release_cache()
        if session.loaded is not None:
            session.loaded = replace(session.loaded, weights=weights)

    def release_cache(self) -> None:
        """Free the memory of all cached keys and values; the next call computes them again. Not while it is
        generating."""
        feed, loaded = self._session.feed, self._session.loaded
        if feed is not None and loaded is not None:
            # On the worker, which may still be caching what it computed when its answers are here.
            feed.run_on_worker_and_wait(loaded.engine.forget_cache)

    @property
    def config(self) -> dict[str, Json]:
        """The constructor arguments, with the current version of the weights. A steer function cannot be saved, so only
        its name is recorded."""
        config, held = super().config, self._session.held
        if held is not None:
            config["weights"] = held.weights
        if not self.heads:
            config = {name: value for name, value in config.items() if name not in _VALUES}
        steer = config.pop("steer")
        return config if steer is None else {**config, "steer": f"{steer.__module__}:{steer.__qualname__}"}

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        loaded, feed = await self._ensure_loaded()
        chat = loaded.chat.with_tools(sampling.tools)
        prompt = chat.encode_prompt(messages)
        known = min(prompt.shared, max(0, prompt.previous - 1))  # the last token sampled was never fed
        last = next((m.completion for m in reversed(messages) if m.completion), None)
        follows = completion_hash(last.ids, last.logprobs) if last else None
        request = GenerateRequest(prompt.ids, sampling, known, prompt.rewritten, follows)
        out = cast("GeneratedTokens", await feed.submit(request))
        return Completion(
            text=out.text,
            ids=out.ids,
            logprobs=out.logprobs,
            temperature=sampling.temperature,
            truncated=sampling.is_truncating,
            prompt_ids=prompt.ids[prompt.shared :],
            shared=prompt.shared,
            finish=out.finish,
            open_mark=prompt.open_mark,
            model=self.model,
            weights=loaded.weights,
            usage=Usage(len(prompt.ids), len(out.ids), out.cached),
            calls=chat.read_calls(out.text, prompt.open_mark, cut=out.finish == "length"),
        )

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        loaded, feed = await self._ensure_loaded()
        request = ScoreRequest(tuple(loaded.chat.encode_probe(probe) for probe in probes))
        return cast("list[list[float]]", await feed.submit(request))

    async def score_ids(self, scored: ScoredIds) -> list[float]:
        """The log-probabilities of the tokens at these positions, as in `score`."""
        _, feed = await self._ensure_loaded()
        [found] = cast("list[list[float]]", await feed.submit(ScoreRequest((scored,))))
        return found

    async def rank(self, probes: Sequence[Probe]) -> list[float]:
        if not self.heads:
            return await super().rank(probes)
        loaded, feed = await self._ensure_loaded()
        request = ScoreRequest(tuple(loaded.chat.encode_probe(probe) for probe in probes), valued=True)
        return [sum(row) for row in cast("list[list[float]]", await feed.submit(request))]

    @property
    def stats(self) -> EngineStats:
        """Counts of tokens computed and saved since loading; see `batching.EngineStats`."""
        loaded = self._session.loaded
        return EngineStats() if loaded is None else loaded.engine.stats

    async def close(self) -> None:
        """End the worker thread and free model and cache. A later call loads again."""
        feed, self._session.feed = self._session.feed, None
        if feed is not None:
            feed.close()
        self._session.loaded = None

    # --- loading -----------------------------------------------------------------------------------------------------

    @cached_property
    def _session(self) -> _Session:
        return _Session()

    @property
    def _loaded_model(self) -> _LoadedModel:
        """The loaded model."""
        loaded = self._session.loaded
        assert loaded is not None
        return loaded

    async def _ensure_loaded(self) -> tuple[_LoadedModel, Feed]:
        from .local.batching import Batcher

        session, held = self._session, self._session.held
        if held is not None and held.module.training:
            raise UserError(f"hf: {self.model!r} is in training mode, allowed: evaluation mode, `module.eval()`")
        if session.feed is None:
            patient = held is not None and held.lock_step
            session.feed = Batcher(self._serve_requests, full=sys.maxsize if patient else self.max_batch)
        feed = session.feed
        if session.loaded is None and held is not None:
            self._load_once()  # reads no files, and keeps the order of episodes
        elif session.loaded is None:
            await feed.run_on_worker(self._load_once)
        return self._loaded_model, feed

    def _serve_requests(self, feed: Feed) -> None:
        self._loaded_model.engine.serve(feed)

    def _load_once(self) -> None:
        """Load the model. On the worker thread if files are read, so that two first calls load once."""
        session = self._session
        if session.loaded is None:
            session.loaded = _load_by_name(self) if session.held is None else _adopt_module(self, session.held)


@dataclass(frozen=True, slots=True, eq=False)
class _HeldModule:
    module: Any
    tokenizer: Any
    weights: str
    lock_step: bool


@dataclass(frozen=True, slots=True, eq=False)
class _LoadedModel:
    engine: Engine
    chat: Chat
    weights: str


@dataclass(slots=True, eq=False)
class _Session:
    """State between calls: the module to play with, if it is not loaded by name; the loaded model; the queue of
    requests."""

    held: _HeldModule | None = None
    loaded: _LoadedModel | None = None
    feed: Feed | None = None


def _load_by_name(hf: HF) -> _LoadedModel:
    require_extra("models:hf", "torch", "transformers", "accelerate")
    import torch

    if hf.threads is not None:
        torch.set_num_threads(hf.threads)
    parts = locate_parts(hf.model, hf.revision)
    actual = _check_weights(hf.model, hf.weights)
    tokenizer = load_tokenizer(parts)
    model = _load_module(hf, parts)
    commit = parts.commit or str(getattr(model.config, "_commit_hash", None) or "")
    return _build_engine(hf, model, tokenizer, actual or commit)


def _load_module(hf: HF, parts: ModelParts) -> Any:
    """Load a model to the device."""
    import torch

    device = hf.device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = "auto" if hf.dtype == "auto" else getattr(torch, hf.dtype)
    model = load_causal_model(parts, dtype=dtype)
    with report_loading_errors(parts.name):
        return model.to(device).eval()


def _check_weights(name: str, wanted: str | None) -> str | None:
    """The fingerprint of the current weights, which must be the one of the configuration."""
    actual = model_fingerprint(name)
    if wanted is not None and actual is not None and actual != wanted:
        raise UserError(
            f"hf: weights: {name} holds the model {actual}, allowed: {wanted}, which it held at the start of this run; "
            "start a new run for another model"
        )
    return actual


def _load_values(hf: HF, model: Any) -> tuple[Steer, Steer, Any]:
    """How values steer sampling, how they rank whole texts, and the model whose states they read, if it is another
    one."""
    from .local import heads

    _check_weights(hf.heads, hf.heads_weights)
    own = Path(hf.heads).absolute() == Path(hf.model).absolute()
    beside = None if own else _load_module(hf, locate_parts(hf.heads))
    values = heads.load_heads(Path(hf.heads), model if beside is None else beside)
    if beside is not None and heads.model_sizes(beside)[1] != heads.model_sizes(model)[1]:
        got, wanted = heads.model_sizes(beside)[1], heads.model_sizes(model)[1]
        raise UserError(f"hf: heads: {hf.heads} values {got} tokens, allowed: {wanted}, the vocabulary of {hf.model}")
    steer, rank = (heads.make_steer(values, beta=hf.beta, minus_v=hf.minus_v, top_k=k) for k in (hf.top_k, None))
    return steer, rank, beside


def _adopt_module(hf: HF, held: _HeldModule) -> _LoadedModel:
    import torch

    if hf.threads is not None:
        torch.set_num_threads(hf.threads)
    return _build_engine(hf, held.module, held.tokenizer, held.weights, lock_step=held.lock_step)


def _build_engine(hf: HF, model: Any, tokenizer: Any, weights: str, *, lock_step: bool = False) -> _LoadedModel:
    from .chat.chat import Chat
    from .local.engine import Engine
    from .local.kv_cache import count_layers

    steer, rank, beside = _load_values(hf, model) if hf.heads else (hf.steer, None, None)
    config = model.config.get_text_config()
    ends = _end_ids(model.generation_config.eos_token_id)
    chat = Chat(tokenizer, label=hf.model, template=hf.template, ends=ends)
    engine = Engine(
        model,
        n_layers=count_layers(model),
        context=int(getattr(config, "max_position_embeddings", 0) or tokenizer.model_max_length),
        ends=chat.ends,
        decode=chat.decode_ids,
        tokens=chat.vocabulary_ids,
        max_batch=hf.max_batch,
        kv_bytes=hf.kv_bytes,
        steer=steer,
        rank=rank,
        beside=beside,
        lock_step=lock_step,
    )
    return _LoadedModel(engine, chat, weights)


def _end_ids(ids: int | Sequence[int] | None) -> tuple[int, ...]:
    return () if ids is None else (ids,) if isinstance(ids, int) else tuple(ids)


def native_dtype() -> str:
    """The faster dtype on this CPU: with native bfloat16 it reads prompts three times as fast as in float32, with
    emulated bfloat16 half as fast."""
    import torch

    return "bfloat16" if torch.ops.mkldnn._is_mkldnn_bf16_supported() else "float32"
