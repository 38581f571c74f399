"""A request that an endpoint does not take as it is, and which of its fields are to blame.

Endpoints say that in many ways: `error.param`, pydantic's `loc`, "Unexpected fields: {'min_p'}", "Unrecognized request
argument supplied: seed", "temperature is deprecated for this model". What they have in common is the name of a field
that was sent, so that is what is looked for: first where a refusal has a place for it, else in its sentences. Limits
of a value ("max_tokens must be at most 8192") are no refusal of the field.

Sources: the error types of openai-python, pydantic 2's errors, and public reports of refusals by Azure, Groq, Mistral,
Gemini, xAI, Anthropic and vLLM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from sonde.core import UserError

_PLACES = ("param", "params", "loc", "field", "fields", "parameter", "parameters", "property")
"""Where a refusal names fields."""
_KINDS = ("code", "type")
_ECHOES = ("input", "ctx", "body", "request", "url")
"""What repeats the request, in which every field stands."""
_OF_FIELD = re.compile("unsupported|not_supported|unknown|unrecogni|unexpected|forbidden|extra", re.IGNORECASE)
_OF_VALUE = re.compile(
    r"\b(must|should|between|range|at (most|least)|less|greater|larger|smaller|exceed\w*|maximum|minimum|positive"
    r"|too (large|small|long|high|low|many|big))\b",
    re.IGNORECASE,
)


class Refusal(UserError):
    """An endpoint refuses a request; `status` and `reply` are what it said. `remedies` are settings of the model that
    would help, each with what it does; where `path`, the model's place in a configuration, is known, they are said
    as they are typed."""

    def __init__(
        self, message: str, status: int = 0, reply: bytes = b"", remedies: Sequence[tuple[str, str]] = (),
        path: str = "", asker: object = None,
    ) -> None:  # fmt: skip
        self.message, self.status, self.reply, self.remedies, self.asker = message, status, reply, remedies, asker
        told = (f"-o '{path}.{setting}'" if path else setting for setting, _ in remedies)
        super().__init__("; ".join((message, *(f"{s} {does}" for s, (_, does) in zip(told, remedies, strict=True)))))

    def __reduce__(self) -> tuple[type[Refusal], tuple[str]]:
        """For another process: the message, whole."""
        return Refusal, (str(self),)

    def at(self, path: str) -> Refusal:
        """The same, of a model at this place of a configuration."""
        return Refusal(self.message, self.status, self.reply, self.remedies, path, self.asker)


def refused_fields(reply: bytes, sent: Collection[str]) -> frozenset[str]:
    """The fields of those sent that a refusal says are not taken.

    >>> sorted(refused_fields(b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}', ("min_p", "seed")))
    ['seed']
    >>> sorted(refused_fields(b"max_tokens must be at most 8192", ("max_tokens",)))
    []
    """
    return frozenset(
        name for complaint, names in _complaints(reply, sent) if not _of_value(complaint) for name in names
    )


def named_fields(reply: bytes, sent: Collection[str]) -> frozenset[str]:
    """The fields of those sent that a refusal names, for whatever reason."""
    return frozenset(name for _, names in _complaints(reply, sent) for name in names)


def _complaints(reply: bytes, sent: Collection[str]) -> list[tuple[Mapping[str, Any], set[str]]]:
    """The parts of a refusal with the fields that they name: those that have a place for it, if there are any."""
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        data = reply.decode("utf-8", "replace")
    parts = list(_parts(data))
    placed = [(part, _placed(part) & set(sent)) for part in parts]
    if any(names for _, names in placed):
        return placed
    return [(part, _spoken(part) & set(sent)) for part in parts]


def _parts(data: object, depth: int = 8) -> Iterator[Mapping[str, Any]]:
    """The mappings in a refusal; a text alone is one with a message. What repeats the request is left out."""
    if isinstance(data, str):
        yield {"message": data}
    elif isinstance(data, list) and depth:
        for inner in cast("list[object]", data):
            yield from _parts(inner, depth - 1)
    elif isinstance(data, Mapping) and depth:
        part = cast("Mapping[str, Any]", data)
        yield part
        for name, inner in part.items():
            if isinstance(inner, Mapping | list) and name not in (*_ECHOES, *_PLACES):
                yield from _parts(inner, depth - 1)


def _placed(part: Mapping[str, Any]) -> set[str]:
    return {word for name in _PLACES for text in _texts(part.get(name)) for word in _words(text)}


def _texts(value: object, depth: int = 3) -> Iterator[str]:
    """A text, or those in a list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth:
        for inner in cast("list[object]", value):
            yield from _texts(inner, depth - 1)


def _spoken(part: Mapping[str, Any]) -> set[str]:
    return {
        word for name, text in part.items() if isinstance(text, str) and name not in _ECHOES for word in _words(text)
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _of_value(part: Mapping[str, Any]) -> bool:
    """Whether a complaint is about the value of a field, which might be another one, and not about the field."""
    kinds = " ".join(str(part.get(name)) for name in _KINDS)
    texts = " ".join(text for text in part.values() if isinstance(text, str))
    return not _OF_FIELD.search(kinds) and bool(_OF_VALUE.search(texts))
