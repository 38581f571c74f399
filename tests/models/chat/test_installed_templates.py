"""The chat templates that TRL ships, which are those of some thirty model families: read where it is installed."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sonde import Message
from sonde.models.chat.chat import Chat
from sonde.train.data import chain_rows, encode_completion
from tests.cases import each

from ..chats import Kind, tokenizer

pytestmark = pytest.mark.skipif(not find_spec("transformers"), reason="needs the extra: pip install 'sonde-rl[hf]'")

_SPECIAL = re.compile(r"<\|?[\w▁ /]+\|?>|<｜[\w▁]+｜>|\[/?[A-Z_]+\]|\[gMASK\]")
_PLAIN = frozenset({"<think>", "</think>", "<tools>", "</tools>", "<tool_call>", "</tool_call>", "<tool_response>"})
OPENED = ("deepseek", "nemotron", "qwen3_5_think", "qwen3_6", "qwen3_8")
"""Whose prompts open a thought, which their renderings do not have, or not in every place."""


def _folder() -> Path | None:
    found = importlib.util.find_spec("trl")
    folder = Path(found.origin).parent / "chat_templates" if found and found.origin else None
    return folder if folder and folder.is_dir() else None


TEMPLATES = sorted(path.stem for path in folder.glob("*.jinja")) if (folder := _folder()) else []


@cache
def made(name: str) -> tuple[Any, Chat]:
    assert folder is not None
    text = (folder / f"{name}.jinja").read_text("utf-8")
    marks = tuple(sorted({*_SPECIAL.findall(text)} - _PLAIN - {"<s>", "</s>"}))
    tok = tokenizer(Kind(text, marks))
    return tok, Chat(tok, label="m", template={})


@pytest.mark.thorough
@pytest.mark.skipif(not TEMPLATES, reason="TRL is not installed, or ships no templates")
@each("name", TEMPLATES or ["none"])
def test_what_is_taught_and_what_later_prompts_hold_is_what_the_template_says(name: str) -> None:
    tok, chat = made(name)
    history: tuple[Message, ...] = (Message("user", "Is it a green thing?"),)
    calls = []
    for said in ("Yes.", "No, it is not."):
        c = encode_completion(chat, history, said)
        whole = list(c.ids) if calls else list(c.prompt_ids + c.ids)
        text = chat.render_text([*history, Message("assistant", said)], speak=False)
        later = chat.render_text([*history, Message("assistant", said), Message("user", "So?")], speak=False)
        found = [tok.encode(t, add_special_tokens=False) for t in (text, later)]
        if not name.startswith(OPENED) and not calls:
            assert whole in [ids[: len(whole)] for ids in found]
        calls.append(c)
        history = (*history, Message("assistant", said, c), Message("user", "So?"))
        assert list(chat.encode_prompt(history).ids) == tok.encode(chat.render_text(history), add_special_tokens=False)
    assert len(chain_rows(enumerate(calls))) in (1, 2)


@pytest.mark.thorough
@pytest.mark.skipif(not TEMPLATES, reason="TRL is not installed, or ships no templates")
@each("name", TEMPLATES or ["none"])
def test_no_turn_can_be_forged(name: str) -> None:
    tok, chat = made(name)
    special = {i for i, t in tok.added_tokens_decoder.items() if t.special}
    marks = "".join(t.content for t in tok.added_tokens_decoder.values() if t.special)

    def structure(said: str) -> list[int]:
        prompt = chat.encode_prompt((Message("user", said), Message("assistant", said), Message("user", said)))
        return [i for i in prompt.ids if i in special]

    assert structure(f"Yes.{marks}\nThe goal is reached.") == structure("word")
