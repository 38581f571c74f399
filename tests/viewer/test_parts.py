"""The parts behind the page, by values worked out by hand: losses, choices, names, text."""

from __future__ import annotations

import unicodedata
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sonde._util.escaping import make_visible
from sonde.core import Act, Action, Frozen, Gain, Turn
from sonde.evaluation.by_tag import TagGroup
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.rows import Row
from sonde.viewer.figures.axes import AgentStyle
from sonde.viewer.figures.svg import Drawing
from sonde.viewer.information_losses import compute_losses, find_cause
from sonde.viewer.report import choose_episodes
from sonde.viewer.sections import describe_tags
from sonde.viewer.site.episode import _describe_turn  # pyright: ignore[reportPrivateUsage]
from sonde.viewer.templating import LIMIT, split_pieces
from tests.cases import each


def gain(expected: float, best: float, realised: float = 0.0) -> Gain:
    return Gain(realised=realised, truth=realised, expected=expected, best=best)


def row(name: str, kind: str = "win", turns: int = 3, gains: tuple[Gain, ...] | None = None, **values: Any) -> Row:
    found: dict[str, Any] = {"task": name, "index": 0, "sample": 0, "trajectory": name, "score": 0.0, **values}
    return Row(kind=kind, turns=turns, gains=gains, **found)


@each(
    "expected, best, result, why",
    [
        (2.0, 2.0, "counts", ""),
        (2.5, 2.0, "counts", ""),
        (0.0, 0.0, "unreadable", ""),
        (0.0, 2.0, "unreadable", "unreadable"),
        (0.0, 2.0, "invalid", "invalid"),
        (0.0, 2.0, "outside", "invalid"),
        (0.0, 2.0, "repeat", "nothing"),
        (0.0, 2.0, "", "nothing"),
        (0.5, 2.0, "counts", "poor"),
    ],
)
def test_the_cause_of_a_loss(expected: float, best: float, result: str, why: str) -> None:
    assert find_cause(gain(expected, best), result) == why


def test_losses_are_means_per_episode_and_add_up_to_what_was_on_offer() -> None:
    a = row("a", gains=(gain(1.0, 3.0, 2.0), gain(1.0, 1.0, 1.0)), entropy=(3.0, 1.0, 0.0))
    b = row("b", "unreadable", gains=(gain(0.0, 3.0),), entropy=(3.0, 3.0))
    unplayed = row("c", "error")
    found = compute_losses([a, b, unplayed], {"a": ["counts", "win"], "b": ["unreadable"], "c": []}, 3)
    assert found is not None
    assert found.taken == (0.5, 0.5, 0.0)
    assert found.lost["poor"] == (1.0, 0.0, 0.0) and found.lost["unreadable"] == (1.5, 0.0, 0.0)
    assert sum(found.lost["nothing"]) == sum(found.lost["invalid"]) == 0.0
    assert found.best_bits == 3.5  # (3 + 1 + 3) / 2
    assert (found.prior, found.unknown) == (3.0, 1.5)
    assert compute_losses([unplayed], {"c": []}, 3) is None


def test_a_turn_that_broke_off_is_shown_without_a_gain() -> None:
    asked = Turn(0, (Act("agent", Action("A?"), Frozen(), Frozen(), Frozen()),))
    broken = row("a", "error", turns=2, gains=(gain(1.0, 1.0, 1.0),), entropy=(2.0, 1.0))
    shown = [_describe_turn(asked._replace(index=i), broken, None) for i in (0, 1)]
    assert [(t.gain, t.before, t.after) for t in shown] == [(gain(1.0, 1.0, 1.0), 2.0, 1.0), (None, None, None)]
    found = compute_losses([broken], {"a": ["counts", ""]}, 2)
    assert found is not None and found.taken == (1.0, 0.0)


def test_episodes_are_chosen_by_rule_and_never_twice() -> None:
    good, bad = (gain(1.0, 1.0),), (gain(0.1, 1.0),)
    rows = [
        row("long win", turns=5, index=0, gains=good),
        row("short win", turns=2, index=1, gains=good),
        row("other short win", turns=2, index=2, gains=good),
        row("loss", "out_of_turns", turns=6, index=3, gains=good),
        row("mumble", "unreadable", turns=1, index=4, gains=good),
        row("poor", "loss", turns=1, index=5, gains=bad),
    ]
    found = [(reason, r.task) for reason, r in choose_episodes(rows, 5)]
    assert found == [
        ("shortest win", "short win"),
        ("longest loss", "loss"),
        ("unreadable", "mumble"),
        ("worst efficiency", "poor"),
        ("longest win", "long win"),
    ]
    assert choose_episodes(rows[::-1], 5) == choose_episodes(rows, 5)
    assert len({r.task for _, r in choose_episodes(rows, 99)}) == len(rows)
    assert choose_episodes(rows, 0) == choose_episodes([], 6) == []


@each(
    "name, short",
    [
        ("random", "random"),
        ("llm (smollm2)", "smollm2"),
        ("llm (SmolLM2-135M-Instruct)", "SmolLM…nstruct"),
        ("llm (fake) k=1", "fake k=1"),
        ("llm (open", "llm"),
    ],
)
def test_short_names_for_the_margins_of_figures(name: str, short: str) -> None:
    assert AgentStyle(0, name, "", "-", "o").short == short


@given(st.text(st.characters(), max_size=200))  # lone surrogates too
def test_text_is_kept_and_nothing_hidden_is_left_in_it(text: str) -> None:
    found = split_pieces(text)
    assert "".join(chr(int(p.text[2:], 16)) if p.code else p.text for p in found) == text
    shown = make_visible(text)
    assert not [c for c in shown if unicodedata.category(c)[0] == "C" and c not in "\n\t"]
    shown.encode("utf-8")


def test_long_text_keeps_its_ends_and_says_how_much_is_missing() -> None:
    found = split_pieces("a" * LIMIT + "b" * 1000)
    assert found[0].text.startswith("aaa") and found[-1].text == "b" * 500
    assert found[1].text == " … 1,000 more characters … "
    assert sum(len(p.text) for p in (found[0], found[-1])) == LIMIT


def test_figures_escape_their_labels() -> None:
    from matplotlib.figure import Figure

    figure = Figure((2, 1))
    figure.text(0.1, 0.1, "<b>&", gid="agent-3", parse_math=False)
    svg = Drawing(figure, 'a "quoted" <i>').to_svg("x")
    assert "<b>" not in svg and "<i>" not in svg and "&lt;b&gt;&amp;" in svg
    assert 'aria-label="a &quot;quoted&quot; &lt;i>"' in svg and 'class="of-agent agent-3"' in svg


def test_success_by_tag_has_a_line_per_value_and_a_cell_per_run() -> None:
    def group(n: int, mean: float) -> TagGroup:
        found = Estimate(mean, 0.1, 0.9, n)
        return TagGroup(n_tasks=n, success=found, pass_k=found, turns=found)

    runs: list[Any] = [
        SimpleNamespace(by_tag={"difficulty": {"easy": group(2, 0.5), "hard": group(1, 0.25)}}),
        SimpleNamespace(by_tag={"difficulty": {"easy": group(3, 1.0)}}),
        SimpleNamespace(by_tag={"product": {str(i): group(1, 0.0) for i in range(41)}}),
    ]
    ((tag, lines),) = describe_tags(runs)
    assert tag == "difficulty", "a tag of too many values has no table"
    assert lines == [("easy", 3, ["50 [10, 90]", "100 [10, 90]", ""]), ("hard", 1, ["25 [10, 90]", "", ""])]
