"""Messages that have all the words of a finding, a fix or a cause, and ask, suggest or state something else."""

from __future__ import annotations

import pytest

from sonde.envs._rules.diagnosis.products import products
from sonde.envs._rules.diagnosis.reading import read

BESIDE = (
    ("drive_unseen", "Is the drive blue?"),
    ("wallbox_stop", "What colour is the car?"),
    ("fridge_warm", "Is the milk on the inner wall?"),
    ("fridge_warm", "Why is there ice on the inner wall?"),
    ("oven_uneven", "Is the kitchen door shut?"),
    ("shredder_mute", "Is the office door open?"),
    ("vacuum_weak", "Did you whistle just now?"),
    ("drive_unseen", "Did you ever drop your computer?"),
    ("garage_door", "Did you hurt your hand on the cord?"),
    ("guitar_hum", "What strings do you use?"),
    ("phone_nocharge", "Which jeans do you wear?"),
    ("ticket_missing", "Which seats did you book?"),
    ("softener_hard", "Is the salt in tablets?"),
    ("toothbrush_dies", "How long does it run before it stops?"),
    ("breaker_trips", "Which electrician put in the box?"),
    ("tv_tiles", "Is the tree a birch?"),
    ("wallbox_stop", "Is the plug yours?"),
    ("microwave_cold", "Did the dish break?"),
    ("projector_dim", "Do you wear glasses?"),
    ("car_vibrates", "Has the van got winter tyres?"),
    ("mower_nostart", "How old is the mower?"),
    ("phone_drain", "Have you ever dropped your phone into water?"),
    ("phone_drain", "Has the phone been dropped?"),
    ("dishwasher_pool", "Does the dishwasher drain?"),
    ("mealkit_spoiled", "Do you unpack the box on arrival?"),
    ("gps_lost", "Is there a bar near you?"),
    ("tyre_lamp", "Do you have a cold?"),
    ("washer_pulse", "Did you ring the shop?"),
    ("cpap_leak", "What is the age of the mask?"),
    ("game_crash", "Are you a good driver?"),
)
DENIED = (
    ("car_ac", "The gas hasn't leaked out."),
    ("car_ac", "The pressure switch has not failed."),
    ("boiler_cold", "Nobody would say that the pipe is frozen."),
    ("bulb_unruly", "The lamp isn't too far from the hub."),
    ("banking_app", "Please do not disconnect the tunnel app."),
    ("account_locked", "Clearing the cookies would not help."),
)
FRAMED = (
    ("account_locked", "I used to think the account was locked."),
    ("account_locked", "Normally I would tell people to clear the cookies."),
    ("account_locked", "My colleague said that the account is locked."),
    ("boiler_cold", "Had the pipe been frozen, it would drip by now."),
    ("boiler_cold", "What did the engineer say about the pressure gauge?"),
    ("fridge_warm", "My own fridge has a leaky seal."),
    ("fridge_warm", "We can rule out a leaky seal."),
    ("phone_nocharge", "I've used another cable myself."),
)
OPPOSED = (
    ("watch_steps", "Turn the saver on."),
    ("mower_nostart", "The fuel is fresh."),
    ("chair_sinks", "The clamping screw is tight."),
    ("camera_dark", "Switch to manual mode."),
    ("camera_dark", "Screw a filter on."),
    ("coffee_trickle", "Turn the grinder two steps finer."),
    ("phone_drain", "Let the app run in the background."),
    ("tyre_lamp", "Pull the nail out."),
    ("ebike_cut", "Take the battery out."),
    ("dryer_damp", "The water tank is empty."),
    ("phone_drain", "Turn off the Wi-Fi."),
)
DEEDS = (
    ("vacuum_weak", "Wash the hose in cold water."),
    ("bread_dense", "Choose the jam setting."),
    ("banking_app", "Uninstall the app and install it again."),
    ("banking_app", "Delete our app."),
    ("camera_dark", "Clean the lens."),
    ("blender_stops", "Plug it in for an hour."),
    ("bike_gears", "Adjust the saddle by half a turn."),
    ("smoke_chirp", "Press the test button."),
    ("earbuds_left", "Charge them for an hour."),
    ("car_ac", "The compressor is worn out."),
)
ELSE = (
    ("cpap_leak", "The hose is too long."),
    ("boiler_cold", "The pipe outside is made of plastic."),
    ("account_locked", "The cookies have been cleared."),
    ("tv_tiles", "The dish points where it should."),
    ("charged_twice", "The order was sent only once."),
    ("washer_dance", "Is the drum empty?"),
    ("boiler_cold", "Could the gas have run out?"),
    ("boiler_cold", "Has the gas cooker been serviced?"),
    ("car_nostart", "Did you leave the headlights on overnight?"),
    ("charged_twice", "Do both lines show the same amount?"),
    ("dishwasher_pool", "Have you cleaned the filter recently?"),
    ("doorbell_late", "Is the button frozen?"),
    ("doorbell_late", "Is your phone on silent?"),
    ("game_crash", "Do you have the latest version of the game?"),
)
SEVERAL = (
    (
        "phone_drain",
        "Switch on flight mode with Wi-Fi while you're down there, replace the battery and dim the screen.",
    ),
    ("charged_twice", "Shall I cancel the later order, or will you send me a picture of the statement?"),
    ("banking_app", "Update the app, disconnect the tunnel and free some space."),
)


@pytest.mark.parametrize(("name", "said"), (*BESIDE, *DENIED, *FRAMED, *OPPOSED, *DEEDS, *ELSE, *SEVERAL))
def test_traps_are_not_answered(name: str, said: str) -> None:
    assert read(name, said).kind in ("unknown", "unclear", "several", "talk")


@pytest.mark.parametrize(
    ("name", "said", "meant"),
    [
        ("drive_unseen", "Is its light blue?", "light"),
        ("fridge_warm", "Is there ice on the inner wall?", "ice"),
        ("oven_uneven", "Is the door shut tightly?", "door"),
        ("drive_unseen", "Did the drive fall at some time?", "fall"),
        ("washer_dance", "Is it standing on a wooden floor?", "floor"),
        ("breaker_trips", "Suppose every plug is pulled out: does it still trip?", "one"),
        ("shredder_mute", "Press the reverse key, what happens?", "reverse"),
        ("tv_tiles", "The dish isn't aimed right any more.", "aim"),
        ("stairlift_stuck", "It doesn't need charging. The chair isn't locked in its travel position.", "swivel"),
        ("tv_tiles", "The tree is not in the way, the dish has been knocked out of aim.", "aim"),
        ("coffee_trickle", "Another customer had to descale hers; in your case, pull off the spout and let it soak in"
         " hot soapy water.", "nozzle"),
        ("tv_tiles", "The dish points where it should. The plug at the end of the cable has corroded.", "corrosion"),
        ("phone_silent", "okay what about the slider on the left side, what color do you see", "slider"),
        ("toilet_runs", "The seal at the bottom is fine, the float is just set too high.", "float"),
        ("bulb_unruly", "Rather than updating anything, unplug the hub for thirty seconds and plug it back in.", "hub"),
        ("iron_drips", "The iron simply isn't hot enough to produce steam.", "cool"),
        ("router_slow", "Set up a new Wi-Fi password and give it only to the people you live with.", "intruder"),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_trap_is_answered(name: str, said: str, meant: str) -> None:
    query, product = read(name, said), products()[name]
    things = product.findings if query.kind == "finding" else product.causes
    assert query.kind in ("finding", "fix", "cause") and things[query.target].id == meant


STATED = (
    "It is impossible that {}.",
    "If {}, we would know.",
    "It would be strange if {}.",
    "My colleague thinks that {}.",
    "Last year I had a customer with the same trouble: {}.",
    "You are wrong if you believe that {}.",
    "I doubt that {}.",
    "I almost wrote that {}.",
    "I was going to say that {}, but that can't be.",
    "You said that {}.",
    "People often assume that {}.",
    "It would be easy to say that {}.",
    "Yesterday I had somebody on the line where {}.",
    "Your neighbour's unit had the same: {}.",
    "Last week {}.",
    "I'd hate to hear that {}.",
)
SUGGESTED = ("Who told you to {}?", "I forbid you to {}.", "Under no circumstances {}.", "Please stop trying to {}.",
             "How much does it cost to {}?", "It is too early to {}.", "I'd rather you didn't {}.",
             "Last time we had to {}.", "You shouldn't {}.", "Promise me not to {}.", "It's too late to {}.",
             "It took me an hour to {} at home.", "I've never had to {}.")  # fmt: skip


@pytest.mark.parametrize("frame", STATED)
def test_a_cause_in_a_frame_is_no_diagnosis(frame: str) -> None:
    said = [(p.id, frame.format(c.what)) for p in products().values() for c in p.causes]
    taken = [text for name, text in said if read(name, text).proposed and read(name, text).kind != "several"]
    assert len(taken) <= 0.01 * len(said), taken


@pytest.mark.parametrize("frame", SUGGESTED)
def test_a_fix_in_a_frame_is_no_suggestion(frame: str) -> None:
    said = [(p.id, frame.format(c.fix_what)) for p in products().values() for c in p.causes]
    taken = [text for name, text in said if read(name, text).kind in ("fix", "cause")]
    assert len(taken) <= 0.01 * len(said), taken


def test_a_value_is_not_confirmed_where_a_word_denies_it() -> None:
    query = read("monitor_nosignal", "With that cable on the TV, do you get no picture there either?")
    assert (query.kind, query.value) == ("finding", -1)


ASKED = (
    "My colleague asked: {}",
    "I used to ask everybody: {}",
    "My wife always asks me: {}",
    "Don't answer this one: {}",
    "{} Never mind, don't answer that.",
    "{} Scratch that.",
    "{} Just kidding.",
    "{} Sorry, wrong customer.",
)


@pytest.mark.parametrize("frame", ASKED)
def test_a_question_told_of_or_taken_back_is_not_answered(frame: str) -> None:
    said = [(p.id, frame.format(q)) for p in products().values() for f in p.findings for q in f.questions[:2]]
    taken = [text for name, text in said if read(name, text).kind == "finding"]
    assert len(taken) <= 0.01 * len(said), taken


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chair_sinks", "Is the right lever out?"),
        ("ebike_cut", "Is the front spoke twisted?"),
        ("ebike_cut", "Turn the key in the lock of the garage."),
        ("gps_lost", "Connect the inside aerial."),
        ("monitor_nosignal", "Push the power cable in until it clicks."),
        ("charged_twice", "Wait five minutes."),
        ("mouse_jumps", "Put two fresh batteries in the keyboard."),
    ],
)
def test_another_thing_of_the_same_kind_is_not_the_one_that_is_known(name: str, text: str) -> None:
    assert read(name, text).kind not in ("finding", "fix", "cause")
