"""Multi-Turn Puzzles, section 3.3, at every turn: one player begins a conversation, another finishes it.

    python recipes/mtp/handover.py [--first AGENT|MODEL] [--then AGENT|MODEL] [--env NAME] [--turns 0,5,10,11]
    python recipes/mtp/handover.py --first http:SMALL --then http:LARGE --base-url http://localhost:8000/v1 --tasks 50
    python recipes/mtp/handover.py --first http:SMALL --then http:LARGE --base-url http://localhost:8000/v1 --dry-run

`--first` plays the turns below t, `--then` the others (`agents:switch`), for every t from 0 (`--then` alone) to the
number of turns (`--first` alone); with --both also in the reverse order. A player is an agent of sonde or a model in
the short form of `sonde eval --model`. The paper has one point of this curve: Gemini 2.5 Pro and Gemini 2.0 Flash on
movie recommendation, with a hand-over before the last turn. By default the players here are scripted: the reference
(`movie_recommendation`) and `movie_recommendation_lookalike`, which asks for ratings down the list and picks the movie
most like the favourite.

The score is the mean return of an episode, in movie recommendation the normalised rank of the pick (0.5 by chance). The
95 % intervals resample tasks; `gain`, the value of handing over at this turn, is the difference from `--first` alone,
paired by task.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import sonde
from sonde.cli.estimate import PlannedPlay, print_estimate
from sonde.cli.players import model_config
from sonde.cli.terminal import out
from sonde.core import Env, Policy, UserError, build, default_policies, invalid, names, run_sync
from sonde.evaluation import metrics
from sonde.evaluation.metrics import Estimate
from sonde.runs.rollout import Plan, collect_trajectories

sys.path.append(str(Path(__file__).parents[1]))
from rows import save_table

STRONG, WEAK = "movie_recommendation", "movie_recommendation_lookalike"


class Point(NamedTuple):
    """A hand-over at a turn: the mean score, and its difference from the first player alone."""

    turn: int
    score: Estimate
    gain: Estimate


def score_handover(env: Env[Any], players: Sequence[Policy], turn: int, args: argparse.Namespace) -> list[list[float]]:
    """Play the test split; one row of k returns per task."""
    first, then = players
    policy = sonde.make("agents:switch", first=first, then=then, turn=turn)
    tasks = env.tasks("test")[: args.tasks]
    played = collect_trajectories(env, {"agent": policy}, tasks, Plan(k=args.k), keep_open=True)
    return metrics.group_by_task((t.task.id, sum(turn.rewards.get("agent", 0.0) for turn in t.turns)) for t in played)


def draw_curve(env: Env[Any], first: str, then: str, turns: Sequence[int], args: argparse.Namespace) -> list[Point]:
    """Measure the score of a hand-over at each of these turns."""
    players = [build(player_config(name, url, env)) for name, url in ((first, args.base_url), (then, args.base_url))]
    try:
        rows = {t: score_handover(env, players, t, args) for t in sorted({*turns, env.spec.max_turns})}
    finally:
        for player in players:
            run_sync(player.close())
    alone, bounds = rows[env.spec.max_turns], env.spec.reward_range
    return [
        Point(t, metrics.mean(rows[t], bounds=bounds), metrics.paired_difference(rows[t], alone, bounds=bounds))
        for t in turns
    ]


def plan_curve(
    env: Env[Any], first: str, then: str, turns: Sequence[int], args: argparse.Namespace
) -> Iterator[PlannedPlay]:
    """The episodes of a curve, to estimate their cost: as `draw_curve` plays them."""
    task, *more = env.tasks("test")[: args.tasks]
    for turn in sorted({*turns, env.spec.max_turns}):
        players = {"first": player_config(first, args.base_url, env), "then": player_config(then, args.base_url, env)}
        seats = {**default_policies(env), "agent": build({"name": "agents:switch", **players, "turn": turn})}
        yield PlannedPlay(env, seats, task, (1 + len(more)) * args.k, name=f"{first}, then {then}, turn {turn}")


def player_config(name: str, base_url: str | None, env: Env[Any]) -> dict[str, Any]:
    """The configuration of a player: an agent of sonde by its name, or a language model in the agent's seat."""
    if name in names("agents"):
        return {"name": f"agents:{name}"}
    served = base_url if name.partition(":")[0] in ("http", "vllm", "sglang") else None
    return {"name": "agents:llm", "model": model_config(name, served)}


def read_turns(text: str | None, most: int) -> list[int]:
    """The turns of the hand-overs, by default all."""
    if text is None:
        return [*range(most + 1)]
    turns = [int(word) if word.isdecimal() else -1 for word in text.split(",")]
    if not all(0 <= t <= most for t in turns):
        raise invalid("handover.py: turns", text, f"numbers from 0 to {most} with commas between them")
    return turns


def save_figure(curves: Mapping[str, Sequence[Point]], file: Path, title: str) -> None:
    """Write the curves as SVG."""
    from sonde.viewer.figures.axes import AgentStyle, Line, draw_lines

    lines = [
        Line(AgentStyle.from_number(i, name, i), [p.score for p in points], [p.turn for p in points])
        for i, (name, points) in enumerate(curves.items())
    ]
    labels = {"xlabel": "turns of the first player", "ylabel": "score"}
    file.write_text(draw_lines(lines, title, labels).to_svg("handover"), "utf-8")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", default=WEAK, help="who begins: an agent, or a model such as http:NAME")
    parser.add_argument("--then", default=STRONG, help="who finishes")
    parser.add_argument("--base-url", help="address of the endpoint of http:NAME")
    parser.add_argument("--env", default="movie_recommendation", help="environment")
    parser.add_argument("--turns", help="hand over at these turns only, with commas between them")
    parser.add_argument("--both", action="store_true", help="also the other way round")
    parser.add_argument("--tasks", type=int, default=1000, help="test tasks")
    parser.add_argument("--k", type=int, default=1, help="episodes per task")
    parser.add_argument("--dry-run", action="store_true", help="only estimate the number of calls and tokens")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--figure", type=Path, help="also write the curves to this SVG file")
    parser.add_argument("--save", help="keep the table for the page of the paper under this name")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    env = sonde.make(args.env)
    turns = read_turns(args.turns, env.spec.max_turns)
    pairs = [(args.first, args.then)] + [(args.then, args.first)] * args.both
    if args.dry_run:
        planned = [play for first, then in pairs for play in plan_curve(env, first, then, turns, args)]
        print_estimate(planned, out, args.json)
        return
    curves = {f"{first}, then {then}": draw_curve(env, first, then, turns, args) for first, then in pairs}
    if args.json:
        cells = {
            name: [{"turn": p.turn, "score": asdict(p.score), "gain": asdict(p.gain)} for p in points]
            for name, points in curves.items()
        }
        print(json.dumps({"env": args.env, "tasks": args.tasks, "k": args.k, "curves": cells}, indent=1))
    else:
        for name, points in curves.items():
            print(f"{env.spec.name}: {name}\n{'turn':>6}  {'score':24}gain over the first alone")
            print("\n".join(f"{p.turn:6}  {p.score!s:24}{p.gain!s}" for p in points))
    if args.figure is not None:
        save_figure(curves, args.figure, f"Score by the turn of the hand-over in {env.spec.name}")
    if args.save:
        write_table(curves, args)


def write_table(curves: Mapping[str, Sequence[Point]], args: argparse.Namespace) -> None:
    """Save a table with one row per turn, and two columns per order of the players."""
    columns = ["turns of the first", *(f"{name}: {of}" for name in curves for of in ("score", "gain"))]
    cells = zip(*([(p.turn, str(p.score), str(p.gain)) for p in points] for points in curves.values()), strict=True)
    rows = [[str(points[0][0]), *(cell for _, *pair in points for cell in pair)] for points in cells]
    words = iter(sys.argv[1:])
    kept = [word for word in words if word not in ("--save", "--figure") or next(words) is None]
    command = " ".join(["python recipes/mtp/handover.py", *kept])
    save_table("mtp", args.save, command, columns, rows, [0], time.process_time())


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from None
