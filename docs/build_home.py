"""Write what the first page of the site shows: the idea in a picture (`docs/home/`), from a recorded game, and a
measured result, from `results/`, between its marks in `docs/index.md`.

    python docs/build_home.py

`tests/docs/test_home.py` fails when they are out of date.
"""

from __future__ import annotations

import runpy
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from sonde.core import Belief, Episode, playthrough
from sonde.core.registry import env_folder
from sonde.envs.guess_my_city.atlas import City, load_atlas
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.results import PlayedEnvironment, read_result
from sonde.viewer.templating import list_colours

DOCS = Path(__file__).parent
PICTURES = DOCS / "home"
WRITTEN = runpy.run_path(str(DOCS / "written.py"))
GAME = "guess_my_city.paprika.0"
"""The golden playthrough whose first question the picture shows."""
MARKS = ("<!-- result: by `python docs/build_home.py` -->", "<!-- /result -->")
BEFORE, AFTER = (f"mtp--sonde-tiny-circuit_decoding{end}.json" for end in ("", "-grpo"))
"""A tiny model before and after it was trained with GRPO."""

MAP = (400.0, 196.0)
"""Width and height of a map of the world."""
NORTH, SOUTH = 72.0, -56.0
"""The degrees of latitude at its edges: those between which people live."""
NAMED = 20
"""Cities that a caption names at most."""
BUBBLE = 240.0
LINE = 18.0
STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:14px;fill:var(--ink)}.head{font-weight:700;font-size:15px}"
    ".quiet{fill:var(--muted)}.small{font-size:12.5px}.gain{font-weight:700;font-size:30px;fill:var(--agent0)}"
    ".asked{fill:var(--said)}.told{fill:var(--soft)}.sea{fill:none;stroke:var(--grid)}.out{fill:var(--grid)}"
    ".open{fill:var(--agent0)}.truth{fill:none;stroke:var(--agent1);stroke-width:2}"
)


@dataclass(frozen=True)
class Question:
    """A turn of a game: the question, the reply, and the beliefs before and after it."""

    asked: str
    replied: str
    before: Belief
    after: Belief
    expected: float
    best: float
    secret: str

    @property
    def gain(self) -> float:
        return self.before.entropy - self.after.entropy


def load_question() -> Question:
    """The first turn of the game, with beliefs of its own filter."""
    text = (env_folder("guess_my_city") / "golden" / f"{GAME}.txt").read_text("utf-8")
    ep = playthrough.read_playthrough(text).replay_episode()
    stages = {len(stage.turns): stage for stage in Episode.stages(ep.env, ep.to_trajectory())}
    turn, gains = ep.turns[0], ep.gains(expected=True)
    before, after = (_posterior(stages, n) for n in (0, 1))
    if gains is None or gains[0].expected is None or gains[0].best is None:
        raise SystemExit(f"{GAME}: the game has no exact posterior")
    replied = turn.told.partition("\n")[0]
    secret = str(ep.env.hypothesis(ep.state))
    return Question(turn.text, replied, before, after, gains[0].expected, gains[0].best, secret)


def _posterior(stages: Mapping[int, Episode], turns: int) -> Belief:
    found = stages[turns].posterior()
    if found is None:
        raise SystemExit(f"{GAME}: the game has no exact posterior")
    return found


# --- the picture ----------------------------------------------------------------------------------------------------


def pictures() -> dict[str, str]:
    """The picture of the idea: side by side, and for narrow screens one part below the other."""
    question = load_question()
    return {"idea.svg": _draw_wide(question), "idea-narrow.svg": _draw_narrow(question)}


def _draw_wide(q: Question) -> str:
    (width, height), middle = MAP, BUBBLE + 40
    talk, tall = _draw_talk(q, width + 20, 44)
    body = _draw_map(q, q.before, "Before", 0, 44) + talk + _draw_map(q, q.after, "After", width + middle, 44)
    return _finish(q, body, 2 * width + middle, max(height + 94, tall + 10))


def _draw_narrow(q: Question) -> str:
    width, height = MAP
    talk, bottom = _draw_talk(q, (width - BUBBLE) / 2, height + 104)
    body = _draw_map(q, q.before, "Before", 0, 36) + talk + _draw_map(q, q.after, "After", 0, bottom + 56)
    return _finish(q, body, width, bottom + height + 106)


def _finish(q: Question, body: str, width: float, height: float) -> str:
    label = (
        f"{q.asked} {q.replied} The answer leaves {_count(q.after)} of {_count(q.before)} cities: "
        f"{q.gain:.1f} bits of information."
    )
    style = f"{list_colours(STYLE)}{STYLE}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(label)}"><style>{style}</style>{body}</svg>\n'
    )


def _draw_map(q: Question, belief: Belief, title: str, x: float, y: float) -> str:
    """Draw the cities on a map of the world: possible ones clearly, the others faintly, and the secret one in a
    ring."""
    width, height = MAP
    chance = dict(zip(belief.hypotheses, belief.probs, strict=True))
    largest = max(chance.values())
    cities = sorted(load_atlas().cities, key=lambda city: chance.get(city.title, 0.0))
    dots = "".join(_draw_city(city, chance.get(city.title, 0.0), largest, x, y) for city in cities)
    secret = next(city for city in cities if city.title == q.secret)
    at = _place(secret, x, y)
    ring = f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="9" class="truth"/>'
    told = textwrap.wrap(_caption(belief), 64)
    words = "".join(_write(x, y + height + 24 + LINE * i, line, "quiet small") for i, line in enumerate(told))
    facts = f"{_count(belief)} cities, {belief.entropy:.1f} bits to find"
    return (
        f"{_write(x, y - 14, title, 'head')}{_write(x + width, y - 14, facts, 'quiet', anchor='end')}"
        f'<rect x="{x + 0.5:g}" y="{y + 0.5:g}" width="{width - 1:g}" height="{height:g}" rx="8" class="sea"/>'
        f"{dots}{ring}{words}"
    )


def _caption(belief: Belief) -> str:
    if _count(belief) > NAMED:
        return "Every dot is a city that it may be; the ring is the secret."
    return f"Still possible: {', '.join(str(city).partition(',')[0] for city, _ in belief.top(_count(belief)))}."


def _draw_city(city: City, chance: float, largest: float, x: float, y: float) -> str:
    left, top = _place(city, x, y)
    radius, kind = (1.2, "out") if chance == 0 else (1.6 if largest < 0.01 else 3.2, "open")
    return f'<circle cx="{left:.1f}" cy="{top:.1f}" r="{radius:g}" class="{kind}"/>'


def _place(city: City, x: float, y: float) -> tuple[float, float]:
    width, height = MAP
    inner = width - 20
    return x + 10 + inner * (city.lon + 180) / 360, y + 8 + (height - 16) * (NORTH - city.lat) / (NORTH - SOUTH)


def _draw_talk(q: Question, x: float, y: float) -> tuple[str, float]:
    """Draw question and reply as a conversation, with the bits below; also return its lower end."""
    asked, y = _draw_bubble("agent asks", q.asked, x, y, "asked")
    replied, y = _draw_bubble("user replies", q.replied, x, y + 16, "told")
    middle = x + BUBBLE / 2
    most = f"expected {q.expected:.1f}; of the best question {q.best:.1f}"
    gain = _write(middle, y + 42, f"+{q.gain:.1f} bits", "gain", anchor="middle")
    return asked + replied + gain + _write(middle, y + 64, most, "quiet small", anchor="middle"), y + 64


def _draw_bubble(who: str, text: str, x: float, y: float, kind: str) -> tuple[str, float]:
    lines = textwrap.wrap(text, 32)
    height = LINE * len(lines) + 14
    box = f'<rect x="{x:g}" y="{y:g}" width="{BUBBLE:g}" height="{height:g}" rx="9" class="{kind}"/>'
    words = "".join(_write(x + 12, y + 20 + LINE * i, line) for i, line in enumerate(lines))
    return f"{_write(x + 2, y - 6, who, 'quiet small')}{box}{words}", y + height + 10


def _write(x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{named}>{escape(text)}</text>'


def _count(belief: Belief) -> int:
    return sum(p > 0 for p in belief.probs)


# --- the result -----------------------------------------------------------------------------------------------------


def result() -> str:
    """The table of a tiny model's results before and after training."""
    before, after = (read_result(DOCS.parent / "results" / name).environments[0] for name in (BEFORE, AFTER))
    rows = [("", "before", "after GRPO"), *(_row(title, before, after) for title in SHOWN)]
    return WRITTEN["table"](rows[0], rows[1:]) + (
        f"\n[`{before.env_and_preset[0]}`](environments/{before.env_and_preset[0]}.md), {before.tasks} held-out tasks, "
        f"{before.k} samples each, 95 % intervals by task ([all results](leaderboard.md)).\n"
    )


SHOWN: Mapping[str, tuple[str, float, int]] = {
    "tasks solved (%)": ("success", 100.0, 0),
    "bits gained per question": ("bits_per_turn", 1.0, 2),
    "share of the best question's bits (%)": ("efficiency", 100.0, 0),
}
"""Maps a row's name to the metric, a factor and the number of digits."""


def _row(title: str, *played: PlayedEnvironment) -> Sequence[str]:
    name, factor, digits = SHOWN[title]
    return (title, *(_interval(one.metrics[name], factor, digits) for one in played))


def _interval(value: Estimate | None, factor: float, digits: int) -> str:
    if value is None:
        return "n/a"
    mean, low, high = (f"{factor * number:.{digits}f}" for number in (value.mean, value.low, value.high))
    return f"**{mean}** [{low}, {high}]"


def page() -> str:
    """The first page with the result between its marks."""
    text = (DOCS / "index.md").read_text("utf-8")
    head, _, rest = text.partition(MARKS[0])
    _, _, tail = rest.partition(MARKS[1])
    return f"{head}{MARKS[0]}\n\n{result()}\n{MARKS[1]}{tail}"


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (PICTURES / name).write_text(svg, "utf-8")
    (DOCS / "index.md").write_text(page(), "utf-8")
