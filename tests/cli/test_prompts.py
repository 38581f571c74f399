"""Prompts of one's own: written, changed, played with, recorded, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.agents._shared.calls import ComposedAgent
from sonde.core import Env, Episode, UserError
from sonde.core.prompts import parse_pieces
from sonde.runs.store import Run
from tests.cases import Checks, each

from .invoke import invoke, run

COLUMNS = 120


def replace_text(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


def test_what_is_written_is_what_is_said() -> None:
    """The package's own files change no message, and count in the fingerprint all the same."""
    checks = Checks()
    for name in sonde.names():
        env: Any = sonde.core.find(name)
        if not env.prompt_files() or name == "chess":
            continue

        def check(name: str = name) -> None:
            run("prompts", name, "--out", name)
            plain, own = sonde.make(name), sonde.make(name, prompts=name)
            assert "prompts" not in plain.config and own.fingerprint != plain.fingerprint
            task = plain.tasks("test")[0]
            a, b = (Episode.begin(env, task) for env in (plain, own))
            for _ in range(2):
                a, b = (ep.step("?") if ep.to_act == "agent" else ep for ep in (a, b))
            assert a.messages == b.messages
            assert sonde.build(own.config) == own

        checks.run(name, check)
    checks.report()


def test_an_environment_speaks_by_texts_of_ones_own() -> None:
    run("prompts", "wordle", "--out", "mine")
    replace_text("mine/wordle.md", "Make your first guess.", "Guess now!")
    pieces = parse_pieces(Path("mine/wordle.md").read_text())
    kept = {name: text for name, text in pieces.items() if "Guess now!" in text}
    Path("mine/wordle.md").write_text("\n".join(f"## {name}\n{text}\n" for name, text in kept.items()))
    args = ["eval", "wordle", "--agent", "random", "-n", "1", "-k", "1", "--no-gains", "-o", "env.prompts=mine"]
    run(*args)
    (folder,) = Path("runs").iterdir()
    assert Run.load(folder).config["env"]["prompts"] == {"wordle": kept}
    Path("mine/wordle.md").unlink()
    run("rescore", str(folder))
    (t,) = Run.load(folder)
    replayed = Episode.replay(sonde.build(t.env), t)
    assert "Guess now!" in replayed.messages["agent"][0].content
    with pytest.raises(UserError, match="prompts: got 'mine', allowed: a folder"):
        sonde.make("wordle", prompts="mine")


def test_an_agent_of_several_calls_speaks_by_texts_of_ones_own() -> None:
    agents = ("llm_psrl", "llm_ids", "reflexion", "icrl", "icpi")
    model: Any = sonde.make("models:fake")
    for name in agents:
        run("prompts", name, "--out", name)
        assert issubclass(sonde.core.find(f"agents:{name}"), ComposedAgent)
        plain, own = (sonde.make(f"agents:{name}", model=model, **more) for more in ({}, {"prompts": name}))
        assert plain.fingerprint != own.fingerprint and sonde.build(own.config) == own
    marker = "Say which arm is best, in your own words."
    replace_text("icrl/icrl.md", "## policy-system\n", f"## policy-system\n{marker}\n")
    args = ["eval", "bernoulli_bandit", "--agent", "icrl", "--model", "fake", "-n", "1", "-k", "1", "--no-gains"]
    run(*args, "--max-turns", "2", "-o", "seats.agent.prompts=icrl", "-o", "seats.agent.retries=0")
    (folder,) = Path("runs").iterdir()
    (t,) = Run.load(folder)
    heard = bytes(i for i in t.turns[0].acts[0].action.completions[0].prompt_ids if i < 256).decode()
    assert marker in heard and marker in t.policies["agent"]["prompts"]["icrl"]["policy-system"]


@each(
    "files, message",
    [
        ({"wordl.md": "## a\nb"}, r"wordle: prompts: file: unknown name 'wordl.md' \(did you mean 'wordle.md'\?\)"),
        ({"wordle.md": "## intr\nb"}, "wordle: prompts: wordle.md: piece: unknown name 'intr'"),
        ({"wordle.md": "## win\nYes."}, r"wordle.md: win: got no placeholders, allowed: \{guess\}"),
        ({"wordle.md": "## win\n{guess.__class__}"}, r"wordle.md: win: got \{guess.__class__\}, allowed: \{guess\}"),
        ({"wordle.md": "## win\n{guess"}, "wordle.md: win: not a template"),
        ({}, "allowed: a folder with .md files; `sonde prompts` writes one"),
    ],
)
def test_what_is_refused(files: dict[str, str], message: str) -> None:
    folder = Path(f"f{len(list(Path().iterdir()))}")
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    with pytest.raises(UserError, match=message):
        sonde.make("wordle", prompts=str(folder))


def test_who_has_no_prompts_says_so() -> None:
    assert issubclass(sonde.core.find("text_nav"), Env)
    for name in ("text_nav", "random"):
        result = invoke("prompts", name)
        assert "has no prompts that can be replaced" in str(result.exception)
