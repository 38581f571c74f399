"""Helpers of the scripts that write pages: tables, docstrings as Markdown, standalone pictures."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from sonde.viewer.templating import list_colours

_TABLE = re.compile(r"^\s*\|")
_ITEM = re.compile(r"^- ")
_TAG = re.compile(r"(`[^`]*`)|<")


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    lines.insert(1, tuple("---" for _ in lines[0]))
    return "".join("| " + " | ".join(flat(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(text: str) -> str:
    """The text on one line, as inline code.

    >>> code("a\\n`b`")
    "`a 'b'`"
    """
    return f"`{flat(text).replace('`', chr(39))}`"


def split_summary(docstring: str) -> tuple[str, str]:
    """The first paragraph of a docstring, and the rest of it."""
    first, _, rest = docstring.partition("\n\n")
    return flat(first), rest


def prose(docstring: str) -> str:
    """A docstring as Markdown: indented lines become a block of text, and lists and tables get the empty line before
    them that Markdown needs. Characters that would be read as tags are escaped.

    >>> print(prose("It is so:\\n    a = <b>\\nand <c>\\n- one"))
    It is so:
    <BLANKLINE>
    ```text
    a = <b>
    ```
    <BLANKLINE>
    and &lt;c>
    <BLANKLINE>
    - one
    """
    out: list[str] = []
    for kind, lines in _blocks(docstring):
        if kind in ("indented", "example"):
            least = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            out += ["```pycon" if kind == "example" else "```text", *(line[least:] for line in lines), "```"]
        elif kind == "table":
            out += lines
        else:
            out += escape_tags("\n".join(lines)).split("\n")
        out.append("")
    return "\n".join(out).strip("\n")


def wrap_lines(text: str, width: int = 100) -> str:
    """The text with its lines wrapped to a width."""
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, width) or [""])


def escape_tags(text: str) -> str:
    """Escape characters that would be read as tags, except in code."""
    return _TAG.sub(lambda m: m[1] or "&lt;", text)


def _blocks(docstring: str) -> list[tuple[str, list[str]]]:
    """Runs of lines of one kind. An empty line between indented lines belongs to their run; any other one ends a
    run."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fresh = True
    for line in docstring.splitlines():
        if not line.strip():
            fresh = True
            continue
        kind = _kind(line, after="" if fresh and found[-1][0] == "example" else found[-1][0])
        same = kind == found[-1][0] and (not fresh or kind == "indented")
        if same:
            found[-1][1].extend(["", line] if fresh else [line])
        else:
            found.append((kind, [line]))
        fresh = False
    return found[1:]


def _kind(line: str, after: str) -> str:
    """The kind of a line. A line indented by two continues a list item; an example continues up to an empty line."""
    if after == "example" or line.startswith(">>> "):
        return "example"
    if line.startswith("    "):
        return "indented"
    if line.startswith("  ") and after == "item":
        return "item"
    return "table" if _TABLE.match(line) else "item" if _ITEM.match(line) else "indented" if line[0] == " " else "text"


def arguments(cls: type[Any]) -> str:
    """The arguments of a constructor, with their defaults."""
    fields = [f for f in dataclasses.fields(cls) if f.init and f.metadata.get("config", True)]
    shown = [f"`{f.name}`" if (d := _default(f)) is None else f"`{f.name}={d}`" for f in fields]
    return f"Arguments: {', '.join(shown)}.\n" if shown else "No arguments.\n"


def standing(svg: str, width: int = 460) -> str:
    """Turn a figure of a page into a standalone picture, light or dark as the reader's screen."""
    style = f"<style>{list_colours(svg, '--paper')}</style>"
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    head, body = svg.split(">", 1)
    head = head.replace("<svg ", f'<svg {names} width="{width}" ', 1)
    return f'{head}>{style}<rect width="100%" height="100%" rx="6" style="fill:var(--paper)"/>{body}\n'


def _default(field: dataclasses.Field[Any]) -> str | None:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return None if field.default_factory is dataclasses.MISSING else repr(field.default_factory())
