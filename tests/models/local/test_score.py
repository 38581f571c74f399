"""Scores of the local backend: the right tokens, and what one plain forward pass says of them."""

from __future__ import annotations

import asyncio
import math
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sonde import Completion, Message, Probe, Sampling, UserError
from sonde.models.chat.chat import Chat as TextChat
from sonde.models.hf import HF
from tests.cases import each

torch = pytest.importorskip("torch")

from ..test_hf import WORDS, Chat, plain_logprobs, play, run, said, sequences  # noqa: E402 (needs transformers)
from ..tiny import TEXT, tokenizer, write  # noqa: E402

TRIMMING = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = (  # as Qwen3 with thinking off: an empty thought before the last reply, and before no other
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{{ '<think></think>' if loop.last and m['role'] == 'assistant' else '' }}{{ m['content'].split('!')[-1] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think></think>{% endif %}"
)


def probe(chat: Chat, text: str, span: tuple[int, int] | None = None, *, ending: bool = False) -> Probe:
    return Probe((*chat, Message("assistant", text)), span, ending)


def network(folder: Path) -> Any:
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


def test_the_whole_message_and_the_token_that_ends_it(tiny_folder: Path) -> None:
    hf, net, tok = HF(model=str(tiny_folder)), network(tiny_folder), tokenizer()
    chat = (Message("user", TEXT),)
    texts = ["green", "", "0427", "is it a green thing? no, it is not"]
    asked = [probe(chat, text, ending=ending) for ending in (False, True) for text in texts]
    found = run(hf.score(asked))
    prompt = tok.apply_chat_template([m.to_json() for m in chat], add_generation_prompt=True)["input_ids"]
    for text, alone, ended in zip(texts, found, found[4:], strict=False):
        ids = tok.encode(text)
        expected = plain_logprobs(net, [*prompt, *ids, 2], len(ids) + 1)
        assert alone == pytest.approx(expected[:-1], abs=1e-4)
        assert ended == pytest.approx(expected, abs=1e-4)
    run(hf.close())


def test_a_span_is_the_tokens_that_overlap_it(tiny_folder: Path) -> None:
    """The same words stand in the question and earlier in the message: no search would find the right ones."""
    hf, tok = HF(model=str(tiny_folder)), tokenizer()
    chat, text = (Message("user", "green or word? green"),), "green word, green wörd"
    [whole] = run(hf.score([probe(chat, text)]))
    offsets = tok(text, return_offsets_mapping=True)["offset_mapping"]
    spans = [(12, 17), (19, 20), (0, 1), (3, 8), (0, len(text))]
    found = run(hf.score([probe(chat, text, span) for span in spans]))
    for (a, b), row in zip(spans, found, strict=True):
        expected = [p for p, (x, y) in zip(whole, offsets, strict=True) if x < b and y > a]
        assert row == pytest.approx(expected, abs=1e-5) and row
    assert len(found[1]) == 2, "a letter of two bytes is two tokens"
    run(hf.close())


def test_what_was_sampled_is_scored_as_sampled(tiny_folder: Path) -> None:
    """In earlier messages, and in the last one, whose own log-probabilities come out again."""
    hf, net, tok = HF(model=str(tiny_folder)), network(tiny_folder), tokenizer()
    [opening] = run(play(hf, 1, 2, opening=TEXT))
    chat = said((Message("user", TEXT + WORDS[0]),), opening[0], WORDS[0])
    c = opening[1]
    own = Message("assistant", c.text, c)
    ended = c.ids[-1] == 2
    [again, more, green] = run(hf.score([Probe((*chat, own)), Probe((*chat, own), ending=True), probe(chat, "green")]))
    n = len(c.ids) - ended
    assert again == pytest.approx(list(c.logprobs)[:n], abs=1e-4)
    assert more[:n] == pytest.approx(again, abs=1e-5) and len(more) == n + 1
    prompt = sequences(opening)[1][: -len(c.ids)]
    ids = tok.encode("green")
    assert green == pytest.approx(plain_logprobs(net, [*prompt, *ids], len(ids)), abs=1e-4)
    run(hf.close())


def test_a_span_of_what_was_sampled(tiny_folder: Path) -> None:
    hf, tok = HF(model=str(tiny_folder)), tokenizer()
    first = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=1)))
    odd = array("i", [*tok.convert_tokens_to_ids([*"turn", "Ã", "¶", "x"]), 2])  # never encoded that way
    assert tok.decode(odd[:-1]) == "turnöx" and tok.encode("turnöx") != list(odd[:-1])
    c = replace(first, text="turnöx", ids=odd, logprobs=array("f", [0.0] * 8))
    messages = (Message("user", "go"), Message("assistant", c.text, c))
    [whole, n, accent, x] = run(hf.score([Probe(messages, span) for span in (None, (3, 4), (4, 5), (5, 6))]))
    assert len(whole) == 7
    for found, expected in ((n, whole[3:4]), (accent, whole[4:6]), (x, whole[6:7])):
        assert found == pytest.approx(expected, abs=1e-5)
    run(hf.close())


def test_text_that_the_template_trims(tmp_path: Path) -> None:
    hf = HF(model=str(write(tmp_path, template=TRIMMING)))
    chat = (Message("user", TEXT),)
    asked = [probe(chat, "green 04"), probe(chat, "  green 04 "), probe(chat, "  green 04 ", (8, 10)),
             probe(chat, "green 04", (6, 8)), probe(chat, "  green 04 ", (0, 1))]  # fmt: skip
    plain, trimmed, span, same, gone = run(hf.score(asked))
    assert trimmed == pytest.approx(plain, abs=1e-5)
    assert span == pytest.approx(same, abs=1e-5) and span
    assert gone == []
    run(hf.close())


def test_a_template_that_rewrites_history_is_scored_as_it_is_shown(tmp_path: Path) -> None:
    folder = write(tmp_path, template=THINKING)
    hf, net, tok = HF(model=str(folder)), network(folder), tokenizer(THINKING)
    c = replace(run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=1))), text="hm!word")
    chat: Chat = (Message("user", "go"), Message("assistant", c.text, c), Message("user", "on"))
    [found] = run(hf.score([probe(chat, "green")]))
    rows = [m.to_json() for m in (*chat, Message("assistant", "green"))]
    text = tok.apply_chat_template(rows, tokenize=False).removesuffix("<|im_end|>\n")
    assert text.endswith("<think></think>green") and text.count("<think>") == 1 and "hm" not in text
    assert found == pytest.approx(plain_logprobs(net, tok.encode(text), len(tok.encode("green"))), abs=1e-4)
    with pytest.raises(UserError, match=r"probe: messages: the chat template .* 'hm!word'; allowed: text that"):
        run(hf.score([probe(chat, "hm!word")]))
    run(hf.close())


def test_no_probes_and_a_template_that_ends_no_message(tmp_path: Path) -> None:
    hf = HF(model=str(write(tmp_path, template="{% for m in messages %}{{ m['content'] }}\n{% endfor %}")))
    assert run(hf.score([])) == []
    with pytest.raises(UserError, match="probe: ending: got True"):
        run(hf.score([probe((Message("user", "go"),), "green", ending=True)]))
    with pytest.raises(UserError, match=r"probe: messages: the chat template .* shows nothing before the last message"):
        run(hf.score([probe((), "green")]))
    run(hf.close())


@pytest.mark.thorough
def test_scores_beside_generation(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    chat = (Message("user", TEXT),)

    async def both() -> tuple[list[list[float]], Completion]:
        return await asyncio.gather(hf.score([probe(chat, "green")]), hf.generate(chat, Sampling(seed=3)))

    scored, c = run(both())
    assert scored[0] == pytest.approx(run(hf.score([probe(chat, "green")]))[0], abs=1e-5)
    assert c.ids == run(hf.generate(chat, Sampling(seed=3))).ids
    assert all(math.isfinite(x) and x <= 0 for x in scored[0])
    run(hf.close())


def wordy(scheme: str, *, legacy: bool = False) -> Any:
    """A tokenizer that marks spaces, as those of sentencepiece do."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    raw = Tokenizer(models.BPE(unk_token="<|endoftext|>"))
    if legacy:
        raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)  # pyright: ignore[reportArgumentType]
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    raw.train_from_iterator(
        [TEXT] * 4, trainers.BpeTrainer(vocab_size=200, special_tokens=specials, show_progress=False)
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>", bos_token="<|im_start|>")
    fast.chat_template = tokenizer().chat_template
    return fast


@each("kind", ["bytes", "first", "always", "never", "legacy"])
def test_ids_are_those_of_the_whole_text(kind: str) -> None:
    """What stands between special tokens is encoded by itself and is no different for it."""
    tok = tokenizer() if kind == "bytes" else wordy(kind, legacy=kind == "legacy")
    chat = TextChat(tok, label="tiny", template={})
    for word in ("green", " a secret  code ", "|im_start|>no\n", "é 0427"):
        messages = (
            Message("system", "Be brief."),
            Message("user", word + TEXT),
            Message("assistant", "No."),
        )
        asked = (*messages, Message("user", word), Message("assistant", word))
        text = tok.apply_chat_template([m.to_json() for m in asked], tokenize=False)
        whole = tok(text, add_special_tokens=False)["input_ids"]
        found = chat.encode_probe(Probe(asked, ending=True))
        assert list(found.ids) == whole[: len(found.ids)]
        assert whole[len(found.ids) - 1] == tok.eos_token_id
        assert len(found.places) > 1 or kind != "bytes"
