"""The Dockerfile: no image can be built where the tests run, but what it takes from here must be here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def read_copied() -> set[str]:
    """The files and folders that the Dockerfile copies from the repository."""
    lines = (line.split() for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines())
    copies = (words[1:-1] for words in lines if words[:1] == ["COPY"] and not words[1].startswith("--from"))
    return {name for words in copies for name in words}


def test_every_file_that_is_copied_is_here_and_reaches_the_builder() -> None:
    patterns = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[:1] != "#"]
    assert patterns[0] == "*" and patterns[-1] == "**/__pycache__"
    assert {pattern.removeprefix("!") for pattern in patterns[1:-1]} == read_copied()
    assert all((ROOT / name).exists() for name in read_copied())


def test_the_wheel_of_an_image_has_what_the_build_reads() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert {
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "src",
        *project["project"]["license-files"],
    } <= read_copied()
    extras = re.findall(r"^ARG EXTRAS=(.+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert extras and set(extras[0].split(",")) <= project["project"]["optional-dependencies"].keys()
    python = re.findall(r"^FROM python:3\.(\d+)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert set(python) == {"12"} and f"Python :: 3.{python[0]}" in " ".join(project["project"]["classifiers"])
