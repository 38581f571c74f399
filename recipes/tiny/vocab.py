"""The tokenizer and the chat template of a sonde-tiny model: one token per word, number and sign of one environment.

The vocabulary covers the texts that the environment shows or reads; anything else becomes `<unk>`. White space is
lost, so decoded texts have single spaces. Roles and the end of a message are special tokens, and a chat only grows: the
next turn extends the tokens of the last one. Common phrases of a game may be single tokens, so that a tiny model learns
their meaning rather than their spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
UNKNOWN, PAD, END = "<unk>", "<pad>", "<|end|>"
SPECIAL = (UNKNOWN, PAD, END, "<|system|>", "<|user|>", "<|assistant|>")
NUMBERS = tuple(str(n) for n in range(21))
TOKEN = r"</?\w+>|\w+|[^\w\s]"
"""A tag, a word or number, or a single sign."""


def make_splitter(phrases: Sequence[str] = ()) -> Any:
    """Make a splitter that cuts a text into phrases and tokens and drops the white space between them."""
    from tokenizers import Regex, pre_tokenizers

    known = [_add_bounds(phrase) for phrase in sorted(phrases, key=len, reverse=True)]
    return pre_tokenizers.Split(Regex("|".join([*known, TOKEN])), behavior="removed", invert=True)


def _add_bounds(phrase: str) -> str:
    """The pattern of a phrase that is not part of a word: not the `red` of `tired`."""
    begins = r"(?<!\w)" if phrase[0].isalnum() else ""
    ends = r"(?!\w)" if phrase[-1].isalnum() else ""
    return begins + re.escape(phrase) + ends


def list_words(texts: Iterable[str], phrases: Sequence[str] = ()) -> list[str]:
    """All tokens of these texts and the numbers from 0 to 20, in a fixed order."""
    cut = make_splitter(phrases)
    found = {token for text in texts for token, _ in cut.pre_tokenize_str(text)}
    return sorted(found.union(NUMBERS), key=lambda token: (not token.isdigit(), token.zfill(4)))


def make_tokenizer(texts: Iterable[str], context: int, phrases: Sequence[str] = ()) -> Any:
    """A `PreTrainedTokenizerFast` that knows the words of `texts`."""
    from tokenizers import AddedToken, Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *list_words(texts, phrases)])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    raw.pre_tokenizer = make_splitter(phrases)
    raw.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    roles = list(SPECIAL[3:])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        unk_token=UNKNOWN,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=roles,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast
