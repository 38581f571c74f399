"""Preference pairs by information gain: which replies are paired, how many bits they have, and training on them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sonde.core import Action, Capabilities, Completion, Message, Model, Policy, Probe, Rng, Sampling, UserError, View
from sonde.runs.rollout import Plan
from sonde.train.gain_pairs import GainPairRule, collect_gain_pairs, write_pairs
from tests.cases import each

from ..cli.invoke import failure, run
from .asking import Asking

ENV = Asking()
TINY = ("twenty_questions:small", "--model", "sonde-tiny-twenty_questions", "--max-new-tokens", "12")


@dataclass(frozen=True, kw_only=True)
class Says(Policy):
    """One of these, drawn by the view's seed; a model's completion is cut where it says `cut`."""

    texts: tuple[str, ...]

    async def act(self, view: View) -> Action:
        text = self.texts[Rng(view.seed).randrange(len(self.texts))]
        return Action(text, completions=(Completion(text=text, finish="length"),) if text == "cut" else ())


@dataclass(frozen=True, kw_only=True)
class Believer(Model):
    """Gives the truth 1/2 once it was told a colour, else 1/8."""

    capabilities: ClassVar[Capabilities] = Capabilities(score=True)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        raise NotImplementedError

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        told = [any(m.content in ("red", "blue") for m in p.messages[:-1] if m.role == "user") for p in probes]
        return [[math.log(0.5 if knows else 0.125)] for knows in told]


@dataclass(frozen=True, kw_only=True)
class Believing(Says):
    """The same with a model of its own, which is asked for beliefs."""

    model: Believer = Believer()


@each("rule, by_hand", [
    (GainPairRule(), [("even", "odd"), ("even", "third")]),
    (GainPairRule(per_turn=1), [("even", "odd")]),
    (GainPairRule(most=0.95), [("even", "odd"), ("even", "third"), ("even", "near")]),
    (GainPairRule(least=1.01), []),
])  # fmt: skip
def test_pairs_of_a_turn_by_hand(rule: GainPairRule, by_hand: list[tuple[str, str]]) -> None:
    """The best over all below .8 bits, least first; what wins or ends the game without a belief is in no pair."""
    bits = {"near": 0.91, "third": 0.544, "even": 1.0, "odd": 0.0, "win": math.inf, "loss": -math.inf}
    assert rule.pair_texts(bits) == by_hand
    assert rule.pair_texts({"win": math.inf}) == [] == rule.pair_texts({})


def test_a_question_is_preferred_to_what_tells_nothing_until_nothing_is_left_to_learn() -> None:
    """Before it was asked, asking has 1 bit and humming none; afterwards nothing has any, so one turn has pairs."""
    plan = Plan(k=2, seed=3)
    found = collect_gain_pairs(ENV, Says(texts=("ask", "hm", "well")), ENV.tasks("train")[:2], GainPairRule(n=12), plan)
    assert len(found.played) == 4 and [len(t.turns) for t in found.played] == [4] * 4 and found.turns == 16
    assert found.paired == 4 and found.replies == 16 * 12 and len(found.pairs) == 8
    for pair in found.pairs:
        assert pair.chosen == "ask" and pair.rejected in ("hm", "well") and pair.gains == (1.0, 0.0) and pair.turn == 0
        assert [m.to_json() for m in pair.prompt] == [{"role": "user", "content": "start"}]
    assert all(t.turns[0].text == "ask" for t in found.played), "the best is said"
    assert [pair.task for pair in found.pairs] == [t.id for t in ENV.tasks("train")[:2] for _ in range(4)]


def test_gains_of_belief_by_hand() -> None:
    """From 1/8 to 1/2 are two bits. Naming a colour unasked loses and tells nothing; afterwards it wins."""
    rule = GainPairRule(by="belief", n=16)
    player = Believing(texts=("ask", "hm"))
    found = collect_gain_pairs(ENV, player, ENV.tasks("train")[:1], rule)
    (pair,) = found.pairs
    assert (pair.chosen, pair.rejected, pair.turn) == ("ask", "hm", 0) and pair.gains == pytest.approx((2.0, 0.0))
    ends = collect_gain_pairs(ENV, Believing(texts=("ask", "red", "blue")), ENV.tasks("train")[:1], rule)
    assert [(pair.turn, pair.chosen) for pair in ends.pairs] == [(0, "ask"), (0, "ask")]
    assert ends.played[0].outcome is not None and ends.played[0].outcome.success


def test_cut_replies_are_in_no_pair_and_some_turns_may_be_drawn() -> None:
    tasks = ENV.tasks("train")[:3]
    assert not collect_gain_pairs(ENV, Says(texts=("ask", "cut")), tasks, GainPairRule()).pairs
    drawn = collect_gain_pairs(ENV, Says(texts=("ask", *["hm"] * 7)), tasks, GainPairRule(ask_best=0.0), Plan(k=8))
    asked = [any(turn.text == "ask" for turn in t.turns[:1]) for t in drawn.played]
    assert 0 < sum(asked) < 12, "an eighth of 24 first turns"


def test_the_same_seed_gives_the_same_pairs() -> None:
    player, tasks = Says(texts=("ask", "hm", "well")), ENV.tasks("train")
    first, again = (collect_gain_pairs(ENV, player, tasks, GainPairRule(n=4), Plan(k=2)).pairs for _ in range(2))
    assert first == again and first


@dataclass(frozen=True, kw_only=True)
class Unfiltered(Asking):
    def filter(self, public: Any) -> None:
        return None


def test_what_cannot_be_measured_is_an_error_that_names_what_can() -> None:
    with pytest.raises(UserError, match=r"rule: by: got 'gain', allowed: belief: .* has no exact filter"):
        collect_gain_pairs(Unfiltered(), Says(texts=("ask",)), Unfiltered().tasks("train")[:1])
    with pytest.raises(UserError, match=r"gain pairs: tasks: got \[\], allowed: one or more"):
        collect_gain_pairs(ENV, Says(texts=("ask",)), [])
    with pytest.raises(UserError, match="believer: got None"):
        collect_gain_pairs(ENV, Says(texts=("ask",)), ENV.tasks("train")[:1], GainPairRule(by="belief"))
    for wrong, message in {
        "n": "rule: n: got 1, allowed: 2 or more",
        "per_turn": "rule: per_turn: got 0",
        "ask_best": "rule: ask_best: got 2",
        "most": "rule: most: got 1.5, allowed: at most least = 0.99",
    }.items():
        with pytest.raises(UserError, match=message):
            GainPairRule(**{wrong: {"n": 1, "per_turn": 0, "ask_best": 2.0, "most": 1.5}[wrong]})  # type: ignore[arg-type]


def test_a_file_holds_trls_preferences(tmp_path: Path) -> None:
    found = collect_gain_pairs(ENV, Says(texts=("ask", "hm")), ENV.tasks("train")[:1])
    write_pairs(tmp_path / "new" / "pairs.jsonl", found.pairs)
    (row,) = map(json.loads, (tmp_path / "new" / "pairs.jsonl").read_text("utf-8").splitlines())
    assert row["chosen"] == [{"role": "assistant", "content": "ask"}] and row["prompt"][-1]["role"] == "user"
    assert (row["chosen_bits"], row["rejected_bits"], row["turn"]) == (1.0, 0.0, 0)


@pytest.mark.thorough
def test_pairs_are_made_and_learned_from_on_the_command_line(tmp_path: Path) -> None:
    """The tokens that are trained on are those that the model says, and DPO puts the pairs in order."""
    pytest.importorskip("torch")
    file = tmp_path / "pairs.jsonl"
    counts = json.loads(run("dataset", "pairs", *TINY, "--tasks", "4", "--out", str(file), "--json"))
    assert counts["games"] == 4 and counts["pairs"] == len(file.read_text("utf-8").splitlines()) > 10
    assert counts["bits, chosen"] >= 0.99 and counts["bits, rejected"] < 0.8
    short = ("-o", "settings.lr=0.001", "-o", "settings.batch_size=8", "-o", "settings.epochs=3")
    model = ("--model", "sonde-tiny-twenty_questions", "--out", str(tmp_path / "out"), "--json")
    found = json.loads(run("train", "dpo", str(file), *model, "--settings", "tiny_rpo", *short))
    assert found["last"]["accuracy"] > 0.7
    refused = failure("dataset", "pairs", *TINY, "--tasks", "1", "--out", str(file), "--least", "9")
    assert "--least, --most: got 9 and 0.8 bits, but none of the" in refused


def test_mistakes_on_the_command_line(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "pairs.jsonl"))
    assert "--by: unknown name 'gian' (did you mean 'gain'?)" in failure(
        *("dataset", "pairs"), *TINY, *out, "--by", "gian"
    )
    cost = json.loads(run("dataset", "pairs", *TINY, *out, "--tasks", "2", "--candidates", "5", "--dry-run", "--json"))
    assert cost[0]["calls"] == 2 * 8 * 5
    assert "--processes: got 2" in failure("dataset", "pairs", *TINY, *out, "--processes", "2")
    assert "the policies that the filter assumes" in failure("dataset", "pairs", *TINY, *out, "--user", "fake")
