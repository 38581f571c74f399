"""Doubles of a vLLM and an SGLang server: strict about requests, in the servers' own form, with a real model behind.

What they take and answer is written from the protocol files of vLLM 0.33.0 and SGLang 0.5.23. Without `names` a vLLM
is as 0.32.0 is, whose replies do not name the weights. A field that is not
theirs, or of another type, is refused (the servers ignore some). Tokens and log-probabilities are those of `models:hf`,
so that what comes through the protocol can be compared number for number.
"""

from __future__ import annotations

import asyncio
import copy
import threading
import warnings
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from aiohttp import web

from sonde import Sampling
from sonde.models.chat.chat import ScoredIds
from sonde.models.hf import HF
from sonde.models.local.batching import GeneratedTokens, GenerateRequest, ScoreRequest

Check = Callable[[Any], bool]


def _is(*kinds: type) -> Check:
    return lambda x: isinstance(x, kinds) and not (isinstance(x, bool) and bool not in kinds)


def _rows(check: Check) -> Check:
    return lambda x: isinstance(x, list) and all(map(check, x))


_IDS = _rows(lambda x: isinstance(x, int) and x >= 0)
_FLOAT, _INT, _TEXT, _FLAG = _is(int, float), _is(int), _is(str), _is(bool)
COMPLETIONS: Mapping[str, Check] = {
    "model": _TEXT, "prompt": _IDS, "max_tokens": _INT, "temperature": _FLOAT, "top_p": _FLOAT, "top_k": _INT,
    "min_p": _FLOAT, "repetition_penalty": _FLOAT, "presence_penalty": _FLOAT, "frequency_penalty": _FLOAT,
    "seed": lambda x: _INT(x) and -(2**63) <= x < 2**63, "stop": _rows(_TEXT), "stop_token_ids": _IDS,
    "logprobs": _INT, "prompt_logprobs": _INT, "return_token_ids": _FLAG, "return_weight_versions": _FLAG,
    "add_special_tokens": _FLAG, "ignore_eos": _FLAG, "priority": _INT,
}  # fmt: skip
GENERATE: Mapping[str, Check] = {
    "input_ids": _IDS, "sampling_params": _is(dict), "return_logprob": _FLAG, "logprob_start_len": _INT,
    "lora_path": _TEXT, "stream": _FLAG,
}  # fmt: skip
DRAWN: Mapping[str, Check] = {
    "max_new_tokens": _INT, "temperature": _FLOAT, "top_p": _FLOAT, "top_k": lambda x: _INT(x) and (x == -1 or x > 0),
    "min_p": _FLOAT, "repetition_penalty": _FLOAT, "presence_penalty": _FLOAT, "frequency_penalty": _FLOAT,
    "sampling_seed": lambda x: _INT(x) and -(2**63) <= x < 2**63, "stop": _rows(_TEXT), "stop_token_ids": _IDS,
}  # fmt: skip


@dataclass
class Double:
    """A server in a thread of its own. `mode` is `--logprobs-mode`; `lora`, `dev` and `details` are what a vLLM is
    started with for adapters, weights and cached tokens; `drop` names fields left out of replies; `shift` is added to
    every log-probability of a sampled token, as another engine's arithmetic would; `deaf` to seeds; `room` is how many
    tokens prompt and reply may have, which it keeps to itself; `names` the weights in its replies."""

    folder: str
    mode: str = "raw_logprobs"
    lora: bool = True
    dev: bool = True
    details: bool = True
    drop: frozenset[str] = frozenset()
    shift: float = 0.0
    deaf: bool = False
    room: int = 1 << 30
    names: bool = True
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    version: str = "default"
    name: str = "served"

    def __enter__(self) -> Self:
        self._loop, ready = asyncio.new_event_loop(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(60)
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        ready.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        self.models: dict[str, HF] = {self.name: self._loaded(self.folder)}
        app = web.Application()
        app.router.add_post("/{path:.*}", self._answer)
        app.router.add_get("/{path:.*}", self._tell)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = cast("Any", site._server).sockets[0].getsockname()[1]

    async def _close(self) -> None:
        await self._runner.cleanup()
        for hf in self.models.values():
            await hf.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def sampled(self) -> list[dict[str, Any]]:
        """The bodies of the requests for tokens."""
        return [body for path, body in self.requests if path in ("v1/completions", "generate")]

    # --- the model ---------------------------------------------------------------------------------------------------

    def _loaded(self, folder: str) -> HF:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        module = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
        self._base, self._tokenizer = module, AutoTokenizer.from_pretrained(self.folder)
        return HF.from_module(module, self._tokenizer, model="double")

    def _adapted(self, folder: str) -> HF:
        from peft import PeftModel

        with warnings.catch_warnings():  # peft 0.21 asks transformers 5.23 by an old name
            warnings.filterwarnings("ignore", r"`is_gradient_checkpointing` is deprecated", FutureWarning)
            module = PeftModel.from_pretrained(copy.deepcopy(self._base), folder).eval()
        return HF.from_module(module, self._tokenizer, model="double")

    async def _draw(self, name: str, ids: list[int], sampling: Sampling) -> tuple[GeneratedTokens, list[float], int]:
        """Tokens, their log-probabilities as the server gives them, and how many prompt tokens were kept ones."""
        hf = self.models[name]
        _, feed = await hf._ensure_loaded()
        out = cast("GeneratedTokens", await feed.submit(GenerateRequest(array("i", ids), sampling)))
        logprobs = list(out.logprobs)
        if self.mode == "raw_logprobs" and sampling.temperature != 1.0:
            logprobs = (await self._score(name, [*ids, *out.ids]))[len(ids) :]
        return out, [p + self.shift for p in logprobs], out.cached

    async def _score(self, name: str, ids: list[int]) -> list[float]:
        """One per token; the first has none, and 0 stands for it."""
        _, feed = await self.models[name]._ensure_loaded()
        places = array("i", range(1, len(ids)))
        [found] = cast("list[list[float]]", await feed.submit(ScoreRequest((ScoredIds(array("i", ids), places),))))
        return [0.0, *found]

    # --- the protocol ------------------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if request.content_type != "application/json":
            return _refusal(415, "Unsupported Media Type: Only 'application/json' is allowed")
        body = await request.json()
        self.requests.append((path, body))
        handler = getattr(self, "_" + path.replace("/", "_"), None)
        if handler is None or path not in self.paths():
            return web.json_response({"detail": "Not Found"}, status=404)
        return await handler(body)

    async def _tell(self, request: web.Request) -> web.Response:
        if request.match_info["path"] not in self.tells():
            return web.json_response({"detail": "Not Found"}, status=404)
        return web.json_response({"weight_version": self.version})

    def paths(self) -> frozenset[str]:
        """Those that it answers at."""
        raise NotImplementedError

    def tells(self) -> frozenset[str]:
        """Those at which it says which weights it holds."""
        raise NotImplementedError


class VllmDouble(Double):
    def paths(self) -> frozenset[str]:
        lora = {"v1/load_lora_adapter", "v1/unload_lora_adapter"} if self.lora else set[str]()
        dev = {"pause", "resume", "collective_rpc", "reset_prefix_cache", "update_weight_version"} if self.dev else ()
        return frozenset({"v1/completions", *lora, *dev})

    def tells(self) -> frozenset[str]:
        return frozenset({"weight_info"} if self.dev else ())

    async def _v1_completions(self, body: dict[str, Any]) -> web.Response:
        if wrong := _wrong(body, COMPLETIONS):
            return _refusal(400, wrong)
        if body.get("model") not in self.models:
            return _refusal(404, f"The model `{body.get('model')}` does not exist.", "NotFoundError")
        ids, most = body["prompt"], body.get("max_tokens", 16)
        if not ids or most < 1:
            return _refusal(400, "max_tokens must be at least 1, and a prompt not empty")
        if len(ids) + most > self.room or not set(ids) <= set(range(len(self._tokenizer))):
            return _refusal(400, "No.")
        sampling = Sampling(
            max_new_tokens=most, temperature=body.get("temperature", 1.0), top_p=body.get("top_p", 1.0),
            min_p=body.get("min_p", 0.0), stop=tuple(body.get("stop", ())),
            seed=0 if self.deaf else body.get("seed", 0),
        )  # fmt: skip
        out, logprobs, cached = await self._draw(body["model"], ids, sampling)
        choice: dict[str, Any] = {
            "index": 0, "text": out.text, "finish_reason": out.finish, "stop_reason": None, "logprobs": None,
            "token_ids": out.ids.tolist() if body.get("return_token_ids") else None,
            "prompt_token_ids": ids if body.get("return_token_ids") else None, "prompt_logprobs": None,
            "weight_versions": None,
        }  # fmt: skip
        if body.get("logprobs") is not None:
            texts = [self._tokenizer.decode([i]) for i in out.ids]
            choice["logprobs"] = {"tokens": texts, "token_logprobs": logprobs, "top_logprobs": [], "text_offset": []}
        if body.get("prompt_logprobs") is not None:
            found = (await self._score(body["model"], ids))[1:] if len(ids) > 1 else []
            rows = zip(ids[1:], found, strict=True)
            told = [{str(i): {"logprob": p, "rank": 1, "decoded_token": "?"}} for i, p in rows]
            choice["prompt_logprobs"] = [None, *told]
        if body.get("return_weight_versions") and self.names:
            choice["weight_versions"] = [{"version": self.version, "start": 0, "end": len(out.ids)}]
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(out.ids), "total_tokens": len(ids) + len(out.ids),
                 "prompt_tokens_details": {"cached_tokens": cached} if self.details else None}  # fmt: skip
        kept = {k: None if k in self.drop else v for k, v in choice.items()}
        return web.json_response({"id": "cmpl-0", "object": "text_completion", "model": body["model"],
                                  "choices": [kept], "usage": usage, "system_fingerprint": None})  # fmt: skip

    async def _v1_load_lora_adapter(self, body: dict[str, Any]) -> web.Response:
        name = body.get("lora_name")
        if wrong := _wrong(body, {"lora_name": _TEXT, "lora_path": _TEXT, "load_inplace": _FLAG}):
            return _refusal(400, wrong)
        if name in self.models and not body.get("load_inplace"):
            return _refusal(400, f"The lora adapter '{name}' has already been loaded.", "InvalidUserInput")
        if not _is_folder(body["lora_path"]):
            return _refusal(404, f"No adapter found for {body['lora_path']}", "NotFoundError")
        self.models[name] = self._adapted(body["lora_path"])
        return web.Response(text=f"Success: LoRA adapter '{name}' added successfully.")

    async def _v1_unload_lora_adapter(self, body: dict[str, Any]) -> web.Response:
        if body.get("lora_name") not in self.models:
            return _refusal(404, f"The lora adapter '{body.get('lora_name')}' cannot be found.", "NotFoundError")
        await self.models.pop(body["lora_name"]).close()
        return web.Response(text="Success: removed successfully.")

    async def _pause(self, body: dict[str, Any]) -> web.Response:
        self._paused = True
        return web.json_response({"status": "paused"})

    async def _resume(self, body: dict[str, Any]) -> web.Response:
        self._paused = False
        return web.json_response({"status": "resumed"})

    async def _collective_rpc(self, body: dict[str, Any]) -> web.Response:
        assert self._paused and body["method"] == "reload_weights" and set(body["kwargs"]) == {"weights_path"}
        if not _is_folder(body["kwargs"]["weights_path"]):
            said = f"Worker failed with error 'Repo id must be in the form ...: {body['kwargs']['weights_path']!r}'"
            return web.json_response({"error": {"message": said, "code": 500}}, status=500)
        await self.models[self.name].close()
        self.models[self.name] = self._loaded(body["kwargs"]["weights_path"])
        return web.json_response({"results": [None]})

    async def _reset_prefix_cache(self, body: dict[str, Any]) -> web.Response:
        return web.json_response({"success": True})

    async def _update_weight_version(self, body: dict[str, Any]) -> web.Response:
        self.version = body["new_version"]
        return web.json_response({"success": True, "new_version": self.version})


@dataclass
class SglangDouble(Double):
    """Its log-probabilities are those at the temperature of the draw."""

    mode: str = "processed_logprobs"

    def paths(self) -> frozenset[str]:
        return frozenset({"generate", "update_weights_from_disk", "load_lora_adapter", "unload_lora_adapter"})

    def tells(self) -> frozenset[str]:
        return frozenset({"model_info"})

    async def _generate(self, body: dict[str, Any]) -> web.Response:
        drawn = body.get("sampling_params", {})
        if wrong := _wrong(body, GENERATE) or _wrong(drawn, DRAWN):
            return web.json_response({"error": {"message": wrong}}, status=400)
        ids, name = body["input_ids"], body.get("lora_path", self.name)
        if len(ids) + drawn.get("max_new_tokens", 128) > self.room or not set(ids) <= set(range(len(self._tokenizer))):
            return web.json_response({"error": {"message": "No."}}, status=400)
        if name not in self.models:
            return web.json_response({"error": {"message": f"LoRA adapter {name} is not loaded"}}, status=400)
        sampling = Sampling(
            max_new_tokens=drawn.get("max_new_tokens", 128), temperature=drawn.get("temperature", 1.0),
            top_p=drawn.get("top_p", 1.0), min_p=drawn.get("min_p", 0.0), stop=tuple(drawn.get("stop", ())),
            seed=0 if self.deaf else drawn.get("sampling_seed", 0),
        )  # fmt: skip
        out, logprobs, cached = await self._draw(name, ids, sampling)
        matched = None if out.finish == "length" else out.ids[-1]
        finish = {"type": "length", "length": len(out.ids)} if matched is None else {"type": "stop", "matched": matched}
        meta: dict[str, Any] = {
            "id": "0", "finish_reason": finish, "prompt_tokens": len(ids), "completion_tokens": len(out.ids),
            "cached_tokens": cached, "weight_version": self.version,
        }  # fmt: skip
        if body.get("return_logprob"):
            meta["output_token_logprobs"] = [[p, i, None] for p, i in zip(logprobs, out.ids, strict=True)]
            start = body.get("logprob_start_len", -1)
            told = list(zip(await self._score(name, ids), ids, strict=True))[start:] if start >= 0 else []
            meta["input_token_logprobs"] = [[None if n == 0 else p, i, None] for n, (p, i) in enumerate(told)]
        kept = {k: v for k, v in meta.items() if k not in self.drop}
        return web.json_response({"text": out.text, "output_ids": out.ids.tolist(), "meta_info": kept})

    async def _update_weights_from_disk(self, body: dict[str, Any]) -> web.Response:
        if wrong := _wrong(body, {"model_path": _TEXT, "weight_version": _TEXT, "flush_cache": _FLAG}):
            return web.json_response({"error": {"message": wrong}}, status=400)
        if not _is_folder(body["model_path"]):
            return web.json_response({"success": False, "message": "Failed to get weights"}, status=400)
        await self.models[self.name].close()
        self.models[self.name], self.version = self._loaded(body["model_path"]), body["weight_version"]
        return web.json_response({"success": True, "message": "Succeeded", "num_paused_requests": 0})

    async def _load_lora_adapter(self, body: dict[str, Any]) -> web.Response:
        if not self.lora or body["lora_name"] in self.models:
            why = "LoRA is not enabled." if not self.lora else f"LoRA with name {body['lora_name']} already exists."
            return web.json_response({"success": False, "error_message": why}, status=400)
        self.models[body["lora_name"]] = self._adapted(body["lora_path"])
        return web.json_response({"success": True, "error_message": ""})

    async def _unload_lora_adapter(self, body: dict[str, Any]) -> web.Response:
        await self.models.pop(body["lora_name"]).close()
        return web.json_response({"success": True, "error_message": ""})


class Stubborn(VllmDouble):
    """Takes weights, says that it has them, and plays with those of before."""

    async def _collective_rpc(self, body: dict[str, Any]) -> Any:
        return await super()._collective_rpc({**body, "kwargs": {"weights_path": self.folder}})


def _wrong(body: Mapping[str, Any], schema: Mapping[str, Check]) -> str:
    """What is wrong with a body; "" if nothing."""
    found = (f"{k}: not what the schema has: {v!r}" for k, v in body.items() if k not in schema or not schema[k](v))
    return next(found, "")


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()


def _refusal(status: int, message: str, kind: str = "BadRequestError") -> web.Response:
    error = {"message": message, "type": kind, "param": None, "code": status}
    return web.json_response({"error": error}, status=status)
