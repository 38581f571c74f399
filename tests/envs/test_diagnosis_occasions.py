"""The occasion on which something is asked decides which finding is meant, or that none is."""

from __future__ import annotations

import pytest

from sonde.envs._rules.diagnosis.products import products
from sonde.envs._rules.diagnosis.reading import read

ELSE = (
    ("breaker_trips", "When you pull every plug, does the breaker stay on?"),
    ("chair_sinks", "Does the seat go down even if nobody sits on it?"),
    ("game_crash", "Not just the old save but a new farm as well: does it crash there too?"),
    ("hob_refuses", "With another pot, does the zone still flash?"),
    ("tv_nosound", "With headphones plugged in, do you hear sound?"),
    ("dishwasher_pool", "When you open the door, is there water inside?"),
    ("microwave_cold", "With the door open, does the lamp light up?"),
    ("tyre_lamp", "Does the lamp blink when you brake?"),
    ("vacuum_weak", "What happens when the bin is full?"),
    ("projector_dim", "Is it still faint in a dark room?"),
    ("hearing_whistle", "Does it whistle in both ears?"),
    ("router_slow", "Is it slow on every device?"),
    ("washer_dance", "Next week, does the machine rock if you press a corner?"),
)
OWN = (
    ("guitar_hum", "If you unplug the guitar, does it still buzz?", "noguitar"),
    ("guitar_hum", "Does it still hum with another cable?", "otherlead"),
    ("hearing_whistle", "Does it stop when you push it in deeper?", "push"),
    ("wallbox_stop", "Does it stop when the oven is on?", "oven"),
    ("account_locked", "If you use a different browser, can you get in?", "private"),
    ("laptop_dead", "Forget the laptop for a moment: does a lamp work in that same socket?", "outlet"),
    ("vacuum_weak", "Before we go on: is the dust cup full?", "bin"),
    ("washer_dance", "Does it shake with every load?", "every"),
)


@pytest.mark.parametrize(("name", "said"), ELSE)
def test_an_occasion_of_something_else_is_not_dropped(name: str, said: str) -> None:
    assert read(name, said).kind in ("unknown", "unclear", "several")


@pytest.mark.parametrize(("name", "said", "finding"), OWN)
def test_an_occasion_of_the_finding_itself_does_not_silence_it(name: str, said: str, finding: str) -> None:
    assert read(name, said)[:2] == ("finding", products()[name].finding(finding))
