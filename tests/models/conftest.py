"""Shared by the tests of the local backend: one tiny model per session."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from .tiny import write

    return write(tmp_path_factory.mktemp("tiny"))
