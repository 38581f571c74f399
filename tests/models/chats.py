"""Chat templates of every structural kind, in our own words, and tokenizers of the kinds that chat models have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from .tiny import TEXT

ROLES = "{% set name = {'system': 'rules', 'user': 'asker', 'assistant': 'teller'}[m.role] %}"
LOOP = "{% for m in messages %}" + ROLES
ALTERNATE = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('user and assistant take turns') }}{% endif %}{% endfor %}"
)
THOUGHTLESS = (
    "{% set whole = m.role != 'assistant' or (loop.last and not add_generation_prompt) %}"
    "{{ m.content if whole else m.content.split('</think>')[-1] }}"
)


@dataclass(frozen=True)
class Kind:
    """A template, its special tokens beside `<s>` and `</s>`, and what is peculiar: whether it takes a system message,
    what it puts before a reply that the model has to say, whether its rendering goes on where its prompt ends, and
    whether what was sampled stays as it is in later prompts."""

    template: str
    tokens: tuple[str, ...] = ()
    end: str = "</s>"
    system: bool = True
    lead: str = ""
    extends: bool = True
    keeps: bool = True


KINDS = {
    "marks_of_turns": Kind(
        LOOP + "<|open|>{{ name }}\n{{ m.content }}<|close|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|open|>teller\n{% endif %}",
        ("<|open|>", "<|close|>"),
        "<|close|>",
    ),
    "no_system_role": Kind(
        "{% if messages[0].role == 'system' %}{{ raise_exception('no such role') }}{% endif %}" + ALTERNATE + LOOP
        + "<turn>{{ name }}\n{{ m.content | trim }}<over>\n{% endfor %}"
        "{% if add_generation_prompt %}<turn>teller\n{% endif %}",
        ("<turn>", "<over>"),
        "<over>",
        system=False,
    ),
    "thoughts_are_dropped": Kind(
        LOOP + "<|open|>{{ name }}\n" + THOUGHTLESS + "<|close|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|open|>teller\n{% endif %}",
        ("<|open|>", "<|close|>"),
        "<|close|>",
    ),
    "thought_is_opened": Kind(
        LOOP + "<|open|>{{ name }}\n" + THOUGHTLESS + "<|close|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|open|>teller\n<think>\n{% endif %}",
        ("<|open|>", "<|close|>"),
        "<|close|>",
        extends=False,
        keeps=False,
    ),
    "tools": Kind(
        "{% if tools %}<|open|>tools\n{{ tools | tojson }}<|close|>\n{% endif %}" + LOOP
        + "<|open|>{{ name }}\n{% if m.tool_calls %}{% for c in m.tool_calls %}<|call|>{{ c.name }}{% endfor %}"
        "{% else %}{{ m.content }}{% endif %}<|close|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|open|>teller\n{% endif %}",
        ("<|open|>", "<|close|>", "<|call|>"),
        "<|close|>",
    ),
    "date": Kind(
        "<|open|>day\n{{ strftime_now('%d %b %Y') }}<|close|>\n" + LOOP
        + "<|open|>{{ name }}\n{{ m.content }}<|close|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|open|>teller\n{% endif %}",
        ("<|open|>", "<|close|>"),
        "<|close|>",
    ),
    "parts": Kind(
        LOOP + "{{ name | capitalize }}:{% for p in m.content %}{% if p.type == 'text' %} {{ p.text }}{% endif %}"
        "{% endfor %}<fin>\n{% endfor %}{% if add_generation_prompt %}Teller:{% endif %}",
        ("<fin>",),
        "<fin>",
        lead=" ",
    ),
    "no_generation_prompt": Kind(
        LOOP + "<|open|>{{ name }}\n{{ m.content }}<|close|>\n{% endfor %}", ("<|open|>", "<|close|>"), "<|close|>"
    ),
    "two_ends": Kind(
        LOOP + "<|begin|>{{ name }}{% if m.role == 'assistant' %}<|aloud|>{% endif %}<|text|>{{ m.content }}"
        "{% set last = m.role == 'assistant' and loop.last and not add_generation_prompt %}"
        "{{ '<|return|>' if last else '<|done|>' }}{% endfor %}"
        "{% if add_generation_prompt %}<|begin|>teller{% endif %}",
        ("<|begin|>", "<|aloud|>", "<|text|>", "<|return|>", "<|done|>"),
        "<|return|>",
        lead="<|aloud|><|text|>",
        keeps=False,
    ),
    "next_role": Kind(
        "<s>" + LOOP + "<|{{ name }}|>\n{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|teller|>{% endif %}",
        ("<|rules|>", "<|asker|>", "<|teller|>"),
        "<|asker|>",
        lead="\n",
    ),
    "text_before_end": Kind(
        LOOP + "{% if m.role == 'assistant' %} {{ m.content | trim }} </s>"
        "{% else %}<s>[{{ name }}] {{ m.content | trim }} [/{{ name }}]{% endif %}{% endfor %}",
        lead=" ",
    ),
    "marks_of_replies": Kind(
        LOOP + "<|open|>{{ name }}<|name|>{% if m.role == 'assistant' %}<|say|>{{ m.content }}<|/say|>"
        "{% else %}{{ m.content }}{% endif %}<|close|>{% endfor %}"
        "{% if add_generation_prompt %}<|open|>teller<|name|><|say|>{% endif %}",
        ("<|open|>", "<|name|>", "<|say|>", "<|/say|>", "<|close|>"),
        "<|close|>",
    ),
    "ends_the_text_too": Kind(
        LOOP + "<|{{ name }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
        "{{ '<|teller|>\n' if add_generation_prompt else '</s>' }}",
        ("<|rules|>", "<|asker|>", "<|teller|>", "<|end|>"),
        "<|end|>",
    ),
    "words_for_roles": Kind(
        "<s>" + LOOP + "{{ name | upper }}: {{ m.content }}{{ '</s>' if m.role == 'assistant' else '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}TELLER:{% endif %}",
        lead=" ",
    ),
}  # fmt: skip
BYTES, PIECES = "bytes", ("legacy", "first", "always")


def tokenizer(kind: Kind, scheme: str = BYTES, *, ordinary: tuple[str, ...] = (), rstrip: bool = False) -> Any:
    """A tokenizer of this scheme that knows the kind's special tokens. Of SentencePiece's: `legacy` puts a space before
    whatever stands between special tokens, `first` before a text, `always` before every piece. `ordinary` tokens are
    added too and are not special; `rstrip`: special ones take the white space behind them."""
    from tokenizers import AddedToken, Tokenizer
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer.from_str(_trained(scheme))
    raw.add_special_tokens([AddedToken(t, special=True, normalized=False, rstrip=rstrip) for t in kind.tokens])
    raw.add_tokens([AddedToken(t, special=False, normalized=False) for t in ordinary])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )
    fast.chat_template = kind.template
    return fast


@cache
def _trained(scheme: str) -> str:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    specials, bytes_ = ["<unk>", "<s>", "</s>"], [f"<0x{i:02X}>" for i in range(256)]
    if scheme == BYTES:
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet, bytes_ = pre_tokenizers.ByteLevel.alphabet(), []
    else:
        raw = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
        alphabet = sorted({*TEXT, "\u2581"})
        raw.decoder = decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
        pieces: Any = "always" if scheme == "legacy" else scheme
        raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=pieces)
    trainer = trainers.BpeTrainer(
        vocab_size=620, special_tokens=[*specials, *bytes_], initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator([TEXT, "Yes. No, it is. teller asker rules"] * 4, trainer)
    plain = json.loads(raw.to_str())  # bytes are no special tokens: they were for the trainer only
    plain["added_tokens"] = [t for t in plain["added_tokens"] if t["content"] in specials]
    if scheme == "legacy":
        spaced = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        plain |= {"pre_tokenizer": None, "normalizer": json.loads(spaced.__getstate__())}
    return json.dumps(plain)
