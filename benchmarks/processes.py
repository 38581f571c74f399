"""Speed-up by processes: runs of CPU-bound and of waiting players, recorded by 1 to N processes.

python benchmarks/processes.py [CASE ...] [--processes 1 2]

`entropy` and `random` play Mastermind, `circuit_decoding` decodes circuits, `rule_user` is twenty questions against
the rule user, `endpoint` waits for a model that takes 50 ms per reply. Every run is a `sonde rollout` of its own:
starting the interpreters is in its seconds. Those of CPU are of all processes together: divided by their number they
are what the run takes on a machine with a core for each that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FAKE = {"name": "models:fake", "latency": 0.05, "pattern": ["<Answer>{0|1|2|3}{0|1|2|3}{0|1|2|3}{0|1|2|3}</Answer>"]}
MAIN = "from sonde.cli import main; main()"
CASES: dict[str, tuple[str, ...]] = {
    "entropy": ("mastermind", "--agent", "entropy"),
    "split_probe": ("circuit_decoding", "--agent", "reference", "-n", "200"),
    "rule_user": ("twenty_questions", "--agent", "reference", "-n", "300"),
    "random": ("mastermind", "--agent", "random", "-k", "8"),
    "endpoint": ("mastermind", "--concurrency", "64", "--config"),
}


def measure_processes(case: str, processes: int, folder: Path) -> tuple[float, float, int]:
    """Seconds and CPU seconds of one run, and its episodes."""
    file = folder / "endpoint.json"
    file.write_text(json.dumps({"seats": {"agent": {"name": "agents:llm", "model": FAKE}}}))
    env, *options = CASES[case]
    options += [str(file)] * (options[-1] == "--config")
    command = [
        sys.executable,
        "-c",
        "from sonde.cli import main; main()",
        "rollout",
        env,
        str(folder / "run"),
        *options,
    ]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, "--processes", str(processes)], check=True, capture_output=True, text=True)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, cpu, int(done.stdout.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2])
    given = parser.parse_args()
    for case in given.cases:
        for n in given.processes:
            with tempfile.TemporaryDirectory() as folder:
                took, cpu, episodes = measure_processes(case, n, Path(folder))
            line = f"{took:6.1f} s, {cpu:6.1f} s of CPU, {episodes} episodes, {episodes / took:6.1f}/s"
            print(f"{case:12} {n} processes: {line}", flush=True)


if __name__ == "__main__":
    main()
