"""Read a module's public names from its source, for modules whose imports may be missing where the site is built."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Offered(NamedTuple):
    """A public class or function: its name, its call form (empty if unknown), its docstring, and the docstrings of its
    public methods and properties."""

    name: str
    called: str
    doc: str
    methods: Sequence[tuple[str, str]] = ()


def module(name: str) -> tuple[str, list[Offered]]:
    """A module's docstring, and its public classes and functions in the order of the source."""
    path = SOURCE / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(file.read_text("utf-8"))
    return ast.get_docstring(tree) or "", list(_list_offered(tree))


def _list_offered(tree: ast.Module) -> Iterator[Offered]:
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield Offered(node.name, _call_form(node.name, node), ast.get_docstring(node) or "")
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield Offered(node.name, _constructor_form(node), ast.get_docstring(node) or "", list(_methods(node)))


def _call_form(name: str, node: Function, bound: bool = False) -> str:
    arguments = deepcopy(node.args)
    if bound:
        (arguments.posonlyargs or arguments.args).pop(0)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not bound else ""
    return f"{name}({ast.unparse(arguments)}){returns}"


def _constructor_form(cls: ast.ClassDef) -> str:
    """The call that makes an instance: from `__init__`, or else from the fields of a dataclass or a named tuple."""
    for node in cls.body:
        if isinstance(node, Function) and node.name == "__init__":
            return _call_form(cls.name, node, bound=True)
    how = " ".join(ast.unparse(part) for part in (*cls.decorator_list, *cls.bases))
    if "dataclass" not in how and "NamedTuple" not in how:
        return ""
    fields = [ast.unparse(n) for n in cls.body if isinstance(n, ast.AnnAssign) and _is_argument(ast.unparse(n))]
    return f"{cls.name}({', '.join((['*'] if 'kw_only=True' in how else []) + fields)})"


def _is_argument(field: str) -> bool:
    return not (field.startswith("_") or "ClassVar" in field or "init=False" in field)


def _methods(cls: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node in cls.body:
        if isinstance(node, Function) and not node.name.startswith("_") and (doc := ast.get_docstring(node)):
            plain = any("property" in ast.unparse(d) for d in node.decorator_list)
            yield (node.name if plain else f"{node.name}(...)"), doc
