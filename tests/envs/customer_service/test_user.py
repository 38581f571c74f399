"""The customer does what its likelihood says, and what the filter takes for granted."""

from __future__ import annotations

from collections import Counter

import pytest

import sonde
from sonde.core import Episode, UserError, View
from sonde.envs.customer_service.products import load_products
from tests.cases import each

ENV, USER = sonde.make("customer_service"), sonde.make("users:customer")
NAME = "washer_dance"
PRODUCT = load_products()[NAME]
QUERIES = (
    *(found.questions[-1] for found in PRODUCT.findings), *(cause.suggestion for cause in PRODUCT.causes),
    "Have the transport bolts been removed?", "I think that the feet are not level.", "What is the capital of France?",
    "Thank you!",
)  # fmt: skip


def asked(query: str, cause: str, seed: int = 0) -> View:
    task = ENV.task({"product": NAME, "cause": cause, "seed": seed})
    return Episode.begin(ENV, task).step(query).view("user")


def heard(query: str, cause: str, seed: int) -> str:
    view = asked(query, cause, seed)
    text = USER.act_now(view).text
    assert USER.reply_probs(view) == {text: 1.0}
    return text


@each("query", QUERIES)
def test_likelihood_is_behaviour(query: str) -> None:
    """The share of worlds with a cause in which it is said is its likelihood."""
    n = 60
    for cause in PRODUCT.causes:
        count = Counter(heard(query, cause.id, seed) for seed in range(n))
        for text, times in count.items():
            (p,) = USER.likelihood(asked(query, cause.id), text, [f"{NAME}/{cause.id}"])
            assert abs(times / n - p) <= 4 * (p * (1 - p) / n) ** 0.5 + 1e-9
        assert USER.likelihood(asked(query, cause.id), "something else", [f"{NAME}/{cause.id}"]) == [0.0]


def test_the_posterior_is_the_product_of_likelihoods() -> None:
    hypotheses = [f"{NAME}/{c.id}" for c in PRODUCT.causes]
    for seed in range(5):
        ep = Episode.begin(ENV, ENV.task({"product": NAME, "cause": "bundle", "seed": seed}))
        weights = [c.weight for c in PRODUCT.causes]
        for query in (*QUERIES[:3], PRODUCT.causes[PRODUCT.cause_index("feet")].suggestion):
            view = ep.step(query).view("user")
            text = USER.act_now(view).text
            ep = ep.step(query).step(text)
            weights = [w * p for w, p in zip(weights, USER.likelihood(view, text, hypotheses), strict=True)]
        known = ep.posterior()
        assert known is not None
        assert [known.prob(h) for h in hypotheses] == pytest.approx([w / sum(weights) for w in weights])


def test_unknown_hypotheses_are_named() -> None:
    for hypothesis in ("spoon/bent", f"{NAME}/magic"):
        with pytest.raises(UserError, match="users:customer: hypothesis"):
            USER.likelihood(asked("What is it?", "feet"), "A spoon.", [hypothesis])
