"""Judges what a message to the customer was taken for against what it asks for; see `score.py`.

An item names a product, a message, and what is expected: `finding`, with a `value` for yes/no questions, `fix`,
`cause`, `unknown` (the customer cannot know), or `invalid` (several things at once, or no question at all). The last
two have no true answer: any is wrong.

A reply is right if it is the answer to what was asked: a full sentence about the finding, which tells its value. "I
could not say" before another finding is no answer, and no wrong one. A fix and its cause solve the same case, so one
stands for the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.reading import read_support_message


def answerable(item: Mapping[str, Any]) -> bool:
    return not {"unknown", "invalid"} & set(item["expect"])


def alike(item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two readers labelled a message alike: the same asked or told, values named by both equal."""
    one, two = item["expect"], other["expect"]
    if "finding" in one and "finding" in two:
        return one["finding"] == two["finding"] and len({one.get("value"), two.get("value")} - {None}) < 2
    return _fix(item["product"], one) == _fix(item["product"], two) and "finding" not in one and "finding" not in two


def _fix(product: str, expect: Mapping[str, Any]) -> str | None:
    named = (cause.fix for cause in load_products()[product].causes if cause.id == expect.get("cause"))
    return expect.get("fix") or next(named, None)


def verdict(item: Mapping[str, Any]) -> str:
    """`right`, `wrong` or `silent`."""
    product, expect = load_products()[item["product"]], item["expect"]
    query = read_support_message(item["product"], item["message"])
    if query.kind in ("several", "talk", "untold", "unclear", "unknown"):
        return "silent"
    if query.kind == "finding":
        right = product.findings[query.target].id == expect.get("finding")
        return "right" if right else "silent" if query.beside else "wrong"
    cause = product.causes[query.target]
    return "right" if cause.id == expect.get("cause") or cause.fix == expect.get("fix") else "wrong"
