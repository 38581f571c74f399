"""Benchmark of the local backend on one CPU core: prefill, decoding, multi-turn conversations, rounding.

    python benchmarks/hf_generate.py --model smollm2 --dtype bfloat16
    python benchmarks/hf_generate.py --model smollm2 --turns 1 5 10      only conversations, compared with `generate`

With `--turns` the same conversations are played by sonde, which keeps the keys and values of earlier turns, and by
transformers' `generate`, which computes the whole history at every turn.

Times are CPU seconds of this process (all threads), so the load of the machine does not change them; the model is
loaded and warmed up outside the timed regions. Texts are ours; end tokens are forbidden, so every completion has full
length.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import resource
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from sonde import Completion, Message, Probe, Sampling
from sonde.models.hf import HF

TEXT = "a probe asks where the secret lies and hears only warm or cold then moves on to the next best question"
WORDS = TEXT.split()
SAMPLING = Sampling(temperature=0.7, min_p=0.3)


def make_text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def endless_steer(hf_args: dict[str, Any]) -> HF:
    """The model with its end tokens forbidden."""
    import torch

    def never_end(hidden: Any, logits: Any) -> Any:
        return logits.index_fill(-1, torch.tensor(sorted(hf._loaded_model.chat.ends), device=logits.device), -math.inf)

    hf = HF(**hf_args, steer=never_end)  # named here, because the hook needs the tokenizer of the loaded model
    return hf


def time_call(work: Callable[[], Coroutine[Any, Any, Any]]) -> float:
    start = time.process_time()
    asyncio.run(work())
    return time.process_time() - start


def time_prefill(hf: HF, rows: int, words: int, seed: int) -> str:
    rng = random.Random(seed)
    chats = [(Message("user", make_text(rng, words)),) for _ in range(rows)]
    before = replace(hf.stats)

    async def run_prefill() -> None:
        await asyncio.gather(*(hf.generate(chat, replace(SAMPLING, max_new_tokens=1)) for chat in chats))

    seconds = time_call(run_prefill)
    tokens = hf.stats.prefilled - before.prefilled
    return f"prefill {rows:3} x {words} words: {tokens / seconds:7.0f} tokens/s ({tokens} tokens in {seconds:.2f} s)"


def time_decode(hf: HF, rows: int, words: int, new: int, seed: int, *, shared: bool) -> str:
    """Decode alone: the prompts are computed before the clock starts."""
    rng = random.Random(seed)
    opening = make_text(rng, words)
    chats = [(Message("user", opening if shared else make_text(rng, words)),) for _ in range(rows)]

    async def run_decode(n: int) -> None:
        calls = (hf.generate(c, replace(SAMPLING, max_new_tokens=n, seed=i)) for i, c in enumerate(chats))
        await asyncio.gather(*calls)

    asyncio.run(run_decode(1))
    seconds = time_call(lambda: run_decode(new))
    kind = "one prompt" if shared else "own prompts"
    return f"decode  {rows:3} rows, {words:4} words, {kind:11}: {rows * new / seconds:6.0f} tokens/s ({seconds:.2f} s)"


def time_conversation(hf: HF, episodes: int, turns: int, opening_words: int) -> str:
    """Conversations of their own lengths after one shared opening."""
    opening = make_text(random.Random(0), opening_words)
    before = replace(hf.stats)

    async def play_one(i: int) -> None:
        rng = random.Random(i)
        chat: tuple[Message, ...] = (Message("user", f"{opening} {make_text(rng, 5 + i)}"),)
        for turn in range(turns):
            sampling = replace(SAMPLING, max_new_tokens=rng.randint(8, 32), seed=1000 * i + turn)
            c: Completion = await hf.generate(chat, sampling)
            chat = (*chat, Message("assistant", c.text, c), Message("user", make_text(rng, rng.randint(10, 40))))

    async def play_all() -> None:
        await asyncio.gather(*(play_one(i) for i in range(episodes)))

    seconds = time_call(play_all)
    now = hf.stats
    needed, prefilled = now.needed - before.needed, now.prefilled - before.prefilled
    decoded = now.requests - before.requests + now.decoded - before.decoded
    return (
        f"{episodes} episodes x {turns} turns after {opening_words} shared words: {seconds:.1f} s, {decoded} sampled,\n"
        f"  needed {needed}, prefilled {prefilled} (ratio {prefilled / needed:.3f}), "
        f"padding {now.padding - before.padding}, steps {now.steps - before.steps}, "
        f"slots {now.kept_bytes / 2**20:.0f} MiB"
    )


def compare_conversations(hf: HF, turns: int, episodes: int = 8, new: int = 16, words: int = 30) -> str:
    """CPU seconds for the same multi-turn conversations: sonde, and transformers' `generate` on the whole history."""
    hf.release_cache()
    ours = time_call(lambda: play_with_sonde(hf, turns, episodes, new, words))
    start = time.process_time()
    play_with_generate(hf, turns, episodes, new, words)
    theirs = time.process_time() - start
    return (
        f"{episodes} conversations x {turns:2} turns of {words} words and {new} sampled tokens: sonde {ours:6.1f} s, "
        f"generate {theirs:6.1f} s, factor {theirs / ours:.1f}"
    )


async def play_with_sonde(hf: HF, turns: int, episodes: int, new: int, words: int) -> None:
    async def one(i: int) -> None:
        rng, chat = random.Random(i), tuple[Message, ...]()
        for turn in range(turns):
            chat = (*chat, Message("user", make_text(rng, words)))
            c = await hf.generate(chat, replace(SAMPLING, max_new_tokens=new, seed=1000 * i + turn))
            chat = (*chat, Message("assistant", c.text, c))

    await asyncio.gather(*(one(i) for i in range(episodes)))


def play_with_generate(hf: HF, turns: int, episodes: int, new: int, words: int) -> None:
    """All conversations take a turn at the same time, as one batch padded on the left."""
    import torch

    loaded = hf._loaded_model
    rngs, chats = [random.Random(i) for i in range(episodes)], [tuple[Message, ...]() for _ in range(episodes)]
    more: dict[str, Any] = {"do_sample": True, "temperature": 0.7, "min_p": 0.3, "top_k": 0, "pad_token_id": 0}
    for _ in range(turns):
        chats = [(*chat, Message("user", make_text(rng, words))) for chat, rng in zip(chats, rngs, strict=True)]
        asked = [list(loaded.chat.encode_prompt(chat).ids) for chat in chats]
        longest = max(map(len, asked))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in asked])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in asked])
        with torch.inference_mode():
            out = loaded.engine.model.generate(ids, attention_mask=mask, min_new_tokens=new, max_new_tokens=new, **more)
        texts = [loaded.chat.decode_ids(row[longest:].tolist()) for row in out]
        chats = [(*chat, Message("assistant", said)) for chat, said in zip(chats, texts, strict=True)]


def measure_rounding(hf_args: dict[str, Any]) -> str:
    """How far log-probabilities of the same tokens move when other rows share the batch."""
    rng = random.Random(3)
    chats = [(Message("user", make_text(rng, 20 * (i + 1))),) for i in range(8)]
    answers = [make_text(rng, 5 * (i + 1)) for i in range(8)]

    async def score_all() -> float:
        alone = [await _score_text(hf_args, [pair]) for pair in zip(chats, answers, strict=True)]
        together = await _score_text(hf_args, list(zip(chats, answers, strict=True)))
        pairs = [(a, b) for (one,), many in zip(alone, together, strict=True) for a, b in zip(one, many, strict=True)]
        return max(abs(a - b) for a, b in pairs)

    return f"largest difference of a log-probability, alone or among 7 others: {asyncio.run(score_all()):.1e}"


async def _score_text(hf_args: dict[str, Any], pairs: list[tuple[tuple[Message, ...], str]]) -> list[list[float]]:
    hf = HF(**{**hf_args, "kv_bytes": 0})
    probes = [Probe((*chat, Message("assistant", answer))) for chat, answer in pairs]
    scores = await asyncio.gather(*(hf.score([probe]) for probe in probes))
    await hf.close()
    return [rows[0] for rows in scores]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--turns", type=int, nargs="+", help="only compare conversations of so many turns")
    args = parser.parse_args()
    hf_args = {"model": args.model, "dtype": args.dtype, "threads": args.threads}
    hf = endless_steer(hf_args)
    time_call(lambda: hf.generate((Message("user", "warm up"),), replace(SAMPLING, max_new_tokens=4)))
    print(f"{args.model} {args.dtype}, {args.threads} thread(s)")
    for turns in args.turns or ():
        print(compare_conversations(hf, turns), flush=True)
    if args.turns:
        return
    print(time_prefill(hf, 2, 400, seed=1), flush=True)
    for rows, words, new, shared in (
        (1, 200, 16, False),
        (8, 200, 16, False),
        (32, 200, 12, False),
        (32, 900, 8, True),
    ):
        if args.quick and rows * words > 2000:
            continue
        print(time_decode(hf, rows, words, new, rows + words, shared=shared), flush=True)
    print(time_conversation(hf, 8, 3 if args.quick else 10, 0), flush=True)
    print(time_conversation(hf, 8, 2 if args.quick else 4, 600), flush=True)
    asyncio.run(hf.close())
    print(measure_rounding(hf_args), flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
