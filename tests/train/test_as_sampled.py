"""Token ids for texts that came without: equal to those that a live model records for the same text."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonde
from sonde import Completion, UserError
from sonde.agents.llm import LLM
from sonde.core import AGENT, Action, Episode, Message, ReplayError, Trajectory, Turn
from sonde.models import fake
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.data import as_sampled, encode_completion, make_samples

MARKS = {chr(0xF000 + i): i for i in (*fake.ROLES.values(), fake.END)}
"""The marks of the fake model's template, as characters."""


class FakeTokenizer:
    """The tokenizer and the template of `models:fake`, in the form that transformers gives them."""

    chat_template = "as in models:fake"
    eos_token_id = fake.END
    all_special_ids = (fake.END, *fake.ROLES.values())
    added_tokens_decoder: Mapping[int, Any] = {
        i: SimpleNamespace(content=mark, special=True, lstrip=False, normalized=False) for mark, i in MARKS.items()
    }

    def __init__(self, lossy: str = "") -> None:
        self.lossy = lossy

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        parts = ([MARKS[c]] if c in MARKS else list(c.encode()) for c in text if not self.lossy or c not in self.lossy)
        return [i for part in parts for i in part]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool, clean_up_tokenization_spaces: bool) -> str:
        assert skip_special_tokens and not clean_up_tokenization_spaces
        return bytes(i for i in ids if i < fake.END).decode()

    def apply_chat_template(
        self, rows: Sequence[Mapping[str, str]], tokenize: bool, add_generation_prompt: bool
    ) -> str:
        assert not tokenize
        mark = {i: c for c, i in MARKS.items()}
        told = "".join(f"{mark[fake.ROLES[m['role']]]}{m['content']}{mark[fake.END]}" for m in rows)
        return told + mark[fake.ROLES["assistant"]] * add_generation_prompt


def chat(lossy: str = "", label: str = "fake") -> Chat:
    return Chat(FakeTokenizer(lossy), label=label, template={})


def plain(t: Trajectory, keep: bool = False) -> Trajectory:
    """The record without tokens; with `keep`, the completions stay as an endpoint returns them."""

    def action(a: Action) -> Action:
        kept = tuple(Completion(text=c.text, finish=c.finish, model="endpoint") for c in a.completions)
        return a._replace(completions=kept if keep else ())

    turns = (Turn(turn.index, tuple(a._replace(action=action(a.action)) for a in turn.acts)) for turn in t.turns)
    return replace(t, turns=tuple(turns))


def calls(t: Trajectory) -> list[Completion]:
    return [turn.acts[0].action.completions[0] for turn in t.turns]


def check_same(made: Trajectory, live: Trajectory) -> None:
    """The same calls, but that nothing was sampled."""
    assert len(calls(made)) == len(calls(live)) > 0
    for a, b in zip(calls(made), calls(live), strict=True):
        assert (a.text, a.ids, a.prompt_ids, a.shared) == (b.text, b.ids, b.prompt_ids, b.shared)
        assert (a.finish, a.reasoning, a.model) == (b.finish, b.reasoning, b.model)
        assert a.logprobs == array("f")
    for (mine,), (theirs,) in zip(*(make_samples([t])[:1] for t in (made, live)), strict=True):
        for one, other in zip(mine.rows, theirs.rows, strict=True):
            assert (one.ids, one.agent, one.turns, one.logprobs) == (other.ids, other.agent, other.turns, None)
    assert made.turns[-1].told == live.turns[-1].told and made.outcome == live.outcome and made.id == live.id


# --- the fake model --------------------------------------------------------------------------------------------------


def play_fake(script: Sequence[str], turns: int, **options: Any) -> tuple[Trajectory, LLM]:
    policy = LLM(model=fake.Fake(script=tuple(script)), **options)
    env = sonde.make("minesweeper", max_turns=turns)
    (t,) = collect_trajectories(env, {AGENT: policy}, [env.tasks("test")[1]], Plan())
    return t, policy


@settings(max_examples=25)
@given(
    said=st.lists(st.tuples(st.text("ab üé<>", max_size=6), st.integers(0, 3)), min_size=1, max_size=4),
    options=st.sampled_from(
        [{}, {"context": "render"}, {"context": "last:1"}, {"system": "Look."}, {"keep_thinking": True}]
    ),
    think=st.booleans(),
)
def test_texts_of_the_fake_model_get_the_ids_it_recorded(
    said: list[tuple[str, int]], options: dict[str, Any], think: bool
) -> None:
    thought = "<think>so</think>" if think else ""
    live, policy = play_fake([f"{thought}{a}<Answer>reveal 0 {n}</Answer>" for a, n in said], len(said), **options)
    check_same(as_sampled(live, policy, chat()), live)
    check_same(as_sampled(plain(live, keep=True), policy, chat()), live)
    if not think and all(a == a.strip() for a, _ in said):
        check_same(as_sampled(plain(live), policy, chat()), live)


def test_what_a_store_gives_back_gets_the_same_ids() -> None:
    live, policy = play_fake(["<Answer>reveal 0 0</Answer>", "<Answer>reveal 1 1</Answer>"], 3, context="last:1")
    check_same(as_sampled(Trajectory.from_json(plain(live).to_json()), policy, chat()), live)


def test_a_cut_reply_stays_cut() -> None:
    live, policy = play_fake(["<Answer>reveal 0 0</Answer> and so on"], 2, max_new_tokens=28)
    assert calls(live)[0].finish == "length"
    check_same(as_sampled(plain(live, keep=True), policy, chat()), live)


# --- transformers ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from .tiny import write

    return write(tmp_path_factory.mktemp("tiny"))


FORGETFUL = (  # of what was said before, only what follows the last "is"
    "{% for m in messages %}{{ {'system': '<|system|>', 'user': '<|user|>', 'assistant': '<|agent|>'}[m['role']] }} "
    "{{ m['content'] if m['role'] != 'assistant' else m['content'].split(' is ')[-1] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|agent|> {% endif %}"
)


def words_only(hidden: Any, logits: Any) -> Any:
    """Steer to what a text can show: words and the end, and more of "is" and of the end than chance would have it."""
    from .tiny import END, SPECIALS, WORDS

    del hidden
    logits = logits.clone()
    logits[:, [i for i in range(len(SPECIALS)) if i != END]] = float("-inf")
    logits[:, [END, len(SPECIALS) + WORDS.split().index("is")]] += 2.0
    return logits


@pytest.mark.parametrize("template", [None, FORGETFUL])
@pytest.mark.parametrize("context", ["full", "last:1"])
def test_texts_of_a_live_model_get_the_ids_it_sampled(
    tiny_folder: Path, tmp_path: Path, template: str | None, context: str
) -> None:
    from sonde.models.hf import HF

    from .tiny import tiny_tokenizer, write

    folder, tokenizer = tiny_folder, tiny_tokenizer()
    if template:
        folder, tokenizer.chat_template = write(tmp_path), template
        tokenizer.save_pretrained(folder)
    policy = LLM(
        model=HF(model=str(folder), steer=words_only), context=context, temperature=1.0, min_p=0.0, max_new_tokens=9
    )
    env = sonde.make("customer_service", max_turns=5)
    live = collect_trajectories(env, {AGENT: policy}, env.tasks("test")[:3], Plan(k=2))
    made = [as_sampled(plain(t, keep=True), policy, Chat(tokenizer, label=str(folder), template={})) for t in live]
    cut = {c.finish for t in live for c in calls(t)}
    assert cut == {"stop", "length"}
    for one, other in zip(made, live, strict=True):
        check_same(one, other)
    (found, report), (_, again) = make_samples(live), make_samples(made)
    assert report == again
    turns = sum(s.turns for s in found)
    if context == "full":
        assert (report.forked == 0) == (template is None)
    else:
        first = turns - len(found)  # the second turn of a game still sees all of it
        assert (report.rows == first) if template is None else (first <= report.rows <= turns)


def test_another_tokenizer_says_the_same_in_its_own_ids(tiny_folder: Path) -> None:
    """What a program played becomes rows of the model that is to learn from it."""
    live, policy = play_fake(["<Answer>reveal 0 0</Answer>", "<Answer>reveal 1 1</Answer>"], 3)
    other = replace(policy, context="render")
    made = as_sampled(plain(live), other, chat(label="other"))
    assert {c.model for c in calls(made)} == {"other"}
    assert make_samples([made])[1].rows == len(made.turns)


# --- what cannot be --------------------------------------------------------------------------------------------------


def test_texts_that_the_tokenizer_does_not_keep_are_refused() -> None:
    live, policy = play_fake(["<Answer>reveal 0 0</Answer>"], 1)
    message = r"trajectory .*: turn 0: text: got '<Answer>reveal 0 0</Answer>', which the tokenizer .* '<Answer>revea"
    with pytest.raises(UserError, match=message):
        as_sampled(plain(live), policy, chat(lossy="l"))


def test_a_record_that_does_not_replay_is_refused() -> None:
    live, policy = play_fake(["<Answer>reveal 0 0</Answer>"], 2)
    with pytest.raises(ReplayError):
        as_sampled(replace(live, seed=1 + live.seed, version="0"), policy, chat())


def test_the_end_is_the_templates_or_else_the_tokenizers() -> None:
    assert chat().end_id == fake.END

    class Endless(FakeTokenizer):
        eos_token_id = 7  # type: ignore[assignment]

        def apply_chat_template(self, rows: Any, tokenize: bool, add_generation_prompt: bool) -> str:
            return "".join(f"{m['role']}: {m['content']}\n" for m in rows) + "assistant: " * add_generation_prompt

    c = encode_completion(Chat(Endless(), label="x", template={}), [Message("user", "hi")], "ho")
    assert c.ids.tolist() == [*b"ho", 7]
    assert bytes(c.prompt_ids.tolist()) == b"user: hi\nassistant: "


def test_seats_of_others_keep_their_completions() -> None:
    """Only the agent's are replaced; the game goes on as recorded."""
    policy = LLM(model=fake.Fake(script=("Is it plugged in?",)))
    user = sonde.make("users:llm", model=fake.Fake(script=("Yes, it is.",)))
    env = sonde.make("customer_service", max_turns=3)
    (live,) = collect_trajectories(env, {AGENT: policy, "user": user}, env.tasks("test")[:1], Plan())
    made = as_sampled(plain(live), policy, chat())
    for a, b in zip(made.acts, live.acts, strict=True):
        assert (a.seat, a.action.text, a.told) == (b.seat, b.action.text, b.told)
    assert Episode.replay(env, made).outcome == live.outcome
