"""A thousand trials of the classic exploration agents, through the ordinary rollout: CPU seconds (budget: 30 each).

python benchmarks/psrl.py thompson    Thompson sampling on the Bernoulli bandit, T = 100
python benchmarks/psrl.py psrl        tabular PSRL on RiverSwim of 3 caves, H = 6, K = 35
python benchmarks/psrl.py lock        the Bayes-optimal policy on the combination lock
"""

from __future__ import annotations

import argparse
import resource
import time

import sonde
from sonde.evaluation import regret
from sonde.runs.rollout import Plan, collect_trajectories

RUNS = {
    "thompson": ("bernoulli_bandit", "thompson"),
    "psrl": ("river_swim", "psrl"),
    "lock": ("combination_lock", "combination_lock"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=RUNS)
    parser.add_argument("--trials", type=int, default=1000)
    args = parser.parse_args()
    env_name, agent = RUNS[args.kind]
    env = sonde.make(env_name)
    tasks = env.tasks("train")
    k = -(-args.trials // len(tasks))
    begun, wall = time.process_time(), time.perf_counter()
    played = collect_trajectories(
        env, {"agent": sonde.make(f"agents:{agent}")}, tasks[: -(-args.trials // k)], Plan(k=k)
    )
    cpu, wall = time.process_time() - begun, time.perf_counter() - wall
    curve = regret.cumulative_regret(regret.regret_table(env, played))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    turns = sum(len(t.turns) for t in played)
    print(
        f"{args.kind}: {len(played)} trials, {turns} turns in {cpu:.1f} s of CPU ({wall:.1f} s), {turns / cpu:,.0f} "
        f"turns/s, {peak:.0f} MB; regret {curve.mean[-1]:.3f} ± {curve.error[-1]:.3f}"
    )


if __name__ == "__main__":
    main()
