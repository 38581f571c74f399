"""The local backend on one CPU core: tokens per second of prefill and decode, and how often history is recomputed.

    python benchmarks/hf_generate.py --model smollm2 --dtype bfloat16

Times are CPU seconds of this process (all threads), so that a busy machine does not change them; the model is loaded
and warmed up outside the timed regions. Texts are ours; end tokens are forbidden, so every completion has full length.
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


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def endless(hf_args: dict[str, Any]) -> HF:
    """The model with its end tokens forbidden."""
    import torch

    def steer(hidden: Any, logits: Any) -> Any:
        return logits.index_fill(-1, torch.tensor(sorted(hf._loaded.chat.ends), device=logits.device), -math.inf)

    hf = HF(**hf_args, steer=steer)  # named here, because the hook needs the tokenizer of the loaded model
    return hf


def timed(work: Callable[[], Coroutine[Any, Any, Any]]) -> float:
    start = time.process_time()
    asyncio.run(work())
    return time.process_time() - start


def prefill(hf: HF, rows: int, words: int, seed: int) -> str:
    rng = random.Random(seed)
    chats = [(Message("user", text(rng, words)),) for _ in range(rows)]
    before = replace(hf.stats)

    async def work() -> None:
        await asyncio.gather(*(hf.generate(chat, replace(SAMPLING, max_new_tokens=1)) for chat in chats))

    seconds = timed(work)
    tokens = hf.stats.prefilled - before.prefilled
    return f"prefill {rows:3} x {words} words: {tokens / seconds:7.0f} tokens/s ({tokens} tokens in {seconds:.2f} s)"


def decode(hf: HF, rows: int, words: int, new: int, seed: int, *, shared: bool) -> str:
    """Decode alone: the prompts are computed before the clock starts."""
    rng = random.Random(seed)
    opening = text(rng, words)
    chats = [(Message("user", opening if shared else text(rng, words)),) for _ in range(rows)]

    async def work(n: int) -> None:
        calls = (hf.generate(c, replace(SAMPLING, max_new_tokens=n, seed=i)) for i, c in enumerate(chats))
        await asyncio.gather(*calls)

    asyncio.run(work(1))
    seconds = timed(lambda: work(new))
    kind = "one prompt" if shared else "own prompts"
    return f"decode  {rows:3} rows, {words:4} words, {kind:11}: {rows * new / seconds:6.0f} tokens/s ({seconds:.2f} s)"


def conversation(hf: HF, episodes: int, turns: int, opening_words: int) -> str:
    """Conversations of their own lengths after one shared opening."""
    opening = text(random.Random(0), opening_words)
    before = replace(hf.stats)

    async def one(i: int) -> None:
        rng = random.Random(i)
        chat: tuple[Message, ...] = (Message("user", f"{opening} {text(rng, 5 + i)}"),)
        for turn in range(turns):
            sampling = replace(SAMPLING, max_new_tokens=rng.randint(8, 32), seed=1000 * i + turn)
            c: Completion = await hf.generate(chat, sampling)
            chat = (*chat, Message("assistant", c.text, c), Message("user", text(rng, rng.randint(10, 40))))

    async def work() -> None:
        await asyncio.gather(*(one(i) for i in range(episodes)))

    seconds = timed(work)
    now = hf.stats
    needed, prefilled = now.needed - before.needed, now.prefilled - before.prefilled
    decoded = now.requests - before.requests + now.decoded - before.decoded
    return (
        f"{episodes} episodes x {turns} turns after {opening_words} shared words: {seconds:.1f} s, {decoded} sampled,\n"
        f"  needed {needed}, prefilled {prefilled} (ratio {prefilled / needed:.3f}), "
        f"padding {now.padding - before.padding}, steps {now.steps - before.steps}, "
        f"slots {now.kept_bytes / 2**20:.0f} MiB"
    )


def rounding(hf_args: dict[str, Any]) -> str:
    """How far log-probabilities of the same tokens move when other rows share the batch."""
    rng = random.Random(3)
    chats = [(Message("user", text(rng, 20 * (i + 1))),) for i in range(8)]
    answers = [text(rng, 5 * (i + 1)) for i in range(8)]

    async def work() -> float:
        alone = [await _score(hf_args, [pair]) for pair in zip(chats, answers, strict=True)]
        together = await _score(hf_args, list(zip(chats, answers, strict=True)))
        pairs = [(a, b) for (one,), many in zip(alone, together, strict=True) for a, b in zip(one, many, strict=True)]
        return max(abs(a - b) for a, b in pairs)

    return f"largest difference of a log-probability, alone or among 7 others: {asyncio.run(work()):.1e}"


async def _score(hf_args: dict[str, Any], pairs: list[tuple[tuple[Message, ...], str]]) -> list[list[float]]:
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
    args = parser.parse_args()
    hf_args = {"model": args.model, "dtype": args.dtype, "threads": args.threads}
    hf = endless(hf_args)
    timed(lambda: hf.generate((Message("user", "warm up"),), replace(SAMPLING, max_new_tokens=4)))
    print(f"{args.model} {args.dtype}, {args.threads} thread(s)")
    print(prefill(hf, 2, 400, seed=1), flush=True)
    for rows, words, new, shared in (
        (1, 200, 16, False),
        (8, 200, 16, False),
        (32, 200, 12, False),
        (32, 900, 8, True),
    ):
        if args.quick and rows * words > 2000:
            continue
        print(decode(hf, rows, words, new, rows + words, shared=shared), flush=True)
    print(conversation(hf, 8, 3 if args.quick else 10, 0), flush=True)
    print(conversation(hf, 8, 2 if args.quick else 4, 600), flush=True)
    asyncio.run(hf.close())
    print(rounding(hf_args), flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
