"""Models by name: near names, what the hub has given before, and seconds instead of minutes where it is silent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonde
from sonde import Message, Sampling, UserError
from sonde.models.files import hub
from sonde.models.files.hub import ModelSource, locate_model
from sonde.models.files.shipped import SHIPPED

constants = pytest.importorskip("huggingface_hub.constants")
pytest.importorskip("torch")

from ..tiny import write  # noqa: E402 (needs transformers)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A hub at an address at which nothing listens, and an empty cache."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield


def cached(cache: Path, name: str, commit: str = "0123abcd" * 5) -> Path:
    """The cache as the hub's client leaves it after a download."""
    folder = cache / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    (folder / "snapshots" / commit).mkdir(parents=True)
    return write(folder / "snapshots" / commit)


@pytest.mark.usefixtures("silent")
def test_without_a_network_it_takes_seconds_and_says_what_else_there_is() -> None:
    start = time.perf_counter()
    with pytest.raises(UserError, match=r"model: 'org/none-such' is not on this machine, and http.* cannot be reached"):
        locate_model("org/none-such")
    with pytest.raises(UserError, match=r"allowed: a folder with its files, .*smollm2.*did you mean 'smollm2'"):
        sonde.core.run_sync(sonde.make("models:hf", model="smolm2").generate([Message("user", "x")], Sampling()))
    assert time.perf_counter() - start < 20.0


def test_a_hub_that_never_answers_is_waited_for_for_seconds(
    monkeypatch: pytest.MonkeyPatch, silent: None, tmp_path: Path
) -> None:
    monkeypatch.setattr(hub, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        start = time.perf_counter()
        with pytest.raises(UserError, match="timed out"):
            locate_model("org/none-such")
        assert time.perf_counter() - start < 5.0


def test_a_hub_that_refuses_is_there(monkeypatch: pytest.MonkeyPatch, silent: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            peer, _ = server.accept()
            peer.recv(10_000)
            peer.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            peer.close()

        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        thread = threading.Thread(target=refuse)
        thread.start()
        assert locate_model("org/some-model") == ModelSource("org/some-model", False)
        thread.join()


@pytest.mark.usefixtures("silent")
def test_what_the_hub_has_given_before_is_used_without_it(tmp_path: Path) -> None:
    folder = cached(tmp_path / "cache", "org/small")
    assert locate_model("org/small") == ModelSource(str(folder), True, commit=folder.name)
    start = time.perf_counter()
    model = sonde.make("models:hf", model="org/small")

    async def once() -> sonde.Completion:
        found = await model.generate([Message("user", "go")], Sampling(max_new_tokens=3, seed=1))
        await model.close()
        return found

    completion = sonde.core.run_sync(once())
    assert (completion.model, completion.weights) == ("org/small", folder.name)
    assert time.perf_counter() - start < 30.0
    with pytest.raises(UserError, match="is not on this machine"):
        locate_model("org/small", "another-revision")


def test_a_hub_that_may_not_be_asked_is_not(monkeypatch: pytest.MonkeyPatch, silent: None) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="HF_HUB_OFFLINE forbids"):
        locate_model("org/none-such")


def test_what_is_here_needs_no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "urlopen", None)
    assert locate_model("sonde-tiny-maze") == ModelSource(str(SHIPPED["sonde-tiny-maze"].folder), True)
    assert locate_model(str(tmp_path)) == ModelSource(str(tmp_path), True)
    with pytest.raises(UserError, match=r"model: 'runs/mine/model' is neither a folder nor a name on a hub"):
        locate_model("runs/mine/model")
