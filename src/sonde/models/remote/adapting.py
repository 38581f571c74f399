"""Adapt requests to endpoints that refuse some of their fields.

Endpoints report refused fields in many ways: `error.param`, pydantic's `loc`, "Unexpected fields: {'min_p'}",
"Unrecognized request argument supplied: seed", "temperature is deprecated for this model". What these have in common is
the name of a field that was sent, so that is what `refused_fields` looks for: first in the places that a refusal has
for it, else in its sentences. A limit of a value ("max_tokens must be at most 8192") does not refuse the field. Of
fields that exclude each other ("temperature and top_p cannot both be specified") one is left out.

Some endpoints demand fields of past tool calls that others refuse: the reasoning that came with a call, or a content
that is not null. Their refusals name these fields, too.

The changed form of requests is kept only after the endpoint accepted such a request: a refusal alone proves nothing.
Every completion records what was left out (`Completion.unsent`), so a result shows which settings had no effect. The
form is stored in the run's folder, so a resumed run continues with it.

Sources: the error types of openai-python, pydantic 2's errors, and public reports of refusals by Azure, Groq, Mistral,
Gemini, xAI, Anthropic and vLLM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from sonde._util.folders import write_atomically
from sonde.core import UserError

_PLACES = ("param", "params", "loc", "field", "fields", "parameter", "parameters", "property")
"""Where a refusal names fields."""
_KINDS = ("code", "type")
_ECHOES = ("input", "ctx", "body", "request", "url")
"""What repeats the request, and so contains every field."""
_OF_FIELD = re.compile("unsupported|not_supported|unknown|unrecogni|unexpected|forbidden|extra", re.IGNORECASE)
_OF_VALUE = re.compile(
    r"\b(must|should|between|range|at (most|least)|less|greater|larger|smaller|exceed\w*|maximum|minimum|positive"
    r"|too (large|small|long|high|low|many|big))\b",
    re.IGNORECASE,
)


class Refusal(UserError):
    """An endpoint refuses a request; `status` and `reply` come from it. `remedies` are settings of the model that would
    help, each with its effect. If `path`, the model's place in the configuration, is known, they are shown as
    command-line options."""

    def __init__(
        self, message: str, status: int = 0, reply: bytes = b"", remedies: Sequence[tuple[str, str]] = (),
        path: str = "", asker: object = None,
    ) -> None:  # fmt: skip
        self.message, self.status, self.reply, self.remedies, self.asker = message, status, reply, remedies, asker
        shown = (f"-o '{path}.{setting}'" if path else setting for setting, _ in remedies)
        super().__init__("; ".join((message, *(f"{s} {does}" for s, (_, does) in zip(shown, remedies, strict=True)))))

    def __reduce__(self) -> tuple[type[Refusal], tuple[str]]:
        """Pickle the message alone, for another process."""
        return Refusal, (str(self),)

    def at_path(self, path: str) -> Refusal:
        """The same refusal, for a model at this place of the configuration."""
        return Refusal(self.message, self.status, self.reply, self.remedies, path, self.asker)


def refused_fields(reply: bytes, sent: Collection[str]) -> frozenset[str]:
    """The sent fields that the endpoint does not accept.

    >>> sorted(refused_fields(b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}', ("min_p", "seed")))
    ['seed']
    >>> sorted(refused_fields(b"max_tokens must be at most 8192", ("max_tokens",)))
    []
    """
    return frozenset(
        name for complaint, names in _find_complaints(reply, sent) if not _is_about_value(complaint) for name in names
    )


def named_fields(reply: bytes, sent: Collection[str]) -> frozenset[str]:
    """The sent fields that a refusal names, for any reason."""
    return frozenset(name for _, names in _find_complaints(reply, sent) for name in names)


def _find_complaints(reply: bytes, sent: Collection[str]) -> list[tuple[Mapping[str, Any], set[str]]]:
    """The parts of a refusal with the fields that they name; only parts with a place for field names, if there are
    any."""
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        data = reply.decode("utf-8", "replace")
    parts = list(_refusal_parts(data))
    placed = [(part, _fields_in_places(part) & set(sent)) for part in parts]
    if any(names for _, names in placed):
        return placed
    return [(part, _fields_in_sentences(part) & set(sent)) for part in parts]


def _refusal_parts(data: object, depth: int = 8) -> Iterator[Mapping[str, Any]]:
    """The mappings in a refusal, without what repeats the request; plain text becomes a mapping with a message."""
    if isinstance(data, str):
        yield {"message": data}
    elif isinstance(data, list) and depth:
        for inner in cast("list[object]", data):
            yield from _refusal_parts(inner, depth - 1)
    elif isinstance(data, Mapping) and depth:
        part = cast("Mapping[str, Any]", data)
        yield part
        for name, inner in part.items():
            if isinstance(inner, Mapping | list) and name not in (*_ECHOES, *_PLACES):
                yield from _refusal_parts(inner, depth - 1)


def _fields_in_places(part: Mapping[str, Any]) -> set[str]:
    return {word for name in _PLACES for text in _collect_texts(part.get(name)) for word in _split_words(text)}


def _collect_texts(value: object, depth: int = 3) -> Iterator[str]:
    """A text, or the texts in a list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth:
        for inner in cast("list[object]", value):
            yield from _collect_texts(inner, depth - 1)


def _fields_in_sentences(part: Mapping[str, Any]) -> set[str]:
    return {
        word
        for name, text in part.items()
        if isinstance(text, str) and name not in _ECHOES
        for word in _split_words(text)
    }


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _is_about_value(part: Mapping[str, Any]) -> bool:
    """Whether a complaint is about the value of a field, not about the field itself."""
    kinds = " ".join(str(part.get(name)) for name in _KINDS)
    texts = " ".join(text for text in part.values() if isinstance(text, str))
    return not _OF_FIELD.search(kinds) and bool(_OF_VALUE.search(texts))


# --- the form of requests that an endpoint takes ----------------------------------------------------------------------


LIMITS = ("max_tokens", "max_completion_tokens")
"""The names that endpoints use for the token limit. One of them is always sent."""
OF_TOOLS = ("additionalProperties", "strict")
"""Fields of a tool and of its schema, which only narrow what a model may write."""
OMITTABLE = (
    *OF_TOOLS, "logprobs", "min_p", "parallel_tool_calls", "seed", "stop", "temperature", "tool_choice", "top_p",
)  # fmt: skip
"""Fields that the configuration may leave out. `logprobs` is never left out automatically, because the caller needs the
values."""
_OF_ITSELF = frozenset(OMITTABLE) - {"logprobs"}
DEMANDABLE = ("content", "reasoning_content")
"""Fields of messages with tool calls that only some endpoints demand. A request as configured has both, and every form
that does not demand them takes them out."""
_EXCLUSIVE = re.compile(r"\bboth\b|\bonly one\b|mutually exclusive", re.IGNORECASE)
_VERSION = "/v1"
BLANK = "(empty)"
"""Replacement for a message without content."""


@dataclass(frozen=True)
class RequestForm:
    """The form of requests: fields to leave out, another name for the token limit, what stands between the base URL and
    the path of a request, and which fields of past tool calls are sent (of `DEMANDABLE`)."""

    omitted: frozenset[str] = frozenset()
    limit: str = ""
    below: str = ""
    demanded: frozenset[str] = frozenset()

    def apply_to(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request in this form."""
        named = {self.limit if self.limit and name in LIMITS else name: value for name, value in body.items()}
        if "tools" in body:
            named["messages"] = [_shape_call(message, self.demanded) for message in body["messages"]]
        return leave_out(named, self.omitted)

    def join_with(self, other: RequestForm) -> RequestForm:
        """Combine two forms that were found at the same time."""
        return RequestForm(
            self.omitted | other.omitted,
            other.limit or self.limit,
            other.below or self.below,
            self.demanded | other.demanded,
        )

    def next_form(self, refusal: Refusal, body: Mapping[str, Any], *, versioned: bool) -> RequestForm | None:
        """The form to try next, None if there is none. `versioned`: the base URL names a version already."""
        if refusal.status in (404, 405):
            return None if versioned or self.below else replace(self, below=_VERSION)
        sent = self.apply_to(body)
        leave = sorted(refused_fields(refusal.reply, field_names(sent)) & _OF_ITSELF)
        if len(leave) > 1 and _EXCLUSIVE.search(refusal.reply.decode("utf-8", "replace")):
            leave = leave[-1:]
        if leave:
            return replace(self, omitted=self.omitted.union(leave))
        if missing := missing_fields(refusal.reply, sent):
            return replace(self, demanded=self.demanded | missing)
        other = "" if self.limit else other_limit(refusal, sent)
        return replace(self, limit=other) if other else None

    def describe_form(self, at: str) -> Iterator[str]:
        """Messages that describe the form, one line each."""
        if self.omitted:
            names = ", ".join(sorted(self.omitted))
            yield f"{at} does not accept {names}: left out, and recorded as such; strict=true (--strict) forbids that"
        if self.limit:
            yield f"{at} accepts the token limit as {self.limit} only"
        if self.below:
            yield f"{at} answers below {self.below}, which base_url lacks"
        if self.demanded:
            yield f"{at} demands {', '.join(sorted(self.demanded))} of past tool calls, which is sent from now on"


def field_names(body: Mapping[str, Any]) -> set[str]:
    """The names of the fields of a request that may be refused: its own, and those of its tools in `OF_TOOLS`."""
    parts = [part for tool in body.get("tools", ()) for part in (tool["function"], tool["function"]["parameters"])]
    return {*body, *(name for name in OF_TOOLS if any(name in part for part in parts))}


def leave_out(body: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The request without these fields."""
    left = {name: value for name, value in body.items() if name not in names}
    if "tools" in left and not set(OF_TOOLS).isdisjoint(names):
        left["tools"] = [_narrow_less(tool, names) for tool in left["tools"]]
    return left


def _narrow_less(tool: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A tool without these fields of `OF_TOOLS`."""
    described, schema = (
        {name: value for name, value in part.items() if name not in OF_TOOLS or name not in names}
        for part in (tool["function"], tool["function"]["parameters"])
    )
    return {**tool, "function": {**described, "parameters": schema}}


def missing_fields(reply: bytes, sent: Mapping[str, Any]) -> frozenset[str]:
    """The fields of past tool calls that a refusal names and the request lacks."""
    calls = [message for message in sent["messages"] if "tool_calls" in message]
    return frozenset(
        name for name in named_fields(reply, DEMANDABLE) if any(message.get(name) is None for message in calls)
    )


def _shape_call(message: Mapping[str, Any], demanded: Collection[str]) -> Mapping[str, Any]:
    """A message with calls in the form that an endpoint accepts; any other message unchanged."""
    if "tool_calls" not in message:
        return message
    content = message["content"] if "content" in demanded or message["content"] != BLANK else None
    named = {"content": content, "tool_calls": message["tool_calls"]}
    if "reasoning_content" in demanded:
        named["reasoning_content"] = message["reasoning_content"]
    return {"role": message["role"], **named}


def other_limit(refusal: Refusal, sent: Mapping[str, Any]) -> str:
    """The other name of the token limit, if the endpoint refuses the one that was sent; else ""."""
    mine, other = LIMITS if LIMITS[0] in sent else reversed(LIMITS)
    return other if mine in sent and mine in refused_fields(refusal.reply, sent) else ""


@dataclass(slots=True, eq=False)
class EndpointForm:
    """The known form of one endpoint and model; `key` names both."""

    key: str
    form: RequestForm = field(default_factory=RequestForm)


def recall_forms(folder: Path, known: Iterable[EndpointForm]) -> None:
    """Load the forms that earlier parts of the run stored in this folder. An unreadable file is ignored: the endpoint
    is tried again."""
    saved = [_read_forms(file) for file in sorted(folder.glob("endpoints-*.json"))]
    for adapted in known:
        for rows in saved:
            adapted.form = adapted.form.join_with(_form_from_json(rows.get(adapted.key)))


def store_forms(folder: Path, writer: int, known: Iterable[EndpointForm]) -> None:
    """Store the known forms in the run's folder; each writer of the run has a file of its own."""
    file = folder / f"endpoints-{writer}.json"
    learnt = {a.key: _to_json(a.form) for a in known if a.form != RequestForm()}
    if any(_read_forms(file).get(key) != row for key, row in learnt.items()):
        write_atomically(file, json.dumps({**_read_forms(file), **learnt}, indent=2) + "\n")


def _read_forms(file: Path) -> Mapping[str, Any]:
    try:
        saved: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", saved) if isinstance(saved, Mapping) else {}


def _to_json(form: RequestForm) -> dict[str, Any]:
    return {
        "omitted": sorted(form.omitted), "limit": form.limit, "below": form.below, "demanded": sorted(form.demanded),
    }  # fmt: skip


def _form_from_json(row: object) -> RequestForm:
    """Read a form from a file, as far as it is valid."""
    saved = cast("Mapping[str, object]", row) if isinstance(row, Mapping) else {}
    omitted, demanded = (
        cast("list[object]", names) if isinstance(names := saved.get(name), list) else []
        for name in ("omitted", "demanded")
    )
    limit, below = saved.get("limit"), saved.get("below")
    return RequestForm(
        frozenset(name for name in _OF_ITSELF if name in omitted),
        str(limit) if limit in LIMITS else "",
        _VERSION if below == _VERSION else "",
        frozenset(name for name in DEMANDABLE if name in demanded),
    )
