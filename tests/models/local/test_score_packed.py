"""Probes packed into one tree score as each would alone, on every kind of attention; nothing is computed twice."""

from __future__ import annotations

import asyncio
from array import array
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde import Message, Probe, WorldError
from sonde.models.chat.chat import ScoredIds
from sonde.models.hf import HF

torch = pytest.importorskip("torch")

from sonde.models.local.attention import read_attention  # noqa: E402 (needs torch)
from sonde.models.local.batching import EngineStats, ScoreRequest  # noqa: E402

from ..test_hf import plain_logprobs, run  # noqa: E402
from ..tiny import TEXT, model, tokenizer  # noqa: E402

if TYPE_CHECKING:
    from sonde.models.local.scoring import Scorer

SLIDING: dict[str, Any] = {"sliding_window": 8}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "qwen2": ("qwen2", {"use_sliding_window": True, "max_window_layers": 1, **SLIDING}),
    "qwen3": ("qwen3", {}),
    "mistral": ("mistral", SLIDING),
    "gemma2": ("gemma2", {"query_pre_attn_scalar": 8, **SLIDING}),
    "gemma3": ("gemma3_text", {"sliding_window_pattern": 2, "query_pre_attn_scalar": 8, **SLIDING}),
    "gpt2": ("gpt2", {"n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 512}),
}
SLOPES = {"bloom": ("bloom", {"n_head": 4, "n_layer": 2})}
"""Makes slopes of the mask of two dimensions, and takes no other."""


@cache
def network(kind: str, attention: str) -> Any:
    name, changes = (KINDS | SLOPES)[kind]
    return model(name, attn_implementation=attention, **changes)


def scorer(net: Any, tokens: int = 256) -> Scorer:
    from sonde.models.local.scoring import Scorer

    layers = net.config.get_text_config().num_hidden_layers
    found = Scorer(net, n_layers=layers, stats=EngineStats())
    found.most = found._tokens = tokens
    return found


@st.composite
def requests(draw: st.DrawFn) -> list[ScoreRequest]:
    """Rows that go on from somewhere in an earlier one, longer than the windows, with some of their tokens to score."""
    rows: list[array[int]] = [array("i", [1])]
    tokens = st.lists(st.integers(3, 319), min_size=1, max_size=25)
    for _ in range(draw(st.integers(1, 9))):
        other = draw(st.sampled_from(rows))
        rows.append(other[: draw(st.integers(1, len(other)))] + array("i", draw(tokens)))
    found = [
        ScoredIds(ids, array("i", sorted(draw(st.sets(st.integers(1, len(ids) - 1), max_size=4))))) for ids in rows[1:]
    ]
    cut = draw(st.integers(0, len(found)))
    return [ScoreRequest(tuple(found[:cut])), ScoreRequest(tuple(found[cut:]))]


def distinct(asked: list[ScoreRequest]) -> int:
    """Beginnings of what has to be fed: the last token that is scored is not."""
    rows = [row.ids[: row.places[-1]] for request in asked for row in request.rows if row.places]
    return len({tuple(ids[: n + 1]) for ids in rows for n in range(len(ids))})


def check(net: Any, asked: list[ScoreRequest], tokens: int, *, packed: bool = True) -> None:
    whole = [
        ScoreRequest(tuple(ScoredIds(r.ids[: max(r.places, default=-1) + 1], r.places) for r in s.rows)) for s in asked
    ]
    packing = scorer(net, tokens)
    if not packed:
        packing.windows = None
    with torch.inference_mode():
        found = packing._score_requests(whole)
    for request, rows in zip(asked, found, strict=True):
        for row, logprobs in zip(request.rows, rows, strict=True):
            alone = plain_logprobs(net, row.ids, len(row.ids) - 1)
            assert logprobs == pytest.approx([alone[place - 1] for place in row.places], abs=1e-4)
    assert packing.stats.fed == distinct(asked)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(asked=requests(), tokens=st.sampled_from([8, 24, 256]))
def test_packed_rows_equal_separate_passes(kind: str, attention: str, asked: list[ScoreRequest], tokens: int) -> None:
    if (kind, attention) == ("gemma2", "sdpa"):
        pytest.skip("transformers has none")
    check(network(kind, attention), asked, tokens)


@settings(max_examples=10)
@given(asked=requests(), tokens=st.sampled_from([8, 256]), kind=st.sampled_from(["gpt2", "llama", "gemma3"]))
def test_where_no_mask_can_be_given_every_run_is_a_pass(asked: list[ScoreRequest], tokens: int, kind: str) -> None:
    check(network(kind, "sdpa"), asked, tokens, packed=False)


@settings(max_examples=5)
@given(asked=requests())
def test_a_model_that_takes_no_masks_of_its_own_is_given_none(asked: list[ScoreRequest]) -> None:
    check(network("bloom", "eager"), asked, 256)


def test_which_masks_a_model_takes() -> None:
    """None where it takes none; a window where its layers slide, and only if they do."""
    import transformers

    def windows(kind: str, attention: str = "sdpa", **changes: Any) -> Any:
        config = transformers.AutoConfig.for_model(kind, **changes)
        config._attn_implementation = attention
        return read_attention(config)[1]

    full, sliding = {"full_attention": None}, {"sliding_attention": 8}
    assert windows("llama") == windows("gpt2") == full
    assert windows("mistral", **SLIDING) == windows("phi3", **SLIDING) == sliding
    assert windows("mistral", sliding_window=None) == full
    assert windows("qwen2", "eager", **SLIDING) == windows("qwen3_moe", **SLIDING) == full, (
        "not unless it is switched on"
    )
    assert windows("gemma3_text", **SLIDING) == windows("gemma2", **SLIDING) == full | sliding
    for attention in ("flash_attention_2", "flex_attention", "kernels-community/flash-attn3"):
        assert windows("llama", attention) is None
    assert windows("llama4_text") is None, "layers that attend in chunks"


def test_vocabularies_beyond_the_bound_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.models.local.scoring.LOGITS", 3 * 320)
    rows = [ScoredIds(array("i", [1, 5, 6, i, 7, 8, 9]), array("i", [3, 4, 5, 6])) for i in range(20, 30)]
    check(network("llama", "sdpa"), [ScoreRequest(tuple(rows))], 256)


# --- through the backend ---------------------------------------------------------------------------------------------


def dialogue(i: int, turns: int) -> list[Probe]:
    """A belief before every turn of an episode, about two candidates; all episodes share their beginning."""
    told: list[Message] = [Message("user", TEXT * 2)]
    found: list[Probe] = []
    for turn in range(turns):
        for secret in ("green", "0427"):
            text = f"Is it '{secret}'?"
            at = text.index(secret)
            found.append(Probe((*told, Message("assistant", text)), (at, at + len(secret))))
        told += [Message("assistant", f"is it a {i} thing {turn}?"), Message("user", "no")]
    return found


def test_all_that_wait_share_one_tree(tiny_folder: Path) -> None:
    """Sixteen episodes cost what one costs beyond the prompt, which is computed once."""
    import transformers

    hf, many = HF(model=str(tiny_folder)), HF(model=str(tiny_folder))
    net, tok = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder).eval(), tokenizer()
    asked = [dialogue(i, 3) for i in range(16)]

    async def together() -> list[list[list[float]]]:
        return await asyncio.gather(*(many.score(probes) for probes in asked))

    found = run(together())
    for probes, rows in zip(asked[::5], found[::5], strict=True):
        for probe, logprobs in zip(probes, rows, strict=True):
            messages = [m.to_json() for m in probe.messages]
            text = tok.apply_chat_template(messages, tokenize=False).removesuffix("'?<|im_end|>\n")
            assert logprobs == pytest.approx(
                plain_logprobs(net, tok.encode(text), len(tok.encode(probe.span_text))), abs=1e-4
            )
    prompt = tok.apply_chat_template([asked[0][0].messages[0].to_json()])["input_ids"]
    run(hf.score(asked[0]))
    alone = hf.stats.fed
    assert many.stats.fed <= len(prompt) + 16 * (alone - len(prompt) + 4)
    assert many.stats.scored == 16 * hf.stats.scored
    for each in (hf, many):
        run(each.close())


def test_where_memory_does_not_suffice_passes_are_shorter() -> None:
    import transformers

    class Short(transformers.LlamaForCausalLM):
        """Has memory for so many tokens at once."""

        longest = 100
        failed = 0

        def forward(self, input_ids: Any, **kwargs: Any) -> Any:
            if input_ids.numel() > self.longest:
                Short.failed += 1
                raise torch.OutOfMemoryError("no memory left")
            return super().forward(input_ids, **kwargs)

    plain = model()
    short = Short(plain.config).eval()
    short.load_state_dict(plain.state_dict())
    short.generation_config = plain.generation_config
    hf, free = (HF.from_module(net, tokenizer(), model="tiny") for net in (short, plain))
    for row, other in zip(run(hf.score(dialogue(0, 6))), run(free.score(dialogue(0, 6))), strict=True):
        assert row == pytest.approx(other, abs=1e-4)
    assert Short.failed == 3 and hf.stats.passes > free.stats.passes  # 512 tokens, 256, 128, then 64
    Short.longest = 8
    with pytest.raises(WorldError, match="out of memory with one row: no memory left"):
        run(hf.score(dialogue(0, 6)))
    for each in (hf, free):
        run(each.close())


def test_what_is_no_number_spoils_no_other_request(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    healthy = run(hf.score(dialogue(0, 1)))
    (poison,) = tokenizer().encode("~")
    with torch.no_grad():
        hf._loaded_model.engine.model.get_input_embeddings().weight[poison] = float("nan")

    async def beside() -> list[Any]:
        bad = Probe((Message("user", TEXT * 2 + "~"), Message("assistant", "green")))
        return [*await asyncio.gather(hf.score([bad]), hf.score(dialogue(0, 1)), return_exceptions=True)]

    error, found = run(beside())
    assert isinstance(error, WorldError) and "not finite" in str(error)
    for row, other in zip(found, healthy, strict=True):
        assert row == pytest.approx(other, abs=1e-4)
    run(hf.close())
