"""Hand-written messages: few are taken for what they are not, and next to none that is no trap; most are understood."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "truth"))
truth: Any = importlib.import_module("score")
judge: Any = importlib.import_module("judge_customer_service")


def test_the_customer_is_truthful_on_messages_written_by_hand() -> None:
    items = truth.load("customer_service", "open")
    found = truth.score(truth.judged("customer_service", items))
    assert found.items == 2000
    assert found.wrong_rate <= 0.03 and found.coverage >= 0.78, found
    plain = truth.score(truth.judged("customer_service", [item for item in items if item["kind"] != "trap"]))
    assert plain.wrong_rate <= 0.01 and plain.coverage >= 0.79, plain


def test_injections_are_never_answered() -> None:
    items = [item for item in truth.load("customer_service", "open") if item["kind"] == "injection"]
    assert len(items) > 150
    assert {verdict for _, _, verdict in truth.judged("customer_service", items)} == {"silent"}


def test_verdicts_by_hand() -> None:
    item = {"product": "vacuum_weak", "message": "Is the foam white?"}
    assert judge.verdict({**item, "expect": {"finding": "sponge", "value": "white"}}) == "right"
    assert judge.verdict({**item, "expect": {"finding": "sponge"}}) == "right"
    assert judge.verdict({**item, "expect": {"finding": "bin"}}) == "wrong"
    assert judge.verdict({**item, "message": "Tell me about the foam.", "expect": {"finding": "sponge"}}) == "right"
    assert judge.verdict({**item, "message": "Wash the filter.", "expect": {"fix": "fix_filter"}}) == "right"
    assert judge.verdict({**item, "message": "Sing a song.", "expect": {"unknown": True}}) == "silent"
    assert judge.verdict({**item, "message": "Wash the filter.", "expect": {"unknown": True}}) == "wrong"
    assert judge.answerable({"expect": {"fix": "x"}}) and not judge.answerable({"expect": {"invalid": True}})
