"""The scenario texts of best-arm identification (PAPRIKA, appendix B.4.10): schema, counts, names, and no hints."""

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

from sonde.core.folders import data_file
from tests.cases import each

SCENARIOS: list[dict[str, Any]] = json.loads(data_file("best_arm.json").read_text(encoding="utf-8"))
TRAIN = [s for s in SCENARIOS if s["split"] == "train"]
TEST = [s for s in SCENARIOS if s["split"] == "test"]
NUMBER_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty"]

# A setting that compares its options, or speaks of the protocol, gives away what the environment must keep or add.
HINTS = (
    r"best|better|most|worst|worse|highest|lowest|superior|reliable|favou?rites?|lucky|luckier|luckiest|usually|rarely"
)
PROTOCOL = r"turns?|steps?|timesteps?|rounds?|budget|horizon|answers?|format|tags?|arms?|bernoulli|means?"

# Each setting must say, in words of its own, that there is a chance and that it stays the same.
CHANCE = (
    r"chances?|odds|probabilit\w+|likelihood|how (?:likely|often)|rates?|fraction|proportion|frequency|share|prospects"
)
FIXED = (
    r"fixed|constant|same|steady|stable|settled|permanent|set probability|stays level|identical|unvarying|unaltering|"
    r"unchanging|once and for all|never (?:alters?|moves|varies)|not (?:change|drift|depend|vary)|no different|"
    r"as they are|stays put|holds from|nothing else|finished altering"
)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z'-]+", text.lower())


def mentions(pattern: str, text: str) -> list[str]:
    return [m.group() for m in re.finditer(rf"\b(?:{pattern})\b", text.lower())]


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


def test_counts_by_split_and_number_of_arms() -> None:
    assert (len(TRAIN), len(TEST), len(SCENARIOS)) == (81, 1, 82)
    assert Counter(len(s["arms"]) for s in TRAIN) == {3: 47, 4: 13, 5: 11, 6: 6, 7: 4}


def test_the_test_scenario_is_the_room_with_five_coloured_buttons() -> None:
    (room,) = TEST
    assert room["arms"] == ["blue", "green", "red", "yellow", "purple"]
    assert (room["arm"], room["act"].format(arm="red")) == ("button", "press the red button")
    assert "room" in words(room["setting"])


@each("field", ["name", "setting", "arm", "act", "payoff"])
def test_no_two_scenarios_share(field: str) -> None:
    assert [value for value, n in Counter(s[field] for s in SCENARIOS).items() if n > 1] == []


def test_no_arm_name_serves_two_scenarios() -> None:
    assert [arm for arm, n in Counter(arm for s in SCENARIOS for arm in s["arms"]).items() if n > 1] == []


def test_settings_are_not_copies_of_one_template() -> None:
    shared = Counter(run for s in SCENARIOS for run in runs(s["setting"], 6))
    assert [" ".join(run) for run, n in shared.items() if n > 1] == []
    openings = Counter(tuple(words(s["setting"])[:3]) for s in SCENARIOS)
    assert [opening for opening, n in openings.items() if n > 1] == []


def schema(scenario: dict[str, Any]) -> None:
    assert list(scenario) == ["name", "split", "setting", "arm", "act", "payoff", "arms"]
    texts = [value for field, value in scenario.items() if field != "arms"] + scenario["arms"]
    assert all(isinstance(text, str) and text and text == " ".join(text.split()) and text.isascii() for text in texts)
    assert not re.search(r"\d", " ".join(texts))
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", scenario["name"])


def arm_names_are_short_and_unambiguous(scenario: dict[str, Any]) -> None:
    arms = scenario["arms"]
    assert 3 <= len(arms) <= 7
    for arm in arms:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*( [a-z]+(-[a-z]+)*)?", arm) and len(arm) <= 16
    assert [(a, b) for a, b in permutations(arms, 2) if a in b] == []


def phrases_fit_a_sentence(scenario: dict[str, Any]) -> None:
    assert scenario["act"].count("{arm}") == 1 and scenario["act"].count("{") == 1
    # A plain s must make the plural, so that an environment may write it.
    assert re.fullmatch(r"[a-z -]+", scenario["arm"]) and not re.search(
        r"(s|x|z|ch|sh|f|fe|[^aeiou]y)$", scenario["arm"]
    )
    for phrase in (scenario["act"], scenario["payoff"]):
        assert phrase[0].islower() and phrase[-1] not in ".,;:!?"


def setting_is_a_short_text_addressed_to_the_player(scenario: dict[str, Any]) -> None:
    setting = scenario["setting"]
    assert 2 <= len(re.findall(r"[.!?](?= |$)", setting)) <= 4
    assert setting[0].isupper() and setting[-1] == "."
    assert 30 <= len(words(setting)) <= 80
    assert mentions("you|your", setting)


def setting_gives_the_number_of_options_and_no_other(scenario: dict[str, Any]) -> None:
    expected = NUMBER_WORDS[len(scenario["arms"]) - 2]
    assert set(mentions("|".join(NUMBER_WORDS), scenario["setting"])) == {expected}


def setting_says_that_the_chance_is_fixed(scenario: dict[str, Any]) -> None:
    for pattern in (CHANCE, FIXED):
        assert mentions(pattern, scenario["setting"])


def nothing_points_at_an_arm(scenario: dict[str, Any]) -> None:
    """A setting that names no arm cannot favour one; an arm's own name must not praise it either."""
    prose = f"{scenario['setting']} {scenario['act']} {scenario['payoff']}"
    assert mentions("|".join(map(re.escape, scenario["arms"])), prose) == []
    assert mentions(HINTS, " ".join([prose, *scenario["arms"]])) == []


def setting_leaves_the_protocol_to_the_environment(scenario: dict[str, Any]) -> None:
    assert mentions(PROTOCOL, f"{scenario['setting']} {scenario['payoff']}") == []


RULES = (
    schema, arm_names_are_short_and_unambiguous, phrases_fit_a_sentence,
    setting_is_a_short_text_addressed_to_the_player, setting_gives_the_number_of_options_and_no_other,
    setting_says_that_the_chance_is_fixed, nothing_points_at_an_arm, setting_leaves_the_protocol_to_the_environment,
)  # fmt: skip


@each("rule", RULES)
def test_every_scenario(rule: Callable[[dict[str, Any]], None]) -> None:
    for scenario in SCENARIOS:
        rule(scenario)
