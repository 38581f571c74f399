"""Templates that keep history: a longer conversation extends the shorter, and one turn is what the family's says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sonde import Message, Sampling, UserError
from sonde.core.seeding import derive
from sonde.models.chat.chat import Chat
from sonde.models.hf import HF
from tests.cases import each

pytest.importorskip("torch")

from ..test_hf import run, said, sequences
from ..tiny import CHATML, tokenizer, write

QWEN3 = (  # what the family's template does without tools: earlier replies lose what was thought, and the empty thought
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content.split('</think>')[-1].lstrip('\n') if m.role == 'assistant' else m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
)
MISTRAL = (  # likewise: the system message goes with the last user message; a space before earlier replies
    "{% set told = messages[1:] if messages[0].role == 'system' else messages %}{{ bos_token }}{% for m in told %}"
    "{% if m.role == 'user' %}[INST] {% if loop.last and messages[0].role == 'system' %}"
    "{{ messages[0].content + '\n\n' }}{% endif %}{{ m.content }}[/INST]"
    "{% else %}{{ ' ' + m.content|trim + eos_token }}{% endif %}{% endfor %}"
)
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3": (QWEN3, {"enable_thinking": False}),
    "mistral": (MISTRAL, {}),
}
SYSTEM, HELLO = Message("system", "Find the code."), Message("user", "Your turn now.")


def chats(name: str) -> tuple[Chat, Chat]:
    """With the family's own template, and with the one that keeps history."""
    stock, arguments = FAMILIES[name]
    given = ({}, {"training": name})
    own, kept = (Chat(tokenizer(stock), label="tiny", template={**arguments, **more}) for more in given)
    return own, kept


@each("name", FAMILIES)
def test_one_turn_is_said_as_the_family_says_it(name: str) -> None:
    own, kept = chats(name)
    for messages in ([HELLO], [SYSTEM, HELLO]):
        assert kept.render_text(messages) == own.render_text(messages)
        assert kept.encode_prompt(messages).ids == own.encode_prompt(messages).ids
    assert kept.ends == own.ends


def test_thinking_may_be_on() -> None:
    kept = Chat(tokenizer(QWEN3), label="tiny", template={"training": "qwen3"})
    assert kept.render_text([HELLO]).endswith("<|im_start|>assistant\n")


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("system", [False, True])
def test_a_longer_conversation_extends_the_shorter_one(tmp_path: Path, name: str, system: bool) -> None:
    stock, arguments = FAMILIES[name]
    folder = write(tmp_path, template=stock)
    rewritten: list[int] = []
    for more in ({}, {"training": name}):
        hf = HF(model=str(folder), template={**arguments, **more})
        chat = (SYSTEM, HELLO) if system else (HELLO,)
        found = []
        for turn in range(4):
            c = run(hf.generate(chat, Sampling(max_new_tokens=6, temperature=1.0, seed=derive(0, turn))))
            found.append(c)
            chat = said(chat, c, "Is it green?")
        longer = sequences(found)
        extends = [b[: len(a)] == a for a, b in pairwise(longer)]
        assert all(extends) if more or (name, system) == ("mistral", False) else not any(extends)
        rewritten.append(hf.stats.rewritten)
        run(hf.close())
    assert rewritten[1] == 0


@each("name", FAMILIES)
def test_the_text_of_a_conversation_extends_too(name: str) -> None:
    _, kept = chats(name)
    chat = [SYSTEM, HELLO]
    for reply in ("no", "<think>\nhm\n</think>\n\nIs it a word?"):
        before = kept.render_text(chat)
        chat += [Message("assistant", reply), HELLO]
        assert kept.render_text(chat).startswith(before + reply)


def test_a_name_that_does_not_belong_is_refused() -> None:
    with pytest.raises(UserError, match=r"training: got 'mistral', which renders one turn of 'tiny' as .*INST"):
        Chat(tokenizer(CHATML), label="tiny", template={"training": "mistral"})
    with pytest.raises(UserError, match=r"template: training: unknown name 'qwen'"):
        Chat(tokenizer(CHATML), label="tiny", template={"training": "qwen"})
