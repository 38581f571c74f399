"""Whether an installed sonde works where there is nothing else: no extra, no checkout, no tests.

    python -I tests/package/smoke.py        # by the interpreter of a bare environment, in an empty folder

One recorded game of every environment is replayed by what was installed, with its posterior, and the commands that a
newcomer types first run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import sonde
from sonde.core.playthrough import golden_playthroughs

NEEDS = {"chess": "sonde-rl[chess]"}
"""Environments whose games need an extra, and what the error names."""


def replay_games() -> int:
    """Replay a game of every environment; the number of those with an exact posterior."""
    known = 0
    for name in sonde.names("envs"):
        env = sonde.make(name)
        game = golden_playthroughs(name, env.spec.preset)[0]
        if name in NEEDS:
            _expect_missing_extra(name)
            continue
        ep = game.replay_episode()
        assert ep.outcome is not None and ep.turns, name
        known += ep.posterior() is not None
    return known


def _expect_missing_extra(name: str) -> None:
    try:
        env = sonde.make(name)
        sonde.Episode.begin(env, env.tasks("test")[0])
    except (sonde.SondeError, ImportError) as error:
        assert NEEDS[name] in str(error), error
    else:
        raise AssertionError(f"{name}: works without its extra")


def run_command(*arguments: str) -> str:
    """What a command prints; it must succeed."""
    command = [str(Path(sys.executable).with_name("sonde")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def main() -> None:
    where = Path(sonde.__file__).resolve()
    assert "site-packages" in where.parts, f"not the installed package: {where}"
    assert not any(find_spec(name) for name in ("torch", "transformers", "matplotlib", "pytest"))
    known = replay_games()
    assert known > 15
    assert run_command("--version").strip()
    assert "wordle" in run_command("list", "envs") and "paprika" in run_command("show", "wordle")
    [row] = json.loads(run_command("eval", "wordle", "--agent", "entropy", "-n", "2", "-k", "1", "--json"))
    assert row["metrics"]["success"]["mean"] == 1.0, row["metrics"]
    [run] = Path("runs").iterdir()
    assert "bits" in run_command("read", str(run))
    print(f"replayed {len(sonde.names('envs')) - len(NEEDS)} environments, {known} with exact posteriors; commands run")


if __name__ == "__main__":
    main()
