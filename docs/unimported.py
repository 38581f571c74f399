"""What a module offers, read from its source: for those whose imports may be missing where the site is built."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Offered(NamedTuple):
    """A class or function: its name, how it is called (empty where nothing says so), what it says of itself, and what
    its public methods and properties do, each in a paragraph."""

    name: str
    called: str
    doc: str
    methods: Sequence[tuple[str, str]] = ()


def module(name: str) -> tuple[str, list[Offered]]:
    """A module's docstring, and what it offers in the order of its source."""
    path = SOURCE / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(file.read_text("utf-8"))
    return ast.get_docstring(tree) or "", list(_offered(tree))


def _offered(tree: ast.Module) -> Iterator[Offered]:
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield Offered(node.name, _called(node.name, node), ast.get_docstring(node) or "")
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield Offered(node.name, _made(node), ast.get_docstring(node) or "", list(_methods(node)))


def _called(name: str, node: Function, bound: bool = False) -> str:
    arguments = deepcopy(node.args)
    if bound:
        (arguments.posonlyargs or arguments.args).pop(0)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not bound else ""
    return f"{name}({ast.unparse(arguments)}){returns}"


def _made(cls: ast.ClassDef) -> str:
    """How an instance is made: by its `__init__`, else by the fields of a dataclass or a named tuple."""
    for node in cls.body:
        if isinstance(node, Function) and node.name == "__init__":
            return _called(cls.name, node, bound=True)
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
