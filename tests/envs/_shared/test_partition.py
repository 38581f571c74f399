"""The posterior over hypotheses with gaps: values by hand, and against the formulas of the module summed one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import pytest

from sonde.core import UNCLEAR, UNKNOWN, Act, Action, Frozen, Turn, UserError, entropy, make
from sonde.envs._shared.dialogue import GOAL
from sonde.envs._shared.partition import PartitionFilter
from tests.cases import each


class Table:
    """Hypotheses a, b, ... with their replies to each question, one letter per hypothesis."""

    letters: Mapping[str, str] = {"y": "Yes.", "n": "No.", "m": "Maybe.", "?": UNKNOWN, "g": GOAL}

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.rows = rows
        self.names: Sequence[str] = "abcdefgh"[: len(next(iter(rows.values())))]
        self.questions = tuple(rows)

    def split(self, said: str) -> Mapping[str, int]:
        if said in self.names:
            mine = 1 << self.names.index(said)
            return {GOAL: mine, "No.": (1 << len(self.names)) - 1 - mine}
        if said not in self.rows:
            return {UNCLEAR: (1 << len(self.names)) - 1}
        found: dict[str, int] = {}
        for i, letter in enumerate(self.rows[said]):
            reply = self.letters[letter]
            found[reply] = found.get(reply, 0) | 1 << i
        return found

    def guess(self, index: int) -> str:
        return self.names[index]


def begin(rows: Mapping[str, str], rate: float = 0.0, evidence: str = "answers") -> PartitionFilter:
    return PartitionFilter(Table(rows), lambda text: text, rate, evidence=evidence)


def hear(known: PartitionFilter, said: str, reply: str) -> PartitionFilter:
    return known.observe(Turn(0, (Act("agent", Action(said), Frozen(), Frozen(), Frozen(reply=reply)),)))


def masses(known: PartitionFilter) -> dict[str, float]:
    belief = known.belief()
    return dict(zip(belief.hypotheses, belief.probs, strict=True))


def test_by_hand() -> None:
    """Of a, b, c the reply is known, of d not: it says yes with the share 1 / 3 and no with 2 / 3."""
    known = begin({"q": "ynn?"})
    assert masses(hear(known, "q", "Yes.")) == pytest.approx({"a": 0.75, "d": 0.25})
    assert masses(hear(known, "q", "No.")) == pytest.approx({"b": 0.375, "c": 0.375, "d": 0.25})
    learned = 2 - (entropy((0.75, 0.25)) + 2 * entropy((0.375, 0.375, 0.25))) / 3
    assert known.expected_gain("q") == pytest.approx(0.75 * learned)


def test_silence_is_no_evidence_and_ends_the_asking() -> None:
    known = hear(begin({"q": "ynn?", "r": "yynn"}), "q", UNKNOWN)
    assert masses(known) == pytest.approx(dict.fromkeys("abcd", 0.25)) and known.entropy == 2.0
    assert (known.expected_gain("q"), known.best_question()) == (0.0, ("r", 1.0))
    assert hear(known, "what?", UNCLEAR).entropy == 2.0


def test_silences_are_evidence_where_they_are_asked_for() -> None:
    known = begin({"q": "ynn?"}, evidence="silences")
    assert masses(hear(known, "q", UNKNOWN)) == {"d": 1.0} and masses(hear(known, "q", "Yes.")) == {"a": 1.0}
    assert known.expected_gain("q") == pytest.approx(entropy((0.25, 0.25, 0.5)))


def test_an_answer_counts_once_however_it_is_asked_for() -> None:
    known = hear(begin({"q": "yyn?", "not q": "nny?"}), "q", "Yes.")
    assert hear(known, "not q", "No.") is known and known.expected_gain("not q") == 0.0


def test_that_the_game_goes_on_is_evidence_under_every_reply() -> None:
    known = begin({"q": "gyn?"})
    assert "a" not in masses(hear(known, "q", UNKNOWN)) and masses(hear(known, "q", GOAL)) == {"a": 1.0}
    after = hear(begin({"q": "yynn"}), "a", "No.")
    assert masses(after) == pytest.approx(dict.fromkeys("bcd", 1 / 3)) and after.lead == 1


@each("rate", [0.0, 0.1])
def test_random_tables_against_the_formulas(rate: float) -> None:
    """Replies and questions at random: posteriors and expected gains equal the sums over hypotheses and replies."""
    rng = random.Random(3)
    for _ in range(30):
        rows = {q: "".join(rng.choice("ynm??g") for _ in range(6)) for q in "pqrs"}
        known, weights = begin(rows, rate), dict.fromkeys("abcdef", 1 / 6)
        for q in "pqr":
            assert known.question_gains().get(q, 0.0) == pytest.approx(known.expected_gain(q))
            assert known.expected_gain(q) == pytest.approx(gain_by_formula(rows[q], weights, rate), abs=1e-9)
            letter = rng.choice("ynm?")
            after = update(rows[q], weights, letter, rate)
            known = hear(known, q, Table.letters[letter])
            weights = after if after is not None else weights
            assert masses(known) == pytest.approx({h: w for h, w in weights.items() if w})


@each("rate", [0.0, 0.1])
def test_posteriors_searched_together_find_what_each_finds_alone(rate: float) -> None:
    """To the last bit: what is found must not depend on which other posteriors were searched with it."""
    rng = random.Random(5)
    rows = {str(q): "".join(rng.choice("ynm??") for _ in range(8)) for q in range(20)}

    def walk() -> list[PartitionFilter]:
        path = [begin(rows, rate)]
        for q in range(0, 12, 2):
            path.append(hear(path[-1], str(q), Table.letters["ynm?"[q % 4]]))
        return [*path, path[3]]

    alone = [one.best_question() for one in walk()]
    together, half = walk(), walk()
    half[2].best_question()
    assert together[0].find_best_questions(together) == half[0].find_best_questions(half) == alone
    assert len({gain for _, gain in alone}) > 3


def likelihood(row: str, h: int, letter: str, rate: float) -> float:
    """P(reply | hypothesis number h), for a game that goes on, over 1 - rate."""
    known = [own for own in row if own not in "?g"]
    rho, share = rate / (1 - rate), known.count(letter) / len(known)
    return {letter: 1.0, "?": share + (1 - share) * rho, "g": 0.0}.get(row[h], rho)


def update(row: str, weights: Mapping[str, float], letter: str, rate: float) -> dict[str, float] | None:
    """The weights after a reply; None if it tells nothing."""
    names, tells = "abcdef", len(set(row) - set("?g")) > 1 or "g" in row
    if not tells or (letter != "?" and letter not in row):
        return None
    own = {h: float(row[i] != "g") if letter == "?" else likelihood(row, i, letter, rate) for i, h in enumerate(names)}
    joint = {h: weights[h] * own[h] for h in names}
    total = sum(joint.values())
    return {h: w / total for h, w in joint.items()} if total > 0 else None


def gain_by_formula(row: str, weights: Mapping[str, float], rate: float) -> float:
    goal = sum(w for w, letter in zip(weights.values(), row, strict=True) if letter == "g")
    gaps = sum(w for w, letter in zip(weights.values(), row, strict=True) if letter == "?")
    if goal > 1 - 1e-9:
        return 0.0
    left = [w / (1 - goal) if letter != "g" else 0.0 for w, letter in zip(weights.values(), row, strict=True)]
    joints = [
        [w * likelihood(row, i, letter, rate) for i, w in enumerate(left)] for letter in sorted(set(row) - set("?g"))
    ]
    total = sum(map(sum, joints))
    after = sum(sum(joint) / total * entropy(w / sum(joint) for w in joint) for joint in joints if sum(joint))
    learned = max(0.0, entropy(left) - after) if joints and total else 0.0
    return entropy((goal, 1 - goal)) + (1 - goal - gaps) * learned


def test_the_evidence_is_answers_or_silences() -> None:
    with pytest.raises(UserError, match="evidence"):
        make("twenty_questions", evidence="all")
    assert math.isclose(begin({"q": "yn"}).entropy, 1.0)
