"""The development half of the hand-written messages: hardly any is taken for what it is not, most are understood."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "truth"))
truth: Any = importlib.import_module("score")
judge: Any = importlib.import_module("judge_customer_service")


def test_the_customer_is_truthful_on_the_development_half() -> None:
    found = truth.score(truth.judged("customer_service", truth.load("customer_service", "dev")))
    assert (found.items, found.answerable) == (310, 229)
    assert found.wrong_rate <= 0.005 and found.coverage >= 0.75, found


def test_verdicts_by_hand() -> None:
    item = {"product": "vacuum_weak", "message": "Is the foam white?"}
    assert judge.verdict({**item, "expect": {"finding": "sponge", "value": "white"}}) == "right"
    assert judge.verdict({**item, "expect": {"finding": "sponge", "value": "grey"}}) == "wrong"
    assert judge.verdict({**item, "expect": {"finding": "sponge"}}) == "wrong"
    assert judge.verdict({**item, "expect": {"finding": "bin"}}) == "wrong"
    assert judge.verdict({**item, "message": "Tell me about the foam.", "expect": {"finding": "sponge"}}) == "right"
    assert judge.verdict({**item, "message": "Wash the filter.", "expect": {"fix": "fix_filter"}}) == "right"
    assert judge.verdict({**item, "message": "Sing a song.", "expect": {"unknown": True}}) == "silent"
    assert judge.verdict({**item, "message": "Wash the filter.", "expect": {"unknown": True}}) == "wrong"
    assert judge.answerable({"expect": {"fix": "x"}}) and not judge.answerable({"expect": {"invalid": True}})
