"""Write the pages of the objectives that have no hand-written page: formula, when to use it, loss and learning curves,
settings. Hand-written pages (`LEARNED`) get only the learning curve of a small model, between two marks.

    python docs/build_algorithms.py

Formula and departures come from the module's docstring; the loss is drawn with the functions that training computes;
the learning curve is measured (`benchmarks/learning_curves.py`); `PAGES` says when to use it. An objective without an
entry gets a page of its formula and settings. `tests/docs/test_catalogue.py` fails when a page is out of date.
"""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sonde.core import names
from sonde.evaluation.metrics import Estimate
from sonde.train.objectives import find_objective, make_objective
from sonde.train.objectives.dpo import ipo_loss, sigmoid_loss
from sonde.train.objectives.grpo import clipped_loss
from sonde.train.objectives.kto import kto_loss
from sonde.train.objectives.rwr import centred_weights, exponential_weights
from sonde.train.objectives.simpo import simpo_loss
from sonde.train.types import Learns
from sonde.viewer.figures.axes import DASHES, MARKERS, AgentStyle, figure_axes, label_ends, plot_estimates
from sonde.viewer.figures.svg import PALETTE, Drawing

DOCS = Path(__file__).parent
WRITTEN = runpy.run_path(str(DOCS / "written.py"))
FOLDER = DOCS / "algorithms"
NOTE = "<!-- Written by `python docs/build_algorithms.py`; do not edit. -->"
POINTS = 121

LEARNS: Mapping[Learns, str] = {
    "successes": "good episodes", "share": "a share of the episodes", "pairs": "pairs of episodes",
    "samples": "episodes", "values": "rewards in episodes", "play": "its own play",
}  # fmt: skip

Curve = Callable[[Tensor], Tensor]


class Page(NamedTuple):
    """The objectives of a page, when to use them, and the curve: labels of the axes, range, and lines by name."""

    names: Sequence[str]
    when: str = ""
    labels: tuple[str, str] = ("", "")
    span: tuple[float, float] = (0.0, 1.0)
    curves: Mapping[str, Curve] = {}


ONE = torch.ones(1, dtype=torch.float64)
PAGES: Mapping[str, Page] = {
    "sft": Page(
        ("sft",),
        "The first objective to try, and the starting point of the others: it needs only good episodes. With the "
        "model's own shortest wins it is filtered self-imitation ([bc](bc.md) says how to choose episodes). It learns "
        "nothing from failures, and also copies habits of the winners that have nothing to do with winning.",
        ("probability of the token", "loss"), (0.02, 1.0), {"-log p": lambda p: -p.log()},
    ),
    "dpo": Page(
        ("dpo", "rpo", "ipo", "ln_dpo"),
        "Use it if each task was played several times, with better and worse samples, and the rewards rank them well "
        "but are not reliable as numbers. `rpo` (PAPRIKA's) is the safer choice for long episodes, because plain "
        "`dpo` may lower the likelihood of both samples. Use `ipo` if nearly all pairs are already in order, because "
        "it stops at a margin, and `ln_dpo` if good and bad episodes differ much in length.",
        ("log ratio of the chosen minus that of the rejected", "loss"), (-20.0, 20.0),
        {"dpo, beta 0.1": lambda d: sigmoid_loss(d, 0.1), "dpo, beta 0.5": lambda d: sigmoid_loss(d, 0.5),
         "ipo, beta 0.1, / 100": lambda d: ipo_loss(d, 0.1) / 100},
    ),
    "simpo": Page(
        ("simpo",),
        "Use it like `dpo` if no reference model fits into memory, or if the available one is useless: it compares "
        "mean log-probabilities. Nothing keeps the model near its start, so use few epochs and a low learning rate.",
        ("mean log p of the chosen minus that of the rejected", "loss"), (-3.0, 3.0),
        {"gamma 1.4": lambda d: simpo_loss(d, 0 * d, 2.5, 1.4), "gamma 0": lambda d: simpo_loss(d, 0 * d, 2.5, 0.0)},
    ),
    "kto": Page(
        ("kto",),
        "Use it if episodes are good or bad but form no fair pairs, as in minesweeper, whose world depends on the "
        "first move (PAPRIKA, appendix C), or if most tasks were only won or only lost.",
        ("log ratio of the episode", "loss"), (-40.0, 40.0),
        {"won": lambda r: kto_loss(r, torch.ones_like(r, dtype=torch.bool), 0.0, 0.1),
         "lost": lambda r: kto_loss(r, torch.zeros_like(r, dtype=torch.bool), 0.0, 0.1)},
    ),
    "rwr": Page(
        ("rwr",),
        "Use it if returns are graded, not only won or lost, and every episode should count. `exp` never lowers a "
        "likelihood; `centred` does, so use that for few epochs.",
        ("return of the episode", "weight of its tokens"), (-2.0, 2.0),
        {"exp, T = 1": lambda s: exponential_weights(s, 1.0, 3.0),
         "exp, T = 0.5": lambda s: exponential_weights(s, 0.5, 3.0), "centred at 0": lambda s: centred_weights(s, 0.0)},
    ),
    "grpo": Page(
        ("grpo",),
        "Use it if the model can play during training and sometimes wins: a group that always wins or always loses "
        "gives no signal. Credit per turn ([Training](../training.md)) helps in long episodes. `grpo` needs far more "
        "episodes than learning from recorded ones.",
        ("pi / pi when sampled", "loss"), (0.0, 2.0),
        {"advantage 1": lambda r: clipped_loss(r, ONE, 0.2, 0.28),
         "advantage -1": lambda r: clipped_loss(r, -ONE, 0.2, 0.28)},
    ),
}  # fmt: skip


LEARNED: Mapping[str, Sequence[str]] = {
    **{title: page.names for title, page in PAGES.items()},
    "bc": ("filtered_bc", "online_filtered_bc"), "mc": ("mc",), "ilql": ("ilql",), "ppo": ("ppo",),
}  # fmt: skip
"""The trainings whose learning curves a page shows, by page, hand-written pages included."""
MARKS = ("<!-- learning: by `python docs/build_algorithms.py` -->", "<!-- /learning -->")


def pages() -> dict[str, str]:
    """The pages by file name, and the index of them."""
    made = {f"{name}.md": _page(name, page) for name, page in generated_pages().items()}
    return {
        "index.md": overview(),
        **made,
        **{f"{name}.md": _fill_learning(name) for name in LEARNED if _is_by_hand(name)},
    }


def _fill_learning(title: str) -> str:
    """A hand-written page with the measured learning curve between its marks."""
    before, first, rest = (FOLDER / f"{title}.md").read_text("utf-8").partition(MARKS[0])
    _, last, after = rest.partition(MARKS[1])
    return f"{before}{first}\n{_learning_section(title)}\n{last}{after}"


def generated_pages() -> dict[str, Page]:
    """The generated pages by name: those of `PAGES`, and one for every other objective without a hand-written page."""
    told = {name for page in PAGES.values() for name in page.names}
    return {
        **PAGES,
        **{name: Page((name,)) for name in names("objectives") if name not in told and not _is_by_hand(name)},
    }


def _is_by_hand(name: str) -> bool:
    path = FOLDER / f"{name}.md"
    return path.exists() and NOTE not in path.read_text("utf-8")


def overview() -> str:
    """The index: all objectives, each with a link to its page and the first line of its docstring."""
    parts = [
        f"# Algorithms\n\n{NOTE}\n\nTraining objectives, one file of `sonde/train/objectives` each. Tests check every "
        "formula against values computed by hand. For rewards, credit and data see "
        "[Training](../training.md) and [Learning with values](../offline-rl.md).\n\n"
    ]
    where = {name: title for title, page in PAGES.items() for name in page.names}
    rows: list[tuple[str, str, str]] = []
    for name in names("objectives"):
        first, _ = WRITTEN["split_summary"](inspect.getdoc(find_objective(name)) or "")
        rows.append((f"[{name}]({where.get(name, name)}.md)", first, _learning_kind(name)))
    parts.append(WRITTEN["table"](("name", "description", "learns from"), rows))
    return "".join(parts)


def _learning_kind(name: str) -> str:
    learned = LEARNS[find_objective(name).learns]
    return learned + ", a reference" * ("reference" in make_objective(name).needs)


def _page(title: str, page: Page) -> str:
    classes = {name: find_objective(name) for name in page.names}
    module = sys.modules[next(iter(classes.values())).__module__]
    first, rest = WRITTEN["split_summary"](module.__doc__ or "")
    parts = [
        f"# {title}\n\n{NOTE}\n\n{first}\n",
        f"## When to use it\n\n{page.when}\n" if page.when else "",
        f"## Formula\n\n{WRITTEN['prose'](rest)}\n",
        f"## Curve\n\n![{title}: {page.labels[1]} over {page.labels[0]}]({title}.svg)\n" if page.curves else "",
        _learning_section(title),
        "## Settings\n",
    ]
    for name, cls in classes.items():
        told = WRITTEN["prose"](inspect.getdoc(cls) or "")
        parts += [f"**{name}**: {told}\n", WRITTEN["arguments"](cls)]
    parts.append(
        "Set them with `-o objective.NAME=VALUE`, and the trainer's numbers with `-o settings.NAME=VALUE` "
        "([Training](../training.md)).\n"
    )
    return "\n".join(part for part in parts if part)


def _learning_section(title: str) -> str:
    """The section with the measured learning curves of a page; "" if nothing was measured."""
    learned = [name for name in LEARNED.get(title, ()) if name in load_learning()]
    if not learned:
        return ""
    told = (
        f"Learning curve of `sonde-tiny-best_arm`: success on 300 test tasks at temperature 1, with 95 % intervals. "
        f"{_describe_data(learned)} One training seed, without tuning: this shows the course of a training, not which "
        f"objective is best. `python benchmarks/learning_curves.py {' '.join(learned)}`"
    )
    head = ("objective", "won before training, %", "won after training, %", "readable to the end, %", "settings")
    rows = WRITTEN["table"](head, map(_row, learned))
    return f"## Learning\n\n![{title}: success over steps]({title}-learning.svg)\n\n{told}\n\n{rows}"


def _describe_data(names: Sequence[str]) -> str:
    """The data of these trainings, in words."""
    plays = [name for name in names if _is_online(name)]
    if len(plays) == len(names):
        return "Each step plays 64 games of other tasks."
    recorded = "The data are 1,600 games of the model itself, 4 for each of 400 other tasks"
    return f"{recorded}; each step of {' and '.join(plays)} plays 64 games." if plays else f"{recorded}."


def _is_online(name: str) -> bool:
    return name.startswith("online_") or (name in names("objectives") and find_objective(name).learns == "play")


def _row(name: str) -> tuple[str, ...]:
    known = load_learning()[name]
    first, last = ("{:.0f} [{:.0f}, {:.0f}]".format(*(100 * x for x in known["success"][i])) for i in (0, -1))
    return name, first, last, f"{100 * known['read'][-1]:.1f}", WRITTEN["code"](known["settings"])


@cache
def load_learning() -> Mapping[str, Mapping[str, Any]]:
    """The results of `benchmarks/learning_curves.py`, by objective."""
    return json.loads((FOLDER / "learning.json").read_text("utf-8"))


def curves() -> dict[str, str]:
    """The curves by the name of their page, as standalone pictures."""
    learned = {
        f"{title}-learning": _draw_learning(names) for title, names in LEARNED.items() if _learning_section(title)
    }
    return {**{name: _draw_curve(name, page) for name, page in PAGES.items()}, **learned}


def _draw_learning(names: Sequence[str]) -> str:
    """Draw success over the training steps."""
    learned = {name: load_learning()[name] for name in names if name in load_learning()}
    with figure_axes(height=2.6, right=0.8) as ax:
        ends: list[tuple[float, AgentStyle]] = []
        for i, (name, known) in enumerate(learned.items()):
            agent = AgentStyle(i, name.replace("_filtered_bc", ""), PALETTE[i], DASHES[i], MARKERS[i])
            success = [Estimate(mean, low, high, 1) for mean, low, high in known["success"]]
            plot_estimates(ax, agent, success, at=known["steps"], scale=100)
            ends.append((100 * known["success"][-1][0], agent))
        ax.set(xlabel="steps", ylabel="episodes won (%)", ylim=(-3, 103))
        label_ends(ax, ends)
        return WRITTEN["standing"](Drawing(ax.figure, f"Success over steps: {', '.join(learned)}").to_svg("learning"))


def _draw_curve(title: str, page: Page) -> str:
    x = torch.linspace(*page.span, POINTS, dtype=torch.float64)
    with figure_axes(height=2.6, right=0.97) as ax:
        for (name, curve), colour in zip(page.curves.items(), PALETTE, strict=False):
            ax.plot(x, curve(x), color=colour, lw=1.8, label=name)
        ax.set(xlabel=page.labels[0], ylabel=page.labels[1])
        ax.grid(axis="y")
        if len(page.curves) > 1:
            ax.legend(frameon=False, fontsize=8.5)
        return WRITTEN["standing"](Drawing(ax.figure, f"{page.labels[1]} over {page.labels[0]}").to_svg(title))


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    for name, svg in curves().items():
        (FOLDER / f"{name}.svg").write_text(svg, "utf-8")
