"""Write a page per environment, and the gallery with links to them, from code, playthroughs and shipped data.

    python docs/build_environments.py [NAME ...]

Only the rules are written by hand, in `environments/rules.toml`; facts of `spec` are added to them. The playthrough is
the first golden one, with gains by the environment's own filter; floor and ceiling are those shipped with sonde; papers
and departures come from the module's docstring. The contents of `info` come from episodes played with legal and with
hostile answers (`sonde.testing.EnvProbe`). `tests/docs/test_environments.py` fails when a page is out of date.
"""

from __future__ import annotations

import inspect
import json
import runpy
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sonde
from sonde.core import Env, Episode, Gain, Rng, Turn, View, playthrough
from sonde.core.registry import env_folder
from sonde.core.types import Json
from sonde.evaluation import results, suites
from sonde.evaluation import scale as reference
from sonde.evaluation.information_gain import has_assumed_policies
from sonde.testing import EnvProbe
from sonde.testing.probe import mixed_reply, sensible_reply

WRITTEN = runpy.run_path(str(Path(__file__).parent / "written.py"))
flat, table, prose, arguments = (WRITTEN[name] for name in ("flat", "table", "prose", "arguments"))

FOLDER = Path(__file__).parent / "environments"
NOTE = "<!-- Written by `python docs/build_environments.py`; do not edit. -->"
PRESET_COLUMNS = ("preset", "source", "turns", "train, test tasks", "`public`", "rewards", "floor", "reference")
EPISODES, TURNS = 40, 4000
"""Numbers of episodes and turns to play; of long episodes fewer are played, but at least 8."""
PATIENCE = 400
"""Turns beyond which 3 episodes are enough."""
_LONGEST = 60
SHOWN = (5, 2)
"""Turns of a playthrough that are shown: the first ones and the last."""
SAID = 600
"""Characters of a message that are shown."""
KINDS = {
    "Puzzles and boards": ("battleship", "best_arm", "cellular_automata", "mastermind", "minesweeper", "wordle"),
    "Conversations": (
        *("car_dealer", "customer_service", "guess_my_city", "murder_mystery", "twenty_questions"),
        "user_personalization",
    ),
    "Walks and games": ("chess", "maze", "text_nav"),
    "Multi-Turn Puzzles": (
        *("circuit_decoding", "movie_recommendation", "twenty_questions_answerer", "word_chaining", "word_guess"),
    ),
    "Several sub-episodes in one world": (
        *("bernoulli_bandit", "combination_lock", "customer_service_bandit", "letter_wordle", "river_swim"),
    ),
}
LINES = {
    "hidden": "Hidden",
    "say": "Answers",
    "back": "Reply",
    "end": "End",
    "rewards": "Rewards",
}
"""The keys of the five lines of rules in `rules.toml`, and their titles."""
USERS = "../users-and-models.md"
DIFFICULTIES = {"easy": 0.2, "medium": 0.02, "hard": 0.0}
"""The minimum share of games that random play wins, by difficulty."""
PRIORS = 10
"""The number of test tasks whose priors are averaged."""
RESULTS = Path(__file__).parents[1] / "results"
OTHERS = "More"
"""The kind of environments that no kind above names."""


def pages(only: Sequence[str] = ()) -> dict[str, str]:
    """The pages by file name, the gallery among them."""
    found = {f"{name}.md": environment(name) for name in sonde.names("envs") if not only or name in only}
    return found if only else {"index.md": gallery(), **found}


def gallery() -> str:
    """Every environment as a card, with the facts by which `gallery.js` filters."""
    cards = [_card(name, kind) for kind, names in _kinds().items() for name in names]
    return (
        f"# Environments\n\n{NOTE}\n\nThe pictures show the end of a recorded game, as [`sonde view`](../viewer.md) "
        "draws it, with the hidden part faint. *Difficulty* is what random legal play wins: easy from "
        f"{DIFFICULTIES['easy']:.0%}, medium from {DIFFICULTIES['medium']:.0%}, hard below. *Beliefs* are exact "
        "posteriors, which give bits, efficiency and the best question.\n\n"
        f'<div class="gallery" markdown="block">\n\n{"".join(cards)}</div>\n'
    )


def _kinds() -> dict[str, tuple[str, ...]]:
    """Environments by their kind, with those that no kind names at the end."""
    placed = {name for names in KINDS.values() for name in names}
    rest = tuple(name for name in sonde.names("envs") if name not in placed)
    return {**KINDS, **({OTHERS: rest} if rest else {})}


def _card(name: str, kind: str) -> str:
    cls: Any = sonde.core.find(name)
    made: list[Env[Any]] = [sonde.make(name, preset=preset) for preset in cls.presets]
    spec, measured = made[0].spec, _find_results(name)
    bits = next(filter(None, map(_prior_bits, made)), None)
    wins = {role: _mean(played, "success") for role, played in measured.items()}
    others = ", ".join(seat for seat in spec.seats if seat != "agent") or "none"
    facts = {
        "suite": [suite for suite in suites.TITLES if name in dict(suites.suite_environments(suite))],
        "kind": [kind],
        "beliefs": ["yes" if bits else "no"],
        "partner": [others],
        "difficulty": [next(level for level, least in DIFFICULTIES.items() if wins["floor"] >= least)],
    }
    data = " ".join(f'data-{key}="{"|".join(values)}"' for key, values in facts.items())
    told = [
        f"Random play wins {wins['floor']:.0%}, the reference {wins['reference']:.0%} in "
        f"{_mean(measured['reference'], 'turns'):.1f} turns.",
        f"{bits:.1f} bits are hidden." if bits else "No exact beliefs.",
        *([f"Partner: {others}."] if others != "none" else []),
        f"Suites: {', '.join(facts['suite'])}.",
    ]
    return (
        f'<article markdown="block" {data}>\n\n[![{name}](../gallery/{name}.svg)]({name}.md){{ .picture }}\n\n'
        f"### [{name}]({name}.md)\n\n{spec.summary[:1].upper()}{spec.summary[1:]}.\n\n"
        f"{' '.join(told)}\n{{ .facts }}\n\n</article>\n\n"
    )


def _prior_bits(env: Env[Any]) -> float | None:
    """Mean entropy of the prior over the first test tasks; None without an exact posterior."""
    priors = [env.filter(task.public) for task in env.tasks("test")[:PRIORS]]
    known = [float(prior.entropy) for prior in priors if prior is not None]
    return sum(known) / len(known) if known else None


def _mean(played: results.PlayedEnvironment, metric: str) -> float:
    value = played.metrics[metric]
    if value is None:
        raise SystemExit(f"{played.env_and_preset[0]}: no {metric} in its results")
    return value.mean


def _find_results(name: str) -> dict[str, results.PlayedEnvironment]:
    """The results of floor and reference, in the first suite that has the environment."""
    for suite in ("paprika", *suites.TITLES):
        found = {
            role: played
            for role in ("floor", "reference")
            for played in results.read_result(RESULTS / f"{suite}--{role}.json").environments
            if played.env_and_preset[0] == name
        }
        if found:
            return found
    raise SystemExit(f"{name}: no suite has measured floor and reference of it; see docs/leaderboard.md")


def environment(name: str) -> str:
    """The page of one environment."""
    cls: Any = sonde.core.find(name)
    made: list[Env[Any]] = [sonde.make(name, preset=preset) for preset in cls.presets]
    title, about = WRITTEN["split_summary"](sys.modules[cls.__module__].__doc__ or "")
    parts = [
        f"# {name}\n\n{NOTE}\n\n{title}\n\n![{name}](../gallery/{name}.svg)\n",
        f"## Rules\n\n{_rules(name, made[0])}",
        f"```sh\nsonde play {name}\nsonde eval {name} --agent reference\n```\n",
        f"## A playthrough\n\n{_playthrough(name, made[0])}",
        f"## Floor and ceiling\n\n{_ends(made)}",
        f"## Exact posterior\n\n{_prior_table(made)}",
        f"## Papers and departures\n\n{prose(about)}\n{_departures(made)}",
        f"## In Python\n\n{_python(cls, made[0])}",
        "The contents of `turn.info`, by its `result`:\n\n" + table(("result", "facts"), _info(made)),
    ]
    return "\n".join(part for part in parts if part)


@cache
def rules() -> Mapping[str, Mapping[str, str]]:
    """Each environment's rules: a text for each of `LINES`."""
    return tomllib.loads((FOLDER / "rules.toml").read_text("utf-8"))


def _rules(name: str, env: Env[Any]) -> str:
    """The rules in five lines, and facts of `spec`: the other seats and the limits."""
    spec, written = env.spec, rules()[name]
    lines = {label: flat(written[key].format(turns=f"{spec.max_turns:,}")) for key, label in LINES.items()}
    lines["Other seats"] = _seats(spec.seats)
    low, high = spec.reward_range
    first, last = (_example(turn.text) for turn in (_golden(name, env).turns[0], _golden(name, env).turns[-1]))
    numbers = (
        f"Preset `{spec.preset}` has at most {spec.max_turns:,} turns, rewards from {low:g} to {high:g} per turn, and "
        f"by default replies of up to {spec.max_new_tokens:,} tokens. In the playthrough below, the agent begins with "
        f"{first} and ends with {last}."
    )
    unread = EnvProbe(env=env, episodes=1).play_episode(0, lambda view, _: "hello", "catalogue")
    if unread.outcome is not None and unread.outcome.kind == "unreadable":
        numbers += " A message without `<Answer> ... </Answer>` ends the episode."
    return "".join(f"- **{label}:** {text}\n" for label, text in lines.items()) + f"\n{numbers}\n"


def _seats(seats: Mapping[str, str | None]) -> str:
    """The seats other than the agent's."""
    others = [
        f"`{seat}`, played by [{policy}]({USERS}#{policy.replace(':', '')}) by default"
        for seat, policy in seats.items()
        if policy
    ]
    return f"{', '.join(others)}." if others else "none."


def _example(text: str) -> str:
    """A message on one line, without the thinking before it."""
    said = flat(text.rpartition("</Think>")[2])
    return WRITTEN["code"](said if len(said) <= 2 * _LONGEST else f"{said[: 2 * _LONGEST].rstrip()} ...")


# --- a playthrough --------------------------------------------------------------------------------------------------


@cache
def _golden(name: str, env: Env[Any]) -> Episode:
    text = (env_folder(name) / "golden" / f"{name}.{env.spec.preset}.0.txt").read_text("utf-8")
    return playthrough.read_playthrough(text).replay_episode()


def _playthrough(name: str, env: Env[Any]) -> str:
    ep = _golden(name, env)
    opening = Episode.begin(ep.env, ep.task, seed=ep.seed).view().messages[0].content
    gains = ep.gains(expected=True) if has_assumed_policies(env.spec, ep.to_trajectory()) else None
    parts = [f"The first message:\n\n```text\n{_shorten_text(opening, 4 * SAID)}\n```\n"]
    first, last = SHOWN
    turns = list(ep.turns)
    shown = turns if len(turns) <= first + last + 1 else [*turns[:first], *turns[-last:]]
    for turn in shown:
        if len(shown) < len(turns) and turn is shown[first]:
            parts.append(f"*{len(turns) - len(shown)} turns later:*\n")
        parts.append(_turn(turn, gains))
    outcome = ep.outcome
    if outcome is not None:
        parts.append(f"Outcome: {outcome.kind} after {len(turns)} turns, score {outcome.score:g}.\n")
    return "\n".join(parts)


def _turn(turn: Turn, gains: Sequence[Gain] | None) -> str:
    said = f"```text\n{_shorten_text(turn.text)}\n```\n"
    told = f"\n```text\n{_shorten_text(turn.told)}\n```\n" if turn.told else ""
    return f"**Turn {turn.index + 1}**{_bits(gains[turn.index]) if gains else ''}\n\n{said}{told}"


def _bits(gain: Gain) -> str:
    gained = f" gained {gain.realised + 0.0:.2f} bits"
    if gain.best is None or gain.expected is None:
        return gained
    return f"{gained} (expected {gain.expected:.2f}, best question {gain.best:.2f})"


def _shorten_text(text: str, most: int = SAID) -> str:
    text = text.replace("```", "'''").strip()
    return WRITTEN["wrap_lines"](text if len(text) <= most else f"{text[:most].rstrip()} ...")


# --- tables ---------------------------------------------------------------------------------------------------------


def _ends(made: Sequence[Env[Any]]) -> str:
    """The presets, with the results at both ends of the scale."""
    told = (
        "Mean returns on the test split with 95 % intervals, by task (`python -m sonde.evaluation.scale`): a score of "
        "0 is the floor, 100 the reference.\n"
    )
    return f"{told}\n{table(PRESET_COLUMNS, map(_preset, made))}"


def _preset(env: Env[Any]) -> tuple[str, ...]:
    spec = env.spec
    sizes = ", ".join(f"{len(env.tasks(split)):,}" for split in env.splits)
    low, high = spec.reward_range
    found = reference.load_entries().get(reference.scale_fingerprint(env)) if spec.reference else None
    floor, top = (_score(found, role, getattr(spec, role)) for role in ("floor", "reference"))
    public = ", ".join(sorted(env.tasks("train")[0].public)) or "-"
    return (f"`{spec.preset}`", spec.source, str(spec.max_turns), sizes, public, f"{low:g} to {high:g}", floor, top)


def _score(entry: Mapping[str, Json] | None, role: str, agent: str) -> str:
    """The policy, with its mean return and interval if they were measured."""
    if entry is None:
        return f"`{agent}`" if agent else "none"
    score = entry[role]["score"]
    return f"`{agent}`: {score['mean']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _prior_table(made: Sequence[Env[Any]]) -> str:
    """The support and the entropy of each preset's prior."""
    rows: list[tuple[str, str, str]] = []
    for env in made:
        task = env.tasks("test")[0]
        prior = env.filter(task.public)
        held = "no exact posterior, so bits are n/a" if prior is None else f"{float(prior.entropy) + 0.0:.2f}"
        rows.append((f"`{env.spec.preset}`", env.spec.support, held))
    assumed = ", ".join(f"`{policy}` in the seat `{seat}`" for seat, policy in made[0].spec.assumes.items())
    note = f"\nThe posterior assumes {assumed}; with another policy there, bits are n/a.\n" if assumed else ""
    return table(("preset", "support of the prior", "entropy of the prior in bits, first test task"), rows) + note


def _departures(made: Sequence[Env[Any]]) -> str:
    found = dict.fromkeys(text for env in made for text in env.spec.departures)
    return "\nDepartures in brief:\n\n" + "".join(f"- {text}\n" for text in found) if found else ""


def _python(cls: Any, env: Env[Any]) -> str:
    hidden = flat(cls.task.__doc__ or inspect.getdoc(cls.task) or "")
    return f"Version {env.spec.version}. {arguments(cls)}\n`env.task(hidden)`: {hidden}\n"


# --- what turns tell ------------------------------------------------------------------------------------------------


def _info(made: Iterable[Env[Any]]) -> list[tuple[str, str]]:
    """Every observed `result`, with one example of the other facts in the same turn."""
    found: dict[str, dict[str, Json]] = {}
    for env in made:
        turns = env.spec.max_turns
        least = 8 if turns <= PATIENCE else 3
        for turn in _turns(EnvProbe(env=env, episodes=max(least, min(EPISODES, TURNS // turns)))):
            facts = {k: v for k, v in turn.info.items() if v is not None}
            found.setdefault(str(facts.pop("result", "")), {}).update(facts)
    return [(f"`{result}`" if result else "no result", _facts(facts)) for result, facts in sorted(found.items())]


def _turns(probe: EnvProbe) -> Iterator[Turn]:
    """Turns of legal play, of legal and hostile play, of play that repeats itself, and of the reference."""
    for i in range(probe.episodes):
        for reply in (sensible_reply, mixed_reply, _repeating):
            yield from probe.play_episode(i, reply, "catalogue").turns
    if policy := probe.reference:
        act = policy.act_now
        for i in range(probe.episodes // 8):
            yield from probe.play_episode(i, lambda view, _: act(view).text).turns


def _repeating(view: View, rng: Rng) -> str:
    """Repeat the last message with probability 1/3."""
    said = [m.content for m in view.messages if m.role == "assistant"]
    return said[-1] if said and rng.random() < 1 / 3 else sensible_reply(view, rng)


def _facts(facts: Mapping[str, Json]) -> str:
    return ", ".join(f"`{key}`: `{_short(value)}`" for key, value in facts.items()) or "-"


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def main(only: Sequence[str]) -> None:
    """Write the pages, or those named."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages(only).items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
