"""One server at a time: each module starts the one that it is about, and leaves none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from sonde.models.files.fetch import fetch_model
from sonde.models.files.shipped import SHIPPED

from .padded import write_padded
from .servers import Server, need, vllm


@pytest.fixture(scope="session")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sonde-tiny of twenty questions with heads that vLLM knows; its output head is its embeddings."""
    return write_padded(SHIPPED["sonde-tiny-twenty_questions"].folder, tmp_path_factory.mktemp("models") / "tied")


@pytest.fixture(scope="session")
def untied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a head of its own."""
    source = SHIPPED["sonde-tiny-twenty_questions"].folder
    return write_padded(source, tmp_path_factory.mktemp("models") / "untied", untied=True)


@pytest.fixture(scope="session")
def smollm2() -> Path:
    need("vllm")
    return fetch_model("smollm2")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="module")
def plays_tied(tied: Path, log: Path) -> Iterator[Server]:
    flags = ("--logprobs-mode", "processed_logprobs", "--enable-prompt-tokens-details")
    with vllm(tied, log, *flags) as server:
        yield server


@pytest.fixture(scope="module")
def plays_untied(untied: Path, log: Path) -> Iterator[Server]:
    with vllm(untied, log) as server:
        yield server
