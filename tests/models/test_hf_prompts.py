"""The prompts of the local backend, on tiny random models: what was sampled is never encoded again."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path

import pytest

from sonde import Message, Sampling
from sonde.models.hf import HF

pytest.importorskip("torch")

from .test_hf import WORDS, Chat, check_exact, run, said, sequences
from .tiny import CHATML, FORGETFUL, TEXT, tokenizer, write


def test_incremental_ids_equal_the_full_template(tiny_folder: Path) -> None:
    """Texts that survive decoding and encoding give the very ids of the template applied to the whole conversation."""
    hf = HF(model=str(tiny_folder))
    tok = tokenizer()
    chat: Chat = (Message("system", "Find the code."), Message("user", TEXT))
    whole = array("i")
    for turn in range(5):
        c = run(hf.generate(chat, Sampling(max_new_tokens=1)))
        whole = whole[: c.shared] + c.prompt_ids
        rows = [m.to_json() for m in chat]
        assert list(whole) == tok.apply_chat_template(rows, add_generation_prompt=True)["input_ids"]
        assert (c.shared > 0) == (turn > 0)
        text = WORDS[turn]
        spoken = array("i", [*tok.encode(text), 2])  # as if the model had said this
        c = replace(c, text=text, ids=spoken, logprobs=array("f", [0.0] * len(spoken)))
        whole += spoken
        chat = said(chat, c, f"turn {turn}")
    assert hf.stats.rewritten == 0
    run(hf.close())


def test_sampled_ids_are_never_encoded_again(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    tok = tokenizer()
    first = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=1)))
    odd = array("i", [tok.convert_tokens_to_ids(x) for x in ("t", "u", "r", "n")] + [2])  # never encoded that way
    assert tok.encode("turn") != list(odd[:-1])
    c = replace(first, text="turn", ids=odd, logprobs=array("f", [0.0] * 5))
    again = run(hf.generate(said((Message("user", "go"),), c, "on"), Sampling(max_new_tokens=1)))
    assert again.shared == len(c.prompt_ids) + len(odd)
    assert again.prompt_ids[0] != 2  # the end token was sampled; it is not there twice
    run(hf.close())


@pytest.mark.parametrize("strange", ["another model", "another text"])
def test_ids_of_other_models_or_edited_messages_are_not_used(tiny_folder: Path, strange: str) -> None:
    hf = HF(model=str(tiny_folder))
    c = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=4)))
    if strange == "another model":
        chat = said((Message("user", "go"),), replace(c, model="elsewhere", text="word"), "on")
    else:
        chat = (Message("user", "go"), Message("assistant", "word", c), Message("user", "on"))
    again = run(hf.generate(chat, Sampling(max_new_tokens=1)))
    start = array("i") if strange == "another model" else sequences([c])[0]
    rows = [{**m.to_json(), "content": "word"} if m.role == "assistant" else m.to_json() for m in chat]
    expected = tokenizer().apply_chat_template(rows, add_generation_prompt=True)["input_ids"]
    assert list(start[: again.shared] + again.prompt_ids) == expected
    run(hf.close())


def test_what_another_model_said_last_is_the_previous_call(tiny_folder: Path) -> None:
    """`shared` counts tokens of the seat's previous call; another model's share nothing with this one's."""
    hf = HF(model=str(tiny_folder))
    c = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=4)))
    chat = said(said((Message("user", "go"),), c, "on"), replace(c, model="elsewhere", text="word"), "on")
    again = run(hf.generate(chat, Sampling(max_new_tokens=1)))
    assert (again.shared, again.usage.prompt) == (0, len(again.prompt_ids))
    run(hf.close())


def test_a_template_that_changes_history_is_rendered_whole_and_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, template=FORGETFUL)
    hf = HF(model=str(folder))
    tok = tokenizer(FORGETFUL)
    first = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=1)))
    ids = array("i", [*tok.encode("hm!word"), 2])
    c = replace(first, text="hm!word", ids=ids, logprobs=array("f", [0.0] * len(ids)))
    chat = said((Message("user", "go"),), c, "on")
    again = run(hf.generate(chat, Sampling(max_new_tokens=3)))
    expected = tok.apply_chat_template([m.to_json() for m in chat], add_generation_prompt=True)["input_ids"]
    assert hf.stats.rewritten == 1
    assert list((c.prompt_ids + c.ids)[: again.shared] + again.prompt_ids) == expected
    assert again.shared == len(c.prompt_ids)  # true up to where the history was changed
    check_exact(
        folder,
        [
            [
                replace(c, logprobs=array("f"), ids=array("i")),
                replace(again, shared=0, prompt_ids=array("i", expected)),
            ][1:]
        ],
    )
    run(hf.close())


def test_marks_in_the_text_itself_do_no_harm(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    chat: Chat = (Message("user", "\ue0001\ue001 go"),)
    for _ in range(3):
        c = run(hf.generate(chat, Sampling(max_new_tokens=2)))
        chat = said(chat, c, "\ue0001\ue001\ue0003\ue001")
    assert hf.stats.requests == 3
    run(hf.close())


def test_template_arguments_reach_the_template(tmp_path: Path) -> None:
    template = "{% if shout %}<|im_start|>{% endif %}" + CHATML
    folder = write(tmp_path, template=template)
    plain, loud = HF(model=str(folder)), HF(model=str(folder), template={"shout": True})
    a, b = (run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=1))) for hf in (plain, loud))
    assert list(b.prompt_ids) == [1, *a.prompt_ids]
    for hf in (plain, loud):
        run(hf.close())
