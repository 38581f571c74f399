"""Build ``data/products.json``. Run: ``python src/sonde/envs/customer_service/sources/compile.py``.

Products with a symptom and hidden causes. Idea: PAPRIKA, appendix B.4.3 (a support agent finds out what is wrong with a
customer's product). There a language model wrote the scenarios and another one plays the customer; here products,
findings, causes and all wordings are ours, written by hand in ``*.toml``, with exact probabilities in
place of a model's judgement.

Notation of the TOML files
- A list of cues is one string, separated by commas. `still` and `solved` are clauses that tell how things stand.
- ``[product.f.ID]`` is a finding: `v` maps each value to the customer's answer, `ask` has questions written for it.
- ``[product.c.ID]`` is a cause: `w` its weight, `fix` the instruction, `try` the cues of the fix, `ask` suggestions of
  it, `tried` what the customer reports. `p` has one word for each finding, in order: a letter is the value that is
  certain (a: the first), and numbers like 8:2 are the odds of the values.
- The names of findings (`asks`), causes (`what`) and fixes (`fix`) are cues too.
- Three more questions and suggestions each come from carrier sentences, chosen by a digest.
- ``sentences.txt`` has the customer's answers where they are not those of `v`: under ``[product]`` lines
  ``finding: one | for | each value``, full sentences, true whatever was asked.
- ``answers.txt`` has the legal answer for each fix and the sentence that says it (``compile_answers.py``).
- ``words.txt`` has more words that people use for a finding, or for a cause and its fix: under ``[product]`` lines
  ``finding: words`` and ``cause: words``. They help to tell what a message is about, together with other words.

The split: the quarter of all (product, cause) pairs with the smallest BLAKE2b digests is the test part. If that would
take all pairs of a product, the largest of them stays in train and the next of the other pairs takes its place.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE
TARGET = HERE.parent / "data" / "products.json"

Raw = Mapping[str, Any]
Product = dict[str, Any]

ASKING = (
    "What can you tell me about {}?",
    "Could you say something about {}?",
    "Please tell me about {}.",
    "It would help me to know more about {}.",
    "May I ask about {}?",
    "What should I know about {}?",
    "Can you say a little more about {}?",
    "Next I would like to ask about {}.",
)
SUGGESTING = (
    "Please {}.",
    "Could you {}?",
    "I suggest that you {}.",
    "The next step is to {}.",
    "Would you please {}?",
    "My advice is to {}.",
    "I think it is time to {}.",
    "Perhaps you could {}.",
)
DONE = ("{}, and {}!", "{}, and now {}.", "{}, and what do you know: {}.")
FAILED = ("{}, but {}.", "{}, and even so {}.", "{}. It was no use: {}.")

COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for with that this have from not but you your its was are out off all one new when then than there"
        " time into over only back will does still just more what which after before again been has had any can get own"
        " they about them very now two three let send use using same next make take put set our",
    )
)
"""Words that point at nothing, though a cue may contain them."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the products of customer_service.")
    parser.add_argument("--source", type=Path, default=SOURCE, help="folder with TOML files (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=TARGET, help="file to write (default: %(default)s)")
    args = parser.parse_args()
    products = build_products(args.source)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(dump(products), encoding="ascii")
    print(counts(products))


def build_products(source: Path) -> list[Product]:
    """All products, checked, in the order of their ids."""
    raws = [raw for path in sorted(source.glob("*.toml")) for raw in read(path)]
    more = vocabulary((source / "words.txt").read_text(encoding="ascii"))
    products = sorted((product(raw, more.pop(raw["id"], {})) for raw in raws), key=lambda p: p["id"])
    if more:
        raise ValueError(f"words.txt: unknown products {sorted(more)}")
    told, spoken = sentences((source / "sentences.txt").read_text(encoding="ascii")), legal(source / "answers.txt")
    for p in products:
        for f in p["findings"]:
            f["answers"] = told.pop((p["id"], f["id"]), f["answers"])
        for c in p["causes"]:
            c["fix"]["answer"], c["fix"]["suggestion"] = spoken.pop(f"{p['id']}/{c['id']}")
    if told or spoken:
        raise ValueError(f"sentences.txt, answers.txt: unknown {sorted(map(str, (*told, *spoken)))}")
    problems = [problem for p in products for problem in check(p)] + unique(products)
    if problems:
        raise ValueError(f"customer_service: {len(problems)} problems:\n" + "\n".join(problems))
    assign(products)
    return products


def read(path: Path) -> list[Raw]:
    return tomllib.loads(path.read_text(encoding="utf-8"))["product"]


def vocabulary(text: str) -> dict[str, dict[str, list[str]]]:
    """The words of every finding and cause: `{"laptop_dead": {"f:led": [...], "c:charger": [...]}}`."""
    found: dict[str, dict[str, list[str]]] = {}
    block: dict[str, list[str]] = {}
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("["):
            block = found[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            name, _, rest = line.partition(": ")
            block[name] = rest.split()
    return found


def sentences(text: str) -> dict[tuple[str, str], list[str]]:
    """The customer's answers by product and finding."""
    found: dict[tuple[str, str], list[str]] = {}
    product = ""
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("["):
            product = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, rest = line.partition(": ")
            found[product, name] = [answer.strip() for answer in rest.split(" | ")]
    return found


def legal(path: Path) -> dict[str, tuple[str, str]]:
    """Catchwords and sentence of each fix, by product and cause."""
    rows = (line.partition(": ") for line in path.read_text(encoding="ascii").splitlines())
    return {key: (words, sentence) for key, _, rest in rows for words, _, sentence in [rest.partition(" | ")]}


def dump(products: Iterable[Product]) -> str:
    """JSON with one line per product."""
    return "[\n" + ",\n".join(json.dumps(p) for p in products) + "\n]\n"


def counts(products: list[Product]) -> dict[str, int]:
    split = Counter(c["split"] for p in products for c in p["causes"])
    findings = sum(len(p["findings"]) for p in products)
    openings = sum(len(p["openings"]) for p in products)
    return {"products": len(products), "findings": findings, "openings": openings, "pairs": split.total(), **split}


# --- from the notation to the shipped form ---------------------------------------------------------------------------


def product(raw: Raw, more: Mapping[str, list[str]]) -> Product:
    findings = [finding(raw["id"], name, f, more.get(f"f:{name}", [])) for name, f in raw["f"].items()]
    causes = [
        cause(raw, findings, i, name, c, more.get(f"c:{name}", [])) for i, (name, c) in enumerate(raw["c"].items())
    ]
    if unknown := set(more) - {f"f:{name}" for name in raw["f"]} - {f"c:{name}" for name in raw["c"]}:
        raise ValueError(f"words.txt: {raw['id']}: unknown {sorted(unknown)}")
    head = {field: raw[field] for field in ("id", "product", "symptom", "openings")}
    return {**head, "findings": findings, "causes": causes}


def finding(where: str, name: str, raw: Raw, more: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "asks": raw["asks"],
        "values": list(raw["v"]),
        "cues": [*cues(raw["cues"]), *core(raw["asks"], raw["cues"])],
        "questions": [*raw["ask"], *fill_carriers(ASKING, f"{where}/{name}", raw["asks"])],
        "answers": list(raw["v"].values()),
        "more": more,
    }


def cause(
    product: Raw, findings: list[dict[str, Any]], index: int, name: str, raw: Raw, more: list[str]
) -> dict[str, Any]:
    key = f"{product['id']}/{name}"
    odds = raw["p"].split()
    if len(odds) != len(findings):
        raise ValueError(f"{key}: p: got {len(odds)} words, allowed: {len(findings)}, one for each finding")
    return {
        "id": name,
        "what": raw["what"],
        "cues": [*cues(raw["cues"]), *core(raw["what"], raw["cues"])],
        "weight": raw["w"],
        "likelihood": {f["id"]: chances(key, word, len(f["values"])) for f, word in zip(findings, odds, strict=True)},
        "fix": {
            "id": f"fix_{name}",
            "what": raw["fix"],
            "cues": [*cues(raw["try"]), *core(raw["fix"], raw["try"])],
            "questions": [*raw["ask"], *fill_carriers(SUGGESTING, key, raw["fix"])],
            "done": combine_report(DONE, raw["tried"], product["solved"], index),
            "failed": combine_report(FAILED, raw["tried"], product["still"], index),
        },
        "more": more,
    }


def cues(text: str) -> list[str]:
    return [cue.strip() for cue in text.split(",")]


def core(name: str, others: str) -> list[str]:
    """A name without its article, which a carrier sentence or an agent repeats, unless it is a cue anyway."""
    bare = re.sub(r"^(the|an?|any|your) ", "", name)
    return [] if bare in cues(others) else [bare]


def chances(key: str, word: str, size: int) -> list[float]:
    """`b` of two values is [0, 1]; `8:2` is [0.8, 0.2]."""
    if re.fullmatch(r"[a-d]", word):
        odds = [int(i == "abcd".index(word)) for i in range(size)]
    else:
        odds = [int(part) for part in word.split(":")]
    if len(odds) != size or not sum(odds):
        raise ValueError(f"{key}: p: got {word!r}, allowed: a letter or odds of {size} values")
    return [round(odd / sum(odds), 6) for odd in odds]


def fill_carriers(carriers: tuple[str, ...], key: str, phrase: str) -> list[str]:
    """Three different carrier sentences around the phrase."""
    first = digest(key) % len(carriers)
    step = len(carriers) // 3
    return [carriers[(first + i * step) % len(carriers)].format(phrase) for i in range(3)]


def combine_report(forms: tuple[str, ...], tried: str, clauses: list[str], index: int) -> str:
    return forms[index % len(forms)].format(tried, clauses[index % len(clauses)])


def digest(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


def assign(products: list[Product]) -> None:
    """Write `split` into every cause."""
    ranked = sorted(
        ((p["id"], c["id"]) for p in products for c in p["causes"]), key=lambda pair: digest("/".join(pair))
    )
    left = Counter(name for name, _ in ranked)
    test: set[tuple[str, str]] = set()
    for pair in ranked:
        if len(test) < round(len(ranked) / 4) and left[pair[0]] > 1:
            test.add(pair)
            left[pair[0]] -= 1
    for p in products:
        for c in p["causes"]:
            c["split"] = "test" if (p["id"], c["id"]) in test else "train"


# --- checks ----------------------------------------------------------------------------------------------------------


def unique(products: list[Product]) -> list[str]:
    """Names and texts that must be unique in the whole file."""
    problems: list[str] = []
    texts = {
        "id": [p["id"] for p in products],
        "product and symptom": [(p["product"], p["symptom"]) for p in products],
        "opening": [o for p in products for o in p["openings"]],
        "fix": [c["fix"]["what"] for p in products for c in p["causes"]],
    }
    for field, values in texts.items():
        problems += [f"{field} twice: {value}" for value, n in Counter(values).items() if n > 1]
    return problems


def check(p: Product) -> list[str]:
    found = [*sizes(p), *values(p), *collisions(p), *separation(p), *hints(p), *plain(p)]
    return [f"{p['id']}: {problem}" for problem in found]


def sizes(p: Product) -> Iterator[str]:
    yield from at_least("openings", p["openings"], 3)
    if not 5 <= len(p["findings"]) <= 9 or not 3 <= len(p["causes"]) <= 6:
        yield f"{len(p['findings'])} findings (allowed: 5 to 9), {len(p['causes'])} causes (allowed: 3 to 6)"
    for f in p["findings"]:
        yield from at_least(f"{f['id']}: cues", f["cues"], 5)
        yield from at_least(f"{f['id']}: questions", f["questions"], 5)
        if len(f["answers"]) != len(f["values"]):
            yield f"{f['id']}: {len(f['answers'])} answers for {len(f['values'])} values"
        if not 2 <= len(f["values"]) <= 4:
            yield f"{f['id']}: {len(f['values'])} values, allowed: 2 to 4"
    for c in p["causes"]:
        yield from at_least(f"{c['id']}: cues", c["cues"], 3)
        yield from at_least(f"{c['id']}: fix cues", c["fix"]["cues"], 4)
        yield from at_least(f"{c['id']}: fix questions", c["fix"]["questions"], 5)
        yield from (
            f"{c['id']}: {name} sums to {sum(q)}" for name, q in c["likelihood"].items() if abs(sum(q) - 1) > 1e-5
        )
        if not c["weight"] > 0:
            yield f"{c['id']}: weight {c['weight']}, allowed: above 0"


def values(p: Product) -> Iterator[str]:
    """Check that every value is possible under some cause."""
    for f in p["findings"]:
        for i, value in enumerate(f["values"]):
            if not any(c["likelihood"][f["id"]][i] for c in p["causes"]):
                yield f"{f['id']}: no cause has the value {value!r}"


def at_least(name: str, values: list[str], n: int) -> Iterator[str]:
    if len(set(values)) < n or len(set(values)) < len(values):
        yield f"{name}: {len(set(values))} different of {len(values)}, allowed: {n} or more, all different"


def collisions(p: Product) -> Iterator[str]:
    """Check that a cue serves only one finding, or only one cause with its fix."""
    owners: dict[str, set[str]] = {}
    for f in p["findings"]:
        for cue in f["cues"]:
            owners.setdefault(cue, set()).add(f["id"])
    for c in p["causes"]:
        for cue in c["cues"] + c["fix"]["cues"]:
            owners.setdefault(cue, set()).add(f"cause {c['id']}")
    yield from (f"cue {cue!r} of {sorted(names)}" for cue, names in owners.items() if len(names) > 1)


def separation(p: Product) -> Iterator[str]:
    for a, b in combinations(p["causes"], 2):
        if not any(are_separated(a["likelihood"][f["id"]], b["likelihood"][f["id"]]) for f in p["findings"]):
            yield f"nothing separates {a['id']} and {b['id']}"


def are_separated(one: list[float], other: list[float]) -> bool:
    """Some value is certain under one cause and impossible under the other."""
    return any({x, y} == {0.0, 1.0} for x, y in zip(one, other, strict=True))


def hints(p: Product) -> Iterator[str]:
    """Openings and answers that name a cause or its fix, and words of openings that only one cause has."""
    named = {c["id"]: c["cues"] + c["fix"]["cues"] for c in p["causes"]}
    texts = p["openings"] + [answer for f in p["findings"] for answer in f["answers"]]
    for name, phrases in named.items():
        yield from (f"{text!r} names {cue!r} of {name}" for text in texts for cue in phrases if says(text, cue))
    shared = Counter(word for phrases in named.values() for word in words(" ".join(phrases)))
    own = {word for word, n in shared.items() if n == 1} - words(p["product"] + " " + p["symptom"]) - COMMON
    for opening in p["openings"]:
        yield from (f"opening has {word!r}, a word of one cause: {opening!r}" for word in sorted(words(opening) & own))


def plain(p: Product) -> Iterator[str]:
    """Check that every text is clean ASCII and that sentences end with a mark."""
    for text in strings(p):
        if not text or text != " ".join(text.split()) or not text.isascii():
            yield f"unclean text {text!r}"
    answers = [a for f in p["findings"] for a in f["answers"]]
    ends = [c["fix"][field] for c in p["causes"] for field in ("done", "failed")]
    for text in p["openings"] + answers + ends:
        if text[-1] not in ".!?" or not (text[0].isupper() or text[0].isdigit()):
            yield f"not a sentence: {text!r}"


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def says(text: str, phrase: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}\b", text, re.IGNORECASE) is not None


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 2}


if __name__ == "__main__":
    main()
