"""Cost of rule users: loading their knowledge, a turn with them, and ten thousand concurrent conversations.

python benchmarks/dialogue.py load     CPU seconds until the first reply, minimum of five fresh processes each
python benchmarks/dialogue.py turn     CPU microseconds to parse and reply, over messages not seen before
python benchmarks/dialogue.py free     the same over the hand-written messages of the tests of truthfulness
python benchmarks/dialogue.py many     10,000 concurrent episodes of each environment, random agent: seconds and MB

Budgets: 0.3 s to load, 200 us for a turn in twenty questions and cities.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sonde
from sonde.core import AGENT, Episode
from sonde.runs.rollout import Plan, collect_trajectories

ENVS = (
    "twenty_questions",
    "guess_my_city",
    "customer_service",
    "murder_mystery",
    "car_dealer",
    "user_personalization",
)
EPISODES = 10_000
TRUTH = Path(__file__).parents[1] / "tests" / "truth"
_LOAD = """
import time, sonde
env = sonde.make({name!r})
begun = time.process_time()
sonde.SeatedPolicies(env).reset(env.tasks("train")[0])
view = sonde.Episode.begin(env, env.tasks("train")[0]).step({said!r}).view("user")
sonde.core.default_policies(env)["user"].act_now(view)
print(time.process_time() - begun)
"""


def load_users(name: str) -> str:
    """CPU seconds from an environment object to the user's first reply."""
    code = _LOAD.format(name=name, said="Is it something you have seen before?")
    runs = (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5))
    return f"{min(float(run.stdout) for run in runs):.3f} s"


def list_messages(env: Any, n: int) -> list[str]:
    """Legal answers, each made a message of its own by a preamble, so that nothing remembered helps."""
    rng = random.Random(0)
    legal = Episode.begin(env, env.tasks("train")[0]).view().legal or ()
    return [f"Well, that is {i} so far. {env.say(rng.choice(legal))}" for i in range(n)]


def read_written(name: str) -> list[str]:
    """The messages of `tests/truth`, each once, in a fixed random order; of some environments there are none."""
    rows = (
        json.loads(row)
        for path in sorted(TRUTH.glob(f"{name}.[fo][rp]e*.jsonl"))
        for row in path.read_text("utf-8").splitlines()
    )
    found = sorted({str(row.get("question") or row.get("message")) for row in rows})
    random.Random(0).shuffle(found)
    return found


def make_free_text(name: str) -> str:
    """As `time_turn`, over messages in people's own words, most of them none of the environment's."""
    said = read_written(name)
    return _time_call(name, said, len(said) // 2) if said else "no messages"


def time_turn(name: str, n: int = 3000, warm: int = 1000) -> str:
    """The user's share of a turn: reading a new message, replying, and the environment passing both on. The first
    `warm` messages are told apart: patterns and tables are made when they are first needed."""
    return _time_call(name, list_messages(sonde.make(name), n), warm)


def _time_call(name: str, said: list[str], warm: int) -> str:
    env = sonde.make(name)
    user = sonde.core.default_policies(env)["user"]
    tasks = env.tasks("train")
    spent: tuple[list[float], list[float]] = ([], [])
    for i, message in enumerate(said):
        ep = Episode.begin(env, tasks[i % len(tasks)])
        begun = time.process_time()
        ep = ep.step(message)
        if ep.to_act == "user":
            ep.step(user.act_now(ep.view("user")))
        spent[i >= warm].append(time.process_time() - begun)
    first, later = (1e6 * sum(some) / len(some) for some in spent)
    return f"{later:.0f} us (the first {warm:,} messages {first:.0f} us)"


def time_many(name: str) -> str:
    """Wall seconds and peak memory of 10,000 episodes begun at once."""
    env = sonde.make(name)
    tasks = env.tasks("train")
    plan = Plan(k=-(-EPISODES // len(tasks)), concurrency=EPISODES)
    agent = sonde.make("agents:user_personalization_floor" if name == "user_personalization" else "agents:random")
    begun = time.perf_counter()
    found = collect_trajectories(env, {AGENT: agent}, tasks, plan)
    seconds = time.perf_counter() - begun
    turns = sum(len(t.turns) for t in found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{len(found)} episodes, {turns} turns in {seconds:.1f} s, {turns / seconds:,.0f} turns/s, {peak:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("load", "turn", "free", "many"))
    parser.add_argument("env", nargs="?", choices=ENVS)
    args = parser.parse_args()
    measure = {"load": load_users, "turn": time_turn, "free": make_free_text, "many": time_many}[args.kind]
    for name in (args.env,) if args.env else ENVS:
        print(f"{name:22} {measure(name)}", flush=True)


if __name__ == "__main__":
    main()
