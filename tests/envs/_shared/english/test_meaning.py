"""Claims, columns, declared phrasings and the grammar over a world of eight things."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from sonde.envs._shared.english.claims import (
    Claim,
    Numbers,
    fill_unknown,
    join_all,
    join_any,
    merge_readings,
    negate_claim,
    strengthen_claim,
    weaken_claim,
)
from sonde.envs._shared.english.grammar import Grammar, Room
from sonde.envs._shared.english.lexicon import Lexicon, Line, expand_phrase, parse_lines
from sonde.envs._shared.english.sentences import Subject
from sonde.envs._shared.english.times import Times
from sonde.envs._shared.english.tokens import Interval, parse_interval
from tests.cases import each

ALL = 0b11111111
MASKS = st.integers(0, ALL)
CLAIMS = st.builds(lambda text, yes, no: Claim(text, yes, no & ~yes), st.text("abcdef", min_size=1), MASKS, MASKS)
DECLARED = """
# a world of eight things
alive: is alive; adj living; is a living (thing|being)
animal: is an animal; is a creature
big: adj big; adj large
red: adj red
!alive: adj dead
flies: does fly; for fly
kitchen: at in the kitchen
edible & !alive: ob eat; adj edible
wings: has wings; has a pair of wings
wood | metal~: made wood
[animal] big: is heavy
age <amount>: is <amount> years old; is older than <old> years
made <time>: was made <time>; was invented <time>
music: rel music; known music
"""


class World:
    """Eight things; bit 0 to 3 are animals."""

    masks: ClassVar[Mapping[str, tuple[int, int]]] = {
        "alive": (0b00011111, 0b11100000), "animal": (0b00001111, 0b11110000), "big": (0b01010101, 0b10101010),
        "red": (0b00000001, 0b11111110), "flies": (0b00000011, 0b11111100), "kitchen": (0b11000000, 0b00111111),
        "edible": (0b11000000, 0b00110000), "wings": (0b00000011, 0b11111100), "wood": (0b10000000, 0b00111111),
        "metal": (0b01000000, 0b10111111), "music": (0b00100000, 0b11011111),
    }  # fmt: skip
    age = Numbers({0: (5, 5), 1: (10, 12), 2: (50, 50)})
    made = Numbers({5: (1850, 1850), 6: (1950, 1950), 7: (-300, -300)})

    def attribute(self, name: str) -> Claim | None:
        return Claim(name, *self.masks[name]) if name in self.masks else None

    def column(self, name: str, value: Any) -> Claim | None:
        return getattr(self, name).claim_within(value, name)

    def home(self, yes: int) -> int:
        return ALL


NAMES = {"robin": 0, "guitar": 5}


def naming(words: tuple[str, ...], article: bool) -> Claim | None:
    at = NAMES.get(" ".join(words))
    if at is not None:
        return Claim(f"it={words[-1]}", 0, ALL & ~(1 << at), 1 << at, 1, words[-1])
    return Claim("animal", *World.masks["animal"]) if words in (("animal",), ("animals",)) else None


SLOTS = {
    "amount": parse_interval,
    "time": Times(2025).parse_time,
    "old": lambda words: parse_interval(["over", *words]),
}
LEXICON = Lexicon(parse_lines(DECLARED), World(), SLOTS)
ROOM = Room(
    Grammar(LEXICON, Subject(), naming), lambda: {"kitchen", "guitar"}, lambda word: word not in ("kitchne", "giutar")
)


@given(CLAIMS, CLAIMS)
def test_three_valued_logic(a: Claim, b: Claim) -> None:
    both, one = join_all([a, b]), join_any([a, b])
    assert not both.yes & both.no & ALL and not one.yes & one.no & ALL
    assert negate_claim(negate_claim(a)) == a
    if a.text != b.text:
        turned = negate_claim(join_any([negate_claim(a), negate_claim(b)]))
        assert (turned.yes, turned.no) == (both.yes, both.no)


@given(CLAIMS, CLAIMS)
def test_a_fact_adds_and_never_shadows(a: Claim, b: Claim) -> None:
    more = fill_unknown(a, b)
    assert more.yes & a.yes == a.yes and more.no & a.no == a.no
    assert more.known_things == a.known_things | b.known_things
    two = merge_readings(a, b)
    assert two is not None and not two.yes & two.no


@given(CLAIMS)
def test_grades_only_take_away(a: Claim) -> None:
    assert (strengthen_claim(a, "very").yes, strengthen_claim(a, "very").no) == (0, a.no)
    assert (weaken_claim(a, "ever").yes, weaken_claim(a, "ever").no) == (a.yes, 0)


@given(st.dictionaries(st.integers(0, 7), st.integers(-50, 50)), st.integers(-50, 50))
def test_numbers_are_inside_or_outside_or_unknown(rows: dict[int, int], n: int) -> None:
    column = Numbers({i: (v, v) for i, v in rows.items()})
    found = column.claim_within(Interval(n, 100), "n")
    assert found.yes == sum(1 << i for i, v in rows.items() if v >= n)
    assert found.no == column.known_things & ~found.yes


def test_declarations() -> None:
    assert parse_lines("# x\na | b: is c; does d")[0] == Line("a | b", "", ["is c", "does d"])
    assert list(expand_phrase("is (a|b) [c] d")) == ["is a c d", "is a d", "is b c d", "is b d"]
    assert LEXICON.evaluate_expression("alive & !big").yes == 0b00001010
    assert LEXICON.evaluate_expression("glorp").known_things == 0


@each(
    "said, yes, no",
    [
        ("Is it alive?", 0b00011111, 0b11100000), ("Isn't it alive?", 0b00011111, 0b11100000),
        ("Is it not alive?", 0b11100000, 0b00011111), ("It isn't alive.", 0b11100000, 0b00011111),
        ("Is it dead?", 0b11100000, 0b00011111), ("Is it a large red animal?", 0b00000001, 0b11111110),
        ("Is it an animal that can fly?", 0b00000011, 0b11111100),
        ("Is it red or able to fly?", 0b00000011, 0b11111100), ("Is it red and big?", 0b00000001, 0b11111110),
        ("Is it an animal but not big?", 0b00001010, 0b11110101), ("Does it have wings?", 0b00000011, 0b11111100),
        ("Does it have no wings?", 0b11111100, 0b00000011), ("Can you eat it?", 0b11000000, 0b00111111),
        ("Is it something that people eat?", 0b11000000, 0b00111111), ("Can it be eaten?", 0b11000000, 0b00111111),
        ("Is it eaten by people?", 0b11000000, 0b00111111),
        ("Would you find it in the kitchen?", 0b11000000, 0b00111111),
        ("Is it usually kept in a kitchen?", 0b11000000, 0b00111111),
        ("Is it located in a kitchne?", 0b11000000, 0b00111111), ("Is it made of wood?", 0b10000000, 0b00111111),
        ("Is it used for flying?", 0b00000011, 0b11111100),
        ("Does it have something to do with music?", 0b00100000, 0b11011111), ("Is it heavy?", 0b00000101, 0b00001010),
        ("Is it a strange animal?", 0, 0b11110000), ("Is it an animal that glorps?", 0, 0b11110000),
        ("Is it always alive?", 0, 0b11100000), ("Is it 5 years old?", 0b001, 0b110),
        ("Is it older than 20 years?", 0b100, 0b011), ("Was it invented before 1900?", 0b10100000, 0b01000000),
        ("Was it invented in the 20th century?", 0b01000000, 0b10100000),
    ],
)  # fmt: skip
def test_what_is_claimed(said: str, yes: int, no: int) -> None:
    claim = ROOM.read(said).claim
    assert claim is not None, said
    assert (claim.yes & ALL, claim.no & ALL) == (yes, no)


def test_guesses() -> None:
    for said in ("Is it a guitar?", "A guitar!", "My guess is a guitar.", "Is it a giutar?"):
        claim = ROOM.read(said).claim
        assert claim is not None and (claim.goal, claim.named) == (1 << 5, 1)


@each(
    "said",
    [
        "Is it glorpish?", "Does it glorp in the kitchen?", "Is it a glorpish animal?", "Is it red like a moon is?",
        "Red if big?",
    ],
)  # fmt: skip
def test_a_word_that_is_not_read_is_a_veto(said: str) -> None:
    assert ROOM.read(said) == ("unclear", None)


@given(
    st.lists(st.sampled_from(["is", "it", "a", "red", "or", "and", "not", "big", "animal", "that", ","]), max_size=14)
)
def test_any_salad_of_words_is_read_without_contradiction(words: list[str]) -> None:
    claim = ROOM.read(" ".join(words)).claim
    assert claim is None or not claim.yes & claim.no & ALL
