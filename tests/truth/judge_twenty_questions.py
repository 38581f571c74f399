"""Right, wrong or silent: what the rule user of twenty questions replies to a hand-written item (see score.py).

An item is answerable if its topic is in the knowledge base and it has a true answer. `goal` must be answered by ending
the game; "unknown" and "invalid" items by saying so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.envs._shared.english.tokens import name_key
from sonde.envs.twenty_questions.answering import answer_message
from sonde.envs.twenty_questions.knowledge import topic_knowledge


def topic_of(item: Mapping[str, Any]) -> int | None:
    """The topic of the knowledge base that the item means."""
    knows = topic_knowledge()
    own = knows.index.get(item["topic"])
    if own is not None:
        return own
    found = knows.topics_by_name.get(name_key(item["topic"], common=True), 0)
    return (found & -found).bit_length() - 1 if found else None


def answerable(item: Mapping[str, Any]) -> bool:
    return topic_of(item) is not None and item["answer"] in ("yes", "no", "goal")


def alike(item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two readers labelled a message alike."""
    return _answer(item) == _answer(other)


def _answer(item: Mapping[str, Any]) -> str | None:
    return item["answer"] if item["answer"] in ("yes", "no", "goal") else None


def verdict(item: Mapping[str, Any]) -> str:
    topic = topic_of(item)
    if topic is None:
        return "silent"
    reply = answer_message(topic, item["question"])
    if reply in ("unknown", "unclear", "invalid"):
        return "silent"
    return "right" if reply == item["answer"] else "wrong"
