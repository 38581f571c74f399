"""Tables of results that keep every name and every column whole, however narrow the terminal is.

The first layout that fits is taken:

    one line per row       names break between words only, and so do the titles of columns
    names above numbers    a row's names have a line of their own, its numbers stand below, still aligned
    pairs                  a row's names, then `title value` pairs, as many to a line as fit

A cell is a string, or a `Text` with styles of its own, which is never broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_INDENT = 2
_GAPS = (2, 1)
"""Spaces between columns, and those between columns that would not fit otherwise."""
_PAIR_GAP = 3
Cell = str | Text


@dataclass
class ResultTable:
    """Columns of words, at the left, and of numbers, which are right-justified. `title` stands above."""

    words: Sequence[str]
    numbers: Sequence[str]
    title: str = ""
    rows: list[tuple[Cell, ...]] = field(default_factory=list[tuple[Cell, ...]])
    sections: set[int] = field(default_factory=set[int])
    """Rows before which a line is left empty."""
    styles: dict[int, str] = field(default_factory=dict[int, str])

    def add_row(self, *cells: Cell, style: str = "") -> None:
        """Add a row: a cell for each column of words, then one for each of numbers."""
        if len(cells) != len(self.words) + len(self.numbers):
            raise ValueError(f"{len(cells)} cells for {len(self.words) + len(self.numbers)} columns")
        self.styles[len(self.rows)] = style
        self.rows.append(cells)

    def add_section(self) -> None:
        """Leave a line empty before the next row."""
        self.sections.add(len(self.rows))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(self.title, style="italic")
        yield from self._lay_out(options.max_width)

    def _lay_out(self, width: int) -> Iterator[Text]:
        columns = [*self.words, *self.numbers]
        for gap in _GAPS:
            if (widths := self._fit_columns(columns, self.rows, width, gap)) is not None:
                return self._lines_of_rows(widths, gap)
        numbers = [row[len(self.words) :] for row in self.rows]
        for gap in _GAPS:
            if (widths := self._fit_columns(self.numbers, numbers, width - _INDENT, gap)) is not None:
                return self._lines_below_names(widths, gap)
        return self._lines_of_pairs(width)

    def _fit_columns(
        self, titles: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, gap: int
    ) -> list[int] | None:
        """The widths of columns that fit; None if names, numbers or words of titles would break."""
        n_words = len(titles) - len(self.numbers)
        cells = [[row[i] for row in rows] for i in range(len(titles))]
        widths = [max(map(_measure_cell, (title, *cells[i]))) for i, title in enumerate(titles)]
        least = [
            max(_longest_word(title), *(_longest_word(c) if i < n_words else _measure_cell(c) for c in ("", *cells[i])))
            for i, title in enumerate(titles)
        ]
        excess = sum(widths) + gap * (len(widths) - 1) - width
        while excess > 0:
            spare, i = max((have - need, i) for i, (have, need) in enumerate(zip(widths, least, strict=True)))
            if spare == 0:
                return None
            widths[i] -= 1
            excess -= 1
        return widths

    def _lines_of_rows(self, widths: Sequence[int], gap: int) -> Iterator[Text]:
        n_words = len(self.words)
        yield from _write_row((*self.words, *self.numbers), widths, gap, n_words, title=True)
        yield Text("─" * (sum(widths) + gap * (len(widths) - 1)))
        for i, row in enumerate(self.rows):
            if i in self.sections:
                yield Text()
            yield from _write_row(row, widths, gap, n_words, style=self.styles[i])

    def _lines_below_names(self, widths: Sequence[int], gap: int) -> Iterator[Text]:
        indent = " " * _INDENT
        yield Text(_join_names(self.words).plain, style="bold")
        for line in _write_row(self.numbers, widths, gap, 0, title=True):
            yield Text(indent) + line
        yield Text("─" * (_INDENT + sum(widths) + gap * (len(widths) - 1)))
        for i, row in enumerate(self.rows):
            if i in self.sections:
                yield Text()
            yield _join_names(row[: len(self.words)])
            for line in _write_row(row[len(self.words) :], widths, gap, 0, style=self.styles[i]):
                yield Text(indent) + line

    def _lines_of_pairs(self, width: int) -> Iterator[Text]:
        for i, row in enumerate(self.rows):
            if i in self.sections:
                yield Text()
            if names := _join_names(row[: len(self.words)]):
                yield names
            line = ""
            for title, cell in zip(self.numbers, row[len(self.words) :], strict=True):
                pair = f"{title} {cell}" if cell else ""
                if line and cell_len(line) + _PAIR_GAP + cell_len(pair) > width - _INDENT:
                    yield Text(" " * _INDENT + line)
                    line = ""
                line += f"{' ' * _PAIR_GAP if line and pair else ''}{pair}"
            yield Text(" " * _INDENT + line)


def _join_names(cells: Sequence[Cell]) -> Text:
    return Text(", ").join(cell if isinstance(cell, Text) else Text(cell.strip()) for cell in cells if cell)


def _measure_cell(cell: Cell) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(cell)


def _longest_word(cell: Cell) -> int:
    return cell.cell_len if isinstance(cell, Text) else max(map(cell_len, cell.split()), default=0)


def _write_row(
    cells: Sequence[Cell], widths: Sequence[int], gap: int, n_words: int, *, style: str = "", title: bool = False
) -> Iterator[Text]:
    """The lines of a row: cells wrapped at spaces; titles are bold and stand at the foot of theirs."""
    wrapped = [_wrap_cell(cell, width) for cell, width in zip(cells, widths, strict=True)]
    if title:
        height = max(map(len, wrapped))
        wrapped = [[Text()] * (height - len(lines)) + lines for lines in wrapped]
    for parts in zip_longest(*wrapped, fillvalue=Text()):
        line = Text(style="bold" if title else style)
        for i, (part, width) in enumerate(zip(parts, widths, strict=True)):
            room = " " * (width - part.cell_len)
            line.append(" " * gap if i else "")
            line.append_text(Text.assemble(part, room) if i < n_words else Text.assemble(room, part))
        line.rstrip()
        yield line


def _wrap_cell(cell: Cell, width: int) -> list[Text]:
    return [cell] if isinstance(cell, Text) else [Text(line) for line in _wrap_words(cell, width)]


def _wrap_words(text: str, width: int) -> list[str]:
    """Text in lines of at most `width`, broken at spaces; what it is set in by stays.

    >>> _wrap_words("llm (fake) at home", 10)
    ['llm (fake)', 'at home']
    """
    indent = text[: len(text) - len(text.lstrip())]
    lines = [""]
    for word in text.split():
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else f"{indent}{word}"
    return lines
