"""What is made while the site is built: the API reference."""

from __future__ import annotations

import inspect
import json
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import sonde
from tests.cases import each

DOCS = Path(__file__).parents[2] / "docs"


@cache
def hooks() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "hooks.py"))


def test_the_reference_has_every_name_of_the_package() -> None:
    text = hooks()["reference"]("Core", ("sonde",))
    offered = {name: getattr(sonde, name) for name in sonde.__all__}
    names = [name for name, value in offered.items() if inspect.isclass(value) or inspect.isfunction(value)]
    assert len(names) > 20
    assert [name for name in names if f"\n### {name}\n" not in text] == []
    assert "- `fork(...)`: " in text and "```python\nmake(" in text


def test_long_signatures_have_a_parameter_per_line() -> None:
    wrap = hooks()["_wrap_signature"]
    assert wrap("f(a: int) -> None") == "f(a: int) -> None"
    assert wrap("f(a: dict[str, int], b) -> tuple[int]", 10) == "f(\n    a: dict[str, int],\n    b,\n) -> tuple[int]"


@each("name", lambda: hooks()["API"])
def test_pages_of_the_reference_are_in_the_navigation(name: str) -> None:
    assert f": api/{name}.md\n" in (DOCS.parent / "mkdocs.yml").read_text("utf-8")


def test_every_user_agent_and_adapter_is_in_the_reference() -> None:
    """From what is registered and from the files there are, whether or not what they need is installed here."""
    pages = {name: hooks()["reference"](*hooks()["API"][name]) for name in ("users", "agents", "interop")}
    assert "ForwardRef" not in "".join(pages.values()) and "LockKnowledge(untried: int," in pages["agents"]
    assert all(f"sonde.models.{name}" in hooks()["API"]["models"][1] for name in sonde.names("models"))
    for kind in ("users", "agents"):
        for name in sonde.names(kind):
            cls = sonde.core.find(f"{kind}:{name}")
            assert f"\n## {cls.__module__}\n" in pages[kind], name
            assert f"\n### {cls.__name__}\n" in pages[kind], name
    folder = DOCS.parent / "src" / "sonde" / "interop"
    files = {".".join(path.relative_to(folder).with_suffix("").parts) for path in folder.rglob("[a-z]*.py")}
    assert len(files) > 12 and all(f"\n## sonde.interop.{name}\n" in pages["interop"] for name in files)


def test_a_module_is_read_without_being_imported(tmp_path: Path) -> None:
    """As it is read from source, so it is where it can be imported."""
    unimported = hooks()["UNIMPORTED"]
    doc, offered = unimported["module"]("sonde.interop.session")
    from sonde.interop import session

    found = {part.name: part for part in offered}
    assert doc == inspect.getdoc(session) and "_" not in "".join(name[0] for name in found)
    for name, part in found.items():
        value = getattr(session, name)
        assert part.doc == (inspect.getdoc(value) or "")
        parameters = list(inspect.signature(value).parameters)
        assert all(parameter in part.called for parameter in parameters), name
    (tmp_path / "odd.py").write_text(
        "from nowhere import Base\n\n\nclass Odd(Base):\n    def __init__(self, a: int, *, b=2):\n        pass\n\n"
        '    def shown(self):\n        """One.\n\n        Two.\n        """\n'
    )
    unimported["module"].__globals__["SOURCE"] = tmp_path
    assert unimported["module"]("odd")[1] == [("Odd", "Odd(a: int, *, b=2)", "", [("shown(...)", "One.\n\nTwo.")])]


@each("notebook", sorted((DOCS.parent / "tours").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_a_page_with_all_that_it_holds(notebook: Path) -> None:
    text, pictures = hooks()["NOTEBOOKS"]["page"](notebook)
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [out for cell in code for out in cell["outputs"]]
    assert text.startswith("# ") and text.count("\n```python\n") == len(code)
    assert all("".join(cell["source"]).strip() in text for cell in code)
    assert all("".join(out["text"]).strip() in text for out in outputs if "text" in out)
    shown = [out["data"] for out in outputs if "data" in out]
    assert len(pictures) == sum("image/png" in data for data in shown)
    assert all("".join(data["text/html"]).strip() in text for data in shown if "text/html" in data)
    for name, picture in pictures.items():
        assert f"]({name})" in text and picture.startswith(b"\x89PNG")
    assert f": tours/{notebook.stem}.md\n" in (DOCS.parent / "mkdocs.yml").read_text("utf-8")


def test_a_block_ends_where_its_text_ends() -> None:
    assert hooks()["NOTEBOOKS"]["_block"]("text", "a\n```\nb\n") == "````text\na\n```\nb\n````"
