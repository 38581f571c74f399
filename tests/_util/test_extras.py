"""Optional packages: what is missing is named with the extra that brings it."""

import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from sonde._util.extras import DISTRIBUTION, list_extras, missing_extra, require_extra
from sonde.core import UserError

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {blocked!r} else real(name, package)
sys.argv = ["sonde", *{argv!r}]
from sonde.cli import main
main()
"""
"""The command in a Python that has none of the optional packages: they are hidden, nothing of ours is replaced."""


def command(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    code = BLOCKED.format(blocked=set(list_extras()) - {"trl"}, argv=argv)
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


def test_every_optional_package_has_the_smallest_extra() -> None:
    assert {name: list_extras()[name] for name in ("torch", "pyarrow", "matplotlib", "peft")} == {
        "torch": "hf", "pyarrow": "parquet", "matplotlib": "report", "peft": "train",
    }  # fmt: skip


def test_the_core_needs_none_of_them() -> None:
    core = [line for line in requires(DISTRIBUTION) or () if "extra ==" not in line]
    assert core
    assert not [line for line in core if line.startswith(("torch", "transformers", "matplotlib", "pyarrow"))]


def test_the_error_says_what_to_install() -> None:
    require_extra("this", "json", "numpy")
    with pytest.raises(UserError, match="this needs no_such_package, which is not installed: pip install no_such"):
        require_extra("this", "json", "no_such_package")
    assert str(missing_extra("x", "torch", "peft")) == (
        "x needs torch, peft, which are not installed: pip install 'sonde-rl[hf,train]'"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("argv", "extra"),
    [
        (["eval", "wordle", "-n", "1", "--model", "smollm2"], "hf"),
        (["eval", "wordle", "-n", "1", "--model", "hf:some/model"], "hf"),
        (["eval", "wordle", "-n", "1", "--agent", "random", "--report", "report.html"], "report"),
        (["eval", "textarena:GuessTheNumber-v0", "-n", "1", "--agent", "random"], "textarena"),
        (["rollout", "wordle", "r", "-n", "1", "--agent", "random", "--on", "ray"], "ray"),
        (["train", "grpo", "maze", "--model", "sonde-tiny-maze", "--settings", "tiny_grpo", "--out", "t"], "hf"),
        (["paprika", "maze", "--model", "sonde-tiny-maze", "--settings", "tiny", "-n", "1", "--out", "p"], "hf"),
    ],
)
def test_commands_name_the_extra_in_one_line(tmp_path: Path, argv: list[str], extra: str) -> None:
    done = command(tmp_path, *argv)
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("sonde: ") and f"sonde-rl[{extra}]'" in last
    assert "Traceback" not in done.stderr
