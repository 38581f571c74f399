"""The part of `make demo` in which a tiny model learns, and the recipe that repeats it with ten seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from .loading import load


def test_the_learner_is_tested_trained_and_tested_again(tmp_path: Path) -> None:
    demo = load("demo")
    tests = demo.train_demo(tmp_path, demo.DemoSize((), tasks=0, steps=1, tests=4))
    assert len(tests) == 2 * len(demo.TEMPERATURES)
    assert (tmp_path / demo.TRAINED / demo.MODEL / "model.safetensors").is_file()
    lines = demo._describe_training(tests).splitlines()
    assert lines[0].startswith("sonde-tiny-habit learned from its own play")
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["temperature 1", "temperature 0"]
    cure = load("tiny/cure")
    assert all(won in ([0.0], [1.0]) for won in cure.play_tests(demo.LEARNER.name, 1.0, 4))
