"""Write a page per paper: every figure and table, the command at the paper's scale, the command at a size that runs on
a laptop, and our results next to the paper's.

    python docs/build_papers.py

A page is written from `docs/papers/PAPER.toml` and the tables in `results/papers/PAPER/`, which recipes save
(`recipes/rows.py: save_table`). Nobody types our numbers by hand: the text of a `reading` takes them from those tables,
where `{figure7[ema][success]}` is the cell of row `ema` and column `success` of `figure7.json`. Numbers of a paper that
the leaderboard also shows are in `src/sonde/evaluation/published.toml`: in the text of `published`,
`{published[0][wordle][BC]}` is the value of model `BC` in the first of the paper's tables there,
`{published[0][wordle]}` has all its values as cells of a row, and `{published[0][models]}` the models above them.
`tests/docs/test_papers.py` fails when a page is out of date.
"""

from __future__ import annotations

import json
import runpy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.evaluation.published import published_tables

DOCS = Path(__file__).parent
FOLDER = DOCS / "papers"
RESULTS = DOCS.parent / "results" / "papers"
WRITTEN = runpy.run_path(str(DOCS / "written.py"))
NOTE = "<!-- Written by `python docs/build_papers.py`; do not edit. -->"
INDEX = """# The papers, figure by figure

sonde implements five papers. Each has a page with all of its figures and tables: what it shows, the command at the
paper's scale, a command at a size that runs on a laptop, and what came out, beside the paper's own numbers. Figures and
tables that share an experiment share an entry. *Ways to learn to ask* compares methods of these and of two other papers
on one testbed."""
PAPERS = ("paprika", "delta_belief", "lmrl", "psrl", "mtp", "neighbours")


@dataclass(frozen=True)
class Item:
    """A figure or a table of a paper, or what we measure beside it."""

    id: str
    about: str
    paper: str = ""
    here: str = ""
    results: Sequence[str] = ()
    published: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        if not (self.paper or self.reading):
            raise ValueError(f"{self.id}: paper: got no command, allowed: one, or a `reading` that says why not")


class Table(dict[str, Any]):
    """A saved table: cells by row and column, for the text of a `reading`."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        columns = saved["columns"]
        super().__init__({str(row[0]): dict(zip(columns, row, strict=True)) for row in saved["rows"]})
        self.saved = saved

    def write_table(self) -> str:
        """The table in Markdown, and how it was made."""
        saved = self.saved
        cells = [[show_cell(cell) for cell in row] for row in saved["rows"]]
        return f"{WRITTEN['table'](saved['columns'], cells)}\n*{self._source()}*\n"

    def _source(self) -> str:
        saved = self.saved
        seeds = ", ".join(str(seed) for seed in saved.get("seeds", ()))
        parts = [
            f"`{saved['command']}`",
            f"seed{'s' if len(saved.get('seeds', ())) > 1 else ''} {seeds}" if seeds else "",
            f"{saved['seconds']:.0f} CPU s" if "seconds" in saved else "",
            saved.get("measured", ""),
        ]
        return "; ".join(part for part in parts if part) + "."


class Cells(dict[str, Any]):
    """Cells of a row, by column; as text, the row without its ends."""

    def __str__(self) -> str:
        return " | ".join("" if cell is None else f"{cell:g}" for cell in self.values())


def show_cell(cell: Any) -> str:
    """A cell as text: floats with three digits that count, nothing for what was not measured.

    >>> show_cell(0.12345), show_cell(-6.84), show_cell(12.5), show_cell(None), show_cell("a")
    ('0.123', '-6.84', '12.5', '', 'a')
    """
    if isinstance(cell, float):
        return f"{cell:.{3 if abs(cell) <= 1 else 2 if abs(cell) < 10 else 1}f}"
    return "" if cell is None else str(cell)


def write_page(paper: str) -> str:
    """The page of a paper."""
    page = read_page(paper)
    items = [Item(**item) for item in page["item"]]
    parts = [NOTE, f"# {page['title']}", page["source"].strip(), page["intro"].strip()]
    parts += [part for item in items for part in write_item(paper, item)]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_index() -> str:
    """The page of all papers: how many of their figures and tables have numbers of ours."""
    rows: list[tuple[str, str, str, str]] = []
    for paper in list_papers():
        page = read_page(paper)
        items = [Item(**item) for item in page["item"]]
        measured, by_command = sum(bool(item.results) for item in items), sum(bool(item.paper) for item in items)
        rows.append((f"[{page['title']}]({paper}.md)", str(len(items)), str(by_command), str(measured)))
    head = ("paper", "figures and tables", "with a command at the paper's scale", "with numbers measured here")
    return f"{NOTE}\n\n{INDEX}\n\n{WRITTEN['table'](head, rows)}"


def write_item(paper: str, item: Item) -> list[str]:
    """A figure or table: what it shows, how to make it, the paper's numbers and ours."""
    tables = {name: read_table(paper, name) for name in item.results}
    reading = item.reading.strip().format_map(tables)
    published = item.published.strip().format(published=read_published(paper))
    return [
        f"## {item.id}",
        item.about.strip(),
        write_command("At the paper's scale", item.paper),
        write_command("Here", item.here),
        f"The paper:\n\n{published}" if published else "",
        *(table.write_table().rstrip() for table in tables.values()),
        reading,
    ]


def write_command(label: str, command: str) -> str:
    """A command in a block of its own; nothing where there is none."""
    return f"{label}:\n\n```sh\n{command.strip()}\n```" if command.strip() else ""


def read_page(paper: str) -> dict[str, Any]:
    """The text of a page, with its items."""
    return tomllib.loads((FOLDER / f"{paper}.toml").read_text("utf-8"))


def read_table(paper: str, name: str) -> Table:
    """The saved table of this name."""
    return Table(json.loads((RESULTS / paper / f"{name}.json").read_text("utf-8")))


def read_published(paper: str) -> list[dict[str, Any]]:
    """What a paper prints, table by table: `models`, and the values of each environment by model."""
    return [
        {
            "models": " | ".join(model for model, _ in table.rows),
            **{
                environment: Cells({model: values[i] for model, values in table.rows})
                for i, environment in enumerate(table.environments)
            },
        }
        for table in published_tables(paper)
    ]


def find_unused_tables(paper: str) -> list[str]:
    """Saved tables that no item of the page shows."""
    page = read_page(paper)
    shown = {name for item in page["item"] for name in item.get("results", ())}
    return sorted({file.stem for file in (RESULTS / paper).glob("*.json")} - shown)


def list_papers() -> list[str]:
    """The papers that have a page."""
    return [paper for paper in PAPERS if (FOLDER / f"{paper}.toml").is_file()]


def main() -> None:
    """Write all pages."""
    for paper in list_papers():
        (FOLDER / f"{paper}.md").write_text(write_page(paper), "utf-8")
    (FOLDER / "index.md").write_text(write_index(), "utf-8")


if __name__ == "__main__":
    main()
