"""Figures of runs as files: formats, sizes, fonts, names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import figures
from sonde.core import UserError

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("runs")
    wordle: Any = sonde.make("wordle")
    for name in ("entropy", "random"):
        sonde.rollout(wordle, name, tasks=3, folder=home / name)
    sonde.rollout("bernoulli_bandit", "ucb1", tasks=2, folder=home / "ucb1")
    return [home / "entropy", home / "random", home / "ucb1"]


def test_every_format_is_what_it_says(runs: list[Path], tmp_path: Path) -> None:
    found = {form: figures.save_figures(runs, tmp_path / form, form) for form in figures.FORMATS}
    names = {form: [path.stem for path in paths] for form, paths in found.items()}
    assert names["pdf"] == names["svg"] == names["png"]
    assert {"wordle-paprika-success", "wordle-paprika-losses_2", "bernoulli_bandit-psrl-regret"} <= {*names["pdf"]}
    (pdf, svg, png) = (next(path for path in found[form] if "success" in path.stem) for form in found)
    assert pdf.read_bytes().startswith(b"%PDF") and b"/FontFile2" in pdf.read_bytes(), "TrueType, embedded"
    assert b"/Type3" not in pdf.read_bytes() and b"CreationDate" not in pdf.read_bytes()
    assert re.search(r'width="234pt" height="145\.6pt"', svg.read_text("utf-8")), "3.25 inches"
    assert "<text" not in svg.read_text("utf-8"), "letters as paths"
    data = png.read_bytes()
    assert int.from_bytes(data[16:20], "big") == round(3.25 * 300)


def test_equal_runs_give_equal_files(runs: list[Path], tmp_path: Path) -> None:
    for form in figures.FORMATS:
        a, b = (figures.save_figures(runs[2:], tmp_path / f"{form}{i}", form) for i in (1, 2))
        assert [path.read_bytes() for path in a] == [path.read_bytes() for path in b]


def test_nothing_is_outside_the_figure(runs: list[Path]) -> None:
    for width in (3.25, 5.5):
        for name, figure in figures.draw_figures(runs, width=width, names={"entropy": "The best one"}).items():
            assert figure.get_size_inches()[0] == width
            if name.endswith("-key"):
                continue
            box = figure.get_tightbbox()
            corners = zip((box.x1, box.y1), figure.get_size_inches(), strict=True)
            assert min(box.x0, box.y0) > -0.02 and all(at < size + 0.02 for at, size in corners), (name, box)


def test_fonts_and_names_of_agents(runs: list[Path]) -> None:
    drawn = figures.draw_figures(runs, font_size=9, font="serif", names={"entropy": "Ours"})
    (ax,) = drawn["wordle-paprika-success"].axes
    assert {text.get_text() for text in ax.texts} == {"Ours", "random"}
    assert ax.xaxis.label.get_fontsize() == 9 and ax.xaxis.label.get_fontfamily() == ["serif"]
    small = figures.draw_figures(runs[:1], font_size=4.5)["wordle-paprika-success"].axes[0]
    assert small.xaxis.label.get_fontsize() == 4.5 and small.get_xticklabels()[0].get_fontsize() == 4.25


def test_configurations_of_one_environment_have_files_of_their_own(tmp_path: Path) -> None:
    for turns in (5, 6):
        env = sonde.make("wordle", max_turns=turns)
        sonde.rollout(env, "random", tasks=1, folder=tmp_path / str(turns))
    drawn = figures.draw_figures([tmp_path / "5", tmp_path / "6"])
    assert {"wordle-paprika-success", "wordle-paprika-success-2"} <= drawn.keys()


def test_mistakes_are_named(runs: list[Path], tmp_path: Path) -> None:
    for wrong, match in (
        ({"format": "eps"}, "figures: format: unknown name 'eps'; known: pdf, png, svg"),
        ({"width": 0.0}, "figures: width: got 0.0, allowed: 1 to 20"),
        ({"font_size": 99.0}, "figures: font_size: got 99.0, allowed: 1 to 40"),
    ):
        with pytest.raises(UserError, match=match):
            figures.save_figures(runs, tmp_path / "f", **wrong)  # pyright: ignore
    with pytest.raises(UserError, match="got no run folders"):
        figures.save_figures([], tmp_path / "f")
    assert not (tmp_path / "f").exists()
