"""People's ratings of conversations: how natural one reads, from 1 to 5, and who said so.

After the user study of LMRL-Gym (arXiv 2311.18232), appendix A: people read conversations of two systems without being
told which, and rate each on this scale; tables 3 and 4 give the share of every label, and that of 3 and more. Ratings
are annotations of the run (`runs/store/annotations.py`): one note per episode that holds the ratings of all people.
The comment is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from sonde.core import invalid
from sonde.runs.store import Annotator, annotation_names, read_annotations

NAME = "naturalness"
"""The name of these annotations."""
LABELS: Mapping[int, str] = {
    1: "not natural", 2: "slightly unnatural", 3: "neutral or natural", 4: "quite natural", 5: "very natural",
}  # fmt: skip
"""The labels of table 4."""
ACCEPTED = 3
"""The least rating that counts as natural in table 3."""
LONGEST_NAME, LONGEST_COMMENT = 60, 2000
"""Maximum characters."""
_WRITING = Lock()


class Rating(NamedTuple):
    """What one person said of a conversation."""

    rating: int
    comment: str = ""


Ratings = Mapping[str, Mapping[str, Rating]]
"""By trajectory id, then by the name of the person."""


def add_rating(folder: Path, trajectory: str, person: str, rating: int, comment: str = "") -> None:
    """Store a person's rating of an episode; a later one of the same person replaces it."""
    person = person.strip()
    if not person or len(person) > LONGEST_NAME:
        raise invalid("person", person, f"a name of 1 to {LONGEST_NAME} characters")
    if rating not in LABELS:
        raise invalid("rating", rating, "1 (not natural) to 5 (very natural)")
    if len(comment) > LONGEST_COMMENT:
        raise invalid("comment", f"{len(comment)} characters", f"at most {LONGEST_COMMENT}")
    with _WRITING:  # a note holds the ratings of all people, so it is read and written by one at a time
        known = read_ratings(folder).get(trajectory, {})
        value = {name: one._asdict() for name, one in {**known, person: Rating(rating, comment.strip())}.items()}
        with Annotator.open_annotations(folder, NAME, producer="people", version="1") as notes:
            notes.add_note(trajectory, value)


def read_ratings(folder: Path) -> Ratings:
    """All ratings of a run; empty without any."""
    if NAME not in annotation_names(folder):
        return {}
    return {
        trajectory: {person: Rating(**one) for person, one in note.value.items()}
        for (trajectory, _), note in read_annotations(folder, NAME).items()
    }


def mean_rating(ratings: Mapping[str, Rating]) -> float | None:
    """The mean over people; None if nobody rated."""
    return sum(one.rating for one in ratings.values()) / len(ratings) if ratings else None


@dataclass(frozen=True, kw_only=True)
class RatingSummary:
    """The ratings of a run: their number, of how many episodes by how many people; the share of each label, and of the
    ratings of at least `ACCEPTED`."""

    n: int
    episodes: int
    people: int
    shares: Mapping[int, float]
    natural: float


def summarise_ratings(ratings: Ratings) -> RatingSummary | None:
    """The numbers of tables 3 and 4; None if nobody rated.

    >>> found = summarise_ratings({"a": {"me": Rating(4), "you": Rating(2)}, "b": {"me": Rating(5)}})
    >>> found.n, found.people, round(found.natural, 2)
    (3, 2, 0.67)
    """
    counts = Counter(one.rating for by_person in ratings.values() for one in by_person.values())
    n = counts.total()
    if not n:
        return None
    return RatingSummary(
        n=n,
        episodes=len(ratings),
        people=len({person for by_person in ratings.values() for person in by_person}),
        shares={label: counts[label] / n for label in LABELS},
        natural=sum(count for label, count in counts.items() if label >= ACCEPTED) / n,
    )
