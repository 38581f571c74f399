"""The page on which a person rates the conversation of an episode, without its outcome, its numbers, or its agent.

The scale and what is stored are those of `evaluation/ratings.py`, after LMRL-Gym, appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde._util.escaping import make_visible
from sonde.evaluation.evaluate import summarise_trajectory
from sonde.evaluation.ratings import LABELS, LONGEST_COMMENT, LONGEST_NAME, Rating, add_rating, read_ratings

from .episode import TurnView, describe_transcript
from .episodes import find_neighbours, read_line
from .library import Library
from .links import parse_whole


@dataclass(frozen=True, kw_only=True)
class RatePage:
    """The conversation of an episode with the form; `given` is what this `person` has said of it."""

    template = "rate.html.j2"
    title = "Rate a conversation"

    run: str
    id: str
    env: str
    summary: str
    turns: Sequence[TurnView]
    labels: Mapping[int, str]
    person: str
    given: Rating | None
    before: str
    after: str
    longest_name: int = LONGEST_NAME
    longest_comment: int = LONGEST_COMMENT


def make_rate_page(library: Library, run: str, identity: str, query: Mapping[str, str]) -> RatePage:
    """The page of one episode for the `person` of the query."""
    shelf = library.run(run)
    t = shelf.read_trajectory(identity)
    before, after = find_neighbours(shelf, read_line(shelf, identity))
    person = query.get("person", "")
    return RatePage(
        run=shelf.name,
        id=identity,
        env=shelf.env.spec.name,
        summary=shelf.env.spec.summary,
        turns=describe_transcript(shelf.env, t, summarise_trajectory(t), None, cut=False).turns,
        labels=LABELS,
        person=make_visible(person),
        given=read_ratings(shelf.folder).get(identity, {}).get(person),
        before=before,
        after=after,
    )


def rate_episode(library: Library, run: str, identity: str, form: Mapping[str, str]) -> str:
    """Store the rating of a form (`person`, `rating`, `comment`), and return the id of the next episode; empty after
    the last one."""
    shelf = library.run(run)
    line = read_line(shelf, identity)
    rating = parse_whole("rating", form.get("rating", ""))
    add_rating(shelf.folder, identity, form.get("person", ""), rating, form.get("comment", ""))
    return find_neighbours(shelf, line)[1]
