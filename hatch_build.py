"""README.md as the page of a package index: its relative links and pictures lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Fills `readme`, with the address of `[project.urls]` before every relative link."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": make_links_absolute(text, metadata["urls"]["Repository"]),
        }


def make_links_absolute(text: str, repository: str) -> str:
    """Markdown whose relative links are files of the repository's main branch, and whose pictures are their bytes."""
    return _LINK.sub(lambda m: f"{m[1]}[{m[2]}]({repository}/{'raw' if m[1] else 'blob'}/main/{m[3]})", text)
