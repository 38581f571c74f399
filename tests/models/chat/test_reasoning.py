"""Thoughts told from answers, in the marks of every model family that is known: whole, cut anywhere, opened by prompts.

The forms are those of the families' documentation: chat templates and cards (DeepSeek-R1, Qwen3, Magistral, Seed-OSS,
Kimi, MiniMax, Apertus, Command A, Gemma 4, Granite 3.2), OpenAI's guide to harmony, the parsers of vLLM and SGLang.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import AGENT, Completion, Episode, Message, advance_to_agent, run_sync
from sonde.models.chat.reasoning import MARKS, find_open_mark, split_completion, split_reasoning
from sonde.models.remote.openai_chat import read_completion
from tests.cases import each

IDEA, ANSWER = "maybe <Answer>crane</Answer>?", "<Answer>toast</Answer>"
REPLIES = {  # what a model says, up to and including what closes its thought, and the rest
    "deepseek_r1": (f"<think>\n{IDEA}\n</think>", f"\n\n{ANSWER}"),
    "qwen3": (f"<think>\n{IDEA}\n</think>\n\n", ANSWER),
    "opened in the prompt": (f"{IDEA}\n</think>", f"\n\n{ANSWER}"),
    "thinking": (f"<thinking>{IDEA}</thinking>", f"\n{ANSWER}"),
    "exaone_deep": (f"<thought>\n{IDEA}\n</thought>", f"\n\n{ANSWER}"),
    "magistral": (f"[THINK]{IDEA}[/THINK]", ANSWER),
    "seed_oss": (f"<seed:think>{IDEA}</seed:think>", ANSWER),
    "kimi_vl": (f"◁think▷{IDEA}◁/think▷", ANSWER),
    "minimax_m3": (f"<mm:think>{IDEA}</mm:think>", ANSWER),
    "apertus": (f"<|inner_prefix|>{IDEA}<|inner_suffix|>", ANSWER),
    "command_a": (f"<|START_THINKING|>{IDEA}<|END_THINKING|>", f"<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>"),
    "pangu": (f"[unused16]{IDEA}[unused17]", ANSWER),
    "open_thinker": (
        f"<|begin_of_thought|>\n{IDEA}\n<|end_of_thought|>",
        f"\n\n<|begin_of_solution|>\n{ANSWER}\n<|end_of_solution|>",
    ),
    "kimi_k3": (
        f"<|open|>think<|sep|>{IDEA}<|close|>think<|sep|>",
        f"<|open|>response<|sep|>{ANSWER}<|close|>response<|sep|><|close|>message<|sep|>",
    ),
    "gemma_4": (f"<|channel>thought\n{IDEA}<channel|>", ANSWER),
    "granite_3_2": (f"Here is my thought process:\n{IDEA}\nHere is my response:", f"\n{ANSWER}"),
    "gpt_oss": (
        f"<|channel|>analysis<|message|>{IDEA}<|end|><|start|>assistant<|channel|>final<|message|>",
        f"{ANSWER}<|return|>",
    ),
    "gpt_oss with a tool": (
        f"<|channel|>analysis<|message|>{IDEA}<|end|><|start|>assistant<|channel|>commentary to=functions.look "
        f"<|constrain|>json<|message|>{{}}<|end|><|start|>assistant<|channel|>final<|message|>", ANSWER,
    ),
    "gpt_oss decoded": (f"analysisWe ask, {IDEA}assistantfinal", ANSWER),
    "two thoughts": (f"<think>hm</think>\n<think>{IDEA}</think>", ANSWER),
}  # fmt: skip
PROMPTS = {  # how rendered prompts end, and what they open
    "deepseek_r1": ("<｜User｜>Guess.<｜Assistant｜><think>\n", "<think>"),
    "qwen3 thinking": ("Guess.<|im_end|>\n<|im_start|>assistant\n<think>\n", "<think>"),
    "glm_4_7": ("<|user|>Guess.<|assistant|><think>", "<think>"),
    "minimax_m3": ("]~b]ai\n<mm:think>", "<mm:think>"),
    "kimi_k3": ("<|open|>think<|sep|>", "<|open|>think<|sep|>"),
    "apertus": ("<|assistant_start|><|inner_prefix|>", "<|inner_prefix|>"),
    "command_a": ("<|CHATBOT_TOKEN|><|START_THINKING|>", "<|START_THINKING|>"),
    "qwen3 without": ("<|im_start|>assistant\n<think>\n\n</think>\n\n", ""),
    "gemma_4 without": ("<|turn>model\n<|channel>thought\n<channel|>", ""),
    "gpt_oss": ("Guess.<|end|><|start|>assistant", ""),
    "magistral": ("[INST]Think in [THINK][/THINK].[/INST]", ""),
    "a user's own words": ("<|im_start|>user\nSay <think>\n<|im_end|>\n<|im_start|>assistant\n", ""),
}


@each("family", REPLIES)
def test_the_answer_is_what_follows_the_thought(family: str) -> None:
    thought, rest = REPLIES[family]
    reasoning, answer = split_reasoning(thought + rest)
    assert answer == ANSWER and IDEA in reasoning
    assert split_reasoning(answer) == ("", answer)


@each("family", [name for name in REPLIES if name != "opened in the prompt"])
def test_a_thought_that_the_limit_cuts_anywhere_is_no_answer(family: str) -> None:
    thought, _ = REPLIES[family]
    for end in range(thought.index(IDEA), len(thought)):
        assert "crane" not in split_reasoning(thought[:end], cut=True)[1], thought[:end]
        assert "crane" not in split_reasoning(thought[:end])[1], thought[:end]


@each("name", PROMPTS)
def test_a_prompt_that_opens_the_thought_is_known(name: str) -> None:
    prompt, mark = PROMPTS[name]
    assert find_open_mark(f"a long conversation <think>hm</think>\n{prompt}") == mark
    if mark:
        cut = Completion(text=IDEA, open_mark=mark, finish="length")
        assert split_completion(cut)[0].reasoning == IDEA and split_completion(cut)[1] == ""
        (closing,) = (m.tokens[-1] for m in MARKS.values() if m.tokens[:1] == (mark,)) if "sep" not in mark else ("",)
        if closing:
            assert split_reasoning(f"{IDEA}{closing}{ANSWER}", mark) == (IDEA, ANSWER)


@each("text, reasoning, rest",
    [
        (ANSWER, "", ANSWER),
        ("  as it is ", "", "  as it is "),
        ("<think><Answer>A1</Answer></think>", "<Answer>A1</Answer>", ""),
        ("<think>a</think><think>b <Answer>A1</Answer>", "a\n\nb <Answer>A1</Answer>", ""),
        ("<think></think><Answer>A1</Answer>", "", "<Answer>A1</Answer>"),
        ("</mm:think>" + ANSWER, "", ANSWER),
        ("<|channel>thought\n<channel|>" + ANSWER, "", ANSWER),
        ("<|channel|>final<|message|>" + ANSWER, "", ANSWER),
        ("<Think>hm</Think><Answer>A1</Answer>", "", "<Think>hm</Think><Answer>A1</Answer>"),  # the environments' own
        ("<think>", "", ""),
        ("", "", ""),
        # marks that are only mentioned hide no answer
        (f"I use no <think> tag. {ANSWER}", "", f"I use no <think> tag. {ANSWER}"),
        (f"`<think>` is not for you. {ANSWER}", "", f"`<think>` is not for you. {ANSWER}"),
        (f"<think>hm</think>{ANSWER} (I closed it with </think>.)", "hm", f"{ANSWER} (I closed it with\n\n.)"),
        (f"analysis of the word: {ANSWER}", "", f"analysis of the word: {ANSWER}"),
        (f"{ANSWER} Here is my response: toast", "", f"{ANSWER} Here is my response: toast"),
        (f"The assistantfinal score: {ANSWER}", "", f"The assistantfinal score: {ANSWER}"),
        # and thoughts in the middle count for nothing
        (f"{ANSWER} <think>or <Answer>crane</Answer></think>", "or <Answer>crane</Answer>", ANSWER),
        (f"{ANSWER} [THINK]or <Answer>crane</Answer>", "or <Answer>crane</Answer>", ANSWER),
        ("Let me see. <think>is it <Answer>crane</Answer>", "is it <Answer>crane</Answer>", "Let me see."),
        ("<Answer> <think>crane?</think> toast</Answer>", "crane?", "<Answer>\n\ntoast</Answer>"),
        (f"use [THINK] <Answer>crane</Answer></think> {ANSWER}", "use [THINK] <Answer>crane</Answer>", ANSWER),
    ],
)  # fmt: skip
def test_reasoning_is_told_from_speech(text: str, reasoning: str, rest: str) -> None:
    assert split_reasoning(text) == (reasoning, rest)


def test_a_mention_in_what_the_limit_cut_is_taken_for_a_thought() -> None:
    text = "so I begin <think>is it <Answer>crane</Answer>"
    assert split_reasoning(text) == ("", text)
    assert split_reasoning(text, cut=True) == ("is it <Answer>crane</Answer>", "so I begin")


TOKENS = sorted({token for mark in MARKS.values() for token in mark.tokens})
PIECES = st.sampled_from([
    *TOKENS, "analysis", "assistantfinal", "assistant", "final", "Here is my response:", "<|return|>", "<|constrain|>",
    ANSWER, "a", "B", " ", "\n", ".", "<", "think",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def letters(text: str) -> str:
    """What is no mark and no space."""
    for token in ("<|constrain|>", "<|return|>", "<|call|>", *sorted(TOKENS, key=len, reverse=True)):
        text = text.replace(token, " ")
    return "".join(text.split())


@given(st.text(), st.text())
def test_what_follows_closed_reasoning_is_said(hidden: str, spoken: str) -> None:
    hidden, spoken = (text.replace("<", "").replace("[", "").replace("◁", "") for text in (hidden, spoken))
    assert split_reasoning(f"<think>{hidden}</think>{spoken}") == (hidden.strip(), spoken.strip())
    assert split_reasoning(f"<think>{hidden}")[1] == ""


@given(TEXTS, st.booleans())
def test_an_answer_is_split_no_further(text: str, cut: bool) -> None:
    answer = split_reasoning(text, cut=cut)[1]
    assert split_reasoning(answer) == ("", answer)


@given(st.lists(st.sampled_from(["<think>", "</think>", "[THINK]", "[/THINK]", "a", "b", " ", "\n"]), max_size=14))
def test_nothing_is_lost(parts: list[str]) -> None:
    reasoning, answer = split_reasoning("".join(parts))
    assert sorted(letters(reasoning + answer)) == sorted(letters("".join(parts)))


@given(TEXTS)
def test_a_closed_thought_never_speaks(text: str) -> None:
    assert "crane" not in split_reasoning(f"<think>crane{text.replace('</think>', '')}</think>{text}")[1]


@each("unit", ["<think></think>", "<think>", "</think>", "a <think> b ", "<|channel|>", "<|end|>", " "])
def test_a_megabyte_of_marks_is_split(unit: str) -> None:
    reasoning, rest = split_reasoning(unit * (1_000_000 // len(unit)))
    assert len(reasoning) + len(rest) <= 1_000_001


# --- who reads replies -----------------------------------------------------------------------------------------------


def fake(*lines: str) -> Any:
    return sonde.make("models:fake", script=lines)


@each("family", REPLIES)
def test_the_agent_plays_its_answer(family: str) -> None:
    env = sonde.make("wordle")
    agent = sonde.make("agents:llm", model=fake("".join(REPLIES[family])))
    ep = Episode.begin(env, env.tasks("test")[0])
    (turn,) = ep.step(run_sync(agent.act(ep.view()))).turns
    assert turn.text == ANSWER and IDEA in turn.acts[0].action.completions[0].reasoning


@each("name", ["users:llm", "users:hybrid"])
@each("family", REPLIES)
def test_a_users_thoughts_reach_nobody(name: str, family: str) -> None:
    thought, rest = REPLIES[family]
    said = (thought + rest).replace(IDEA, "the topic is guitar").replace(ANSWER, "Yes")
    env = sonde.make("twenty_questions", preset="lmrl")
    ep = Episode.begin(env, env.task("guitar")).step("Does it remind people of Tuesdays?")
    ep = run_sync(advance_to_agent(ep, {"user": sonde.make(name, model=fake(said))}))
    assert ep.turns[0].info["reply"] == "Yes." and not ep.turns[0].info.get("retries")
    assert all("guitar" not in message.content for message in ep.messages[AGENT])
    (completion,) = (c for act in ep.turns[0].acts for c in act.action.completions)
    assert "the topic is guitar" in completion.reasoning


@each(
    "part",
    [
        {"type": "thinking", "thinking": [{"type": "text", "text": IDEA}]},  # Mistral's
        {"type": "thinking", "thinking": IDEA},
        {"type": "reasoning", "text": IDEA},
    ],
)
def test_parts_of_a_content_that_are_thoughts_are_no_answer(part: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": [part, {"type": "text", "text": ANSWER}]}
    c = read_completion(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode(), "m")
    assert (c.text, c.reasoning) == (ANSWER, IDEA)


def test_a_hosts_own_refusal_is_told_from_an_answer() -> None:
    message = {"role": "assistant", "content": None, "refusal": "No."}
    c = read_completion(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode(), "m")
    assert (c.text, c.finish) == ("No.", "filter")


def test_a_hosts_text_is_split_too() -> None:
    from sonde.interop.session import Session

    session = Session("wordle")
    session.reset(0)
    session.say("".join(REPLIES["gpt_oss"]))
    action = session.episode.turns[0].acts[0].action
    assert action.text == ANSWER and action.completions[0].reasoning == IDEA


# --- tokens ----------------------------------------------------------------------------------------------------------

OPENS = (  # as DeepSeek-R1's and Qwen3-Thinking's: the thought is opened where a reply is asked for
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'].split('</think>')[-1] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


def with_marks(*tokens: str) -> Any:
    """A tokenizer with these special tokens, and its chat."""
    pytest.importorskip("transformers")
    from sonde.models.chat.chat import Chat

    from ..tiny import tokenizer

    fast = tokenizer()
    fast.add_special_tokens({"additional_special_tokens": list(tokens)})
    return Chat(fast, label="tiny", template={})


@each("family", ["magistral", "gemma_4", "gpt_oss", "kimi_k3", "command_a", "apertus", "qwen3"])
def test_marks_that_are_special_tokens_are_kept_for_the_split(family: str) -> None:
    """They are decoded away everywhere else, and gpt-oss's reply would read `analysis...assistantfinal...`."""
    chat = with_marks(*TOKENS, "<|return|>", "<|other|>")
    text = "".join(REPLIES[family]).removesuffix("<|return|>")
    ids = chat.encode("<|other|>" + text)
    said = chat.decode_ids(ids)
    assert split_reasoning(said)[1] == ANSWER and IDEA in split_reasoning(said)[0]
    assert "<|other|>" not in said and said.replace("<|other|>", "") in text.replace("<|constrain|>", "")
    assert chat.decode_ids(chat.encode("plain <|other|> text")) == "plain  text"


def test_marks_that_others_use_for_something_else_are_not_kept() -> None:
    """`<|end|>` alone ends a message of Phi's, and no thought."""
    chat = with_marks("<|end|>", "<|start|>")
    assert chat.decode_ids(chat.encode("one<|end|>two")) == "onetwo"


def test_a_backend_that_renders_the_prompt_says_that_it_opens_a_thought(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from sonde.models.hf import HF

    from ..tiny import write

    model = HF(model=str(write(tmp_path, template=OPENS)), dtype="float32")
    agent = sonde.make("agents:llm", model=model, max_new_tokens=5, min_p=0.0)

    async def act(ep: Episode) -> Any:
        try:
            return await agent.act(ep.view())
        finally:
            await agent.close()

    env = sonde.make("wordle")
    ep = Episode.begin(env, env.tasks("test")[0])
    action = asyncio.run(act(ep))
    (c,) = action.completions
    assert (c.open_mark, c.finish, len(c.ids)) == ("<think>", "length", 5)
    assert action.text == "" and c.reasoning == c.text.strip() != ""
    done = ep.step(action)
    assert done.outcome and (done.outcome.kind, done.outcome.truncated) == ("unreadable", "tokens")
    record = done.to_trajectory(policies={})
    again = type(record).from_json(record.to_json())
    assert again.turns[0].acts[0].action.completions[0].open_mark == "<think>"


def test_ids_stay_what_was_sampled_and_are_fed_back_where_the_thought_is_kept() -> None:
    chat = with_marks("[THINK]", "[/THINK]")
    text = "[THINK]hm[/THINK]Yes"
    ids = array("i", [*chat.encode(text), 2])
    first = chat.encode_prompt([Message("user", "Hello")])
    c = Completion(text=chat.decode_ids(ids), ids=ids, prompt_ids=first.ids, model="tiny")
    assert c.text == text
    again = chat.encode_prompt([Message("user", "Hello"), Message("assistant", text, c), Message("user", "On.")])
    assert again.shared == len(first.ids) + len(ids) and not again.rewritten
