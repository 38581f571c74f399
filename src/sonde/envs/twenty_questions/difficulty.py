"""How hard a topic is to guess: the groups of a curriculum.

PAPRIKA had a language model estimate for each topic how easy it is to guess and how many turns that takes (appendix H):
477 easy, 726 medium and 296 hard ones of 1,499 to train on, 127, 172 and 68 of 367 to test (32, 48 and 20 %). Here the
turns are measured: those that the reference solver, asking plainly, needs among the topics of the preset
(`sources/compile_turns.py`). Easy are the topics with the fewest turns and hard those with the
most, cut where the shares together come nearest to the paper's; what few people know is hard too, since a solver that
knows everything cannot tell. Turns are whole numbers, so the shares differ from the paper's. Over all splits:

    paprika        easy: at most 4 turns, hard: 7 or more      easy 496, medium 879, hard 491 (27, 47, 26 %)
    delta_belief   easy: at most 7 turns, hard: 9 or more      easy 454, medium 1,063, hard 455 (23, 54, 23 %)
    lmrl           easy: at most 5 turns, hard: 7 or more      easy 70, medium 81, hard 7 (44, 51, 4 %)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from sonde._util.folders import data_file

from .knowledge import knowledge

_CUTS: Mapping[str, tuple[int, int]] = {"paprika": (4, 6), "delta_belief": (7, 8), "lmrl": (5, 6)}
"""The most turns of an easy topic, and of a medium one."""


@cache
def _turns() -> Mapping[str, str]:
    """Preset -> the turns of every topic in base 36, - for what it does not have."""
    return json.loads(data_file("twenty_questions", "turns.json").read_text("ascii"))


def turns(preset: str, topic: int) -> int:
    """The turns that the reference solver needs to guess a topic of this preset."""
    return int(_turns()[preset][topic], 36)


def difficulty(preset: str, topic: int) -> str:
    """`easy`, `medium` or `hard`."""
    (easy, medium), needed = _CUTS[preset], turns(preset, topic)
    if knowledge().little_known(topic) or needed > medium:
        return "hard"
    return "easy" if needed <= easy else "medium"
