"""Push and pull by the hub's own client, in a process of its own, against a hub on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")

from sonde.core import UserError
from sonde.datasets.hub import describe_folder, folder_kind, pull_folder
from sonde.runs.run import config_from, play_run, prepare_run
from sonde.runs.store import Run
from tests.cases import each

from .hub_double import Hub, serve_hub


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serve_hub() as served:
        yield served


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = {"env": {"name": "best_arm", "preset": "small"}, "seats": {"agent": {"name": "agents:random"}}}
    folder = tmp_path_factory.mktemp("runs") / "run"
    play_run(prepare_run(config_from({**config, "n_tasks": 3, "k": 2})), folder)
    return folder


def run_command(hub: Hub, *arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    """The client reads its address when it is imported, so each command has a process."""
    home = {"HF_HOME": str(at / "home"), "HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_secret", "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-m", "sonde", "hub", *arguments]
    return subprocess.run(command, env={**os.environ, **home}, capture_output=True, text=True, check=False)


def test_a_run_comes_back_as_it_was(hub: Hub, played: Path, tmp_path: Path) -> None:
    pushed = run_command(hub, "push", str(played), "me/arms", at=tmp_path)
    assert pushed.returncode == 0, pushed.stderr
    assert pushed.stdout.startswith("pushed: ") and "hf_secret" not in pushed.stdout + pushed.stderr
    stored = hub.files[("datasets", "me/arms")]
    assert hub.private["me/arms"] and "Bearer hf_secret" in hub.tokens
    assert {name for name in stored if name != "README.md"} == {
        path.name for path in played.iterdir() if path.suffix in (".json", ".zst")
    }
    assert "Episodes of the environment `best_arm`" in stored["README.md"].decode()
    pulled = run_command(hub, "pull", "me/arms", "--out", str(tmp_path / "theirs"), at=tmp_path)
    assert pulled.returncode == 0, pulled.stderr
    there, here = Run.load(tmp_path / "theirs"), Run.load(played)
    assert list(there.canonical_lines()) == list(here.canonical_lines()) and len(there) == 6


def test_a_model_is_one(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "model.safetensors").write_bytes(b"\0" * 100)
    (folder / "README.md").write_text("Mine.")
    pushed = run_command(hub, "push", str(folder), "me/model", "--public", at=tmp_path)
    assert pushed.returncode == 0, pushed.stderr
    assert hub.files[("models", "me/model")]["README.md"] == b"Mine." and hub.private["me/model"] is False
    pulled = run_command(hub, "pull", "me/model", "--model", "--out", str(tmp_path / "again"), at=tmp_path)
    assert pulled.returncode == 0, pulled.stderr
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == b"\0" * 100


def test_mistakes_are_one_line(hub: Hub, played: Path, tmp_path: Path) -> None:
    for arguments, told in (
        (["pull", "me/nothing", "--out", str(tmp_path / "a")], "hub: 'me/nothing': "),
        (["pull", "me/arms", "--out", str(played)], "a new or empty folder"),
        (["push", str(tmp_path / "none"), "me/arms"], "a folder with files"),
        (["push", str(played), "no/good/name"], "hub: 'no/good/name': "),
    ):
        found = run_command(hub, *arguments, at=tmp_path)
        assert found.returncode and told in found.stderr and "Traceback" not in found.stderr, found.stderr


@each("names, kind", [
    (("config.json", "trajectories-00000.jsonl.zst"), "dataset"),
    (("adapter_config.json", "adapter_model.safetensors"), "model"),
    (("config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json"), "model"),
    (("card.json", "train"), "dataset"),
])  # fmt: skip
def test_what_a_folder_holds(names: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    folder = tmp_path / names[1]
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{}")
    assert folder_kind(folder) == kind
    assert f"sonde hub pull me/{kind}" in (text := describe_folder(folder, f"me/{kind}", kind)) or kind == "model"  # type: ignore[arg-type]
    assert text.startswith("---\ntags:\n- sonde\n---\n")


def test_kinds_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="kind: got 'space', allowed: model or dataset"):
        pull_folder("me/arms", tmp_path / "x", kind="space")  # type: ignore[arg-type]
