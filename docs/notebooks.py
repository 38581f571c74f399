"""The notebooks in `tours/` as pages: what is written, the code, and what it printed and drew when it was run."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PAGE = re.compile(r"`docs/([\w-]+\.md)`")

Cell = dict[str, Any]


def page(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and the pictures that it shows, by the names of their files."""
    cells: list[Cell] = json.loads(notebook.read_text("utf-8"))["cells"]
    pictures: dict[str, bytes] = {}
    title, _, rest = "\n\n".join(part for cell in cells for part in _parts(cell, notebook.stem, pictures)).partition(
        "\n"
    )
    return f"{title}\n\nThe notebook `tours/{notebook.name}`, with what it printed and drew.\n{rest}\n", pictures


def _parts(cell: Cell, name: str, pictures: dict[str, bytes]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield _PAGE.sub(r"[\1](../\1)", source)
        return
    yield _block("python", source)
    for out in cell["outputs"]:
        data = out.get("data", {})
        if "image/png" in data:
            file = f"{name}-{len(pictures) + 1}.png"
            pictures[file] = base64.b64decode(data["image/png"])
            yield f"![what the code above draws]({file}){{ .plot }}"
        elif "text/html" in data:
            yield "".join(data["text/html"]).strip()
        else:
            yield _block("text", "".join(out.get("text") or data.get("text/plain", ())))


def _block(kind: str, text: str) -> str:
    """A block between fences that are longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"
