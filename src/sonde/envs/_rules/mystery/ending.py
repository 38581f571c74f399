"""What a person who played a murder mystery hears when it is over: who did it, and what shows it. Source: ours.

Only what is true of the culprit in this case is told: the reason, if the motive implicates, and every other channel
that does. Nothing of it is part of an episode: an agent that plays the case again must not have heard it.
"""

from __future__ import annotations

from .cases import Case, data
from .filter import IMPLICATES
from .telling import fill, listed, motive


def ending(case: Case) -> str:
    """Who did it, why, and how it can be known."""
    frame, number = case.frame, case.truth.culprit
    text, person, found = data()["text"]["ending"], frame.people[number], _found(case)
    why = [motive(frame, number, IMPLICATES)] if "motive" in found else []
    trace = data()["traces"][frame.trace]["name"]
    keys = [f"access_{frame.means}" if c == "access" else c for c in found if c != "motive"]
    how = fill(frame, f"{{g}} {listed([text[key] for key in keys])}.", person, item=trace)
    return " ".join([fill(frame, text["who"], person, a=person.role), *why, how])


def _found(case: Case) -> list[str]:
    """The channels that implicate the culprit: at least two."""
    frame, truth = case.frame, case.truth
    own = zip(frame.channels, truth.vectors[truth.culprit], strict=True)
    return [channel for channel, value in own if value == IMPLICATES]
