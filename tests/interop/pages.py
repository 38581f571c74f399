"""Examples of documentation that need an extra: run where it is installed, and held to what they say they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "interop"
LONGEST = 20
_EXAMPLE = re.compile(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```$\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page_examples(page: str) -> list[tuple[str, str, str]]:
    """The examples of a page that are saved as files: name, code, and what it prints."""
    found = _EXAMPLE.findall((DOCS / page).read_text("utf-8"))
    assert found, f"{page} has no example"
    return found


def code_blocks(page: str, language: str) -> list[str]:
    """What stands on a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run_code(code: str, **names: str) -> str:
    """What an example of under 20 lines prints, given what it names and does not say."""
    assert len(code.splitlines()) < LONGEST
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<documentation>", "exec", dont_inherit=True), {"__name__": "__main__", **names})
    return out.getvalue()
