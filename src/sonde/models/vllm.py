"""A vLLM server, by token ids: completions to train on token for token, prompt scores, adapters and weight updates.

Prompts go as ids to `/v1/completions`. With `return_token_ids` the ids of prompt and completion come back, with
`logprobs` the log-probability of each sampled token, with `prompt_logprobs` those of a prompt, and with
`return_weight_versions` the version of the weights. The returned prompt ids must be those that were sent.

Log-probabilities: vLLM gives those of the unmodified model (`--logprobs-mode raw_logprobs`, its default), which equal
the sampling distribution at temperature 1 only. At another temperature, completions carry none, unless the server was
started with `--logprobs-mode processed_logprobs` and `logprobs_mode` here says so; those are after top-p and min-p, so
then truncated sampling carries none. Those of greedy completions are at temperature 1 in either mode.

Adapters are loaded by `/v1/load_lora_adapter` (`--enable-lora`, `--max-lora-rank`, in the environment
`VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`); whole weights by `/collective_rpc` with `reload_weights`, between `/pause` and
`/resume`, followed by emptying the prefix cache (`VLLM_SERVER_DEV_MODE=1`). On a CPU, vLLM 0.32 keeps the old output
head if a model's embeddings are tied; a training that publishes such weights detects it (`train.online.off_policy`).

`/weight_info` reports which weights the server holds (`VLLM_SERVER_DEV_MODE=1`). Replies of 0.32 do not name them.

Source: the protocol files of vLLM 0.32.0 and 0.33.0. The tests of `tests/engines` run 0.32.0 on a CPU. It has not been
run with vLLM on a GPU; `benchmarks/engine_check.py` checks within a minute whether a server does what is said here.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from sonde.core import Sampling, SondeError, UserError

from .remote.openai_chat import as_mapping, read_usage
from .remote.token_client import SEED_BITS, EchoedPrompt, SampledTokens, TokenEndpoint, missing_error, read_ids
from .remote.weights_endpoint import AdapterCommands

ADAPTERS = AdapterCommands(
    "/v1",
    known="already been loaded",
    needs="adapters are loaded by a vLLM started with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1",
)
DEV = "weights are loaded by a vLLM started with VLLM_SERVER_DEV_MODE=1, from a folder that it sees under the same path"
PLAIN: Mapping[str, float] = {"top_k": 0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Default values that are sent anyway, because a model's generation_config.json may have others."""


@dataclass(frozen=True, kw_only=True)
class Vllm(TokenEndpoint):
    """The model called `model` on a vLLM server; `base_url` is its address, with or without `/v1`. `logprobs_mode` is
    the server's own setting. For the rest see `TokenEndpoint` and `Endpoint`.

    >>> Vllm(base_url="http://localhost:8000/v1", model="Qwen/Qwen3-8B").capabilities.ids
    True
    """

    logprobs_mode: Literal["raw_logprobs", "processed_logprobs"] = "raw_logprobs"

    adapters: ClassVar[AdapterCommands] = ADAPTERS
    says_weights: ClassVar[str] = "vLLM 0.32 says so with VLLM_SERVER_DEV_MODE=1, 0.33 in its replies too"
    taken: ClassVar[frozenset[str]] = frozenset({
        *("model", "prompt", "max_tokens", "temperature", "top_p", "min_p", "seed", "stop", "stop_token_ids", "stream"),
        *("logprobs", "prompt_logprobs", "return_token_ids", "return_weight_versions", "add_special_tokens", "echo"),
        *("n", *PLAIN, "api_key", "authorization"),
    })  # fmt: skip

    @property
    def token_url(self) -> str:
        return f"{self.server_url}/v1/completions"

    def gives_logprobs(self, sampling: Sampling) -> bool:
        if self.logprobs_mode == "processed_logprobs":
            return not sampling.is_truncating
        return sampling.temperature in (0.0, 1.0)

    def request_body(self, ids: array[int], sampling: Sampling, adapter: str) -> dict[str, Any]:
        fields = {
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
            **PLAIN,
            "seed": sampling.seed & SEED_BITS,
            "stop": list(sampling.stop),
            "stop_token_ids": sorted(self.chat.ends),
            "logprobs": 0,
            "return_weight_versions": True,
        }
        return {**self._prompt_fields(ids, adapter), **fields, **self.extra}

    def echo_body(self, ids: array[int], first: int, adapter: str) -> dict[str, Any]:
        return {
            **self._prompt_fields(ids, adapter),
            "max_tokens": 1,
            "temperature": 1.0,
            "prompt_logprobs": 0,
            **self.extra,
        }

    def _prompt_fields(self, ids: array[int], adapter: str) -> dict[str, Any]:
        prompt = ids.tolist()
        return {
            "model": adapter or self.model, "prompt": prompt, "add_special_tokens": False, "return_token_ids": True,
        }  # fmt: skip

    def read_sampled(self, reply: Mapping[str, Any], ids: array[int]) -> SampledTokens:
        choice = _single_choice(reply)
        if choice.get("finish_reason") not in ("stop", "length"):
            raise ValueError(f"finish_reason {choice.get('finish_reason')!r}")
        sampled_ids = self._checked_ids(choice, ids)
        logprobs = as_mapping(choice.get("logprobs")).get("token_logprobs")
        if not isinstance(logprobs, list):
            raise missing_error(
                "logprobs", "logprobs: the endpoint returns none", "vLLM does unless --max-logprobs forbids"
            )
        spans = choice.get("weight_versions")
        oldest = as_mapping(spans[0]).get("version") if isinstance(spans, list) and spans else ""
        return SampledTokens(
            ids=sampled_ids,
            logprobs=array("f", [x if isinstance(x, int | float) else float("nan") for x in logprobs]),
            limit=choice.get("finish_reason") == "length",
            weights=oldest if isinstance(oldest, str) else "",
            usage=read_usage(as_mapping(reply.get("usage"))),
            text=text if isinstance(text := choice.get("text"), str) else None,
        )

    def _checked_ids(self, choice: Mapping[str, Any], ids: array[int]) -> array[int]:
        """The sampled ids, provided that the server read the prompt as sent."""
        if choice.get("token_ids") is None or choice.get("prompt_token_ids") is None:
            raise missing_error(
                "ids",
                "token_ids: the endpoint returns none, though return_token_ids asks for them",
                "vLLM 0.32 and later do; models:http does without",
            )
        if read_ids(choice.get("prompt_token_ids"), "prompt_token_ids") != ids:
            raise UserError(
                "prompt_token_ids: the endpoint read other ids than were sent; allowed: a server that leaves prompts "
                "unchanged (no truncate_prompt_tokens, no proxy that encodes them again)"
            )
        return read_ids(choice.get("token_ids"), "token_ids")

    def read_echo(self, reply: Mapping[str, Any], ids: array[int]) -> EchoedPrompt:
        choice = _single_choice(reply)
        self._checked_ids(choice, ids)
        rows = choice.get("prompt_logprobs")
        if not isinstance(rows, list):
            raise missing_error(
                "score", "prompt_logprobs: the endpoint returns none", "vLLM does unless a proxy drops them"
            )
        if len(rows) != len(ids):
            raise ValueError(f"{len(rows)} prompt_logprobs for {len(ids)} tokens")
        values = [as_mapping(as_mapping(row).get(str(i))).get("logprob") for row, i in zip(rows, ids, strict=True)]
        logprobs = [float(x) if isinstance(x, int | float) else float("nan") for x in values]
        return EchoedPrompt(logprobs, read_usage(as_mapping(reply.get("usage"))))

    # --- weights -----------------------------------------------------------------------------------------------------

    async def held_version(self) -> str:
        said = (await self.send_query("/weight_info")).get("weight_version")
        return said if isinstance(said, str) else ""

    async def load_weights(self, folder: Path, version: str) -> None:
        await self.send_command("/pause?mode=wait", {}, DEV)
        try:
            load = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
            await self.send_command("/collective_rpc", load, f"{DEV}: {folder}")
            emptied = await self.send_command("/reset_prefix_cache", {}, DEV)
            if emptied.get("success") is False:
                raise UserError("reset_prefix_cache: the server did not empty its cache of older weights")
            await self.send_command("/update_weight_version", {"new_version": version}, DEV)
        except SondeError:
            await self.close()  # the server drops it after an error: /resume needs a new connection
            raise
        finally:
            await self.send_command("/resume", {}, DEV)


def _single_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        raise ValueError("no single choice")
    return as_mapping(choices[0])
