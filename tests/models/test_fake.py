"""The fake model: what it says, its tokens and log-probabilities, and that nothing about it depends on chance."""

from __future__ import annotations

import asyncio
import math
import re
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde import Completion, Message, Probe, Sampling, UserError
from sonde.models.fake import END, LOGPROBS, ROLES, SAYABLE, Fake, render_prompt
from tests.cases import each

HELLO = (Message("user", "Hello?"),)


def ask(model: Fake, messages: Sequence[Message] = HELLO, **sampling: Any) -> Completion:
    return asyncio.run(model.generate(messages, Sampling(**sampling)))


def play(model: Fake, observations: Sequence[str], **sampling: Any) -> list[Completion]:
    """A conversation in which every reply stays in the history with its completion."""
    messages: list[Message] = []
    completions: list[Completion] = []
    for seed, text in enumerate(observations):
        messages.append(Message("user", text))
        completions.append(ask(model, messages, seed=seed, **sampling))
        messages.append(Message("assistant", completions[-1].text, completions[-1]))
    return completions


def test_script_is_said_in_order_and_its_last_line_again() -> None:
    said = [c.text for c in play(Fake(script=("one", "two")), ["a", "b", "c", "d"])]
    assert said == ["one", "two", "two", "two"]


def test_pattern_is_drawn_by_seed() -> None:
    model = Fake(pattern=("<Answer>{red|green|blue}</Answer>", 'I {pass|fold}: {"no": "choice"}'))
    said = [ask(model, seed=s).text for s in range(300)]
    assert said == [ask(model, seed=s).text for s in range(300)]
    assert set(said) == {
        *(f"<Answer>{c}</Answer>" for c in ("red", "green", "blue")),
        *(f'I {c}: {{"no": "choice"}}' for c in ("pass", "fold")),
    }
    assert 100 < sum(s.startswith("I") for s in said) < 200


def test_temperature_0_takes_the_first_of_everything() -> None:
    model = Fake(pattern=("{a|b}{c|d}", "other"))
    assert {ask(model, temperature=0.0, seed=s).text for s in range(20)} == {"ac"}


def test_tokens_are_bytes_and_an_end_mark() -> None:
    c = ask(Fake(script=("né",)))
    assert c.ids.tolist() == [ord("n"), 0xC3, 0xA9, END]
    assert c.prompt_ids.tolist() == [ROLES["user"], *b"Hello?", END, ROLES["assistant"]]
    assert (c.shared, c.finish, c.usage) == (0, "stop", (9, 4, 0))


def test_limit_cuts_even_inside_a_character() -> None:
    c = ask(Fake(script=("né",)), max_new_tokens=2)
    assert (c.text, c.ids.tolist(), c.finish, len(c.logprobs)) == ("n�", [ord("n"), 0xC3], "length", 2)
    assert ask(Fake(script=("né",)), max_new_tokens=3).finish == "length"  # the end mark is a token too
    assert ask(Fake(script=("né",)), max_new_tokens=4).finish == "stop"


def test_stop_string_ends_the_reply() -> None:
    c = ask(Fake(script=("first</Answer> second STOP",)), stop=("STOP", "</Answer>"))
    assert (c.text, c.finish) == ("first", "stop")


def test_prompts_extend_the_previous_call() -> None:
    """Previous prompt and completion, cut at `shared`, and the new tokens: exactly the template of all messages."""
    messages: list[Message] = [Message("system", "Be brief.")]
    whole = array("i")
    for turn, limit in enumerate((100, 2, 100, 1, 100)):
        messages.append(Message("user", f"observation {turn}"))
        c = ask(Fake(script=("né", "né", "")), messages, max_new_tokens=limit)
        assert c.shared == len(whole), "nothing of the history is sent again"
        assert whole[: c.shared] + c.prompt_ids == render_prompt(messages)
        assert c.usage == (len(whole) + len(c.prompt_ids), len(c.ids), len(whole))
        whole += c.prompt_ids + c.ids
        messages.append(Message("assistant", c.text, c))


def test_rewritten_history_is_shared_up_to_the_change() -> None:
    first = ask(Fake(script=("<think>hm</think>blue",)))
    messages = (*HELLO, Message("assistant", "blue", first), Message("user", "No."))
    second = ask(Fake(script=("red",)), messages)
    assert second.shared == len(first.prompt_ids)
    assert (first.prompt_ids + first.ids)[: second.shared] + second.prompt_ids == render_prompt(messages)


def test_cut_off_history_shares_nothing() -> None:
    messages: list[Message] = []
    for c, text in zip(play(Fake(script=("a", "b")), ["x", "y"]), ("x", "y"), strict=True):
        messages += [Message("user", text), Message("assistant", c.text, c)]
    last = ask(Fake(script=("c",)), (*messages[2:], Message("user", "z")))
    assert (last.shared, last.prompt_ids) == (0, render_prompt((*messages[2:], Message("user", "z"))))


def test_tokens_of_another_model_are_not_used() -> None:
    other = Completion(text="blue", ids=array("i", [70_000]), prompt_ids=array("i", [1, 2]), model="hf")
    c = ask(Fake(script=("red",)), (*HELLO, Message("assistant", "blue", other), Message("user", "No.")))
    assert c.shared == 0
    assert bytes(t for t in c.prompt_ids if t < 256) == b"Hello?blueNo."


def test_log_probabilities_sum_to_one() -> None:
    assert len(LOGPROBS) == SAYABLE
    for s in (0, 65, END, ROLES["assistant"]):
        following = {LOGPROBS[(31 * s + 17 * t + 123) % SAYABLE] for t in range(SAYABLE)}
        assert len(following) == SAYABLE
        assert math.fsum(map(math.exp, following)) == pytest.approx(1.0, abs=1e-12)


def scored(text: str, messages: Sequence[Message] = HELLO, **more: Any) -> list[float]:
    [found] = asyncio.run(Fake(script=("?",)).score([Probe((*messages, Message("assistant", text)), **more)]))
    return found


def test_score_agrees_with_generation() -> None:
    c = ask(Fake(script=("blue",)))
    blue = scored("blue")
    assert blue == c.logprobs.tolist()[:4]
    assert scored("blue", ending=True) == c.logprobs.tolist()
    assert scored("") == []
    assert all(math.log(1 / 33153) - 1e-6 <= p < 0 for p in blue)
    assert scored("blue", (Message("user", "Hello!"),)) != blue


def test_score_of_a_span_is_that_of_its_bytes() -> None:
    said = ask(Fake(script=("a né!",))).logprobs.tolist()  # one byte each, but two for the accent
    assert scored("a né!", span=(2, 4)) == said[2:5]
    assert scored("a né!", span=(4, 5), ending=True) == said[5:7]
    assert Probe((*HELLO, Message("assistant", "a né!")), span=(2, 4)).span_text == "né"


@given(st.lists(st.text(st.characters()), min_size=1, max_size=4), st.integers(1, 20))
def test_any_text_can_be_said(texts: list[str], limit: int) -> None:
    """Lone surrogates included, which no encoding can carry."""
    for c in play(Fake(script=tuple(texts)), texts, max_new_tokens=limit):
        assert len(c.ids) == len(c.logprobs) <= limit
        assert c.text.isascii() or c.text.encode("utf-8", "replace")


def test_time_passes_and_is_drawn_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("sonde.models.fake.asyncio.sleep", sleep)
    model = Fake(script=("x",), latency=0.05)
    for seed in (*range(40), *range(40)):
        asyncio.run(model.generate(HELLO, Sampling(seed=seed)))
    assert slept[:40] == slept[40:] and len(set(slept)) == 40
    assert 0.0 <= min(slept) < 0.02 and 0.08 < max(slept) <= 0.1, "evenly between nothing and twice the mean"


def test_concurrency_changes_nothing() -> None:
    model = Fake(pattern=("{0|1|2|3|4|5|6|7|8|9}" * 4,), latency=0.001)

    async def together() -> list[Completion]:
        return list(await asyncio.gather(*(model.generate(HELLO, Sampling(seed=s)) for s in range(50))))

    alone = [ask(model, seed=s) for s in range(50)]
    for a, b in zip(alone, asyncio.run(together()), strict=True):
        assert (a.text, a.ids, a.logprobs, a.prompt_ids) == (b.text, b.ids, b.logprobs, b.prompt_ids)
    assert len({a.text for a in alone}) > 40


def test_stats_count() -> None:
    model = Fake(script=("ok",))
    completions = play(model, ["a", "bc"])
    assert (model.stats.calls, model.stats.failures, model.stats.retries) == (2, 0, 0)
    assert model.stats.completion == 6
    assert model.stats.prompt == sum(c.usage.prompt for c in completions) == 4 + 4 + 3 + 5
    assert model.stats.cached == completions[1].shared == 7


def test_registry_and_config() -> None:
    model = sonde.make("models:fake", script=["a"], latency=1)
    assert model.config == {"name": "models:fake", "script": ["a"], "pattern": [], "latency": 1}
    assert sonde.build(model.config) == model
    assert model.require_capabilities("ids", "logprobs", "score", "deterministic") is model
    with pytest.raises(sonde.CapabilityError, match="cannot steer"):
        model.require_capabilities("steer")


@each(
    "config, message",
    [
        ({"script": ("a",), "pattern": ("b",)}, "script, pattern: allowed: one of them"),
        ({"script": "abc"}, "script: got 'abc', allowed: a list of texts"),
        ({"pattern": (1,)}, "pattern[0]: got 1, allowed: text"),
        ({"script": ("a",), "latency": -1}, "latency: got -1, allowed: seconds, 0 or more"),
    ],
)
def test_bad_configuration(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        Fake(**config)
