"""A small Llama with random weights for one dataset: the start of behavioural cloning, in place of the paper's GPT-2.

GPT-2 is too large to train on a laptop's CPU. Its advantage is that it distinguishes texts from the beginning. The
small model distinguishes them by its tokens: a frequent sentence of the environment, and a frequent message of the
agent, is one token, so that a place of a maze is one thing and not a pair of numbers; rare texts are spelled in words.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tiny"))
import vocab

from sonde.core import Message, derive

Chat = Sequence[Message]
SENTENCE = r"(?m)\S[^\n]*?(?:[.](?!\S)|$)"
"""A sentence, or a line without an end."""


def write_network(
    folder: Path, chats: Iterable[Chat], *, width: int, layers: int, window: int, often: int, seed: int
) -> Path:
    """Write a model and a tokenizer for all these texts into a folder that `models:hf` loads. A phrase that occurs
    `often` times is one token (0: words only)."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    said = Counter((m.role, m.content) for chat in chats for m in chat)
    tokenizer = vocab.make_tokenizer({text for _, text in said}, window, list_phrases(said, often) if often else ())
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=window,
        initializer_range=width**-0.5,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "lmrl", "weights") % 2**63)
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def list_phrases(said: Counter[tuple[str, str]], often: int) -> list[str]:
    """Sentences of the environment and whole messages of the agent that occur at least so often."""
    found = Counter[str]()
    for (role, text), times in said.items():
        for phrase in [text] if role == "assistant" else re.findall(SENTENCE, text):
            found[phrase.strip()] += times
    return sorted(phrase for phrase, times in found.items() if times >= often)
