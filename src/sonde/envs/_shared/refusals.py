"""Detect refusals to play: a heuristic over the English phrases with which models decline.

A refusal says in its first 200 characters that the speaker cannot, will not or may not help, comply, take part or the
like, and contains no answer tag. Refusals in other words or languages are missed, and a reply that says these words
about something else is a false positive (no agent of the library produces one). If a host itself reports a refusal,
that counts instead (`Completion.finish`).

Own design.
"""

from __future__ import annotations

from re import IGNORECASE
from re import compile as pattern

from .answer import read_answer

_HEAD = 200
_UNABLE = (
    r"(?:I(?: am|['’]m) (?:not able|unable|not allowed|not permitted) to (?:be of )?"
    r"|I (?:cannot|can['’]t|can not|will not|won['’]t) )"
)
_ACTS = (
    r"(?:help|assist|comply|continue|participate|take part|engage|fulfil|fulfill|support|play|proceed"
    r"|(?:answer|discuss|do|respond to) (?:that|this)|do so|provide (?:that|this|assistance|help))"
)
_REFUSAL = pattern(
    rf"\b(?:{_UNABLE}{_ACTS}|I (?:must|have to|will)? ?(?:respectfully |politely )?(?:decline|refuse))\b", IGNORECASE
)


def is_refusal(text: str) -> bool:
    """Whether a reply declines to play; see the module docstring.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("I can't tell yet. Is it alive?")
    (True, False)
    """
    return _REFUSAL.search(text[:_HEAD]) is not None and read_answer(text) is None
