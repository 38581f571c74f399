"""Any endpoint that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, hosted ones.

Keys, retries and whose fault a failure is: `endpoint`. No token ids come back; `models:vllm` and `models:sglang` keep
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sonde.core import (
    EMPTY,
    HOW,
    Capabilities,
    CapabilityError,
    Completion,
    Message,
    Probe,
    Sampling,
    UserError,
    freeze,
    invalid,
)
from sonde.core.model import CAPABILITIES

from .echo import Echo, echo, largest_echo, scores
from .endpoint import Endpoint, all_of, check_extra, without
from .masking import hide
from .reply import completion, largest

MAX_TOKENS = ("max_tokens", "max_completion_tokens")
"""The two names that endpoints have for the same limit."""
OMITTABLE = ("logprobs", "min_p", "seed", "stop", "temperature", "top_p")

_NOT_EXTRA = {*OMITTABLE, *MAX_TOKENS, "api_key", "authorization", "messages", "model", "n", "stream",
              "prompt_logprobs", "add_generation_prompt", "continue_final_message"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Http(Endpoint):
    """An endpoint that is sent messages; `base_url` is the address up to but not including `/chat/completions`.

    For what is not named here see `Endpoint`. `max_tokens_field` is one of `MAX_TOKENS`; `omit` names fields (of
    `OMITTABLE`) that the endpoint would refuse, `extra` adds others to the request; `logprobs` asks for
    log-probabilities, which come without token ids; `prompt_logprobs` says that the endpoint gives those of a prompt,
    which `score` needs (vLLM does).

    >>> Http(base_url="http://localhost:8000/v1", model="qwen").config["concurrency"]
    64
    """

    max_tokens_field: str = "max_tokens"
    logprobs: bool = False
    prompt_logprobs: bool = field(default=False, metadata=HOW)
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if not isinstance(self.omit, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("omit", self.omit, f"a list of {', '.join(OMITTABLE)}")
        if not isinstance(self.extra, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("extra", self.extra, "a mapping of names of fields to JSON values")
        object.__setattr__(self, "omit", tuple(self.omit))
        object.__setattr__(self, "extra", freeze(self.extra))
        object.__setattr__(self, "capabilities", Capabilities(logprobs=self.logprobs, score=self.prompt_logprobs))
        super().__post_init__()

    def _check_request(self) -> None:
        if self.max_tokens_field not in MAX_TOKENS:
            raise invalid("max_tokens_field", self.max_tokens_field, " or ".join(MAX_TOKENS))
        if wrong := sorted(set(self.omit) - set(OMITTABLE)):
            raise invalid("omit", wrong[0], ", ".join(OMITTABLE))
        check_extra(self.extra, _NOT_EXTRA)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.counting(self._generate(messages, sampling))

    async def _generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        found = await self.ask(
            self._url,
            self.body(messages, sampling),
            lambda reply, key: without(key, completion(reply, self.model, lambda end: self._unknown(hide(end, key)))),
            most=lambda request: largest(request, sampling.max_new_tokens, self._logprobs_per_token),
            seed=sampling.seed,
        )
        if self.logprobs and found.text and not found.logprobs:
            raise UserError("logprobs: got True, allowed: False, since the endpoint returns no log-probabilities")
        return found

    def _unknown(self, reason: str) -> None:
        """Say a finish reason that nobody knows."""
        shown = repr(reason[:40])
        self.stats.say_once(f"{self.model}: finish_reason {shown} is unknown; its replies are taken as they are")

    def body(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        """The request as it is sent. Seeds are cut to 31 bits, the most that every endpoint takes."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [m.to_json() for m in messages],
            self.max_tokens_field: sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed & 0x7FFFFFFF,
        }
        if sampling.top_p < 1.0:
            fields["top_p"] = sampling.top_p
        if sampling.min_p > 0.0:
            fields["min_p"] = sampling.min_p
        if sampling.stop:
            fields["stop"] = list(sampling.stop)
        if self.logprobs:
            fields["logprobs"] = True
        return {k: v for k, v in fields.items() if k not in self.omit} | dict(self.extra)

    @property
    def _logprobs_per_token(self) -> int:
        others = self.extra.get("top_logprobs", 0)
        return 1 + others if self.logprobs and isinstance(others, int) else int(self.logprobs)

    # --- scores ------------------------------------------------------------------------------------------------------

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        if not self.prompt_logprobs:
            raise self.lacks("score")
        return await all_of([self._score(probe, i) for i, probe in enumerate(probes)])

    async def _score(self, probe: Probe, seed: int) -> list[float]:
        """Two calls where the end of the message counts too: only without it is known where the message stops."""
        said = await self.stats.counting(self._echo(probe, seed, ends=False))
        ended = await self.stats.counting(self._echo(probe, seed, ends=True)) if probe.ending else None
        return scores(probe, said, ended)

    async def _echo(self, probe: Probe, seed: int, *, ends: bool) -> Echo:
        def read(reply: bytes, key: str) -> Echo:
            found = echo(reply)
            if found is None:
                raise CapabilityError(
                    f"prompt_logprobs: got True, but {urlsplit(self._url).path} returns none; "
                    f"backends that can score: {', '.join(CAPABILITIES['score'])}"
                )
            return found

        return await self.ask(self._url, self.echo_body(probe, ends=ends), read, most=largest_echo, seed=seed)

    def echo_body(self, probe: Probe, *, ends: bool) -> dict[str, Any]:
        """The request for the log-probabilities of a prompt that stops where the probe's last message does, or, if it
        `ends`, after what the template puts there."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [m.to_json() for m in probe.messages],
            self.max_tokens_field: 1,
            "temperature": 1.0,
            "prompt_logprobs": 0,
            "add_generation_prompt": False,
            "continue_final_message": not ends,
        }
        return {k: v for k, v in fields.items() if k not in self.omit} | dict(self.extra)

    def _wrong(self, status: int, line: str) -> UserError:
        if status in (400, 422):
            what = "model, omit or extra: the endpoint refuses the request"
            return UserError(f"{what}: {line}{_leave_out(line)}")
        return super()._wrong(status, line)

    @property
    def _url(self) -> str:
        return self.url("/chat/completions")


def _leave_out(line: str) -> str:
    """How to send a request without the fields that a refusal names."""
    named = [name for name in OMITTABLE if re.search(rf"\b{name}\b", line)]
    return f"; omit=[{','.join(named)}] leaves {'it' if len(named) == 1 else 'them'} out" if named else ""
