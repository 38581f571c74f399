"""How requests are put to an endpoint that does not take them as they are, once that is known.

It is known when such a request was taken: until then nothing is concluded from what a refusal seems to say. What is
left out is recorded on every completion (`Completion.unsent`), so that a result tells what was not heeded. Beside a run
it is kept in a file, so that the run goes on as it was played.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sonde._util.folders import write_atomically

from .refusals import Refusal, refused_fields

LIMITS = ("max_tokens", "max_completion_tokens")
"""The names that endpoints have for the same limit. One of them is always sent."""
OMITTABLE = ("logprobs", "min_p", "seed", "stop", "temperature", "top_p")
"""Fields that may be left out by configuration; `logprobs` by nothing else: they are what the caller wants back."""
_OF_ITSELF = frozenset(OMITTABLE) - {"logprobs"}
_VERSION = "/v1"


@dataclass(frozen=True)
class Form:
    """Fields that are left out, the name of the limit of tokens where it is not the configured one, and what stands
    between the base URL and the path of a request."""

    omitted: frozenset[str] = frozenset()
    limit: str = ""
    below: str = ""

    def applied(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request in this form."""
        named = {self.limit if self.limit and name in LIMITS else name: value for name, value in body.items()}
        return {name: value for name, value in named.items() if name not in self.omitted}

    def joined(self, other: Form) -> Form:
        """Both, where they were found at the same time."""
        return Form(self.omitted | other.omitted, other.limit or self.limit, other.below or self.below)

    def after(self, refusal: Refusal, body: Mapping[str, Any], *, versioned: bool) -> Form | None:
        """The form to try next, None where there is none. `versioned`: the base URL names a version already."""
        if refusal.status in (404, 405):
            return None if versioned or self.below else Form(self.omitted, self.limit, _VERSION)
        sent = self.applied(body)
        refused = refused_fields(refusal.reply, sent)
        if leave := refused & _OF_ITSELF:
            return Form(self.omitted | leave, self.limit, self.below)
        other = "" if self.limit else other_limit(refusal, sent)
        return Form(self.omitted, other, self.below) if other else None

    def notes(self, at: str) -> Iterator[str]:
        """What is said of it, a line each."""
        if self.omitted:
            names = ", ".join(sorted(self.omitted))
            yield f"{at} does not take {names}: left out, and recorded as such; strict=true (--strict) forbids that"
        if self.limit:
            yield f"{at} takes the limit of tokens as {self.limit} only"
        if self.below:
            yield f"{at} answers below {self.below}: base_url lacks that"


def other_limit(refusal: Refusal, sent: Mapping[str, Any]) -> str:
    """The other name of the limit of tokens, where the endpoint refuses the one that was sent; "" where it does not."""
    mine, other = LIMITS if LIMITS[0] in sent else reversed(LIMITS)
    return other if mine in sent and mine in refused_fields(refusal.reply, sent) else ""


@dataclass(slots=True, eq=False)
class Adapted:
    """What is known of one endpoint and model; `key` names both."""

    key: str
    form: Form = field(default_factory=Form)


def recall(folder: Path, known: Iterable[Adapted]) -> None:
    """Take what earlier parts of the run in this folder have learnt of its endpoints. A file that does not read says
    nothing: the endpoint is asked again."""
    saved = [_read(file) for file in sorted(folder.glob("endpoints-*.json"))]
    for adapted in known:
        for rows in saved:
            adapted.form = adapted.form.joined(_form(rows.get(adapted.key)))


def keep(folder: Path, writer: int, known: Iterable[Adapted]) -> None:
    """Keep beside a run what is known of its endpoints; each writer of the run has a file of its own."""
    file = folder / f"endpoints-{writer}.json"
    learnt = {a.key: _to_json(a.form) for a in known if a.form != Form()}
    if any(_read(file).get(key) != row for key, row in learnt.items()):
        write_atomically(file, json.dumps({**_read(file), **learnt}, indent=2) + "\n")


def _read(file: Path) -> Mapping[str, Any]:
    try:
        found: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _to_json(form: Form) -> dict[str, Any]:
    return {"omitted": sorted(form.omitted), "limit": form.limit, "below": form.below}


def _form(row: object) -> Form:
    """A form as a file has it, as far as it can be one."""
    saved = cast("Mapping[str, object]", row) if isinstance(row, Mapping) else {}
    omitted = saved.get("omitted")
    names = cast("list[object]", omitted) if isinstance(omitted, list) else []
    limit, below = saved.get("limit"), saved.get("below")
    return Form(
        frozenset(name for name in _OF_ITSELF if name in names),
        str(limit) if limit in LIMITS else "",
        _VERSION if below == _VERSION else "",
    )
