"""Commands write runs below the working directory: every test has its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import invoke


@pytest.fixture(autouse=True)
def working_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test, and the width of its terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(invoke, "COLUMNS", getattr(request.module, "COLUMNS", invoke.COLUMNS))
    return tmp_path
