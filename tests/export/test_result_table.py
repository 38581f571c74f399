"""The table of results for a paper."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import sonde
from sonde.core import UserError
from sonde.evaluation.metrics import Estimate
from sonde.export import format_results

PLAYED = sonde.evaluate(sonde.rollout("combination_lock", "random", tasks=2))
KNOWN = {
    "success": Estimate(0.975, 0.91, 0.9934, 40), "score": Estimate(-0.001, -0.5, 0.25, 40), "reference_score": None,
    "turns": Estimate(7.25, 6.0, 8.0, 40), "bits": None, "efficiency": None, "regret": None,
}  # fmt: skip
ONE = replace(PLAYED, metrics=KNOWN, label="a_b & 50 % <x|y>", k=4, n_tasks=40)
OTHER = replace(ONE, label="second", env_name="maze", preset="pairs", k=1)


def test_markdown_by_hand() -> None:
    lines = format_results([ONE], "markdown").splitlines()
    assert lines[:3] == [
        "| environment | agent | tasks | success (%) | return | turns |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        r"| combination\_lock (psrl) | a\_b & 50 % \<x\|y\> | 40 × 4 | 97.5 [91.0, 99.3] | 0.00 [-0.50, 0.25] "
        "| 7.2 [6.0, 8.0] |",
    ]
    assert lines[3] == "" and lines[4].startswith("means with 95 % intervals, clustered by task;")


def test_latex_by_hand() -> None:
    text = format_results([ONE, OTHER, replace(ONE, label="third")], "latex")
    body = text[text.index(r"\begin") :].splitlines()
    number = r"$97.5_{-6.5}^{+1.8}$ & $0.00_{-0.50}^{+0.25}$ & $7.2_{-1.2}^{+0.8}$ \\"
    assert body == [
        r"\begin{tabular}{llrrrr}", r"\toprule", r"environment & agent & tasks & success (\%) & return & turns \\",
        r"\midrule", r"combination\_lock (psrl) & a\_b \& 50 \% \textless{}x\textbar{}y\textgreater{} & "
        rf"40 $\times$ 4 & {number}",
        rf" & third & 40 $\times$ 4 & {number}", r"\midrule", rf"maze (pairs) & second & 40 & {number}", r"\bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip


def test_a_real_evaluation_has_its_metrics() -> None:
    text = format_results([PLAYED])
    assert "| bits |" in text and "| regret |" in text and "n/a" not in text
    assert "n/a" in format_results([PLAYED, replace(ONE, env_name="maze")])


def test_hostile_labels_stay_in_their_cell() -> None:
    label = "x\n| y |\\input{/etc/passwd} ^~{}$#\u202e"
    (row,) = [line for line in format_results([replace(ONE, label=label)]).splitlines() if "U+202E" in line]
    assert row.count(" | ") == 5
    text = format_results([replace(ONE, label=label)], "latex")
    cell = r"x \textbar{} y \textbar{}\textbackslash{}input\{/etc/passwd\} \textasciicircum{}\textasciitilde{}\{\}\$\#"
    assert cell in text


@pytest.mark.parametrize("field", ["label", "env_name", "preset"])
def test_what_latex_reads_as_commands_is_text_in_every_column(field: str) -> None:
    """No TeX is here to try it: with the escapes taken out, none of its special characters is left in the row."""
    plain = format_results([replace(ONE, **{field: "plain"})], "latex").splitlines()
    text = format_results(
        [replace(ONE, **{field: r"a&b%c_d#e{f}g~h^i\j$k<l>m|n[o]p" + "\nlast"})], "latex"
    ).splitlines()
    assert len(text) == len(plain)
    (before, row), *others = [pair for pair in zip(plain, text, strict=True) if pair[0] != pair[1]]
    assert not others
    head, _, tail = before.partition("plain")
    cell = row.removeprefix(head).removesuffix(tail)
    words = ("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar")
    bare = re.sub(rf"\\(?:(?:{'|'.join(words)})\{{\}}|[&%$#_{{}}])|\{{[\[\]]\}}", "", cell)
    assert bare == "abcdefghijklmnop last"


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="table: unknown name 'html'; known: latex, markdown"):
        format_results([ONE], "html")
    with pytest.raises(UserError, match="got no evaluations"):
        format_results([])
