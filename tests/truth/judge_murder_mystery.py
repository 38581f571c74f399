"""The verdict on murder-mystery items: what a message was meant to do, and what it was read as.

An item expects an act, an accusation, nothing (`unknown`: nothing in the case answers it) or a refusal (`invalid`:
several things at once, or none). Where two acts show the same, either is right. A reply without information (one thing
at a time; what somebody can be asked about) is silence.
"""

from __future__ import annotations

from typing import Any

from sonde.envs.murder_mystery.cases import CaseAct, numbered_case
from sonde.envs.murder_mystery.reading import read_case_message
from sonde.envs.murder_mystery.telling import observe_act


def answerable(item: dict[str, Any]) -> bool:
    """Whether the message does something."""
    return "act" in item["expect"] or "accuse" in item["expect"]


def alike(item: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two readers labelled a message alike: the same accused, or acts that show the same."""
    return _meant(item["case"], item["expect"]) == _meant(item["case"], other["expect"])


def _meant(which: Any, expect: dict[str, Any]) -> object:
    return observe_act(numbered_case(*which), CaseAct(*expect["act"])).text if "act" in expect else expect.get("accuse")


def verdict(item: dict[str, Any]) -> str:
    """`right`, `wrong` or `silent`."""
    world = numbered_case(*item["case"])
    found, expected = read_case_message(world.frame, item["message"]), item["expect"]
    if found.kind == "accuse":
        return "right" if expected.get("accuse") == f"p{found.person}" else "wrong"
    if found.act is None:
        return "silent"
    if "act" not in expected:
        return "wrong"
    wanted = CaseAct(*expected["act"])
    return "right" if observe_act(world, found.act).text == observe_act(world, wanted).text else "wrong"
