"""Messages in customer service that are left unread although their words point at something: another sense is near."""

from __future__ import annotations

import pytest

from sonde.envs._rules.diagnosis.meaning import value_named
from sonde.envs._rules.diagnosis.products import Query, products
from sonde.envs._rules.diagnosis.reading import read
from sonde.envs._rules.diagnosis.sentences import parts, plain
from sonde.envs._rules.diagnosis.talk import small_talk

PROPERTIES = (
    ("vacuum_weak", "What colour is the lid?"),  # known is the colour of what lies under it
    ("net_down", "What colour is the fibre box?"),
    ("labels_blank", "What colour is the lever inside?"),  # "coloured", and no colour told
    ("tyre_lamp", "How much is petrol at the filling station?"),
    ("thermostat_cold", "Where did you last travel with your suitcase?"),
    ("net_down", "Where do you work?"),
    ("calendar_hour", "How long does such an appointment usually last?"),
    ("parcel_lost", "What is the driver's name?"),
    ("radiator_top", "Which room is that radiator in?"),
    ("gym_door", "What time is it?"),
)
SAID_OF_IT = (
    ("car_nostart", "Is the fuel tank bigger than fifty litres?"),
    ("fridge_warm", "Is the lamp in the fridge an LED?"),
    ("washer_pulse", "The garden tap is a brass one, right?"),
    ("photos_missing", "Have you tried a tripod for the camera of your new phone?"),
    ("drive_unseen", "Does your friend own a Silo Pocket, too?"),
    ("drive_unseen", "Has the computer ever fallen down?"),
    ("stream_kicked", "Does anyone else use your account?"),
    ("thermostat_cold", "How do you measure your rooms?"),
    ("toothbrush_dies", "Can the ring glow in other colours than red?"),
    ("game_crash", "Is the game up to date?"),
)
PROPOSED = (
    ("printer_streaks", "Please print on both sides."),  # a lone word of the fix
    ("toothbrush_dies", "Would you like a mirror with a ring of light for your bathroom?"),
    ("drive_unseen", "Use another cable, change the drive letter, and what does the light do?"),
    ("washer_dance", "There should be four big bolts on the back. Do you see any?"),
)
PERHAPS_A_DIAGNOSIS = (
    ("photos_missing", "There was no message. The turn is used up."),
    ("tv_tiles", "Could a tree be blocking the line of sight of your dish?"),
    ("bread_dense", "Could it be that your yeast packet is past its best-before date?"),
)


@pytest.mark.parametrize(("name", "said"), (*PROPERTIES, *SAID_OF_IT, *PROPOSED, *PERHAPS_A_DIAGNOSIS))
def test_left_unread(name: str, said: str) -> None:
    assert read(name, said).kind not in ("finding", "fix", "cause")


@pytest.mark.parametrize(
    ("name", "said", "finding"),
    [
        ("vacuum_weak", "What colour is the foam under the lid?", "sponge"),
        ("boiler_cold", "Is the gauge in the green?", "gauge"),
        ("net_down", "Does your neighbour have the same trouble?", "neighbour"),
        ("drive_unseen", "Has the drive ever fallen down?", "fall"),
        ("phone_drain", "Where is the brightness slider?", "bright"),
        ("projector_dim", "Is the lens dirty?", "glass"),
    ],
)
def test_the_like_is_answered(name: str, said: str, finding: str) -> None:
    query = read(name, said)
    assert query.kind == "finding"
    assert products()[name].findings[query.target].id == finding


@pytest.mark.parametrize("name", products())
def test_sample_questions_are_known(name: str) -> None:
    product = products()[name]
    for number, found in enumerate(product.findings):
        for question in found.questions:
            query = read(name, question)
            assert (query.kind, query.target) == ("finding", number), question


@pytest.mark.parametrize(
    ("name", "finding", "said", "value"),
    [
        ("bread_dense", "order", "Does the yeast go in last, into a hollow?", None),  # "salt on yeast" is not meant
        ("bread_dense", "order", "Do you pour the salt on the yeast?", "salt on yeast"),
        ("car_ac", "smell", "Do you notice a mouldy odour from the vents?", None),  # like "musty"
        ("car_ac", "smell", "Is there a musty smell?", "musty"),
    ],
)
def test_a_value_is_named_in_its_own_words(name: str, finding: str, said: str, value: str | None) -> None:
    product = products()[name]
    number = product.finding(finding)
    named = value_named(name, number, parts(plain(said)))
    assert (product.findings[number].values[named] if named >= 0 else None) == value


def test_one_clause_is_one_thing() -> None:
    assert read("charged_twice", "Is the second line reserved?").kind == "finding"
    assert read("game_crash", "Does the game crash right after it saves?").kind == "unknown"
    assert read("banking_app", "Update the app, disconnect the tunnel and free some space.").kind == "several"
    assert read("ebike_cut", "Please clean the battery contacts.") == Query("unclear")


def test_a_hint_names_what_the_message_is_about() -> None:
    product = products()["laptop_dead"]
    said = [small_talk(product, "unknown", f"Does the little lamp look odd to you, I mean {i}?") for i in range(20)]
    assert all(" lamp " in reply for reply in said), said
    other = [small_talk(product, "unknown", f"What did you dream of, I mean {i}?") for i in range(20)]
    assert any("know" in reply and "?" not in reply for reply in other), "no hint where nothing is named"
