"""An SGLang server, by token ids: completions to train on token for token, scores, adapters and weight updates.

Its native `/generate` takes ids, and with `return_logprob` returns id and log-probability of every sampled token (at
the temperature of sampling, before top-p and min-p), and of a prompt's tokens from `logprob_start_len` on. Ids are read
together with their log-probabilities, so the two cannot diverge. Every reply names the version of the weights.

Seeds (`sampling_seed`) work if the server runs with `--enable-deterministic-inference`; otherwise it ignores them. A
server with `SGLANG_RETURN_ORIGINAL_LOGPROB` in its environment gives log-probabilities at temperature 1 and must not be
used here. Adapters are loaded by `/load_lora_adapter` (`--enable-lora`, `--max-lora-rank`, `--lora-target-modules`),
whole weights by `/update_weights_from_disk`.

Source: the protocol files of SGLang 0.5.23. Departure: it has not been run with a real SGLang, which needs a GPU;
`benchmarks/engine_check.py` checks within a minute whether a server does what is said here.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from sonde.core import Sampling

from .remote.openai_chat import as_mapping, read_usage
from .remote.token_client import SEED_BITS, EchoedPrompt, SampledTokens, TokenEndpoint, missing_error, read_ids
from .remote.weights_endpoint import AdapterCommands

ADAPTERS = AdapterCommands("", known="already", needs="adapters are loaded by an SGLang started with --enable-lora")
DISK = "weights are loaded by an SGLang from a folder that it sees under the same path"


@dataclass(frozen=True, kw_only=True)
class Sglang(TokenEndpoint):
    """The model that an SGLang server serves; `base_url` is its address, with or without `/v1`. `model` names it in
    completions. For the rest see `TokenEndpoint` and `Endpoint`.

    >>> Sglang(base_url="http://localhost:30000/v1", model="Qwen/Qwen3-8B").token_url
    'http://localhost:30000/generate'
    """

    adapters: ClassVar[AdapterCommands] = ADAPTERS
    says_weights: ClassVar[str] = "SGLang says so in its replies and at /model_info"
    taken: ClassVar[frozenset[str]] = frozenset({
        *("max_new_tokens", "temperature", "top_p", "min_p", "top_k", "sampling_seed", "stop", "stop_token_ids", "n"),
        *("repetition_penalty", "presence_penalty", "frequency_penalty"),
    })  # fmt: skip

    @property
    def token_url(self) -> str:
        return f"{self.server_url}/generate"

    def gives_logprobs(self, sampling: Sampling) -> bool:
        return True

    def request_body(self, ids: array[int], sampling: Sampling, adapter: str) -> dict[str, Any]:
        drawn = {
            "max_new_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
            "top_k": -1,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "sampling_seed": sampling.seed & SEED_BITS,
            "stop": list(sampling.stop),
            "stop_token_ids": sorted(self.chat.ends),
        }
        return self._prompt_fields(ids, {**drawn, **self.extra}, len(ids), adapter)

    def echo_body(self, ids: array[int], first: int, adapter: str) -> dict[str, Any]:
        """Start one token earlier: the first token gets no log-probability."""
        return self._prompt_fields(ids, {"max_new_tokens": 1, "temperature": 1.0, **self.extra}, first - 1, adapter)

    def _prompt_fields(self, ids: array[int], drawn: Mapping[str, Any], start: int, adapter: str) -> dict[str, Any]:
        named = {"lora_path": adapter} if adapter else {}
        options = {"return_logprob": True, "logprob_start_len": -1 if start == len(ids) else start}
        return {"input_ids": ids.tolist(), "sampling_params": dict(drawn), **options, **named}

    def read_sampled(self, reply: Mapping[str, Any], ids: array[int]) -> SampledTokens:
        meta = as_mapping(reply.get("meta_info"))
        finish = as_mapping(meta.get("finish_reason")).get("type")
        if finish not in ("stop", "length"):
            raise ValueError(f"finish_reason {finish!r}")
        sampled_ids, logprobs = _id_logprob_pairs(meta, "output_token_logprobs", "logprobs")
        if isinstance(reply.get("output_ids"), list) and read_ids(reply["output_ids"], "output_ids") != sampled_ids:
            raise ValueError("output_ids differ from those of output_token_logprobs")
        weights = meta.get("weight_version")
        text = reply.get("text")
        return SampledTokens(
            ids=sampled_ids,
            logprobs=logprobs,
            limit=finish == "length",
            weights=weights if isinstance(weights, str) else "",
            usage=read_usage(meta),
            text=text if isinstance(text, str) else None,
        )

    def read_echo(self, reply: Mapping[str, Any], ids: array[int]) -> EchoedPrompt:
        meta = as_mapping(reply.get("meta_info"))
        echoed_ids, logprobs = _id_logprob_pairs(meta, "input_token_logprobs", "score")
        if echoed_ids != ids[len(ids) - len(echoed_ids) :]:
            raise ValueError("input_token_logprobs are not for the tokens that were sent")
        return EchoedPrompt([float("nan")] * (len(ids) - len(echoed_ids)) + list(logprobs), read_usage(meta))

    # --- weights -----------------------------------------------------------------------------------------------------

    async def held_version(self) -> str:
        said = (await self.send_query("/model_info")).get("weight_version")
        return said if isinstance(said, str) else ""

    async def load_weights(self, folder: Path, version: str) -> None:
        body = {"model_path": str(folder), "weight_version": version, "flush_cache": True}
        await self.send_command("/update_weights_from_disk", body, f"{DISK}: {folder}")


def _id_logprob_pairs(meta: Mapping[str, Any], name: str, capability: str) -> tuple[array[int], array[float]]:
    """Ids with their log-probabilities, from rows of log-probability, id and text."""
    rows = meta.get(name)
    if not isinstance(rows, list):
        raise missing_error(capability, f"{name}: the endpoint returns none", "SGLang's own /generate does")
    pairs = cast("list[Any]", rows)
    if not all(isinstance(row, list) and len(cast("list[Any]", row)) >= 2 for row in pairs):
        raise ValueError(f"{name} are not rows of log-probability and id")
    ids = read_ids([row[1] for row in pairs], name)
    return ids, array("f", [row[0] if isinstance(row[0], int | float) else float("nan") for row in pairs])
