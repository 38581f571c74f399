"""Knowledge of the topics for the reader: attributes, and columns with the value of a slot.

Ours. `TopicColumns` has a method per column name of `data/phrases.txt`, so those names are data; each returns the claim
that the column has a value, such as an interval of years. People have years of birth and death, events have years of
start and end; other things may have a year in which they began, or an attribute for the age in which they were made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from .._shared.english.claims import Claim, Numbers, fill_unknown
from .._shared.english.times import Times
from .._shared.english.tokens import Interval, Words, name_key, parse_interval, parse_measure, singular_form, word_set
from . import regions, tables
from .knowledge import topic_knowledge
from .rules import claim_by_rules, load_rules
from .tables import (
    Scale,
    compass_ranges,
    load_scale,
    load_table,
    parse_ranges,
    part_counts,
    ranges_by_name,
    scales_by_comparative,
    year_numbers,
)

NOW = 2025
_SLACK = 3
"""Years of doubt about an age."""
_CENTURY, _HISTORY = 100.0, 1000.0
"""Years: what `under_a_century` is younger than, and what `older_than_history` is older than."""


class TopicColumns:
    """The knowledge of the topics (`lexicon.Knows`). Methods that take a value are columns of the phrasings."""

    def attribute(self, name: str) -> Claim | None:
        """Claim an attribute or class, with what the rules add."""
        return claim_by_rules(name) if name in topic_knowledge().attribute_names or name in load_rules() else None

    def home(self, yes: int) -> int:
        return topic_knowledge().home(yes)

    def column(self, name: str, value: Any) -> Claim | None:
        """The claim of a column: a method of this class, or of the regions."""
        read: Callable[[Any], Claim | None] = _PLACES.get(name) or getattr(self, name)
        return read(value)

    # --- years -------------------------------------------------------------------------------------------------------

    @cached_property
    def _people_mask(self) -> int:
        return topic_knowledge().roots["person"]

    def born(self, when: Interval) -> Claim:
        return year_numbers("born").claim_within(when, "born")

    def died(self, when: Interval) -> Claim:
        found = year_numbers("died").claim_within(when, "died")
        return found._replace(no=found.no | topic_knowledge().known_topics("alive_now").yes & self._people_mask)

    def lived(self, when: Interval) -> Claim:
        """People whose life overlaps the years well, and those whose life does not at all."""
        well = min(20.0, (when.high - when.low) / 2) if math.isfinite(when.high - when.low) else 5.0
        early = year_numbers("born").claim_within(Interval(-math.inf, when.high - well), "born").yes
        alive = topic_knowledge().known_topics("alive_now").yes if when.high >= NOW or when.low < NOW - 20 else 0
        late = year_numbers("died").claim_within(Interval(when.low + well, math.inf), "died").yes | alive
        no = year_numbers("born").claim_within(Interval(when.high + 1, math.inf), "born").yes
        no |= year_numbers("died").claim_within(Interval(-math.inf, when.low - 1), "died").yes
        return Claim(f"lived {when.low:g}..{when.high:g}", early & late & ~no, no)

    def happened(self, when: Interval) -> Claim:
        """Events within the years, and events that do not touch them."""
        starts, ends = topic_knowledge().numbers["start"], topic_knowledge().numbers["end"]
        rows = {i: (low, ends.get(i, (low, low))[1]) for i, (low, _) in starts.items()}
        found = Numbers(rows).claim_within(when, "happened")
        events = topic_knowledge().known_topics("event").yes
        return found._replace(yes=found.yes & events, no=found.no & events)

    def begun(self, when: Interval) -> Claim:
        """Claim that it was made, built or founded, or began, in these years; false of what nobody makes."""
        found = self._begun_in_known_years(when)
        never = claim_by_rules("never_made").yes & ~found.known_things
        return found._replace(no=found.no | never)

    def _begun_in_known_years(self, when: Interval) -> Claim:
        """Claim that it began in these years, by its year or by the age of things like it; nobody's birth counts."""
        exact = year_numbers("start").claim_within(when, "begun")
        yes = no = 0
        for name, (low, high) in parse_ranges(load_table("eras").others).items():
            inside, held = when.contains_range(low, high), claim_by_rules(name).yes
            yes, no = yes | (held if inside else 0), no | (held if inside is False else 0)
        found = fill_unknown(exact, Claim("era", yes & ~no, no & ~yes))
        return found._replace(yes=found.yes & ~self._people_mask, no=found.no & ~self._people_mask)

    def was(self, when: Interval) -> Claim:
        """Claim that it was, lived or happened in these years; what began before may have gone on."""
        return fill_unknown(fill_unknown(self.lived(when), self.happened(when)), self._existed_then(when))

    def _existed_then(self, when: Interval) -> Claim:
        begun = self.begun(when)
        return begun._replace(no=begun.no & self.begun(Interval(when.high + 1, math.inf)).yes)

    def age(self, asked: Interval) -> Claim:
        """Claim the age of the living, of what began in a known year, and of what nobody made."""
        when = Interval(NOW - asked.high - _SLACK, NOW - asked.low + _SLACK)
        sure = Interval(NOW - asked.high + _SLACK * math.isfinite(asked.high), NOW - asked.low - _SLACK)
        living = topic_knowledge().known_topics("alive_now").yes & self._people_mask
        sure = sure if sure.low <= sure.high else when
        yes = self.born(sure).yes & living | self._begun_in_known_years(sure).yes
        no = self.born(when).no & living | self._begun_in_known_years(when).no
        return fill_unknown(Claim(f"age {asked.low:g}..{asked.high:g}", yes, no), _claim_natural_age(asked))

    def age_at_death(self, asked: Interval) -> Claim:
        """Claim the age at death, within the year that is in doubt; unknown of the living."""
        born, died = year_numbers("born").rows, year_numbers("died").rows
        rows = {i: (died[i][0] - born[i][1] - 1, died[i][1] - born[i][0]) for i in born.keys() & died.keys()}
        return Numbers(rows).claim_within(asked, "age at death")

    def dead_before(self, age: Interval) -> Claim:
        return self.age_at_death(Interval(-math.inf, age.low - 1))

    def dead_after(self, age: Interval) -> Claim:
        return self.age_at_death(Interval(age.high + 1, math.inf))

    # --- sizes, weights, prices --------------------------------------------------------------------------------------

    def more(self, value: tuple[str, tuple[str, ...]]) -> Claim | None:
        """Compare with what is named: on the scales of the comparative, one after another."""
        how, words = value
        found: Claim | None = None
        for name, up in scales_by_comparative().get(how, ()):
            part = _compare_on_scale(load_scale(name), up, words)
            if part is not None and name in ("size", "weight"):
                part = part._replace(no=part.no | claim_by_rules("size_of_none").yes & ~part.yes)
            found = part if found is None else fill_unknown(found, part) if part is not None else found
        return self._older_than(how == "older", words) if how in ("older", "younger", "newer") else found

    def _older_than(self, older: bool, words: tuple[str, ...]) -> Claim | None:
        """Older than a person, by birth, or than a thing that began in a known year."""
        topics = topic_knowledge().topics_by_name.get(name_key(" ".join(words), common=True), 0)
        field = "born" if topics & self._people_mask else "start"
        held = year_numbers(field).common_value(topics) if topics else None
        if held is None:
            return None
        before, after = Interval(-math.inf, held[0] - _SLACK), Interval(held[1] + _SLACK, math.inf)
        told = self.born if field == "born" else self.begun
        yes, no = (told(when).yes for when in ((before, after) if older else (after, before)))
        return Claim(f"{'older' if older else 'newer'} than {' '.join(words)}", yes, no)

    def fits(self, words: tuple[str, ...]) -> Claim | None:
        return _compare_on_scale(load_scale("size"), False, words)

    def weight(self, kg: Interval) -> Claim:
        return _compare_in_steps("weight", kg)

    def price(self, dollars: Interval) -> Claim:
        return _compare_in_steps("price", dollars)

    def height(self, metres: Interval) -> Claim:
        return _compare_measure(load_scale("height"), metres)

    def length(self, metres: Interval) -> Claim:
        return _compare_measure(load_scale("length"), metres.scale_by(0.001))

    def population(self, people: Interval) -> Claim:
        return load_scale("population").numbers.claim_within(people.scale_by(1e-6), "population")

    def count(self, value: tuple[str, Interval]) -> Claim:
        return part_counts()[value[0]].claim_within(value[1], f"{value[0]}s")

    # --- places and names --------------------------------------------------------------------------------------------

    def compass(self, value: tuple[str, tuple[str, ...]]) -> Claim | None:
        """As in "north of France": all of it is beyond the other's border."""
        side, words = value
        rows = compass_ranges("north" if side in ("north", "south") else "east")
        held = [
            rows[i]
            for i in rows
            if topic_knowledge().topics_by_name.get(name_key(" ".join(words), common=True), 0) >> i & 1
        ]
        if len(held) != 1:
            return None
        low, high = held[0]
        up = side in ("north", "east")
        beyond = Interval(high - 1, math.inf) if up else Interval(-math.inf, low + 1)
        apart = Interval(-math.inf, (low + high) / 2) if up else Interval((low + high) / 2, math.inf)
        numbers = Numbers(rows)
        yes, no = numbers.claim_within(beyond, side).yes, numbers.claim_within(apart, side).yes
        return Claim(f"{side} of {' '.join(words)}", yes & ~no, no if side in ("north", "south") else 0)

    def starts(self, letter: str) -> Claim:
        return tables.claim_edge_letter(letter, 0)

    def ends(self, letter: str) -> Claim:
        return tables.claim_edge_letter(letter, -1)

    def contains(self, letter: str) -> Claim:
        return tables.claim_inside_letter(letter)

    def letters(self, asked: Interval) -> Claim:
        return tables.claim_name_length(asked, "letter")

    def words(self, asked: Interval) -> Claim:
        return tables.claim_name_length(asked, "word")


_PLACES: Mapping[str, Callable[[str], Claim]] = {
    "within": regions.claim_within,
    "native": regions.claim_native,
    "born_in": regions.claim_born,
    "took_part": regions.claim_took_part,
}
_USUAL = word_set("determiners") | frozenset(
    ("typical", "average", "normal", "adult", "standard", "regular", "size", "of", "full", "grown")
)
"""What says nothing of a thing that is compared with."""


def _claim_natural_age(asked: Interval) -> Claim:
    """Claim the age in years of what is older than all history (`older_than_history`: the moon, gold, fear), and of
    what does not live or last a century (`under_a_century`: a dog, a heart, a cloud)."""
    lasting, brief = claim_by_rules("older_than_history").yes, claim_by_rules("under_a_century").yes
    yes = lasting if asked.low <= _HISTORY and asked.high == math.inf else 0
    no = (lasting if asked.high <= _HISTORY else 0) | (brief if asked.low >= _CENTURY else 0)
    return Claim("natural age", yes, no & ~yes)


def _compare_on_scale(on: Scale, more: bool, words: Words) -> Claim | None:
    """Claim more or less on a scale than what the words name."""
    against = _reference_value(on, words)
    if against is None:
        return None
    low, high = against
    above = on.numbers.claim_within(Interval(math.nextafter(high, math.inf), math.inf), on.name).yes
    under = on.numbers.claim_within(Interval(-math.inf, math.nextafter(low, -math.inf)), on.name).yes | _topics_below(
        on, low
    )
    return Claim(f"{on.name} {'>' if more else '<'} {' '.join(words)}", *((above, under) if more else (under, above)))


def _topics_below(on: Scale, limit: float) -> int:
    """The topics that are too small to come near a limit."""
    step = max((step for step, least in on.below if least <= limit), default=-1)
    if step < 0:
        return 0
    small = topic_knowledge().column["size"].claim_within(Interval(-math.inf, step), "size").yes
    return small & ~on.numbers.known_things & topic_knowledge().roots["object"]


def _reference_value(on: Scale, words: Words) -> tuple[float, float] | None:
    """Return the value of what is compared with."""
    name = name_key(" ".join(w for w in words if w not in _USUAL), common=True)
    topics = topic_knowledge().topics_by_name.get(name, 0)
    return ranges_by_name(on.name).get(name) or (on.numbers.common_value(topics) if topics else None)


def _compare_in_steps(field: str, asked: Interval) -> Claim:
    """A number known by its step, compared with an interval."""
    bounds = [float(bound) for bound in load_table("steps").others[field].split()]
    rows = topic_knowledge().numbers[field]
    held = {i: (bounds[int(step)], bounds[int(step) + 1]) for i, (step, _) in rows.items()}
    return Numbers(held).claim_within(asked, field)


def _compare_measure(on: Scale, asked: Interval) -> Claim:
    """Claim a measure on a scale, and add what is too small for it."""
    found, small = on.numbers.claim_within(asked, on.name), _topics_below(on, asked.low)
    return found._replace(no=found.no | small) if asked.high == math.inf else found


# --- slots ------------------------------------------------------------------------------------------------------------


def _named_years(name: str) -> Interval | None:
    """The years of a moment or event that is named: "the death of Caesar", "the French Revolution"."""
    if own := ranges_by_name("moments").get(name_key(name, common=True)):
        return Interval(*own)
    topics = (
        topic_knowledge().topics_by_name.get(name_key(name, common=True), 0)
        & topic_knowledge().known_topics("event").yes
    )
    first, last = (
        topic_knowledge().column[field].common_value(topics) if topics else None for field in ("start", "end")
    )
    return None if first is None else Interval(first[0], (last or first)[1])


def _read_comparative(words: Words) -> tuple[str, tuple[str, ...]] | None:
    """As in "bigger than a car": the comparative, and what is compared with."""
    words = [w for w in words if w not in word_set("adverbs") and w not in ("much", "any", "even", "far", "physically")]
    if "than" not in words[1:5]:
        return None
    at = words.index("than")
    rest = [w for w in words[at + 1 :] if w not in ("a", "an", "the", "your", "my", "any", "that", "most")]
    return (" ".join(words[:at]), tuple(rest)) if rest and not rest[0].isdigit() else None


def _read_side(words: Words) -> tuple[str, tuple[str, ...]] | None:
    """As in "north of France", "further south than Rome"."""
    words = [w for w in words if w not in ("further", "farther", "to", "the", "more")]
    if len(words) > 2 and words[0] in ("north", "south", "east", "west") and words[1] in ("of", "than"):
        return words[0], tuple(words[2:])
    return None


def _read_count(words: Words) -> tuple[str, Interval] | None:
    """As in "more than four strings"."""
    noun = singular_form(words[-1]) if words else ""
    found = parse_interval(words[:-1]) if noun in part_counts() and len(words) > 1 else None
    return None if found is None else (noun, found)


def _read_letter(words: Words) -> str | None:
    words = [w for w in words if w not in ("the", "letter")]
    words = words[1:] if len(words) == 2 and words[0] in ("a", "an") else words
    return words[0] if len(words) == 1 and (len(words[0]) == 1 or words[0] in ("vowel", "consonant")) else None


def _read_measure(words: Words, unit: str) -> Interval | None:
    return parse_measure(words, {name: size for name, (size, _) in parse_ranges(load_table(unit).others).items()})


def _read_age(words: Words) -> Interval | None:
    words = [w for w in words if w not in ("years", "year", "old", "of", "age", "the")]
    return parse_interval(words)


SLOTS: Mapping[str, Callable[[Words], Any]] = {
    "time": Times(NOW, _named_years).parse_time,
    "amount": parse_interval,
    "age": _read_age,
    "kg": lambda words: _read_measure(words, "kg"),
    "metres": lambda words: _read_measure(words, "metres"),
    "taller": lambda words: (
        _read_measure(words, "metres") if words[0] in ("taller", "higher", "shorter", "lower") else None
    ),
    "longer": lambda words: _read_measure(words, "metres") if words[0] in ("longer", "shorter") else None,
    "heavier": lambda words: _read_measure(words, "kg") if words[0] in ("heavier", "lighter") else None,
    "older": lambda words: _read_age(words) if words[0] in ("older", "younger", "over", "under", "newer") else None,
    "money": lambda words: parse_interval(
        [w for w in words if singular_form(w) not in ("dollar", "euro", "us", "usd")]
    ),
    "place": regions.find_region,
    "thing": lambda words: tuple(w for w in words if w not in word_set("determiners")) or None,
    "than": _read_comparative,
    "side": _read_side,
    "counted": _read_count,
    "letter": _read_letter,
}
"""Slot of the phrase file -> its reader."""
