"""Render messages with a chat template, and find where in the text each message stands.

To find the positions, the template renders the same roles with a mark in place of every content (once per sequence of
roles, then cached), and the contents are put back. If the template trims a content, the trimmed one is found; a message
that it changes in another way (some templates drop earlier reasoning) is not found.

Templates that take content in parts and show nothing of plain text are given parts. A template that still shows nothing
of a message, or leaves one out, is refused: otherwise a model would play without its rules.

A template without a generation prompt gets one: what it writes between a user message and an assistant message.

Templates may ask for today's date. They get a fixed day, so that a prompt depends on no clock; otherwise a run that
continues after midnight, a resumed training and a cache would see different prompts. The day is `DAY`, or the template
argument `strftime_now`: `template={"strftime_now": "2026-11-28"}`.

Source: ours. Departure: a server that renders templates itself (`models:http`) uses its own date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sonde.core.errors import UserError, invalid, unknown
from sonde.core.types import Json

from .templates import TRAINING

DAY = date(2026, 1, 1)
"""The date that templates see, unless another one is given."""
CLOCK = "strftime_now"
RENDERED_KEPT = 256

Said = tuple[tuple[str, str], ...]
"""Roles and contents."""
_MARK = re.compile("\ue000([0-9]+)\ue001")


class TemplateLayout(NamedTuple):
    """The template's own text around the messages, and the message that stands after each piece except the last."""

    pieces: tuple[str, ...]
    order: tuple[int, ...]


class MessageSpan(NamedTuple):
    """The characters of a rendering in which a message stands, and the template's own text `before` it."""

    message: int
    start: int
    end: int
    before: str


class Renderer:
    """The chat template of a tokenizer, or the one of `templates.py` that `arguments["training"]` names. `label` names
    the model in errors."""

    def __init__(self, tokenizer: Any, *, label: str, arguments: Mapping[str, Json]) -> None:
        self.tokenizer, self.label = tokenizer, label
        self._arguments = {name: value for name, value in arguments.items() if name not in ("training", CLOCK)}
        if "training" in arguments:
            self._arguments["chat_template"] = self._training_template(arguments["training"])
        self._fix_day(arguments.get(CLOCK, DAY.isoformat()))
        self._in_parts, self._opening = False, ""
        self._layouts = lru_cache(maxsize=RENDERED_KEPT)(self._lay_out)
        self._render_kept = lru_cache(maxsize=4)(self._apply_template)
        self._settle_form()
        self._settle_opening()

    def render_messages(self, said: Said, *, speak: bool) -> str:
        """Render the messages; with `speak`, up to where the assistant's next message starts."""
        text = self._render_kept(said, speak=speak)
        shown = self._cached_layout(said, range(len(said)), speak=speak)
        left_out = (
            sorted(set(range(len(said))).difference(shown.order)) if shown and len(shown.order) < len(said) else ()
        )
        for role, content in (said[i] for i in left_out):
            if content.strip() and content.strip() not in text:
                raise UserError(
                    f"messages: the chat template of {self.label!r} leaves out the {role} message "
                    f"{shorten_message(content)}; "
                    "allowed: messages that the template shows"
                )
        return text

    def render_call(self, name: str, arguments: Mapping[str, Json]) -> str:
        """Render an assistant message that calls a tool, after a user message."""
        call = {"type": "function", "id": "callprobe", "function": {"name": name, "arguments": arguments}}
        rows = [
            {"role": "user", "content": self._form_content("Go.")},
            {"role": "assistant", "content": self._form_content(""), "tool_calls": [call]},
        ]
        try:
            return self.tokenizer.apply_chat_template(rows, tokenize=False, **self._arguments)
        except Exception as error:  # a template is foreign code
            raise UserError(f"tools: the chat template of {self.label!r} refuses a call: {error}") from error

    def locate_messages(
        self, said: Said, text: str, marked: Collection[int], *, speak: bool
    ) -> list[MessageSpan] | None:
        """Where the messages with the indices `marked` stand in `text`, in order of appearance; None if the template
        changes what messages say."""
        layout = self._cached_layout(said, marked, speak=speak)
        if layout is None or len(layout.order) != len(marked):
            return None
        spans: list[MessageSpan] = []
        at = 0
        for before, after, i in zip(layout.pieces, layout.pieces[1:], layout.order, strict=False):
            start = at + len(before)
            form = next((f for f in _faithful_forms(said[i][1]) if text.startswith(f + after, start)), None)
            if form is None or not text.startswith(before, at):
                return None
            at = start + len(form)
            spans.append(MessageSpan(i, start, at, before))
        return spans if text[at:] == layout.pieces[-1] else None

    def layout_of(self, *roles: str, speak: bool) -> TemplateLayout | None:
        """The template's own text in a conversation of these roles; None if it refuses such a conversation."""
        return self._cached_layout(tuple((role, "") for role in roles), range(len(roles)), speak=speak)

    # --- marks -------------------------------------------------------------------------------------------------------

    def _cached_layout(self, said: Said, marked: Collection[int], *, speak: bool) -> TemplateLayout | None:
        if len(marked) == len(said):
            return self._layouts(tuple(role for role, _ in said), speak=speak)
        held = frozenset(marked)
        return self._lay_out(tuple(role for role, _ in said), speak=speak, contents=said, held=held)

    def _lay_out(
        self, roles: tuple[str, ...], *, speak: bool, contents: Said = (), held: frozenset[int] = frozenset()
    ) -> TemplateLayout | None:
        """Render with a mark in place of every message, or of the messages `held` among `contents`."""
        marks = [(role, f"\ue000{i}\ue001") for i, role in enumerate(roles)]
        said = tuple(mark if i in held else contents[i] for i, mark in enumerate(marks)) if contents else tuple(marks)
        try:
            parts = _MARK.split(self._apply_template(said, speak=speak))
        except UserError:
            return None
        order = tuple(map(int, parts[1::2]))
        return TemplateLayout(tuple(parts[::2]), order) if len(set(order)) == len(order) else None

    # --- text --------------------------------------------------------------------------------------------------------

    def _apply_template(self, said: Said, *, speak: bool) -> str:
        rows = [{"role": role, "content": self._form_content(content)} for role, content in said]
        try:
            text = self.tokenizer.apply_chat_template(
                rows, tokenize=False, add_generation_prompt=speak, **self._arguments
            )
            return text + self._opening if speak else text
        except Exception as error:  # a template is foreign code: whatever it raises is about these messages
            roles = [row["role"] for row in rows]
            raise UserError(f"messages: the chat template of {self.label!r} refuses roles {roles}: {error}") from error

    def _form_content(self, content: str) -> str | list[dict[str, str]]:
        return [{"type": "text", "text": content}] if self._in_parts else content

    def _settle_form(self) -> None:
        """Decide whether contents are passed as text, or in parts if the template shows only those."""
        refusal: UserError | None = None
        for self._in_parts in (False, True):
            try:
                shown = _MARK.findall(
                    self._apply_template((("user", "\ue0000\ue001"), ("assistant", "\ue0001\ue001")), speak=False)
                )
            except UserError as error:
                refusal = refusal or error
                continue
            if {"0", "1"} <= set(shown):
                return
        raise refusal or UserError(
            f"model: the chat template of {self.label!r} shows no user and assistant messages, neither as "
            "text nor in parts; allowed: one that does"
        )

    def _settle_opening(self) -> None:
        """Find the text before an assistant message, for templates that ignore `add_generation_prompt`."""
        asked, heard = (self.layout_of("user", speak=speak) for speak in (True, False))
        said = self.layout_of("user", "assistant", speak=False)
        if asked and asked == heard and said and said.order == (0, 1) and said.pieces[1].startswith(asked.pieces[1]):
            opening = said.pieces[1].removeprefix(asked.pieces[1])
            self._opening = opening.rstrip(" ") if opening.strip() else ""
            self._layouts.cache_clear()
            self._render_kept.cache_clear()

    def _fix_day(self, given: Json) -> None:
        """Put a fixed clock in front of a template that asks for the date."""
        try:
            day = date.fromisoformat(given)
        except (TypeError, ValueError) as error:
            raise invalid(f"template: {CLOCK}", given, "a day, such as 2026-11-28") from error
        template = self._arguments.get("chat_template") or getattr(self.tokenizer, "chat_template", "")
        if isinstance(template, Mapping):  # several; transformers uses this one
            template = template.get("default", "")
        if isinstance(template, str) and CLOCK in template:
            self._arguments["chat_template"] = _stop_clock(day) + template

    def _training_template(self, name: Json) -> str:
        """The training template of that name, which must render a single turn exactly as the tokenizer's own
        template."""
        if name not in TRAINING:
            raise unknown("template: training", name, TRAINING)
        system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}
        for rows in ([user], [system, user]):
            ours, own = (
                self.tokenizer.apply_chat_template(
                    rows, tokenize=False, add_generation_prompt=True, **{**self._arguments, **which}
                )
                for which in ({"chat_template": TRAINING[name]}, {})
            )
            if ours != own:
                raise UserError(
                    f"template: training: got {name!r}, which renders one turn of {self.label!r} as {ours!r}; allowed: "
                    f"one that renders it like the model's own template, {own!r}"
                )
        return TRAINING[name]


def _faithful_forms(content: str) -> tuple[str, ...]:
    """The forms in which a faithful template may show a message: unchanged, or trimmed."""
    return (content, content.strip(), content.rstrip(), content.lstrip())


def shorten_message(content: str) -> str:
    """Shorten a message for an error text."""
    return repr(content if len(content) <= 80 else content[:80] + "...")


_DIRECTIVES = "aAwdbBmyYHIMSpjUWfzZcxX"
_FLAGS = ("", "-", "_", "0", "^", "#")  # of the C library; an unsupported directive stands for itself


def _stop_clock(day: date) -> str:
    """A macro in place of the template's clock function: midnight of this day, in every format."""
    midnight = datetime(day.year, day.month, day.day)
    texts = {flag + letter: midnight.strftime(f"%{flag}{letter}") for flag in _FLAGS for letter in _DIRECTIVES}
    return (
        "{% macro strftime_now(format) %}{% set at = namespace(within=false, flag='') %}{% for c in format %}"
        "{% if not at.within and c == '%' %}{% set at.within = true %}"
        "{% elif not at.within %}{{ c }}"
        "{% elif not at.flag and c in '-_0^#' %}{% set at.flag = c %}"
        f"{{% else %}}{{{{ {texts!r}.get(at.flag ~ c, c) }}}}"
        "{% set at.within = false %}{% set at.flag = '' %}{% endif %}{% endfor %}{% endmacro %}\n"
    )
