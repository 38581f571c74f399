"""Consoles that cannot show every character: nothing ends in a traceback, and tables stay readable."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import sonde
from sonde.cli import main
from sonde.cli.terminal import replace_unshowable
from sonde.core import AGENT, Action, Episode
from sonde.runs.store import RunWriter

SAID = "I’d say “crane” → 象, café ± 🙂"
SHOWN = {
    "ascii": """I'd say "crane" > ?, cafe ~ ?""",
    "latin-1": """I'd say "crane" > ?, café ± ?""",
    "cp437": """I'd say "crane" > ?, café ± ?""",
    "cp1252": "I’d say “crane” > ?, café ± ?",
    "cp932": "I’d say “crane” → 象, cafe ± ?",
    "utf-8": SAID,
}


def command(monkeypatch: pytest.MonkeyPatch, encoding: str, *args: str, status: int = 0) -> str:
    """What `sonde ARGS` shows on such a console."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding=encoding) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["sonde", *args])
    with pytest.raises(SystemExit) as ended:
        main()
    for stream in streams.values():
        stream.flush()
    shown = {name: stream.buffer.getvalue().decode(encoding) for name, stream in streams.items()}  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert ended.value.code == status, shown["stderr"]
    return shown["stdout"] if status == 0 else shown["stderr"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, env = tmp_path_factory.mktemp("runs") / "run", sonde.make("wordle")
    ep = Episode.begin(env, env.tasks("test")[0]).step(Action(SAID + " <Answer>crane</Answer>"))
    while ep.to_act is not None:
        ep = ep.step("<Answer>slate</Answer>")
    with RunWriter.open(folder, {"env": env.config, "version": env.spec.version, "seats": {}, "seed": 0}) as writer:
        writer.append_trajectory(ep.to_trajectory(policies={AGENT: sonde.make("agents:random")}))
    return folder


@pytest.mark.parametrize("encoding", list(SHOWN))
def test_commands_end_well_on_any_console(encoding: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SHOWN[encoding] in command(monkeypatch, encoding, "read", str(run))
    assert "Usage" in command(monkeypatch, encoding, "eval", "--help")
    assert "wordle" in command(monkeypatch, encoding, "list")
    wrong = "nope" if encoding in ("ascii", "cp932") else "nöpe"
    assert f"unknown name '{wrong}'" in command(monkeypatch, encoding, "show", "nöpe", status=2)


def test_a_table_stays_in_line_without_its_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("eval", "best_arm", "--preset", "small", "--agent", "random", "-n", "2", "-k", "2", "--runs", str(tmp_path))
    plain = command(monkeypatch, "ascii", *args)
    head, rule, row, told, *_ = plain.splitlines()
    assert "success %" in head and set(rule) == {"-"} and "~" in row and told.startswith("~: half a 95 % interval")
    assert len(head) == len(rule) == len(row)


@pytest.mark.parametrize("encoding", list(SHOWN))
def test_json_is_the_same_everywhere(encoding: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [episode] = json.loads(command(monkeypatch, encoding, "read", str(run), "--json"))
    assert episode["turns"][0][0]["text"].startswith(SAID)


def test_what_is_typed_and_is_no_text_is_replaced() -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"caf\xc3\xa9\n"), encoding="ascii")
    replace_unshowable(typed)
    assert typed.readline() == "caf\ufffd\ufffd\n"
