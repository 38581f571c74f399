"""How to draw: what makes no sense is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.core import Sampling, UserError


@pytest.mark.parametrize(
    ("settings", "says"),
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
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        Sampling(**settings)
