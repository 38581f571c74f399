"""The local backend, on tiny random models: it samples what one plain forward pass says, however it is batched."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import Completion, Message, Probe, Sampling, UserError
from sonde.core import build, identity
from sonde.core.seeding import derive
from sonde.models.hf import HF

torch = pytest.importorskip("torch")

from .tiny import TEXT, model, tokenizer, write  # noqa: E402 (needs transformers)

WORDS = ("green", "is it a word", "0427", "no", "guess the secret code now", "four digits: 0 4 2 7", "x", "your turn")
WARM = Sampling(max_new_tokens=12, temperature=1.0)
Chat = tuple[Message, ...]


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def said(chat: Chat, c: Completion, told: str) -> Chat:
    return (*chat, Message("assistant", c.text, c), Message("user", told))


def seeded(sampling: Sampling, *path: int) -> Sampling:
    return replace(sampling, seed=derive(0, *path))


async def play(hf: HF, n: int, turns: int, sampling: Sampling = WARM, opening: str = "") -> list[list[Completion]]:
    """`n` conversations at once, each of its own lengths."""

    async def one(i: int) -> list[Completion]:
        chat: Chat = (Message("user", opening + WORDS[i % len(WORDS)] * (i % 3 + 1)),)
        found: list[Completion] = []
        for turn in range(turns):
            own = replace(seeded(sampling, i, turn), max_new_tokens=3 + (5 * i + turn) % sampling.max_new_tokens)
            found.append(await hf.generate(chat, own))
            chat = said(chat, found[-1], WORDS[(i + turn) % len(WORDS)] * (turn % 2 + 1))
        return found

    return await asyncio.gather(*(one(i) for i in range(n)))


def plain_logprobs(net: Any, ids: Sequence[int], n: int) -> list[float]:
    """Log-probabilities of the last `n` of `ids` by one forward pass without cache, batch or padding."""
    with torch.inference_mode():
        logits = net(input_ids=torch.tensor([list(ids)]), use_cache=False).logits[0].float()
    rows = torch.log_softmax(logits[-n - 1 : -1], -1)
    return [float(row[i]) for row, i in zip(rows, list(ids)[-n:], strict=True)]


def sequences(conversation: Sequence[Completion]) -> list[array[int]]:
    """Prompt and completion of every call, rebuilt from what the completions record."""
    whole = array("i")
    found: list[array[int]] = []
    for c in conversation:
        whole = whole[: c.shared] + c.prompt_ids + c.ids
        found.append(whole)
    return found


def check_exact(folder: Path, conversations: Sequence[Sequence[Completion]]) -> None:
    import transformers

    net = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    for conversation in conversations:
        for c, ids in zip(conversation, sequences(conversation), strict=True):
            assert list(c.logprobs) == pytest.approx(plain_logprobs(net, ids, len(c.ids)), abs=1e-4)


# --- equal to one plain pass -----------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("kv_bytes", [0, 40_000, 1 << 30])
@pytest.mark.parametrize("max_batch", [1, 3, 8])
def test_ragged_turns_equal_the_plain_forward_pass(tiny_folder: Path, kv_bytes: int, max_batch: int) -> None:
    hf = HF(model=str(tiny_folder), kv_bytes=kv_bytes, max_batch=max_batch)
    conversations = run(play(hf, 8, 4))
    check_exact(tiny_folder, conversations)
    stats = hf.stats
    assert stats.requests == 32
    assert stats.kept_bytes <= kv_bytes
    assert (stats.evicted > 0) == (kv_bytes == 40_000)
    run(hf.close())


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("mistral", {"sliding_window": 8}),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
        ("gemma3_text", {"sliding_window": 8, "sliding_window_pattern": 2}),
        ("gpt2", {"n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 512}),
    ],
)
def test_other_attention_patterns_are_exact_too(tmp_path: Path, kind: str, changes: dict[str, Any]) -> None:
    folder = write(tmp_path, kind=kind, **changes)
    hf = HF(model=str(folder))
    conversations = run(play(hf, 5, 3, opening=TEXT))
    check_exact(folder, conversations)
    assert hf.stats.prefilled < hf.stats.needed
    run(hf.close())


def test_pad_is_the_end_token_and_ends_within_prompts_are_not_padding(tiny_folder: Path) -> None:
    """Every prompt holds end tokens; masking by id would hide them and change these numbers."""
    tok = tokenizer()
    assert tok.pad_token_id == tok.eos_token_id == 2
    hf = HF(model=str(tiny_folder))
    conversations = run(play(hf, 6, 2))
    assert all(ids.count(2) >= 1 for c in conversations for ids in sequences(c))
    check_exact(tiny_folder, conversations)
    run(hf.close())


# --- what is computed, and how often ---------------------------------------------------------------------------------


def test_history_is_prefilled_once(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    run(play(hf, 8, 6))
    stats = hf.stats
    assert stats.prefilled <= 1.05 * stats.needed
    assert stats.rewritten == 0
    assert stats.padding < stats.prefilled
    run(hf.close())


def test_a_shared_opening_is_prefilled_once(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder), max_batch=8)
    opening = TEXT * 4
    length = len(tokenizer().encode(opening))
    run(play(hf, 8, 1, opening=opening))
    assert hf.stats.needed > 8 * length
    assert hf.stats.prefilled < length + 8 * 60
    before = hf.stats.prefilled
    run(play(hf, 8, 1, opening=opening))  # all of it is kept now but the token that gives the first logits
    assert hf.stats.prefilled == before + 8
    run(hf.close())


def test_forks_share_their_past_and_nothing_more(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    ((trunk,),) = run(play(hf, 1, 1, opening=TEXT))
    chat = (Message("user", TEXT + WORDS[0]),)

    async def fork() -> list[Completion]:
        return await asyncio.gather(*(hf.generate(said(chat, trunk, f"branch {i}"), seeded(WARM, i)) for i in range(4)))

    before = hf.stats.prefilled
    branches = run(fork())
    check_exact(tiny_folder, [[trunk, branch] for branch in branches])
    assert hf.stats.prefilled - before <= sum(len(b.prompt_ids) + 1 for b in branches)
    assert {b.shared for b in branches} == {len(sequences([trunk])[0])}
    run(hf.close())


# --- drawing ---------------------------------------------------------------------------------------------------------


def test_a_request_draws_the_same_alone_and_among_others(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    sampling = replace(WARM, seed=11, max_new_tokens=20, temperature=1.5, min_p=0.05)
    asked = (Message("user", TEXT),)

    async def among(others: int) -> Completion:
        noise = (hf.generate((Message("user", w),), seeded(WARM, i)) for i, w in enumerate(WORDS[:others]))
        return (await asyncio.gather(hf.generate(asked, sampling), *noise))[0]

    alone, crowded = run(among(0)), run(among(7))
    assert alone.ids == crowded.ids
    assert alone.text == crowded.text
    other = run(hf.generate(asked, replace(sampling, seed=12)))
    assert other.ids != alone.ids
    run(hf.close())


def test_greedy_takes_the_most_likely_token(tiny_folder: Path) -> None:
    import transformers

    hf = HF(model=str(tiny_folder))
    net = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder).eval()
    c = run(hf.generate((Message("user", TEXT),), Sampling(max_new_tokens=6, temperature=0.0, seed=5)))
    ids = list(c.prompt_ids)
    for sampled in c.ids:
        assert sampled == int(net(input_ids=torch.tensor([ids])).logits[0, -1].argmax())
        ids.append(sampled)
    assert c.finish == "length" or c.ids[-1] == 2
    run(hf.close())


def test_min_p_and_top_p_by_hand() -> None:
    from sonde.models.local.sampler import truncate_probs

    probs = torch.tensor([[0.5, 0.3, 0.15, 0.05]] * 4)
    min_p = torch.tensor([[0.0], [0.3], [0.31], [1.0]])
    top_p = torch.tensor([[1.0], [1.0], [0.7], [1.0]])
    kept = truncate_probs(probs, min_p, top_p, 4)[0].tolist()
    assert kept[0] == [True] * 4
    assert kept[1] == [True, True, True, False]  # 0.15 >= 0.3 * 0.5 > 0.05
    assert kept[2] == [True, True, False, False]  # 0.15 < 0.31 * 0.5, and 0.5 + 0.3 >= 0.7
    assert kept[3] == [True, False, False, False]
    assert truncate_probs(probs[:1], min_p[:1], torch.tensor([[0.5]]), 4)[0].tolist() == [[True, False, False, False]]
    _, enough = truncate_probs(probs, min_p, torch.tensor([[0.4], [0.6], [0.81], [1.0]]), 2)
    assert enough is not None and enough.tolist() == [True, True, False, True]  # the likeliest two have 0.8


def test_draws_invert_the_distribution() -> None:
    """With p = (.1, .2, .3, .4) a draw is token 0 below .1, 1 below .3, 2 below .6; frequencies follow."""
    from sonde.models.local.sampler import sample_tokens, token_uniform

    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log() + 7.0
    samplings = [Sampling(seed=s) for s in range(2000)]
    tokens, logprobs = sample_tokens(logits.expand(2000, 4), samplings, [3] * 2000)
    for token, logprob, sampling in zip(tokens, logprobs, samplings, strict=True):
        u = token_uniform(sampling, 3)
        assert 0.0 <= u < 1.0
        assert token == sum(u >= edge for edge in (0.1, 0.3, 0.6))
        assert logprob == pytest.approx(math.log((token + 1) / 10), abs=1e-6)
    squared = [Sampling(seed=s, temperature=0.5, min_p=0.5) for s in range(2000)]  # p^2: 1 4 9 16, of which 9 16 stay
    tokens, logprobs = sample_tokens(logits.expand(2000, 4), squared, [0] * 2000)
    assert set(tokens) == {2, 3}
    assert tokens.count(2) / 2000 == pytest.approx(9 / 25, abs=0.04)
    assert min(logprobs) == pytest.approx(math.log(9 / 30), abs=1e-6)  # before truncation, at this temperature


def test_impossible_tokens_are_never_drawn() -> None:
    from sonde.models.local.sampler import sample_tokens

    logits = torch.full((500, 6), -math.inf)
    logits[:, 2] = 1.0
    logits[:, 4] = 1.0
    tokens, _ = sample_tokens(logits, [Sampling(seed=s, temperature=2.0) for s in range(500)], [0] * 500)
    assert set(tokens) == {2, 4}


# --- ends ------------------------------------------------------------------------------------------------------------


def test_length_ends_a_completion(tiny_folder: Path) -> None:
    hf = HF(
        model=str(tiny_folder),
        steer=lambda hidden, logits: logits.index_fill(-1, torch.tensor([2], device=logits.device), -math.inf),
    )
    c = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=7, seed=1)))
    assert (c.finish, len(c.ids), len(c.logprobs)) == ("length", 7, 7)
    assert c.usage == (len(c.prompt_ids), 7, 0)
    run(hf.close())


def test_a_stop_string_ends_a_completion_and_is_not_in_its_text(tiny_folder: Path) -> None:
    tok = tokenizer()
    script = tok.encode("guess the word. no more")

    def scripted(hidden: Any, logits: Any) -> Any:  # says the script, whatever the model thinks
        wanted = torch.full_like(logits, -math.inf)
        wanted[:, script[scripted.at]] = 0.0  # type: ignore[attr-defined]
        scripted.at += 1  # type: ignore[attr-defined]
        return wanted

    scripted.at = 0  # type: ignore[attr-defined]
    hf = HF(model=str(tiny_folder), steer=scripted)
    c = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=50, stop=("xyz", "word"))))
    assert (c.text, c.finish) == ("guess the ", "stop")
    assert tok.decode(c.ids) == "guess the word"
    run(hf.close())


def test_the_end_token_ends_a_completion_and_stays_in_its_ids(tiny_folder: Path) -> None:
    hf = HF(
        model=str(tiny_folder),
        steer=lambda hidden, logits: logits.index_fill(-1, torch.tensor([2], device=logits.device), 100.0),
    )
    c = run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=7, seed=1)))
    assert (list(c.ids), c.text, c.finish) == ([2], "", "stop")
    run(hf.close())


# --- steering --------------------------------------------------------------------------------------------------------


def test_steer_sees_the_hidden_states_behind_the_logits(tiny_folder: Path) -> None:
    import transformers

    head = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder).get_output_embeddings()
    seen: list[tuple[int, int]] = []

    def steer(hidden: Any, logits: Any) -> Any:
        assert torch.allclose(head(hidden), logits, atol=1e-5)
        seen.append((len(hidden), len(logits)))
        return logits

    hf = HF(model=str(tiny_folder), steer=steer)
    unsteered = HF(model=str(tiny_folder))
    a, b = run(play(hf, 4, 2)), run(play(unsteered, 4, 2))
    assert [c.ids for row in a for c in row] == [c.ids for row in b for c in row]
    assert len(seen) > 4
    for each in (hf, unsteered):
        run(each.close())


def test_a_steered_model_is_not_taken_for_the_plain_one() -> None:
    def steer(hidden: Any, logits: Any) -> Any:
        return logits

    plain, steered = HF(model="there"), HF(model="there", steer=steer)
    assert "steer" not in plain.config
    assert steered.config["steer"].endswith("steer")
    assert plain.fingerprint != steered.fingerprint
    with pytest.raises(UserError, match=r"hf: steer: got '.*', allowed: a function"):
        sonde.core.registry.build(steered.config)


@pytest.mark.slow
def test_smollm2_is_exact_and_knows_a_capital() -> None:
    from sonde.models.files.fetch import fetch_model

    folder = fetch_model("smollm2")
    hf = HF(model="smollm2", dtype="float32")
    conversations = run(play(hf, 6, 3, opening="Say something about this. "))
    check_exact(folder, conversations)
    assert hf.stats.prefilled <= 1.05 * hf.stats.needed
    chat = (Message("user", "What is the capital of France? Answer with one word."),)
    paris, banana = run(hf.score([Probe((*chat, Message("assistant", word))) for word in ("Paris", "Banana")]))
    assert sum(paris) > sum(banana)
    run(hf.close())


def test_the_models_library_is_imported_late() -> None:
    import subprocess
    import sys

    code = "import sys, sonde; sonde.make('models:hf', model='x'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tiny_models_are_what_these_tests_need() -> None:
    """Preferences are clear enough for greedy choices to be stable, not so clear that nothing is random."""
    with torch.inference_mode():
        probs = torch.softmax(model()(input_ids=torch.arange(3, 60)[None]).logits, -1)
    assert 0.02 < float(probs.max(-1).values.mean()) < 0.9


def test_a_record_with_a_retired_argument_still_builds() -> None:
    old = {**HF(model="sonde-tiny-maze").config, "compile": ""}
    assert build(old) == HF(model="sonde-tiny-maze") and identity(old) == identity(build(old).config)
