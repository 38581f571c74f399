"""What each method can learn from the data of `table2.py`: the same rules on tables, without a network, same tests.

    python recipes/lmrl/tabular.py [--tasks maze ...] [--discount .95] [--tau .9] [--memory 1] [--json]

A table has a row for every place in the dataset, with a number for each answer there. Places are

    maze          the walker's cell
    maze_partial  the last `memory` moves, and the ways that are open now
    text_nav      the whole world: where things are, what is open, what the walker carries
    wordle        the words that are still possible

and methods are

    BC      an answer as often as the data have it; filtered BC: as often as the selected episodes have it
    MC      the answer with the highest mean return, with `discount` between turns; a limit ends an episode
    ILQL    the answer with the highest Q = r + discount V', where V is the `tau` expectile of Q over the answers in the
            data, iterated until it converges; a limit on turns ends nothing
    best    the same with the maximum in place of the expectile: the best combination of the data

BC samples, the others take the best. If the table has no row, a legal answer is drawn. Endgames have no table, because
few positions occur twice.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common
from small import TASKS, Small
from table2 import FOLDER, format_estimate, normalise_score

from sonde.core import AGENT, Action, AnyPolicy, Episode, EpisodePolicy, Rng, Trajectory
from sonde.envs.maze.grid import MAPS, open_directions
from sonde.train.selection import select_share

Place = Hashable
Table = Mapping[Place, Mapping[str, float]]
SWEEPS = 400


def _recall_state(memory: int, ep: Any) -> Place:
    return open_directions(MAPS["double_t"], ep.state.place), *(turn.info["move"] for turn in ep.turns[-memory:])


def _letter_words(ep: Episode) -> Place:
    known = ep.view().filter
    assert known is not None
    return tuple(map(str, known.belief().hypotheses))


PLACES: Mapping[str, Callable[[int, Any], Place]] = {
    "maze": lambda memory, ep: ep.state.place,
    "maze_partial": _recall_state,
    "text_nav": lambda memory, ep: ep.state.world,
    "wordle": lambda memory, ep: _letter_words(ep),
}
"""By task: from how many moves are remembered, and an episode."""


class Move(NamedTuple):
    """An answer in a place: its reward, the place after it (None at an end), and the return from there on."""

    place: Place
    said: str
    reward: float
    after: Place | None
    to_go: float


def list_moves(
    task: Small, played: Sequence[Trajectory], discount: float, place_of: Callable[[Any], Place]
) -> list[Move]:
    """All answers, by episode. A limit is no end: the place after the last move is then the one before it."""
    env, found = task.game(), list[Move]()
    for t in played:
        places = [place_of(ep) for ep in Episode.stages(env, t) if ep.to_act == AGENT]
        cut = t.outcome is not None and t.outcome.kind == "out_of_turns"
        after = [*places[1:], places[-1] if cut else None]
        rows = [(turn.text, turn.rewards.get(AGENT, 0.0)) for turn in t.turns]
        to_go, mine = 0.0, list[Move]()
        for place, (said, reward), next_place in reversed(list(zip(places, rows, after, strict=True))):
            to_go = reward + discount * to_go
            mine.append(Move(place, said, reward, next_place, to_go))
        found += reversed(mine)
    return found


# --- methods ---------------------------------------------------------------------------------------------------------


def clone_policy(rows: Sequence[Move]) -> dict[Place, dict[str, float]]:
    """The frequency of each answer."""
    found = defaultdict[Place, Counter[str]](Counter)
    for row in rows:
        found[row.place][row.said] += 1
    return {place: dict(counts) for place, counts in found.items()}


def mean_returns(rows: Sequence[Move]) -> dict[Place, dict[str, float]]:
    """The mean return after each answer."""
    found = defaultdict[Place, defaultdict[str, list[float]]](lambda: defaultdict(list))
    for row in rows:
        found[row.place][row.said].append(row.to_go)
    return {place: {said: sum(all_) / len(all_) for said, all_ in mine.items()} for place, mine in found.items()}


def implicit_values(rows: Sequence[Move], discount: float, tau: float) -> dict[Place, dict[str, float]]:
    """Q, where V is the expectile of Q over the recorded answers, at `tau` 1 the maximum."""
    counts = clone_policy(rows)
    after = defaultdict[tuple[Place, str], list[Move]](list)
    for row in rows:
        after[row.place, row.said].append(row)
    value: dict[Place, float] = dict.fromkeys(counts, 0.0)
    q: dict[Place, dict[str, float]] = {}
    for _ in range(SWEEPS):
        q = {
            place: {said: _mean_target(after[place, said], value, discount) for said in mine}
            for place, mine in counts.items()
        }  # fmt: skip
        value = {place: find_expectile(mine, counts[place], tau) for place, mine in q.items()}
    return q


def _mean_target(rows: Sequence[Move], value: Mapping[Place, float], discount: float) -> float:
    return sum(r.reward + (0.0 if r.after is None else discount * value[r.after]) for r in rows) / len(rows)


def find_expectile(values: Mapping[str, float], weights: Mapping[str, float], tau: float) -> float:
    """The point at which deviations above, weighted tau, balance those below, weighted 1 - tau: the maximum for tau 1,
    the mean for 1/2."""
    if tau == 1.0:
        return max(values.values())
    found = max(values.values())
    for _ in range(60):
        pull = {said: weights[said] * (tau if value >= found else 1 - tau) for said, value in values.items()}
        new = sum(pull[said] * value for said, value in values.items()) / sum(pull.values())
        if abs(new - found) < 1e-9:
            break
        found = new
    return found


# --- playing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TablePlayer(EpisodePolicy):
    """Says the answer with the highest number, or draws in proportion to the numbers; without a row, a legal answer."""

    table: Table = field(metadata={"config": False})
    place_of: Callable[[Any], Place] = field(metadata={"config": False})
    draws: bool = False

    async def choose_action(self, ep: Episode, policies: Mapping[str, AnyPolicy]) -> Action:
        view = ep.view()
        rng, row = Rng(view.seed), self.table.get(self.place_of(ep))
        if row is None:
            return Action(view.say(rng.choice(list(view.legal or ()))))
        if not self.draws:
            return Action(max(row, key=row.__getitem__))
        return Action(rng.choices(list(row), list(row.values()))[0])


def make_tables(
    task: Small, played: Sequence[Trajectory], discount: float, tau: float, place_of: Callable[[Any], Place]
) -> dict[str, tuple[Table, bool]]:
    """Every method's table, and whether play draws from it."""
    rows = list_moves(task, played, discount, place_of)
    kept = list_moves(task, select_share(played, task.filtered).trajectories, discount, place_of)
    return {
        "BC": (clone_policy(rows), True),
        "%BC": ({**clone_policy(rows), **clone_policy(kept)}, True),
        "MC": (mean_returns(rows), False),
        "ILQL": (implicit_values(rows, discount, tau), False),
        "best": (implicit_values(rows, discount, 1.0), False),
    }


def measure_task(task: Small, out: Path, discount: float, tau: float, memory: int) -> list[dict[str, Any]]:
    known, place_of = common.measure_known(task, out), partial(PLACES[task.name], memory)
    rows: list[dict[str, Any]] = []
    for name, (table, draws) in make_tables(task, common.load_dataset(task, out), discount, tau, place_of).items():
        policy = TablePlayer(table=table, place_of=place_of, draws=draws)
        found = common.list_returns(task, policy, task.k)
        raw = [sum(mine) / len(mine) for mine in found["returns"]]
        row = {"drawn": found, "cpu_seconds": 0.0}
        rows.append({
            "method": name, "score": normalise_score(task, known, [row]), "return": sum(raw) / len(raw),
            "success": found["success"], "paper": task.paper.get(name),
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--discount", type=float, default=0.95)
    parser.add_argument("--tau", type=float, default=0.9)
    parser.add_argument("--memory", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"folder of datasets (default {FOLDER})")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = {name: measure_task(TASKS[name], args.out, args.discount, args.tau, args.memory) for name in args.tasks}
    if args.json:
        print(json.dumps(found, default=vars))
        return
    for name, rows in found.items():
        print(f"\n**{name}**, tables\n")
        for row in rows:
            paper = "" if row["paper"] is None else f"{row['paper']:.2f}"
            cells = [
                row["method"],
                format_estimate(row["score"]),
                f"{row['return']:.2f}",
                paper,
                f"{row['success']:.2f}",
            ]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
