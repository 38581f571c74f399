"""The products of customer_service: structure, full evidence decides, the split, no hints, and the build script."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sonde._util.folders import data_file
from tests.cases import each

Product = dict[str, Any]
Cause = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = data_file("customer_service", "products.json")
PRODUCTS: list[Product] = json.loads(SHIPPED.read_text(encoding="ascii"))
PAIRS: list[tuple[Product, Cause]] = [(p, c) for p in PRODUCTS for c in p["causes"]]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "build_customer_service", ROOT / "src/sonde/envs/customer_service/sources/compile.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def has(text: str, phrase: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}\b", text, re.IGNORECASE) is not None


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_shipped_file_is_what_the_sources_give(build: ModuleType) -> None:
    products = build.build_products(build.SOURCE)
    assert build.dump(products) == SHIPPED.read_text(encoding="ascii")
    assert build.counts(products) == {
        "products": 88, "findings": 440, "openings": 264, "pairs": 392, "train": 294, "test": 98,
    }  # fmt: skip


def schema(entry: Product) -> None:
    assert list(entry) == ["id", "product", "symptom", "openings", "findings", "causes"]
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", entry["id"])
    assert len(set(entry["openings"])) >= 3
    assert 5 <= len(entry["findings"]) <= 9 and 3 <= len(entry["causes"]) <= 6
    for f in entry["findings"]:
        assert list(f) == ["id", "asks", "values", "cues", "questions", "answers", "more"]
        assert 2 <= len(set(f["values"])) == len(f["values"]) == len(set(f["answers"])) <= 4
        assert len(set(f["cues"])) >= 5 and len(set(f["questions"])) >= 5
    for c in entry["causes"]:
        assert list(c) == ["id", "what", "cues", "weight", "likelihood", "fix", "more", "split"]
        assert list(c["fix"]) == ["id", "what", "cues", "questions", "done", "failed", "answer", "suggestion"]
        assert c["weight"] > 0 and len(set(c["cues"])) >= 3
        assert len(set(c["fix"]["cues"])) >= 4 and len(set(c["fix"]["questions"])) >= 5
        assert c["fix"]["done"] != c["fix"]["failed"]


def likelihoods_are_distributions_over_the_values(entry: Product) -> None:
    sizes = {f["id"]: len(f["values"]) for f in entry["findings"]}
    for c in entry["causes"]:
        assert {name: len(chances) for name, chances in c["likelihood"].items()} == sizes
        for chances in c["likelihood"].values():
            assert math.isclose(sum(chances), 1.0, abs_tol=1e-5) and min(chances) >= 0


def test_names_and_texts_are_unique() -> None:
    def repeated(texts: Iterable[str]) -> list[str]:
        return [text for text, n in Counter(texts).items() if n > 1]

    assert repeated(p["id"] for p in PRODUCTS) == []
    assert repeated(p["product"] for p in PRODUCTS) == []
    assert repeated(o for p in PRODUCTS for o in p["openings"]) == []
    assert repeated(c["fix"]["what"] for _, c in PAIRS) == []
    assert repeated(c["fix"][end] for _, c in PAIRS for end in ("done", "failed")) == []
    for p in PRODUCTS:
        assert repeated(f["id"] for f in p["findings"]) == repeated(c["id"] for c in p["causes"]) == []
        assert repeated(c["fix"]["id"] for c in p["causes"]) == []


def no_cue_serves_two(entry: Product) -> None:
    owners: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for f in entry["findings"]:
        for cue in f["cues"]:
            owners[cue].add(("finding", f["id"]))
    for c in entry["causes"]:
        for cue in c["cues"] + c["fix"]["cues"]:
            owners[cue].add(("cause", c["id"]))
    assert {cue: names for cue, names in owners.items() if len(names) > 1} == {}


def questions_point_at_what_they_ask_by_their_cues(entry: Product) -> None:
    """The words of all cues found in a question speak most for its own finding, or fix."""
    for group in (entry["findings"], [c["fix"] for c in entry["causes"]]):
        for own in group:
            for question in own["questions"]:
                scores = {x["id"]: said(question, x["cues"]) for x in group}
                best = max(scores.values())
                assert [name for name, score in scores.items() if score == best] == [own["id"]], question


def questions_are_not_mistaken_for_suggestions_nor_suggestions_for_questions(entry: Product) -> None:
    for c in entry["causes"]:
        for suggestion in c["fix"]["questions"]:
            rivals = [said(suggestion, f["cues"]) for f in entry["findings"]]
            assert max(rivals) < said(suggestion, c["fix"]["cues"]), suggestion
    for f in entry["findings"]:
        for question in f["questions"]:
            rivals = [said(question, c["cues"] + c["fix"]["cues"]) for c in entry["causes"]]
            assert max(rivals) < said(question, f["cues"]), question


def a_cause_is_known_by_its_own_words(entry: Product) -> None:
    for c in entry["causes"]:
        scores = {x["id"]: said(c["what"], x["cues"]) for x in entry["causes"]}
        assert all(scores[c["id"]] > score for name, score in scores.items() if name != c["id"])


def a_question_about_a_finding_names_no_cause_and_no_fix(entry: Product) -> None:
    cues = [cue for c in entry["causes"] for cue in c["cues"] + c["fix"]["cues"]]
    questions = [question for f in entry["findings"] for question in f["questions"]]
    assert [(question, cue) for question in questions for cue in cues if has(question, cue)] == []


def said(text: str, cues: list[str]) -> int:
    """Words of the cues that the text contains; a cue may be the beginning of a longer word."""
    return sum(len(cue.split()) for cue in cues if re.search(rf"\b{re.escape(cue)}", text, re.IGNORECASE))


# --- evidence --------------------------------------------------------------------------------------------------------


def draws(entry: Product, cause: Cause) -> Iterator[tuple[int, ...]]:
    """All combinations of values with positive probability under the cause."""
    yield from product(*([i for i, q in enumerate(cause["likelihood"][f["id"]]) if q] for f in entry["findings"]))


def fits(entry: Product, cause: Cause, values: tuple[int, ...]) -> bool:
    return all(cause["likelihood"][f["id"]][i] for f, i in zip(entry["findings"], values, strict=True))


def full_evidence_leaves_one_cause_in_every_draw(entry: Product) -> None:
    for cause in entry["causes"]:
        for values in draws(entry, cause):
            assert [c["id"] for c in entry["causes"] if fits(entry, c, values)] == [cause["id"]]


def a_certain_value_separates_any_two_causes(entry: Product) -> None:
    for a, b in combinations(entry["causes"], 2):
        pairs = [zip(a["likelihood"][f["id"]], b["likelihood"][f["id"]], strict=True) for f in entry["findings"]]
        assert any({x, y} == {0, 1} for pair in pairs for x, y in pair), (a["id"], b["id"])


def test_the_opening_never_decides() -> None:
    """No cause has more than half of the weight."""
    for p in PRODUCTS:
        weights = [c["weight"] for c in p["causes"]]
        assert max(weights) / sum(weights) <= 0.5, p["id"]


# --- nothing gives the cause away ------------------------------------------------------------------------------------


def openings_and_answers_name_no_cause_and_no_fix(entry: Product) -> None:
    texts = entry["openings"] + [answer for f in entry["findings"] for answer in f["answers"]]
    cues = [cue for c in entry["causes"] for cue in c["cues"] + c["fix"]["cues"]]
    assert [(text, cue) for text in texts for cue in cues if has(text, cue)] == []


def test_a_bag_of_words_of_the_opening_does_not_find_the_cause() -> None:
    """Naive Bayes with add-one smoothing, over the causes of the product at hand, against the heaviest cause."""
    classes: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for p, c in PAIRS:
        if c["split"] == "train":
            for opening in p["openings"]:
                classes[c["id"]] += 1
                counts[c["id"]].update(tokens(f"{p['product']} {opening}"))
    vocabulary = {word for bag in counts.values() for word in bag}

    def score(cause: str, words: list[str]) -> float:
        total = counts[cause].total() + len(vocabulary)
        prior = math.log((classes[cause] + 1) / (classes.total() + len(PAIRS)))
        return prior + sum(math.log((counts[cause][word] + 1) / total) for word in words)

    bayes = heaviest = 0
    for p, c in PAIRS:
        if c["split"] == "test":
            top = max(p["causes"], key=lambda x: x["weight"])
            heaviest += len(p["openings"]) * (top["id"] == c["id"])
            for opening in p["openings"]:
                words = tokens(f"{p['product']} {opening}")
                bayes += max(p["causes"], key=lambda x: score(x["id"], words))["id"] == c["id"]
    assert bayes <= heaviest and heaviest > 0, (bayes, heaviest)


# --- the split -------------------------------------------------------------------------------------------------------


def test_the_split_follows_the_digests_and_leaves_every_product_a_train_pair(build: ModuleType) -> None:
    test = {(p["id"], c["id"]) for p, c in PAIRS if c["split"] == "test"}
    train = {(p["id"], c["id"]) for p, c in PAIRS if c["split"] == "train"}
    assert len(test) == round(len(PAIRS) / 4) and len(test | train) == len(PAIRS) and not test & train
    assert {name for name, _ in train} == {p["id"] for p in PRODUCTS}
    ranked = sorted(test | train, key=lambda pair: build.digest("/".join(pair)))
    last = max(ranked.index(pair) for pair in test)
    spared = [pair for pair in ranked[:last] if pair in train]
    # A pair of lower digest is in train only if it is the last of its product.
    assert all(sum(name == pair[0] for name, _ in train) == 1 for pair in spared)


def test_the_weights_of_both_parts_are_alike() -> None:
    """The test part is no collection of odd causes: its mean share of weight is near that of the train part."""
    shares: dict[str, list[float]] = defaultdict(list)
    for p, c in PAIRS:
        shares[c["split"]].append(c["weight"] / sum(x["weight"] for x in p["causes"]))
    train, test = (sum(shares[part]) / len(shares[part]) for part in ("train", "test"))
    assert abs(train - test) < 0.03


# --- the build refuses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda p: p["openings"].pop(), "openings: 2 different"),
        (lambda p: p["findings"][0]["cues"].append(p["findings"][1]["cues"][0]), "cue "),
        (lambda p: p["causes"][0].update(likelihood=p["causes"][1]["likelihood"]), "nothing separates"),
        (lambda p: p["openings"].append(f"It must be: {p['causes'][0]['cues'][0]}."), " names "),
        (lambda p: p["causes"][0].update(weight=0), "weight 0"),
        (lambda p: p["openings"].append("no capital and no stop"), "not a sentence"),
    ],
)
def test_the_build_refuses_what_breaks_a_rule(build: ModuleType, spoil: Any, message: str) -> None:
    entry = json.loads(json.dumps(PRODUCTS[0]))
    assert build.check(entry) == []
    spoil(entry)
    assert any(message in problem for problem in build.check(entry))


@pytest.mark.parametrize("word, size", [("c", 2), ("5:5", 3), ("0:0", 2), ("e", 4)])
def test_the_build_refuses_odds_that_do_not_fit(build: ModuleType, word: str, size: int) -> None:
    with pytest.raises(ValueError, match=rf"got '{word}'|invalid literal"):
        build.chances("x/y", word, size)


def test_odds_by_hand(build: ModuleType) -> None:
    assert build.chances("x/y", "b", 3) == [0, 1, 0]
    assert build.chances("x/y", "8:2", 2) == [0.8, 0.2]


def test_more_words_are_read_and_belong_to_something(build: ModuleType) -> None:
    found = build.vocabulary("# note\n[a_b]\nf:led: glow lit\n\nc:fuse: blown\n[c_d]\n")
    assert found == {"a_b": {"f:led": ["glow", "lit"], "c:fuse": ["blown"]}, "c_d": {}}
    raw = next(iter(build.read(build.SOURCE / "phones.toml")))
    with pytest.raises(ValueError, match=r"words\.txt: .*unknown.*c:magic"):
        build.product(raw, {"c:magic": ["wand"]})


RULES = (
    schema, likelihoods_are_distributions_over_the_values, no_cue_serves_two,
    questions_point_at_what_they_ask_by_their_cues,
    questions_are_not_mistaken_for_suggestions_nor_suggestions_for_questions, a_cause_is_known_by_its_own_words,
    a_question_about_a_finding_names_no_cause_and_no_fix, full_evidence_leaves_one_cause_in_every_draw,
    a_certain_value_separates_any_two_causes, openings_and_answers_name_no_cause_and_no_fix,
)  # fmt: skip


@each("rule", RULES)
def test_every_product(rule: Callable[[Product], None]) -> None:
    for entry in PRODUCTS:
        rule(entry)
