"""Products that fail: their findings, causes and fixes, from `data/products.json`.

Own data (`sources/compile.py`). A product has causes with weights, and findings with values; the findings of a case are
drawn once, independently, from the likelihoods of its cause.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sonde._util.folders import data_file


class Finding(NamedTuple):
    """Something to ask about. `values` and the customer's `answers` are parallel; `more` are further words for it."""

    id: str
    asks: str
    values: tuple[str, ...]
    answers: tuple[str, ...]
    cues: tuple[str, ...]
    questions: tuple[str, ...]
    more: tuple[str, ...]


class Cause(NamedTuple):
    """A possible cause with its fix. `likelihood[f][v]` is the probability of value v of finding f; `answer` is the
    part of `suggestion` that the customer needs to understand it."""

    id: str
    what: str
    cues: tuple[str, ...]
    weight: float
    likelihood: tuple[tuple[float, ...], ...]
    split: str
    fix: str
    fix_what: str
    fix_cues: tuple[str, ...]
    suggestions: tuple[str, ...]
    done: str
    failed: str
    more: tuple[str, ...]
    answer: str
    suggestion: str


class Product(NamedTuple):
    """One product with one symptom."""

    id: str
    product: str
    symptom: str
    openings: tuple[str, ...]
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]

    def finding_index(self, name: str) -> int:
        """The number of a finding."""
        return [f.id for f in self.findings].index(name)

    def cause_index(self, name: str) -> int:
        """The number of a cause."""
        return [c.id for c in self.causes].index(name)


@cache
def load_products() -> Mapping[str, Product]:
    """All products by their ids, loaded once per process."""
    text = data_file("customer_service", "products.json").read_text("ascii")
    return {row["id"]: parse_product(row) for row in json.loads(text)}


def parse_product(row: Mapping[str, Any]) -> Product:
    """Parse the declaration of a product."""
    findings = tuple(
        Finding(f["id"], f["asks"], *(tuple(f[k]) for k in ("values", "answers", "cues", "questions", "more")))
        for f in row["findings"]
    )
    causes = tuple(_parse_cause(c, findings) for c in row["causes"])
    return Product(row["id"], row["product"], row["symptom"], tuple(row["openings"]), findings, causes)


def _parse_cause(row: Mapping[str, Any], findings: Sequence[Finding]) -> Cause:
    fix = row["fix"]
    return Cause(
        row["id"], row["what"], tuple(row["cues"]), float(row["weight"]),
        tuple(tuple(row["likelihood"][f.id]) for f in findings), row["split"],
        fix["id"], fix["what"], tuple(fix["cues"]), tuple(fix["questions"]), fix["done"], fix["failed"],
        tuple(row["more"]), fix.get("answer", ""), fix.get("suggestion", ""),
    )  # fmt: skip
