"""Hooks with which mkdocs generates, while it builds the site, what must never be out of date: the API reference (from
docstrings), the notebooks in `tours/`, the leaderboard (from the files in `results/`), and the address of the project.
The many pages of environments, agents and objectives are linked from their index, not from the navigation.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import runpy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
WRITTEN, UNIMPORTED, NOTEBOOKS = (
    runpy.run_path(str(ROOT / "docs" / f"{name}.py")) for name in ("written", "unimported", "notebooks")
)


def _registered_modules(kind: str) -> tuple[str, ...]:
    """The package of a kind with its public modules, and those of environments that register something of that kind."""
    import sonde

    own = _modules(kind)
    return (*own, *sorted({sonde.core.find(f"{kind}:{name}").__module__ for name in sonde.names(kind)} - {*own}))


def _modules(package: str) -> tuple[str, ...]:
    """A package and its public modules, by the files that there are."""
    files = sorted((ROOT / "src" / "sonde" / package.replace(".", "/")).glob("*.py"))
    public = (f"sonde.{package}.{file.stem}" for file in files if not file.stem.startswith("_"))
    return (f"sonde.{package}", *public)


_FORWARD = re.compile(r"ForwardRef\('([^']*)'\)")
LOSSES = ("sft", "dpo", "rpo", "ipo", "ln_dpo", "simpo", "kto", "rwr", "grpo", "mc", "ilql", "ppo")
MODELS = ("hf", "http", "vllm", "sglang", "cached", "local.heads", "fake", "oracle")
API: Mapping[str, tuple[str, Sequence[str]]] = {
    "core": (
        "Environments and episodes",
        ("sonde", "sonde.core.belief", "sonde.core.playthrough", "sonde.testing", "sonde.testing.records"),
    ),
    "playing": (
        "Playing and recording",
        (
            "sonde.runs.play",
            "sonde.runs.rollout",
            "sonde.runs.run",
            "sonde.runs.store",
            "sonde.runs.store.export",
            "sonde.runs.task_files",
        ),
    ),
    "numbers": (
        "Evaluation",
        (
            *(
                "sonde.evaluation.evaluate",
                "sonde.evaluation.metrics",
                "sonde.evaluation.information_gain",
                "sonde.evaluation.scale",
                "sonde.evaluation.suites",
                "sonde.evaluation.results",
            ),
            *(
                "sonde.evaluation.leaderboard",
                "sonde.evaluation.regret",
                "sonde.beliefs.elicitation",
                "sonde.beliefs.calibration",
                "sonde.beliefs.records",
            ),
            *("sonde.evaluation.audit", "sonde.evaluation.per_turn", "sonde.evaluation.reply_defects"),
        ),
    ),
    "training": (
        "Training",
        (
            *("sonde.train.data", "sonde.train.selection", "sonde.train.rewards", "sonde.train.rewarders"),
            *("sonde.train.igpo", "sonde.train.gain_pairs"),
            *("sonde.train.credit", "sonde.train.curriculum", "sonde.train.settings", "sonde.train.training"),
            *("sonde.train.presets", "sonde.train.by_name", "sonde.train.trainer", "sonde.train.types"),
            *("sonde.train.online.settings", "sonde.train.online.groups", "sonde.train.online.trainer"),
            *("sonde.train.online.episode_log", "sonde.train.paprika", "sonde.datasets.tasks"),
        ),
    ),
    "losses": ("Objectives", tuple(f"sonde.train.objectives.{name}" for name in LOSSES)),
    "models": ("Models", tuple(f"sonde.models.{name}" for name in MODELS)),
    "users": ("Users, opponents, judges", _registered_modules("users")),
    "agents": ("Agents", _registered_modules("agents")),
    "looking": (
        "Viewer, figures, tables",
        (
            "sonde.viewer",
            "sonde.viewer.leaderboard",
            "sonde.figures",
            "sonde.export.files",
            "sonde.export.result_table",
        ),
    ),
    "interop": (
        "Other libraries",
        (*_modules("interop"), *_modules("interop.outward"), *_modules("interop.inward")),
    ),
}
"""The pages of the reference: title and modules."""


LISTED = ("environments", "agents", "algorithms")
"""Folders whose pages are linked from their index, not from the navigation."""
BARE = ("environments", "agents")
"""Folders whose pages need no sidebar, because their tab holds only the index."""
WIDE = ("index.md", "environments/index.md", "leaderboard.md")
"""Pages that use the whole width."""
_PICTURE = re.compile(r"!\[([^]]*)\]\(([^)]+)\.png\)")


def on_config(config: Any) -> Any:
    """Set the address of the project, from `pyproject.toml`."""
    config.extra["repository"] = project_url()
    config.extra["social"] = [{"icon": "fontawesome/brands/git-alt", "link": project_url(), "name": "Source"}]
    return config


def project_url() -> str:
    """The address from which to clone the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Put pages that are linked from an index into its tab, with links to the previous and the next page."""
    indexes = {page.file.src_uri: page for page in nav.pages}
    for folder in LISTED:
        index = indexes[f"{folder}/index.md"]
        found = (file.page for file in files.documentation_pages() if file.src_uri.startswith(f"{folder}/"))
        pages = sorted((page for page in found if page is not index), key=lambda page: page.file.src_uri)
        for page, before, after in zip(pages, [index, *pages], [*pages[1:], None], strict=False):
            page.parent, page.previous_page, page.next_page = index.parent, before, after
    return nav


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in the project's address and dark pictures, and hide a sidebar that would be empty."""
    where = page.file.src_uri
    bare = where.partition("/")[0] in BARE or where == "index.md"
    page.meta["hide"] = [*(["navigation"] if bare else []), *(["toc"] if where in WIDE else [])]
    if where.startswith("api/"):
        page.meta["search"] = {"boost": 0.5}  # guides come first
    text = markdown.replace("{{ repository }}", config.extra["repository"])
    return _PICTURE.sub(lambda found: _by_day_and_night(found, (ROOT / "docs" / where).parent), text)


def _by_day_and_night(found: re.Match[str], folder: Path) -> str:
    """A picture, followed by its dark form if there is one."""
    text, name = found.groups()
    if not (folder / f"{name}-dark.png").is_file():
        return found[0]
    return f"![{text}]({name}.png#only-light)![{text}]({name}-dark.png#only-dark)"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the API reference and of the notebooks to those that are files."""
    from mkdocs.structure.files import File

    for name, (title, modules) in API.items():
        files.append(File.generated(config, f"api/{name}.md", content=reference(title, modules)))
    for notebook in sorted((ROOT / "tours").glob("*.ipynb")):
        text, pictures = NOTEBOOKS["page"](notebook)
        for file, content in {f"{notebook.stem}.md": text, **pictures}.items():
            files.append(File.generated(config, f"tours/{file}", content=content))
    return files


def on_post_build(config: Any) -> None:
    """Write the leaderboard into the site, next to its page."""
    from sonde.evaluation.leaderboard import read_board
    from sonde.viewer.leaderboard import export_leaderboard

    export_leaderboard(read_board(ROOT / "results"), Path(config.site_dir) / "leaderboard" / "board")


def reference(title: str, modules: Sequence[str]) -> str:
    """One page of the reference."""
    parts = [f"# {title}\n\nFrom the docstrings of the version that this site was built from.\n"]
    for name in modules:
        foreign = name.startswith("sonde.interop")
        parts += _source_section(name) if foreign else _module(importlib.import_module(name))
    return "\n".join(parts)


def _source_section(name: str) -> Iterator[str]:
    """The section of a module whose imports may be missing here, read from its source."""
    doc, offered = UNIMPORTED["module"](name)
    yield f"## {name}\n\n{WRITTEN['prose'](doc)}\n"
    for found in offered:
        yield f"### {found.name}\n\n{_block(found.called)}\n{WRITTEN['prose'](found.doc)}\n"
        if found.methods:
            yield "".join(f"- `{called}`: {_first(said)}\n" for called, said in found.methods)


def _module(module: ModuleType) -> Iterator[str]:
    yield f"## {module.__name__}\n\n{WRITTEN['prose'](module.__doc__ or '')}\n"
    for name, value in _public(module):
        if inspect.isclass(value):
            yield from _class(name, value)
        elif callable(value) and (said := _function(name, value)):
            yield f"### {name}\n\n{said}\n"


def _function(name: str, value: Any) -> str:
    """A function's signature and docstring; empty if it has neither, such as the alias of a type."""
    return f"{_signature(name, value)}\n{_docstring_prose(value)}".strip()


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """A module's public names with their values: those it lists, or those it defines without a leading underscore."""
    listed = getattr(module, "__all__", None)
    for name in sorted(listed, key=str.lower) if listed else vars(module):
        value = getattr(module, name)
        if not name.startswith("_") and (listed or getattr(value, "__module__", "") == module.__name__):
            yield name, value


def _class(name: str, cls: type[Any]) -> Iterator[str]:
    yield f"### {name}\n\n{_signature(name, cls)}\n{_docstring_prose(cls)}"
    methods = [
        f"- `{_call_form(key, value)}`: {first}" for key, value in vars(cls).items() if (first := _line(key, value))
    ]
    if methods:
        yield "\n".join(methods) + "\n"


def _call_form(name: str, value: Any) -> str:
    inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return f"{name}(...)" if callable(inner) else name


def _line(name: str, value: Any) -> str:
    """The first paragraph of the docstring of a public method or property; empty if it has none."""
    if name.startswith("_") or isinstance(value, type) or not hasattr(value, "__doc__"):
        return ""
    known = isinstance(value, classmethod | staticmethod | property) or callable(value) or hasattr(value, "attrname")
    return _first(inspect.getdoc(value) or "") if known else ""


def _first(doc: str) -> str:
    """The first paragraph of a docstring."""
    return WRITTEN["escape_tags"](WRITTEN["split_summary"](doc)[0])


def _docstring_prose(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    own = dataclasses.is_dataclass(value) and text.startswith(f"{getattr(value, '__name__', '')}(")
    return "" if own else WRITTEN["prose"](text) + "\n"


def _signature(name: str, value: Any) -> str:
    try:
        found = str(inspect.signature(value))
    except (ValueError, TypeError):
        return ""
    return _block(_FORWARD.sub(r"\1", f"{name}{found}").replace("'", ""))


def _block(called: str) -> str:
    return f"```python\n{_wrap_signature(called)}\n```\n" if called else ""


def _wrap_signature(text: str, width: int = 100) -> str:
    """A signature; if it is long, with one parameter per line."""
    if len(text) <= width:
        return text
    head, _, rest = text.partition("(")
    inside, _, after = rest.rpartition(")")
    depth, parts, at = 0, [""], 0
    for sign in inside:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
            at += 1
        else:
            parts[at] += sign
    return f"{head}(\n" + "".join(f"    {part.strip()},\n" for part in parts) + f"){after}"
