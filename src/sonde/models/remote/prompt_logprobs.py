"""Parse the log-probabilities of a prompt's tokens, and find the tokens of a probe among them.

The format is vLLM's `prompt_logprobs` of chat completions: one entry per token, null for the first, else a mapping from
the token's id to its log-probability and text. With 0 alternatives requested (vLLM does not mark which token is the
prompt's own, see its issue 10607), each entry holds the prompt's token alone. Log-probabilities are those of the model,
before any temperature.

The prompt is requested without a generation prompt and with the last message left open, so it stops with the last
character of that message, and its tokens are found by counting back from there. Versions of vLLM differ in how they
write tokens: as text, in the byte-level alphabet (its issue 16838), and with a token that is part of a character as
U+FFFD or as nothing.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import cast

from sonde.core import Probe, Usage, UserError

from .openai_chat import PER_LOGPROB, ROOM, as_mapping, read_usage

BROKEN = "\ufffd"
TEMPLATE = 4096
"""Tokens that a template may add to the request."""


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """The tokens of a prompt with their log-probabilities; NaN for the first, which has none."""

    texts: tuple[str, ...]
    logprobs: tuple[float, ...]
    usage: Usage


def max_echo_bytes(request: int) -> int:
    """The most bytes of a reply about the prompt of a request of so many bytes, each of which may be a token."""
    return ROOM + PER_LOGPROB * (request + TEMPLATE)


def read_prompt_tokens(reply: bytes) -> PromptTokens | None:
    """Parse the prompt's tokens in a reply; None if there are none. Raises `ValueError` for an unreadable reply."""
    try:
        data = as_mapping(json.loads(reply))
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    rows = data.get("prompt_logprobs")
    if not isinstance(rows, list):
        if "choices" not in data:
            raise ValueError("no choices")
        return None
    tokens = [_read_token(row) for row in cast("list[object]", rows)]
    return PromptTokens(
        tuple(text for text, _ in tokens), tuple(p for _, p in tokens), read_usage(as_mapping(data.get("usage")))
    )


def _read_token(row: object) -> tuple[str, float]:
    if row is None:
        return "", math.nan
    entries = list(as_mapping(row).values())
    if len(entries) != 1:
        raise ValueError(f"{len(entries)} log-probabilities for one token of the prompt, where 1 was asked for")
    text, logprob = (as_mapping(entries[0]).get(name) for name in ("decoded_token", "logprob"))
    if not isinstance(text, str) or not isinstance(logprob, int | float):
        raise ValueError("a token of the prompt without text or log-probability")
    return text, float(logprob)


def score_span(probe: Probe, prompt: PromptTokens, ended: PromptTokens | None) -> list[float]:
    """The log-probabilities of the tokens that overlap the probe's span. `prompt` ends with the last message;
    `ended`, for a probe that includes the token behind the message, is the prompt that goes on."""
    content = probe.messages[-1].content
    ways = (prompt.texts, decode_byte_tokens(prompt.texts))
    places = next((p for texts in ways if (p := locate_tokens(texts, content)) is not None), None)
    if places is None:
        raise UserError(
            f"probe: messages: the endpoint's prompt does not end with the last message, {content!r}; allowed: text "
            "that its chat template leaves unchanged"
        )
    a, b = probe.span_bounds
    selected = [p for p, (x, y) in zip(prompt.logprobs, places, strict=True) if max(x, a) < min(y, b)]
    if ended is not None:
        length = sum(map(len, prompt.texts))
        starts = accumulate(map(len, ended.texts), initial=0)
        after = next((p for p, at in zip(ended.logprobs, starts, strict=False) if at >= length), None)
        if after is None:
            raise UserError("probe: ending: got True, but the endpoint's chat template ends no message with a token")
        selected.append(after)
    return selected


def locate_tokens(texts: Sequence[str], said: str) -> list[tuple[int, int]] | None:
    """Which characters of `said` each token covers, given that the tokens end with it; (0, 0) for tokens before it.
    None if they do not end with it.

    White space of `said` may be missing, because templates trim and some decoders drop the space before a word; a token
    that is part of a character covers what lies between its neighbours. Some decoders write a character in parts as its
    last token, and the others as nothing: at most as many as the character has bytes.

    >>> locate_tokens(["<|im_start|>", "a pro", "be ", "s\ufffd", "\ufffd"], "probe sé")
    [(0, 0), (0, 3), (3, 6), (6, 8), (6, 8)]
    >>> locate_tokens(["<|im_start|>", "", "", "", "🐳", "!"], "🐳!")
    [(0, 0), (0, 1), (0, 1), (0, 1), (0, 1), (1, 2)]
    """
    parts = len(said[:1].encode("utf-8", "surrogatepass")) - 1
    places: list[tuple[int, int]] = []
    broken: list[str] = []  # tokens behind the current one that are parts of characters
    at = len(said)
    for text in reversed(texts):
        if at and BROKEN in text:
            broken.append(text)
        elif not text or not at:
            parts = 0 if text else parts - (not at)
            within = at or (not text and parts >= 0)
            places.append((at, min(at + 1, len(said))) if within else (0, 0))  # part of the next character
        else:
            end = _find_token_end(text, said, at, broken)
            if end is None:
                return None
            places += [(end, at)] * len(broken)
            broken = []
            at = max(0, end - len(text))
            places.append((at, end))
    places += [(0, at)] * len(broken)
    return places[::-1] if broken or not said[:at].strip() else None


def _find_token_end(text: str, said: str, at: int, broken: Sequence[str]) -> int | None:
    """Where in `said` this token ends, given that what follows it begins at `at`, or is broken tokens up to there."""
    least, most = bool(broken), sum(map(len, broken)) or at - len(said[:at].rstrip())
    for end in range(at - least, max(0, at - most) - 1, -1):
        n = min(len(text), end)
        if said[end - n : end] == text[len(text) - n :]:
            return end
    return None


def decode_byte_tokens(texts: Sequence[str]) -> list[str]:
    """Decode tokens in the byte-level alphabet of GPT-2; a character in parts stands in its last token.

    >>> decode_byte_tokens(["is", "Ġit", "Ġs", "Ã", "©"])
    ['is', ' it', ' s', '', 'é']
    """
    known = _byte_alphabet()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(bytes(known[c] for c in text)) if all(c in known for c in text) else text for text in texts]


@cache
def _byte_alphabet() -> Mapping[str, int]:
    """The byte behind every character: printable bytes stand for themselves, the others follow from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
