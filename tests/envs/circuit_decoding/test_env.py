"""Circuit decoding: games by hand, tasks and configurations, and a filter that is brute force."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Filter, Outcome, Rng, TabularEnv, UserError
from sonde.envs.circuit_decoding import circuits as rules
from sonde.envs.circuit_decoding.env import CircuitDecoding, State
from tests.cases import each

ENV = CircuitDecoding()
TWO = CircuitDecoding(nots=2)
HIDDEN = ["a and b and c", "not (a and (b or c))", "a or not b or c"]
"""3 AND, 3 OR and 2 NOT gates."""
TABLES = ("00000001", "11111000", "11011111")


# --- the game --------------------------------------------------------------------------------------------------------


def play_episode(*answers: str, env: CircuitDecoding = TWO, hidden: list[str] = HIDDEN) -> Episode:
    ep = Episode.begin(env, env.task({"circuits": hidden}))
    for answer in answers:
        ep = ep.step(env.say(answer))
    return ep


RIGHT = " ; ".join(f"{c}: {table}" for c, table in enumerate(TABLES, 1))


def test_a_game_by_hand() -> None:
    ep = play_episode("probe 1 111", "probe 2 111", "probe 9 111", "probe 3 010", RIGHT)
    assert [dict(t.info) for t in ep.turns] == [
        {"result": "output", "circuit": 1, "input": "111", "output": 1},
        {"result": "output", "circuit": 2, "input": "111", "output": 0},
        {"result": "invalid"},
        {"result": "output", "circuit": 3, "input": "010", "output": 0},
        {"result": "win", "tables": TABLES, "correct": 3},
    ]
    assert ep.outcome == Outcome("win", 1.0)
    assert [t.rewards.get("agent", 0.0) for t in ep.turns] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert "Circuit 1 gives 1 for 111.\nProbes left: 17." in ep.turns[0].told
    assert "Probes left: 15." in ep.turns[2].told
    assert isinstance(ep.state, State)
    assert TWO.hypothesis(ep.state) == TABLES


@each("correct, wrong", [(2, 1), (1, 2), (0, 3)])
def test_the_score_is_the_share_of_right_tables(correct: int, wrong: int) -> None:
    said = [*TABLES[:correct], *["01111110"] * wrong]
    ep = play_episode(" ; ".join(f"{c}: {table}" for c, table in enumerate(said, 1)))
    assert ep.outcome == Outcome("loss", correct / 3)
    assert ep.turns[0].rewards == {"agent": correct / 3}
    assert ep.turns[0].info["correct"] == correct
    assert f"Right tables: {correct} of 3" in ep.turns[0].told
    assert not any(table in ep.turns[0].told for table in TABLES)


def test_the_last_turn_is_for_tables() -> None:
    short = CircuitDecoding(nots=2, max_turns=2)
    probed = play_episode("probe 1 111", env=short)
    assert probed.turns[0].told.endswith("in place of every b.")
    assert "No probes are left" in probed.turns[0].told
    assert probed.step(short.say(RIGHT)).outcome == Outcome("win", 1.0)
    late = probed.step(short.say("probe 1 110"))
    assert late.outcome == Outcome("out_of_turns", truncated="turns")
    assert dict(late.turns[1].info) == {"result": "late"}
    assert late.turns[1].rewards == {}
    assert probed.step(short.say("x")).outcome == Outcome("out_of_turns", truncated="turns")
    only = play_episode(env=CircuitDecoding(nots=2, max_turns=1))
    assert "No probes are left" in only.messages["agent"][0].content
    assert play_episode("probe 1 111", env=CircuitDecoding(nots=2, max_turns=1)).outcome is not None


def test_no_answer_ends_the_game() -> None:
    ep = Episode.begin(TWO, TWO.task({"circuits": HIDDEN})).step("probe 1 111")
    assert ep.outcome == Outcome("unreadable")


def test_legal_answers_are_new_probes_then_fitting_tables() -> None:
    first = play_episode().view().legal
    assert first is not None
    assert len(first) == 24
    assert first[:2] == ["probe 1 000", "probe 1 001"]
    assert "probe 2 101" not in (play_episode("probe 2 101").view().legal or ())
    again = play_episode("probe 2 101", "probe 2 101")
    assert again.turns[1].info == again.turns[0].info
    probes = [f"probe {c} {row:03b}" for c in (1, 2, 3) for row in range(6)]
    last = play_episode(*probes).view().legal
    assert last is not None
    assert len(last) == 64
    assert RIGHT in last
    assert all(rules.read_tables(answer, ENV.circuit_shape) for answer in last)
    long = CircuitDecoding(nots=2, max_turns=30)
    every = [f"probe {c} {row:03b}" for c in (1, 2, 3) for row in range(8)]
    assert list(play_episode(*every, env=long).view().legal or ()) == [RIGHT]


# --- tasks and configurations ----------------------------------------------------------------------------------------


def test_tasks_are_those_of_the_paper_in_number() -> None:
    tasks = [t for split in ("train", "test") for t in ENV.tasks(split)]
    assert (len(ENV.tasks("train")), len(ENV.tasks("test"))) == (300, 300)
    assert len({t.hidden["circuits"] for t in tasks}) == 600
    assert all(ENV.filter(t.public).prob(t.hidden["circuits"]) > 0.0 for t in tasks)


def test_few_circuits_give_few_tasks() -> None:
    env = CircuitDecoding(circuits=1, inputs=2, ands=1, nots=1)
    tasks = [t.hidden["circuits"] for split in ("test", "train") for t in env.tasks(split)]
    assert sorted(tasks) == [("0010",), ("0100",), ("1110",)]


def test_expressions_and_tables_make_the_same_task() -> None:
    gates = {"and": 3, "or": 3, "not": 2}
    task = ENV.task({"circuits": HIDDEN, "gates": gates})
    assert task.hidden["circuits"] == TABLES
    assert task.public["gates"] == gates
    assert ENV.task({"circuits": list(TABLES), "gates": gates}) == task
    assert ENV.task({"circuits": [HIDDEN[0], *TABLES[1:]], "gates": gates}) == task
    assert "2 NOT gates" in Episode.begin(ENV, task).messages["agent"][0].content


@each(
    "hidden, field",
    [
        ({"circuits": HIDDEN}, "exactly 3 AND, 3 OR and 3 NOT gates"),
        ({"circuits": [TABLES[0]] * 3}, "exactly 3 AND, 3 OR and 3 NOT gates"),
        ({"circuits": HIDDEN[:2]}, "a list of 3"),
        ({"circuits": "a and b and c"}, "a list of 3"),
        ({"circuits": [*HIDDEN[:2], "a and b"]}, "each of a, b, c once"),
        ({"circuits": [*HIDDEN[:2], 7]}, "each of a, b, c once"),
        ({"circuits": HIDDEN, "gates": {"and": 3, "or": 2, "not": 2}}, r"circuit_decoding: gates: .*a \+ b = 6"),
        ({"circuits": HIDDEN, "gates": {"and": 3, "or": 3, "not": 99}}, "c at most 6"),
        ({"circuits": HIDDEN, "gates": {"and": 3.0, "or": 3, "not": 2}}, "circuit_decoding: gates"),
        ({"circuits": HIDDEN, "gates": {"and": 3, "or": 3, "not": 2, "xor": 0}}, "circuit_decoding: gates"),
        ({"gates": {"and": 3, "or": 3, "not": 2}}, "circuit_decoding: hidden"),
        ([*HIDDEN], "circuit_decoding: hidden"),
    ],
)
def test_invalid_setups_are_errors(hidden: object, field: str) -> None:
    with pytest.raises(UserError, match=field):
        ENV.task(hidden)


def test_a_table_that_no_gates_build_is_an_error() -> None:
    """XOR of three bits would use its inputs more than once."""
    with pytest.raises(UserError, match="exactly 3 AND"):
        ENV.task({"circuits": ["01101001", *TABLES[1:]]})


@each("config, field",
    [({"circuits": 0}, "circuits"), ({"circuits": 5}, "circuits"), ({"inputs": 1}, "inputs"), ({"inputs": 5}, "inputs"),
     ({"circuits": 4, "inputs": 4}, "inputs"), ({"ands": 7}, "ands"), ({"ands": -1}, "ands"), ({"nots": 7}, "nots"),
     ({"nots": -1}, "nots"), ({"max_turns": 0}, "max_turns"), ({"preset": "paprika"}, "preset")],
)  # fmt: skip
def test_a_bad_configuration_is_an_error(config: dict[str, object], field: str) -> None:
    with pytest.raises(UserError, match=f"circuit_decoding: {field}"):
        sonde.make("circuit_decoding", **config)


# --- the filter ------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_marginals_of_the_prior_match_random_draws() -> None:
    """Pearson's statistic within five standard deviations of its mean, the degrees of freedom."""
    rng, known, n = random.Random(4), ENV.filter(ENV.tasks("test")[0].public), 20_000
    for c in range(3):
        sample = Counter(rules.draw_tables(rng, ENV.circuit_shape, ENV.gate_total)[c] for _ in range(n))
        expected = dict(zip(known.game.tables, known.table_CT[c] * n, strict=True))
        free = len(expected) - 1
        assert sum((sample[t] - e) ** 2 / e for t, e in expected.items()) < free + 5 * (2 * free) ** 0.5


def check_same(fast: Filter, slow: Filter, texts: list[str]) -> None:
    mine, theirs = fast.belief(), slow.belief()
    assert sorted(mine.hypotheses) == sorted(theirs.hypotheses)
    assert sum(mine.probs) == pytest.approx(1.0)
    for hypothesis, prob in zip(theirs.hypotheses, theirs.probs, strict=True):
        assert fast.prob(hypothesis) == pytest.approx(prob)
        assert mine.prob(hypothesis) == pytest.approx(prob)
    assert fast.entropy == pytest.approx(slow.entropy, abs=1e-9)
    for text in texts:
        assert fast.expected_gain(text) == pytest.approx(slow.expected_gain(text), abs=1e-9), text


REDUCED = [
    CircuitDecoding(circuits=1, inputs=2, ands=1, nots=2, max_turns=4),
    CircuitDecoding(circuits=1, inputs=3, ands=1, nots=1, max_turns=4),
    CircuitDecoding(circuits=2, inputs=2, ands=1, nots=2, max_turns=5),
    CircuitDecoding(circuits=2, inputs=2, ands=0, nots=1, max_turns=3),
    CircuitDecoding(circuits=3, inputs=2, ands=1, nots=1, max_turns=8),
    CircuitDecoding(circuits=4, inputs=2, ands=2, nots=0, max_turns=10),
]


@each("env", REDUCED, ids=str)
def test_the_filter_is_brute_force(env: CircuitDecoding) -> None:
    """Beliefs after every turn, the last one with its verdict included, and the gain of every kind of answer."""
    for i in range(8):
        rng, ep = Rng(i, "game"), Episode.begin(env, env.tasks("test")[i % len(env.tasks("test"))])
        fast: Filter = env.filter(ep.task.public)
        slow: Filter | None = TabularEnv.filter(env, ep.task.public)
        assert slow is not None
        while ep.to_act:
            legal = ep.view().legal or ()
            some = [legal[rng.randrange(len(legal))] for _ in range(4)]
            tables = [t for t, _ in slow.belief().top(2)]
            some += [" ; ".join(f"{c}: {t}" for c, t in enumerate(row, 1)) for row in tables]
            check_same(fast, slow, [*map(env.say, some), "", "<Answer>probe 9 9</Answer>"])
            answer, bits = fast.best_question()
            assert answer in legal
            if len(legal) <= 256:
                assert bits == pytest.approx(slow.best_question()[1], abs=1e-9)
            due = len(ep.turns) == env.max_turns - 1
            said = rng.choice(some if due or rng.random() < 0.1 else some[:4])
            ep = ep.step(env.say(said) if rng.random() < 0.9 else "<Answer>?</Answer>")
            fast, slow = fast.observe(ep.turns[-1]), slow.observe(ep.turns[-1])
        check_same(fast, slow, [])


def test_larger_beliefs_are_those_of_bayes() -> None:
    """Two circuits of three inputs, 4096 pairs of tables, by the exact fractions of the prior."""
    env = CircuitDecoding(circuits=2, ands=2, nots=2)
    prior = rules.prior(env.circuit_shape, env.gate_total)
    ep = Episode.begin(env, env.tasks("test")[1])
    for c, row in [(0, 1), (1, 6), (0, 6), (1, 0), (0, 7)]:
        ep = ep.step(env.say(rules.probe_answer(c, row, 3)))
        prior = {t: p for t, p in prior.items() if (t[c] >> row & 1) == ep.turns[-1].info["output"]}
        total, known = float(sum(prior.values())), ep.filter()
        assert known is not None
        belief = known.belief()
        assert len(belief) == len(prior)
        exact = {tuple(rules.format_table(x, 3) for x in t): float(p) / total for t, p in prior.items()}
        assert dict(zip(belief.hypotheses, belief.probs, strict=True)) == pytest.approx(exact)
        assert known.entropy == pytest.approx(-sum(p * np.log2(p) for p in exact.values()))


def test_the_marginals_are_those_of_the_belief() -> None:
    env = CircuitDecoding(circuits=3, inputs=2, ands=1, nots=2)
    ep = play_episode("probe 2 01", env=env, hidden=["not a and not b", "a or b", "a or b"])
    known = env.filter(ep.task.public).observe(ep.turns[0])
    belief = known.belief()
    for c, name in itertools.product(range(3), ["0001", "1000", "0111", "1101"]):
        expected = sum(p for h, p in zip(belief.hypotheses, belief.probs, strict=True) if h[c] == name)
        assert known.table_CT[c, known.game.number[rules.parse_table(name)]] == pytest.approx(expected)
    best = [max(belief.hypotheses, key=lambda h, c=c: _marginal(belief, c, h[c]))[c] for c in range(3)]
    likely = rules.read_tables(known.likeliest_tables(), env.circuit_shape)
    assert likely is not None
    for c, table in enumerate(likely):
        assert _marginal(belief, c, rules.format_table(table, 2)) == pytest.approx(_marginal(belief, c, best[c]))


def _marginal(belief: sonde.core.Belief, c: int, name: str) -> float:
    return sum(p for h, p in zip(belief.hypotheses, belief.probs, strict=True) if h[c] == name)


def test_a_large_belief_is_not_listed() -> None:
    env = CircuitDecoding(circuits=3, inputs=4, ands=4, nots=2)
    task = env.tasks("test")[0]
    known = env.filter(task.public)
    with pytest.raises(UserError, match="tuples of tables"):
        known.belief()
    tables, exact = [rules.parse_table(t) for t in task.hidden["circuits"]], Fraction(0)
    for hands, p in rules.gate_deals(env.circuit_shape, env.gate_total):
        parts = [rules.table_distribution(4, hand).get(t, 0) for hand, t in zip(hands, tables, strict=True)]
        exact += p * prod(parts)
    assert known.prob(task.hidden["circuits"]) == pytest.approx(float(exact))
    assert 0.0 < known.entropy < 3 * np.log2(832)
    with pytest.raises(UserError, match="sets of tables"):
        env.prior(task.public)


def test_impossible_outputs_are_an_error() -> None:
    env = CircuitDecoding(circuits=1, inputs=2, ands=1, nots=0)
    other = CircuitDecoding(circuits=1, inputs=2, ands=1, nots=1)
    turn = play_episode("probe 1 11", env=other, hidden=["not (a and b)"]).turns[0]
    with pytest.raises(ValueError, match="impossible"):
        _ = env.filter(env.task({"circuits": ["a and b"]}).public).observe(turn).entropy


@each("hypothesis", [("0001",), ("x", "y", "z"), TABLES[:2], "00000001", 3, None, ("01101001",) * 3])
def test_invalid_hypotheses_have_probability_zero(hypothesis: object) -> None:
    known = ENV.filter(ENV.tasks("test")[0].public)
    assert known.prob(hypothesis) == 0.0
    assert known.prob(ENV.tasks("test")[0].hidden["circuits"]) > 0.0
