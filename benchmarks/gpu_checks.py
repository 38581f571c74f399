"""The checks of `gpu.py`, and its measuring tools: whether sonde computes the right numbers on a device.

With sonde-tiny-maze in float32: scores packed into one tree against separate passes, greedy decoding against
transformers' `generate`, log-probabilities at sampling against those that training computes. And how often the host
waits for the GPU, by `torch.cuda.set_sync_debug_mode`.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sonde
from sonde import Completion, Message, Probe, Sampling
from sonde.core.model import Model
from sonde.models.files.shipped import get_shipped_model
from sonde.models.hf import HF

TINY = str(get_shipped_model("sonde-tiny-maze").folder)
TEXT = "you are at the goal is a way up down left right open from here go and look for"
WORDS = TEXT.split()
CLOSE = 1e-4
"""Most that log-probabilities in float32 may differ."""
PLAIN = Sampling(temperature=1.0)


@dataclass(frozen=True)
class CheckResult:
    """One line: `verdict` of a check, or a figure that was measured."""

    what: str
    said: str
    verdict: str = ""
    rows: int = 0
    figure: float = math.nan


def load_model(name: str, device: str, dtype: str = "float32", attention: str = "sdpa") -> tuple[Any, Any]:
    """Model and tokenizer, loaded by transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(name, dtype=getattr(torch, dtype), attn_implementation=attention)
    return model.to(device).eval(), AutoTokenizer.from_pretrained(name)


def place_on(device: str, tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: t.to(device) if hasattr(t, "to") else t for name, t in tensors.items()}


def make_talks(rows: int, words: int, seed: int = 0) -> list[tuple[Message, ...]]:
    """Prompts that share a third of these words and have up to two thirds of their own."""
    rng = random.Random(seed)
    shared = " ".join(rng.choices(WORDS, k=words // 3))
    own = [" ".join(rng.choices(WORDS, k=rng.randint(1, 2 * words // 3))) for _ in range(rows)]
    return [(Message("user", f"{shared} {text}"),) for text in own]


async def list_said(hf: Model, chats: Sequence[Sequence[Message]], sampling: Sampling) -> list[Completion]:
    calls = (hf.generate(chat, replace(sampling, seed=i)) for i, chat in enumerate(chats))
    return list(await asyncio.gather(*calls))


def time_seconds(device: str) -> float:
    """Wall time after synchronising the device; CPU time of this process where the device is the CPU."""
    if device == "cpu":
        return time.process_time()
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()


def endless_steer(name: str, device: str, dtype: str, rows: int) -> HF:
    """The model with its end tokens forbidden."""
    ends: list[Any] = []

    def never_end(hidden: Any, logits: Any) -> Any:
        if not ends:  # once, and not at every token
            import torch

            ends.append(torch.tensor(sorted(hf._loaded_model.chat.ends), device=logits.device))
        return logits.index_fill(-1, ends[0], -math.inf)

    hf = HF(model=name, device=device, dtype=dtype, max_batch=rows, kv_bytes=8 << 30, steer=never_end)
    return hf


def judge_checks(what: str, good: bool, text: str) -> CheckResult:
    return CheckResult(what, text, "ok" if good else "fails")


def check_scores(device: str, attention: str) -> CheckResult:
    """Beliefs before every turn of conversations that share a beginning, against a pass of its own for each."""
    import torch

    model, tokenizer = load_model(TINY, device, attention=attention)
    hf = HF.from_module(model, tokenizer, model="check")
    chats = [
        (*a, Message("assistant", "left"), *b) for a, b in zip(make_talks(3, 60), make_talks(3, 30, 1), strict=True)
    ]
    cut = [chat[:n] for chat in chats for n in (1, 3)]
    probes = [Probe((*chat, Message("assistant", text))) for chat in cut for text in ("up", "down left", "right")]
    found = asyncio.run(hf.score(probes))
    apart = 0.0
    for probe, row in zip(probes, found, strict=True):
        asked = hf._loaded_model.chat.encode_probe(probe)
        with torch.inference_mode():
            alone = model(input_ids=torch.tensor([list(asked.ids)], device=device)).logits[0].log_softmax(-1)
        plain = [float(alone[place - 1, asked.ids[place]]) for place in asked.places]
        apart = max(apart, *(abs(a - b) for a, b in zip(row, plain, strict=True)))
    asyncio.run(hf.close())
    text = f"{len(probes)} probes in one tree differ by {apart:.1e} at most from separate passes"
    return judge_checks(f"scores, {attention}", apart < CLOSE, text)


def check_greedy(device: str, attention: str) -> CheckResult:
    """Greedy completions, compared with those of transformers' `generate`."""
    import torch

    model, tokenizer = load_model(TINY, device, attention=attention)
    hf = HF.from_module(model, tokenizer, model="check")
    completions = asyncio.run(list_said(hf, make_talks(8, 90), Sampling(temperature=0.0, max_new_tokens=24)))
    same = 0
    for c in completions:
        ids = torch.tensor([list(c.prompt_ids)], device=device)
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=24)
        same += out[0, ids.shape[1] :].tolist() == list(c.ids)
    asyncio.run(hf.close())
    return judge_checks(
        f"greedy, {attention}", same == 8, f"{same} of 8 completions are those of transformers' generate"
    )


def check_sampling(device: str, attention: str) -> CheckResult:
    """Log-probabilities with which episodes were played, against those that the trainer computes."""
    import torch

    from sonde.train.collate import collate
    from sonde.train.collect import Game
    from sonde.train.data import make_samples
    from sonde.train.logprobs import token_logprobs
    from sonde.train.online.groups import PlannedTask, play_groups
    from sonde.train.online.rollout_backend import seat_model, wrap_model
    from sonde.train.online.settings import OnlineSettings
    from sonde.train.types import item_rows

    model, tokenizer = load_model(TINY, device, attention=attention)
    online = OnlineSettings(k=4, temperature=0.7, max_new_tokens=8)
    env = sonde.make("maze", preset="pairs", max_turns=5)
    game = Game(env, env.tasks("train"), "maze")
    hf = wrap_model(model, tokenizer, online)
    chosen = [PlannedTask(game, game.tasks[i], i, "maze") for i in range(4)]
    episodes = [t for group in play_groups(chosen, seat_model(hf, online), {}, online.k) for t in group]
    items, _ = make_samples(episodes)
    tensors = collate(items, needs=frozenset({"sampled"}), pad_id=tokenizer.pad_token_id)
    with torch.inference_mode():
        found_RT = token_logprobs(model, place_on(device, tensors)).cpu()
    apart, n = 0.0, 0
    for r, row in enumerate(item_rows(items)):
        for t, agent in enumerate(row.agent):
            if agent and row.logprobs is not None:
                apart, n = max(apart, abs(float(found_RT[r, t]) - row.logprobs[t])), n + 1
    asyncio.run(hf.close())
    text = f"{n} tokens of {len(episodes)} episodes differ by {apart:.1e} at most between play and training"
    return judge_checks(f"log-probabilities, {attention}", n > 0 and apart < CLOSE, text)


def check_waits(device: str, name: str, dtype: str) -> CheckResult:
    """Operations for which the host waits, per decoded token of a batch of 16."""
    what = "waits per token"
    if device == "cpu":
        return CheckResult(what, "only a GPU can be waited for", "not checked")
    import torch

    hf = endless_steer(name, device, dtype, 16)
    asyncio.run(list_said(hf, make_talks(16, 90), replace(PLAIN, max_new_tokens=2)))
    found: list[int] = []
    for n in (9, 41):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            asyncio.run(list_said(hf, make_talks(16, 90), replace(PLAIN, max_new_tokens=n)))
            torch.cuda.set_sync_debug_mode("default")
        found.append(sum("synchronizing" in str(w.message) for w in heard))
    asyncio.run(hf.close())
    each = (found[1] - found[0]) / 32
    return judge_checks(what, each <= 1, f"{each:.2f} (one is needed, to hear what was drawn)")


CHECKS: tuple[Callable[[str, str], CheckResult], ...] = (check_scores, check_greedy, check_sampling)
