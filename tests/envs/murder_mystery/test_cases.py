"""Murder mysteries: an exact posterior, cases that evidence decides, briefings that give nothing away, clean texts."""

from __future__ import annotations

import importlib.util
import math
import pickle
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sonde.core import Rng, UnknownName
from sonde.envs.murder_mystery import cases as mystery
from sonde.envs.murder_mystery import filter as rules
from sonde.envs.murder_mystery import telling as mystery_case
from sonde.envs.murder_mystery.cases import Case, CaseAct, numbered_case, split_settings
from sonde.envs.murder_mystery.filter import CHANNELS, CLEARS, IMPLICATES, MARK, OPEN, SOLID, CaseModel, Slot, Truth
from tests.cases import each

ROOT = Path(__file__).resolve().parents[3]
FIVE = CHANNELS[:5]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [numbered_case(split, i) for split, n in mystery.TASKS.items() for i in range(n)]


# --- the model -------------------------------------------------------------------------------------------------------


@each("channels", [CHANNELS, *mystery._CHANNELS[1:]])
def test_vectors_have_the_supports_that_the_module_states(channels: tuple[rules.Channel, ...]) -> None:
    innocent, guilty = rules.channel_vectors(channels, False), rules.channel_vectors(channels, True)
    assert math.isclose(sum(innocent.values()), 1) and math.isclose(sum(guilty.values()), 1)
    assert not set(innocent) & set(guilty)
    for vector in product(range(3), repeat=len(channels)):
        cleared = {c for c, v in zip(channels, vector, strict=True) if v == CLEARS} & SOLID
        assert (vector in innocent) == bool(cleared)
        assert (vector in guilty) == (not cleared and vector.count(IMPLICATES) >= 2)
    trace = channels.index("trace")
    for table in (innocent, guilty):
        assert math.isclose(sum(p for v, p in table.items() if v[trace] == OPEN), 0.2)


def test_a_vector_by_hand() -> None:
    """Culprit, five channels: weights of the vectors with an open trace and without, cut and scaled by hand."""
    weights = [(0, 45, 55), (0, 20, 80), (0, 35, 65), (10, 35, 55), (0, 50, 50)]
    table = {
        v: math.prod(w[x] for w, x in zip(weights, v, strict=True))
        for v in product(range(3), repeat=5)
        if v.count(2) >= 2
    }
    closed = sum(w for v, w in table.items() if v[1] != OPEN)
    vector = (IMPLICATES, IMPLICATES, OPEN, CLEARS, OPEN)
    assert math.isclose(rules.channel_vectors(FIVE, True)[vector], 0.8 * table[vector] / closed)


def worlds(model: CaseModel) -> Iterator[tuple[Truth, float]]:
    """Every truth and its probability, by the definition."""
    trace = model.channels.index("trace")
    for culprit, mark in product(range(model.people_count), range(model.marks)):
        tables = [rules.channel_vectors(model.channels, p == culprit) for p in range(model.people_count)]
        others = [m for m in range(model.marks) if m != mark]
        for drawn in product(*tables):
            weight = model.prior[culprit] / model.marks
            weight *= math.prod(t[v] for t, v in zip(tables, drawn, strict=True))
            options = [(others, [model.marks], [mark])[v[trace]] for v in drawn]
            share = math.prod(1 / len(o) for o in options)
            for traits in product(*options):
                yield Truth(culprit, drawn, mark, traits), weight * share


class Table:
    """All worlds of a small model as an array: one row per world, one column per slot."""

    def __init__(self, model: CaseModel) -> None:
        rows = list(worlds(model))
        self.model, self.slots = model, model.slots
        self.values = np.array([[model.slot_value(t, s) for s in model.slots] for t, _ in rows])
        self.culprits = np.array([t.culprit for t, _ in rows])
        self.probs = np.array([p for _, p in rows])

    def joint(self, seen: dict[Slot, int]) -> list[float]:
        fits = np.ones(len(self.probs), bool)
        for slot, value in seen.items():
            fits &= self.values[:, self.slots.index(slot)] == value
        return [float(self.probs[fits & (self.culprits == i)].sum()) for i in range(self.model.people_count)]


@pytest.fixture(scope="module")
def table() -> Table:
    return Table(CaseModel(FIVE, 1, 1, 3))


def some_evidence(model: CaseModel, n: int) -> Iterator[dict[Slot, int]]:
    rng = random.Random(5)
    for _ in range(n):
        truth = model.draw_truth(rng)
        slots = rng.sample(model.slots, rng.randint(0, len(model.slots)))
        yield {s: model.slot_value(truth, s) for s in slots}


def test_posterior_equals_the_sum_over_all_worlds(table: Table) -> None:
    assert math.isclose(float(table.probs.sum()), 1)
    for seen in some_evidence(table.model, 50):
        expected = table.joint(seen)
        assert table.model.joint_weights(seen) == pytest.approx(expected, rel=1e-9, abs=1e-15)
        assert table.model.posterior(seen) == pytest.approx([e / sum(expected) for e in expected], rel=1e-9)
        assert table.model.likelihood(seen) == pytest.approx(
            [e / p for e, p in zip(expected, table.model.prior, strict=True)], rel=1e-9, abs=1e-15
        )


def test_traits_of_two_people_before_the_mark_are_weighed(table: Table) -> None:
    """They agree or not: the only trace evidence that is not a product over people."""
    for values in ((1, 1), (0, 2), (1, 3), (3, 3)):
        seen = {Slot(p, "trace"): v for p, v in enumerate(values)}
        assert table.model.joint_weights(seen) == pytest.approx(table.joint(seen), rel=1e-9)


def test_gain_equals_mutual_information_over_all_worlds(table: Table) -> None:
    def entropy(weights: Sequence[float]) -> float:
        total = sum(weights)
        return -sum(w / total * math.log2(w / total) for w in weights if w)

    model = table.model
    asked = [(MARK,), (Slot(0, "trace"),), (Slot(1, "alibi"),), (Slot(0, "access"), Slot(1, "access"))]
    for seen, slots in product(some_evidence(model, 6), asked):
        joint, after = table.joint(seen), 0.0
        for row in product(*(range(model.size(s)) for s in slots)):
            if any(seen.get(s, v) != v for s, v in zip(slots, row, strict=True)):
                continue
            rows = table.joint({**seen, **dict(zip(slots, row, strict=True))})
            after += sum(rows) / sum(joint) * entropy(rows) if sum(rows) else 0.0
        assert model.expected_gain(seen, slots) == pytest.approx(entropy(joint) - after, abs=1e-9)


def test_posterior_is_prior_times_ratio_of_marginals() -> None:
    model, rng = CaseModel(CHANNELS, 3, 2, 5), random.Random(2)
    for _ in range(40):
        truth = model.draw_truth(rng)
        own = [s for s in model.slots if s.channel != "trace"]
        seen = {s: model.slot_value(truth, s) for s in rng.sample(own, 12)}
        weights: list[float] = []
        for i in range(model.people_count):
            known = [(k, seen[s]) for k, c in enumerate(CHANNELS) if (s := Slot(i, c)) in seen]
            guilty, innocent = (
                sum(p for v, p in rules.channel_vectors(CHANNELS, g).items() if all(v[k] == x for k, x in known))
                for g in (True, False)
            )
            weights.append(model.prior[i] * guilty / innocent if innocent else math.inf)
        if math.inf in weights:
            weights = [float(w == math.inf) for w in weights]
        expected = [w / sum(weights) for w in weights]
        assert model.posterior(seen) == pytest.approx(expected, abs=1e-12)


def test_the_parts_of_a_trace_say_nothing_alone() -> None:
    model = CaseModel(CHANNELS, 4, 2, 5)
    parts = [(MARK, range(5)), *((Slot(p, "trace"), range(6)) for p in range(6))]
    for slot, values in parts:
        assert model.expected_gain({}, [slot]) == pytest.approx(0, abs=1e-12)
        for value in values:
            assert model.posterior({slot: value}) == pytest.approx(model.prior)
    assert model.expected_gain({MARK: 2}, [Slot(0, "trace")]) > 0.05


def test_drawing_follows_prob(table: Table) -> None:
    model, rng = table.model, random.Random(9)
    drawn = [model.draw_truth(rng) for _ in range(4000)]
    assert all(model.truth_prob(t) > 0 for t in drawn)
    for truth, p in list(worlds(model))[::997]:
        assert math.isclose(model.truth_prob(truth), p)
    for seen in ({MARK: 1, Slot(0, "trace"): 1}, {Slot(1, "alibi"): IMPLICATES, Slot(1, "motive"): IMPLICATES}):
        share = sum(all(model.slot_value(t, s) == v for s, v in seen.items()) for t in drawn) / len(drawn)
        expected = sum(model.joint_weights(seen))
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(drawn))


def test_impossible_truths_and_evidence_are_named() -> None:
    model, rng = CaseModel(FIVE, 3, 1, 5), random.Random(1)
    truth = model.draw_truth(rng)
    swapped = truth._replace(culprit=(truth.culprit + 1) % 4)
    assert (
        model.truth_prob(swapped)
        == model.truth_prob(truth._replace(mark=7))
        == model.truth_prob(truth._replace(traits=()))
        == 0
    )
    cleared = {Slot(p, "alibi"): CLEARS for p in range(4)}
    with pytest.raises(ValueError, match="no culprit fits"):
        model.posterior(cleared)


# --- the cases -------------------------------------------------------------------------------------------------------


def test_full_evidence_decides_every_case(cases: list[Case]) -> None:
    assert len(cases) == 253
    for frame, truth in cases:
        seen: dict[Slot, int] = {}
        for act in frame.acts:
            seen |= mystery_case.observe_act(Case(frame, truth), act).facts
        assert set(seen) == set(frame.model.slots), "everything can be found out"
        assert frame.model.posterior(seen)[truth.culprit] == pytest.approx(1)
        assert frame.model.truth_prob(truth) > 0


def test_most_probable_person_is_right_as_often_as_it_says(cases: list[Case]) -> None:
    rng, said, right = random.Random(3), 0.0, 0
    for frame, truth in cases:
        seen = {s: frame.model.slot_value(truth, s) for s in rng.sample(frame.model.slots, 12)}
        posterior = frame.model.posterior(seen)
        said += max(posterior)
        right += posterior.index(max(posterior)) == truth.culprit
    assert abs(said - right) / len(cases) < 3 * 0.5 / math.sqrt(len(cases))


def test_sizes_and_culprits(cases: list[Case]) -> None:
    guilty_witnesses = sum(not frame.people[truth.culprit].suspect for frame, truth in cases)
    assert 0.10 <= guilty_witnesses / len(cases) <= 0.25
    for frame, _ in cases:
        suspects = [p for p in frame.people if p.suspect]
        assert 3 <= len(suspects) <= 4 and 1 <= len(frame.people) - len(suspects) <= 3 and 4 <= len(frame.people) <= 6
        assert frame.people[: len(suspects)] == tuple(suspects)
        assert len(frame.channels) in (5, 6) and math.isclose(sum(frame.model.prior), 1)
        names = [frame.victim, *(p.name for p in frame.people)]
        assert len({n.split()[0] for n in names}) == len({n.split()[1] for n in names}) == len(names)
        assert len({n[0] for n in names}) == len(names)


def test_no_two_cases_are_the_same_and_tests_have_new_settings(cases: list[Case]) -> None:
    assert len({mystery_case.write_briefing(frame) for frame, _ in cases}) == len(cases)
    used = {split: {numbered_case(split, i).frame.setting for i in range(n)} for split, n in mystery.TASKS.items()}
    assert len(used["train"] | used["test"]) >= 32
    assert used["train"] == set(split_settings("train"))
    assert used["test"] - used["train"] == set(split_settings("test")) and len(split_settings("test")) >= 8


def test_determinism() -> None:
    for split, i in (("train", 0), ("train", 202), ("test", 49)):
        rng, known = Rng(0, "task", "murder_mystery", "paprika", split, i), numbered_case(split, i)
        again = mystery.generate_case(rng, known.frame.setting)
        assert again == known == pickle.loads(pickle.dumps(known)) and hash(again) == hash(known)
        assert mystery_case.all_clues(again) == mystery_case.all_clues(known)
    with pytest.raises(UnknownName):
        numbered_case("valid", 0)
    with pytest.raises(ValueError, match="0 to 49"):
        numbered_case("test", 50)


def test_texts_depend_on_nothing_but_the_values_they_reveal() -> None:
    """Another truth in the same frame: wherever an act reveals the same, it says the same; and else, something else."""
    rng, compared = random.Random(4), Counter[bool]()
    for i in range(0, 203, 17):
        one = numbered_case("train", i)
        other = Case(one.frame, one.frame.model.draw_truth(rng))
        for a, b in zip(mystery_case.all_clues(one), mystery_case.all_clues(other), strict=True):
            assert (a.text == b.text) == (a.values == b.values), a.act
            compared[a.values == b.values] += 1
    assert min(compared.values()) > 50


def test_every_lie_is_refuted(cases: list[Case]) -> None:
    told = 0
    for item in cases:
        for lie in mystery_case.find_lies(item):
            told += 1
            assert item.frame.acts[lie.act] == () and IMPLICATES in mystery_case.observe_act(item, lie.refuted).values
            assert lie.refuted.verb != "ask" or lie.refuted.target != lie.act.target
        for number, person in enumerate(item.frame.people):
            lied = any(lie.act == CaseAct("ask", person.id, "alibi") for lie in mystery_case.find_lies(item))
            assert lied == (item.truth.vectors[number][0] == IMPLICATES)
    assert told > 500


def test_clues_read_well(cases: list[Case]) -> None:
    confession = re.compile(
        r"\bI (did it|killed|struck|poisoned|murdered|confess|am guilty)|forgive me|my fault|it was me\b", re.IGNORECASE
    )
    flaws = re.compile(r"[{}]|  |\.\.|\b(he|she|his|her|him|hers)\b|\ba [aeio]|\bthe the\b|[.!?]\"? [a-z]")
    for item in cases:
        for text in (mystery_case.write_briefing(item.frame), *(c.text for c in mystery_case.all_clues(item))):
            assert not confession.search(text), text
            assert not flaws.search(text), text
            assert text[0].isupper() or text[0] == '"', text
            assert text[-1] in '."', text


def test_gains_name_the_acts_that_can_still_reveal_something() -> None:
    item = numbered_case("test", 3)
    first = mystery_case.act_gains(item.frame, {})
    assert all(item.frame.acts[act] for act in first) and max(first.values()) > 0.1
    seen: dict[Slot, int] = {}
    while max(item.frame.model.posterior(seen)) < 0.99:
        left = mystery_case.act_gains(item.frame, seen)
        best = max(left, key=lambda act: left[act])
        seen |= mystery_case.observe_act(item, best).facts
        assert best not in mystery_case.act_gains(item.frame, seen)
    assert item.frame.model.posterior(seen)[item.truth.culprit] > 0.99


# --- briefings -------------------------------------------------------------------------------------------------------


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def naive_bayes(rows: list[tuple[set[str], bool]]) -> tuple[Counter[str], Counter[str], int, int]:
    yes, no = Counter[str](), Counter[str]()
    for bag, guilty in rows:
        (yes if guilty else no).update(bag)
    return yes, no, sum(g for _, g in rows), sum(not g for _, g in rows)


def log_ratio(learned: tuple[Counter[str], Counter[str], int, int], bag: set[str]) -> float:
    yes, no, n_yes, n_no = learned
    return sum(math.log((yes[w] + 1) / (n_yes + 2) * (n_no + 2) / (no[w] + 1)) for w in bag)


@pytest.mark.thorough
@each("what", ["person", "position"])
def test_naive_bayes_on_the_briefing_is_no_better_than_the_prior(what: str) -> None:
    """From the words of a person's own line (name, role), or of the whole briefing for every position in the list."""
    names = split_settings("train") + split_settings("test")
    drawn = [
        mystery.generate_case(Rng(0, "check", "murder_mystery", "bayes", i), names[i % len(names)]) for i in range(2400)
    ]

    def bag(frame: mystery.Frame, p: int) -> set[str]:
        person = frame.people[p]
        own = words(f"{person.name} {person.role}")
        return own if what == "person" else {f"{p} {w}" for w in words(mystery_case.write_briefing(frame)) | own}

    learned = naive_bayes(
        [(bag(frame, p), p == truth.culprit) for frame, truth in drawn[:1600] for p in range(len(frame.people))]
    )
    right, expected, variance = 0, 0.0, 0.0
    for frame, truth in drawn[1600:]:
        prior = frame.model.prior
        score = [math.log(prior[p]) + log_ratio(learned, bag(frame, p)) for p in range(len(prior))]
        guess = score.index(max(score))
        right += guess == truth.culprit
        expected += prior[guess]
        variance += prior[guess] * (1 - prior[guess])
    assert abs(right - expected) < 3 * math.sqrt(variance)
    assert right / 800 < 0.3


def test_anybody_of_a_frame_can_have_done_it() -> None:
    frame = numbered_case("train", 7).frame
    assert {frame.model.draw_truth(random.Random(i)).culprit for i in range(60)} == set(range(len(frame.people)))


def test_a_briefing_names_everybody_and_every_place(cases: list[Case]) -> None:
    for frame, _ in cases:
        text = mystery_case.write_briefing(frame)
        assert set(frame.names) >= {act.target for act in frame.acts}
        for thing in (*frame.people, *frame.places, *frame.records):
            assert thing.name in text
        assert frame.victim in text and frame.weapon in text


def test_the_build_script_gives_the_shipped_file() -> None:
    path = ROOT / "src/sonde/envs/murder_mystery/sources/compile.py"
    spec = importlib.util.spec_from_file_location("build_murder_mystery", path)
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    shipped = ROOT / "src/sonde/envs/murder_mystery/data/cases.json"
    assert build.dump(build.build_cases()) == shipped.read_text("utf-8")
    with pytest.raises(ValueError, match="unknown"):
        build.check_sentence("here", "{nobody} was there")
    with pytest.raises(ValueError, match="more than once"):
        build.check_distinct("here", ["a", "b", "a"])


def test_enough_sentences_of_every_kind() -> None:
    text = mystery.case_data()["text"]
    for kind in ("sighting", "motive", "slip_blow", "slip_poison"):
        assert all(len(text[kind][value]) >= 4 for value in rules.VALUES)
    assert len(text["claim"]["say"]) >= 6 and min(len(text[k]["deny"]) for k in ("motive", "scene")) >= 6
    for value in rules.VALUES:
        assert sum(len(kinds[value]) for kinds in text["alibi"].values()) >= 15
        assert all(len(text["access"][means][value]) >= 4 for means in ("key", "code", "skill"))
