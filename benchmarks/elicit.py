"""Reading a model's belief before every turn of a dialogue: one forward pass per turn compared with one packed pass.

    OMP_NUM_THREADS=1 python benchmarks/elicit.py --model smollm2

Dialogues have 20 turns of about 35 tokens after a prompt of about 170. Before every turn and after the last one the
log-probability of a secret is read in `Is it 'SECRET'?`, so 21 probes. *per turn* is what the code of the ΔBelief-RL
paper does: the whole history again for every probe, here without padding and with logits of the secret's tokens only.
*packed* is `Model.score` with all probes of all episodes at once. Both include rendering and encoding.

Times are CPU seconds of this process, so that a busy machine changes them little; the model is loaded and warmed up
before. Of a group, *per turn* is timed on `--timed` episodes and multiplied, since its episodes share nothing.
*needed* counts the distinct beginnings of what has to be fed, by a walk over all probes that shares no code with the
library.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from sonde import Message, Probe
from sonde.models.hf import HF

WORDS = [
    "a",
    "probe",
    "asks",
    "where",
    "the",
    "secret",
    "lies",
    "and",
    "hears",
    "only",
    "warm",
    "or",
    "cold",
    "then",
    "moves",
    "on",
    "to",
    "the",
    "next",
    "best",
    "question",
]
SECRETS = ("wheelbarrow", "carrot", "lighthouse keeper", "snow")


def make_text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def make_episode(prompt: Message, rng: random.Random, turns: int, secret: str) -> list[Probe]:
    """The probes of one dialogue."""
    said = f"Is it '{secret}'?"
    told = [prompt]
    probes: list[Probe] = []
    for turn in range(turns + 1):
        probes.append(Probe((*told, Message("assistant", said)), (7, 7 + len(secret))))
        if turn < turns:
            told += [Message("assistant", make_text(rng, 21) + "?"), Message("user", rng.choice(("yes", "no")))]
    return probes


def make_group(seed: int, size: int, turns: int) -> list[list[Probe]]:
    """Episodes that share a prompt and a secret."""
    rng = random.Random(seed)
    prompt, secret = Message("user", make_text(rng, 140)), rng.choice(SECRETS)
    return [make_episode(prompt, rng, turns, secret) for _ in range(size)]


def per_turn(hf: HF, probes: Sequence[Probe]) -> list[list[float]]:
    """A forward pass over the whole history for every probe."""
    loaded = hf._loaded_model
    found: list[list[float]] = []
    for probe in probes:
        row = loaded.chat.encode_probe(probe)
        ids, places = torch.tensor(row.ids), torch.tensor(row.places)
        with torch.inference_mode():
            out = loaded.engine.model(input_ids=ids[None, :-1], use_cache=False, logits_to_keep=places - 1)
            logprobs = out.logits[0].float().log_softmax(-1).gather(-1, ids[places][:, None])
        found.append(logprobs[:, 0].tolist())
    return found


def time_packed(hf: HF, episodes: Sequence[Sequence[Probe]]) -> list[list[list[float]]]:
    async def run_packed() -> list[list[list[float]]]:
        return await asyncio.gather(*(hf.score(probes) for probes in episodes))

    return asyncio.run(run_packed())


def tokens_needed(hf: HF, episodes: Sequence[Sequence[Probe]]) -> int:
    """Distinct beginnings of the tokens that predict something, or lead to one that does."""
    edges: dict[tuple[int, int], int] = {}
    for probe in (probe for probes in episodes for probe in probes):
        at = 0
        for token in hf._loaded_model.chat.encode_probe(probe).ids[:-1]:
            at = edges.setdefault((at, token), len(edges) + 1)
    return len(edges)


def time_call(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def format_line(hf: HF, name: str, episodes: Sequence[Sequence[Probe]], n_timed: int) -> str:
    before = replace(hf.stats)
    together, found = time_call(lambda: time_packed(hf, episodes))
    computed, passes = hf.stats.fed - before.fed, hf.stats.passes - before.passes
    some = episodes[:n_timed]
    alone, expected = time_call(lambda: [per_turn(hf, probes) for probes in some])
    alone *= len(episodes) / len(some)
    far = max(abs(a - b) for many, ones in zip(found, expected, strict=False)
              for row, other in zip(many, ones, strict=True) for a, b in zip(row, other, strict=True))  # fmt: skip
    again = sum(len(hf._loaded_model.chat.encode_probe(probe).ids) - 1 for probes in episodes for probe in probes)
    need = tokens_needed(hf, episodes)
    return (
        f"{name:28}{need:8}{computed:9}{computed / need:7.3f}{again / need:7.1f}{passes:7}"
        f"{alone:10.1f}{together:9.1f}{alone / together:8.1f}{far:10.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--group", type=int, default=16, help="episodes that share a prompt")
    parser.add_argument("--timed", type=int, default=2, help="episodes of a group that are timed turn by turn")
    parser.add_argument("--tokens", type=int, help="tokens of a pass, instead of those of `models.score`")
    args = parser.parse_args()
    hf = HF(model=args.model, dtype=args.dtype, threads=1)
    warm = make_group(0, 1, 2)
    time_packed(hf, warm)
    per_turn(hf, warm[0])
    scorer = hf._loaded_model.engine.scorer
    scorer.most = scorer._tokens = args.tokens or scorer.most
    print(
        f"{args.model} {args.dtype}, {args.turns} turns, passes of at most {scorer.most} tokens, 1 thread; CPU seconds"
    )
    print(f"{'':28}{'needed':>8}{'computed':>9}{'ratio':>7}{'naive':>7}{'passes':>7}{'per turn':>10}{'packed':>9}"
          f"{'faster':>8}{'differ':>10}")  # fmt: skip
    for seed in (1, 2):
        print(format_line(hf, f"one dialogue ({seed})", make_group(seed, 1, args.turns), 1), flush=True)
    if args.group > 1:
        name = f"{args.group} sharing a prompt"
        print(format_line(hf, name, make_group(3, args.group, args.turns), args.timed), flush=True)
    asyncio.run(hf.close())


if __name__ == "__main__":
    main()
