"""Slots too small for the conversations that run: what fits is kept, and is worth its share. Counts, not times."""

from __future__ import annotations

import asyncio
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

from sonde import Message, Sampling
from sonde.core.seeding import derive
from sonde.models.hf import HF

torch = pytest.importorskip("torch")

from .test_hf import Chat, run, said  # noqa: E402 (needs transformers)


async def _waves(hf: HF, waves: int, *, n: int = 8, turns: int = 5) -> None:
    """`n` conversations take turns, until all of them end and others begin."""

    async def one(wave: int, i: int) -> None:
        chat: Chat = (Message("user", f"{wave} {i} is it a word " * 4),)
        for turn in range(turns):
            c = await hf.generate(chat, Sampling(max_new_tokens=3, seed=derive(0, wave, i, turn)))
            chat = said(chat, c, f"turn {turn} " * 4)

    for wave in range(waves):
        await asyncio.gather(*(one(wave, i) for i in range(n)))


def cost(folder: Path, kv_bytes: int, max_batch: int, waves: int) -> tuple[float, int]:
    """Prompt tokens computed per token needed, and the bytes kept at the end."""
    hf = HF(model=str(folder), kv_bytes=kv_bytes, max_batch=max_batch)
    run(_waves(hf, waves))
    stats = hf.stats
    run(hf.close())
    return stats.prefilled / stats.needed, stats.kept_bytes


@pytest.mark.thorough
@pytest.mark.parametrize("max_batch", [1, 8])
def test_a_budget_for_a_part_saves_that_part(tiny_folder: Path, max_batch: int) -> None:
    full, nbytes = cost(tiny_folder, 1 << 30, max_batch, 1)
    shares = (0.0, 0.25, 0.5, 0.75)
    costs = [cost(tiny_folder, int(share * nbytes), max_batch, 1)[0] for share in shares]
    none = costs[0]
    assert none > 2.5 * full
    assert all(more <= less for less, more in pairwise([*costs, full]))
    for share, found in zip(shares, costs, strict=True):
        assert found <= none - share * (none - full) + 0.05 * none


@pytest.mark.thorough
def test_what_is_over_makes_room_for_what_begins(tiny_folder: Path) -> None:
    _, nbytes = cost(tiny_folder, 1 << 30, 2, 1)
    alone, _ = cost(tiny_folder, int(0.5 * nbytes), 2, 1)
    later, _ = cost(tiny_folder, int(0.5 * nbytes), 2, 4)
    assert later < 1.3 * alone


def test_a_cache_too_small_for_the_conversations_warns(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with how many tokens were computed again; never where they fit or where nothing is to be kept."""
    from sonde.models.local import engine

    monkeypatch.setattr(engine, "WASTE", 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error", engine.CacheWarning)
        full, nbytes = HF(model=str(tiny_folder)), cost(tiny_folder, 1 << 30, 8, 1)[1]
        run(_waves(full, 1))
        assert full.stats.recomputed == 0
        cost(tiny_folder, 0, 8, 1)
    with pytest.warns(engine.CacheWarning, match=r"computed again, .* were new: .*kv_bytes.*--concurrency") as told:
        cost(tiny_folder, nbytes // 4, 8, 2)
    assert len(told) == 1
