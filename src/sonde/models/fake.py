"""A free stand-in without weights: it replies with a script or with random templates, identically on every machine.

Use it to try out environments, agents and whole runs, in tests, and as the model of load tests. It behaves like a real
backend wherever other code could notice: tokens (the bytes of UTF-8 and five marks), prompts that extend the previous
call's, replies cut at `max_new_tokens`, stop strings, log-probabilities that agree with `score`, latency.

Its replies are *not* drawn from its log-probabilities. Those come from a fixed bigram model, chosen so that they sum to
exactly one: with token t after token s in a conversation with checksum c, `p(t) = (1 + (31 s + 17 t + c) mod 257) /
33153`. As t runs through the 257 tokens that can be said, the bracket runs through 1 to 257, whose sum is 33153.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar
from zlib import crc32

from sonde.core import Capabilities, Completion, Message, Model, Probe, Rng, Sampling, Usage, UserError, invalid

from .chat.chat import common_prefix_length
from .chat.reasoning import split_completion
from .chat.tool_calls import HERMES, read_calls
from .remote.retry import CallStats

END = 256
"""The token that ends a message. Tokens below it are bytes of UTF-8, tokens above it open a message."""
ROLES = {"system": 257, "user": 258, "assistant": 259}
SAYABLE = 257
LOGPROBS = tuple(math.log((1 + r) / (SAYABLE * (SAYABLE + 1) // 2)) for r in range(SAYABLE))

_WIDE = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
PLACEHOLDER = "<Think>A placeholder.</Think>\n<Answer>placeholder {one|two|three}</Answer>"
"""The template of a `Fake` without settings."""
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Fake(Model):
    """Reply with `script[n]` in the n-th assistant message (with the last line after the end of the script), or else
    with one of `pattern`, drawn by `Sampling.seed`; in a template, each `{a|b|c}` becomes one of its alternatives. With
    neither, it replies with placeholders, which no game wants. Calls of tools are read as `chat.tool_calls.HERMES`
    writes them. Temperature 0 takes the first template and the first
    alternatives.

    `latency` is the mean time of a call in seconds; each call takes between 0 and twice that, drawn by seed.

    >>> Fake(pattern=("<Answer>{red|green|blue}</Answer>",)).config["pattern"]
    ['<Answer>{red|green|blue}</Answer>']
    """

    script: tuple[str, ...] = ()
    pattern: tuple[str, ...] = ()
    latency: float = 0.0
    stats: CallStats = field(default_factory=CallStats, init=False, repr=False, compare=False)

    capabilities: ClassVar[Capabilities] = Capabilities(
        ids=True, logprobs=True, score=True, deterministic=True, tools=True
    )

    def __post_init__(self) -> None:
        for name in ("script", "pattern"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.script and self.pattern:
            raise UserError("script, pattern: allowed: one of them; with neither, the model replies with placeholders")
        if not self.script and not self.pattern:
            object.__setattr__(self, "pattern", (PLACEHOLDER,))
        if not 0.0 <= self.latency < math.inf:
            raise invalid("latency", self.latency, "seconds, 0 or more")

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.count_call(self._generate_reply(messages, sampling))

    async def _generate_reply(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        rng = Rng(sampling.seed, "fake")
        whole = self._pick_text(messages, sampling, rng)
        cut = sampling.cut_at_stop(whole)
        said = whole if cut is None else cut
        if self.latency:
            await asyncio.sleep(2.0 * self.latency * rng.random())
        completion = _build_completion(messages, said, sampling.max_new_tokens)
        answer = split_completion(completion)[1]
        return replace(completion, calls=read_calls(answer, HERMES)) if sampling.tools else completion

    def _pick_text(self, messages: Sequence[Message], sampling: Sampling, rng: Rng) -> str:
        if self.script:
            turn = sum(m.role == "assistant" for m in messages)
            return self.script[min(turn, len(self.script) - 1)]
        if sampling.temperature == 0.0:
            return _CHOICE.sub(lambda m: m[1].partition("|")[0], self.pattern[0])
        return _CHOICE.sub(lambda m: rng.choice(m[1].split("|")), rng.choice(self.pattern))

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        return [_score_probe(probe) for probe in probes]


def _score_probe(probe: Probe) -> list[float]:
    """Log-probabilities of the span's bytes, since tokens are bytes."""
    text = probe.messages[-1].content
    first, last = (len(_encode_bytes(text[:at])) for at in probe.span_bounds)
    logprobs = _bigram_logprobs(
        _context_checksum(probe.messages[:-1]), _encode_bytes(text) + array("i", [END])
    ).tolist()
    return logprobs[first:last] + (logprobs[-1:] if probe.ending else [])


def _encode_bytes(text: str) -> array[int]:
    """One token per byte. Decoding the bytes to a text first is 30 times as fast as widening them one by one."""
    return array("i", text.encode("utf-8", "replace").decode("latin-1").encode(_WIDE))


def _decode_bytes(ids: array[int]) -> str:
    return bytes(i for i in ids if i < END).decode("utf-8", "replace")


def _build_completion(messages: Sequence[Message], said: str, limit: int) -> Completion:
    prompt = render_prompt(messages)
    before = _previous_ids(messages)
    shared = common_prefix_length(prompt, before)
    whole = _encode_bytes(said)
    whole.append(END)
    ids = whole[:limit]
    return Completion(
        text=said if len(ids) == len(whole) else _decode_bytes(ids),
        ids=ids,
        logprobs=_bigram_logprobs(_context_checksum(messages), ids),
        temperature=1.0,
        prompt_ids=prompt[shared:],
        shared=shared,
        finish="stop" if len(ids) == len(whole) else "length",
        model="fake",
        usage=Usage(prompt=len(prompt), completion=len(ids), cached=shared),
    )


def render_prompt(messages: Sequence[Message]) -> array[int]:
    """The chat template: a role token opens every message and `END` ends it; an open assistant message follows. Sampled
    tokens are reused unchanged, since a cut reply may end inside a character."""
    prompt = array("i")
    for message in messages:
        c = message.completion
        if c is None or c.model != "fake" or c.text != message.content:
            prompt.extend(_encode_message(message.role, message.content))
            continue
        prompt.append(ROLES[message.role])
        prompt.extend(c.ids)
        if prompt[-1] != END:
            prompt.append(END)
    prompt.append(ROLES["assistant"])
    return prompt


@lru_cache(maxsize=1 << 10)
def _encode_message(role: str, content: str) -> array[int]:
    """A message of the chat template, which no caller changes."""
    return array("i", [ROLES[role], *_encode_bytes(content), END])


def _previous_ids(messages: Sequence[Message]) -> array[int]:
    """Prompt and completion of this seat's previous call, rebuilt from the completions of the messages; empty if they
    are incomplete."""
    whole = array("i")
    for c in (m.completion for m in messages if m.completion is not None):
        if c.model != "fake" or c.shared > len(whole):
            whole = array("i")  # another model replied, or the start of the history is missing
        else:
            del whole[c.shared :]
            whole += c.prompt_ids
            whole += c.ids
    return whole


def _context_checksum(messages: Sequence[Message]) -> int:
    """The checksum c of the bigram model, over all messages."""
    checksum = 0
    for message in messages:
        checksum = crc32(message.content.encode("utf-8", "replace"), checksum)
    return checksum % SAYABLE


def _bigram_logprobs(context: int, ids: array[int]) -> array[float]:
    previous = (ROLES["assistant"], *ids)
    return array("f", [LOGPROBS[(31 * s + 17 * t + context) % SAYABLE] for s, t in zip(previous, ids, strict=False)])
