"""The scenario texts of best-arm identification (PAPRIKA, appendix B.4.10): schema, counts, names, and no hints."""

import json
import re
from collections import Counter
from itertools import permutations
from typing import Any

from sonde._util.folders import data_file
from tests.cases import each

SCENARIOS: list[dict[str, Any]] = json.loads(data_file("best_arm", "scenarios.json").read_text(encoding="utf-8"))
TRAIN = [s for s in SCENARIOS if s["split"] == "train"]
TEST = [s for s in SCENARIOS if s["split"] == "test"]
NUMBER_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty"]

# A setting that compares its options, or speaks of the protocol, gives away what the environment must keep or add.
HINTS = (
    r"best|better|most|worst|worse|highest|lowest|superior|reliable|favou?rites?|lucky|luckier|luckiest|usually|rarely"
)
PROTOCOL = r"turns?|steps?|timesteps?|rounds?|budget|horizon|answers?|format|tags?|arms?|bernoulli|means?"


def split_words(text: str) -> list[str]:
    return re.findall(r"[a-z'-]+", text.lower())


def mentions(pattern: str, text: str) -> list[str]:
    return [m.group() for m in re.finditer(rf"\b(?:{pattern})\b", text.lower())]


def test_counts_by_split_and_number_of_arms() -> None:
    assert (len(TRAIN), len(TEST), len(SCENARIOS)) == (81, 1, 82)
    assert Counter(len(s["arms"]) for s in TRAIN) == {3: 47, 4: 13, 5: 11, 6: 6, 7: 4}


def test_the_test_scenario_is_the_room_with_five_coloured_buttons() -> None:
    (room,) = TEST
    assert room["arms"] == ["blue", "green", "red", "yellow", "purple"]
    assert (room["arm"], room["act"].format(arm="red")) == ("button", "press the red button")
    assert "room" in split_words(room["setting"])


@each("field", ["name", "setting", "arm", "act", "payoff"])
def test_no_two_scenarios_share(field: str) -> None:
    assert [value for value, n in Counter(s[field] for s in SCENARIOS).items() if n > 1] == []


def test_no_arm_name_serves_two_scenarios() -> None:
    assert [arm for arm, n in Counter(arm for s in SCENARIOS for arm in s["arms"]).items() if n > 1] == []


@each("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
def test_a_scenario_is_whole_and_favours_no_arm(scenario: dict[str, Any]) -> None:
    """A setting that names no arm cannot favour one; an arm's own name must not praise it either."""
    assert list(scenario) == ["name", "split", "setting", "arm", "act", "payoff", "arms"]
    arms, setting = scenario["arms"], scenario["setting"]
    texts = [*(value for field, value in scenario.items() if field != "arms"), *arms]
    assert all(isinstance(text, str) and text and text == " ".join(text.split()) and text.isascii() for text in texts)
    assert 3 <= len(arms) <= 7 and scenario["act"].count("{arm}") == 1
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*( [a-z]+(-[a-z]+)*)?", arm) and len(arm) <= 16 for arm in arms)
    assert [(a, b) for a, b in permutations(arms, 2) if a in b] == []
    assert set(mentions("|".join(NUMBER_WORDS), setting)) == {NUMBER_WORDS[len(arms) - 2]}
    prose = f"{setting} {scenario['act']} {scenario['payoff']}"
    assert mentions("|".join(map(re.escape, arms)), prose) == []
    assert mentions(HINTS, " ".join([prose, *arms])) == []
    assert mentions(PROTOCOL, f"{setting} {scenario['payoff']}") == []
