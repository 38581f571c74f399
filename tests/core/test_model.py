"""How to draw and what to score: what makes no sense is refused by name."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from sonde.core import Message, Probe, Sampling, UserError
from tests.cases import each


@each(
    "settings, says",
    [
        ({"max_new_tokens": 0}, "sampling: max_new_tokens: got 0, allowed: 1 or more"),
        ({"temperature": -0.1}, "sampling: temperature: got -0.1, allowed: 0 or more"),
        ({"temperature": float("nan")}, "sampling: temperature: got nan"),
        ({"temperature": float("inf")}, "sampling: temperature: got inf"),
        ({"top_p": 0.0}, "sampling: top_p: got 0.0"),
        ({"top_p": float("nan")}, "sampling: top_p: got nan"),
        ({"min_p": 1.1}, "sampling: min_p: got 1.1"),
        ({"min_p": float("nan")}, "sampling: min_p: got nan"),
    ],
)
def test_invalid_sampling_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        Sampling(**settings)


SAID = (Message("user", "yes"), Message("assistant", "green?"))


@each(
    "values, says",
    [
        ({"messages": SAID[:1]}, r"probe: messages: got \['user'\], allowed: an assistant message last"),
        ({"messages": ()}, r"probe: messages: got \[\], allowed: an assistant"),
        (
            {"messages": SAID, "span": (2, 2)},
            r"probe: span: got \(2, 2\), allowed: characters .* has 6: 0 <= a < b <= 6",
        ),
        ({"messages": SAID, "span": (0, 7)}, r"probe: span: got \(0, 7\)"),
        ({"messages": SAID, "span": (-1, 2)}, r"probe: span: got \(-1, 2\)"),
        ({"messages": SAID, "span": 3}, r"probe: span: got 3"),
        ({"messages": ["green?"]}, r"probe: messages\[0\]: got 'green\?'"),
        ({"messages": SAID, "spam": 1}, r"probe: unknown name 'spam'"),
    ],
)
def test_probes_that_make_no_sense_are_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        Probe(**values)


def test_what_a_probe_asks_about() -> None:
    assert (Probe(SAID).span_text, Probe(SAID).span_bounds) == ("green?", (0, 6))
    part = pickle.loads(pickle.dumps(Probe([*SAID], (0, 5), True)))  # pyright: ignore[reportArgumentType]
    assert (part.span_text, part.ending, [m.content for m in part.messages]) == ("green", True, ["yes", "green?"])
