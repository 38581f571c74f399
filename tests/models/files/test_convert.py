"""Conversion of a GGUF file, on a real one of 200 kB: same weights, the digit splitting back, silent."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from sonde.core.errors import SondeError, StoreError, UserError
from sonde.models.files.fetch import convert_gguf


def write_gguf(path: Path, pre: str = "smollm") -> dict[str, Any]:
    """A one-layer Llama of random weights, its down projection in 8-bit blocks; returns the values it stands for."""
    import gguf
    import numpy as np
    from tokenizers.pre_tokenizers import ByteLevel

    size, inner, heads, head = 64, 128, 2, 32
    merges = ["Ċ Ċ", "Ġ Ġ"]
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(ByteLevel.alphabet()), "ĊĊ", "ĠĠ"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(256)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(head)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3] + [1] * (len(tokens) - 3))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {
        "token_embd.weight": (len(tokens), size), "output_norm.weight": (size,), "blk.0.attn_norm.weight": (size,),
        "blk.0.ffn_norm.weight": (size,), "blk.0.attn_q.weight": (heads * head, size),
        "blk.0.attn_k.weight": (head, size), "blk.0.attn_v.weight": (head, size),
        "blk.0.attn_output.weight": (size, heads * head), "blk.0.ffn_gate.weight": (inner, size),
        "blk.0.ffn_up.weight": (inner, size),
    }  # fmt: skip
    rng = np.random.Generator(np.random.PCG64(0))
    values: dict[str, Any] = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    for name, value in values.items():
        writer.add_tensor(name, value)
    q8 = gguf.GGMLQuantizationType.Q8_0
    blocks = gguf.quantize(rng.normal(size=(size, inner)).astype(np.float32), q8)
    writer.add_tensor("blk.0.ffn_down.weight", blocks, raw_dtype=q8)
    values["blk.0.ffn_down.weight"] = gguf.dequantize(blocks, q8)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return values


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_conversion_keeps_weights_and_restores_the_digit_splitting(
    tmp_path: Path, dtype: str, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    values = write_gguf(tmp_path / "tiny.gguf")
    convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", dtype=dtype)
    assert "it/s" not in capfd.readouterr().err

    model: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert model.dtype == getattr(torch, dtype)
    down = torch.from_numpy(values["blk.0.ffn_down.weight"]).to(model.dtype)
    assert torch.equal(model.model.layers[0].mlp.down_proj.weight, down)
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert tokenizer.model_max_length == 256
    assert tokenizer.tokenize("\n\n5  12") == ["ĊĊ", "5", "ĠĠ", "1", "2"]


def test_unknown_pre_tokenizer_is_an_error_not_a_guess(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf", pre="qwen2")
    with pytest.raises(SondeError, match=r"tokenizer\.ggml\.pre is 'qwen2'"):
        convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", dtype="float32")


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("writer", "error"),
    [
        ("LlamaForCausalLM", OSError(errno.ENOSPC, "No space left on device")),
        ("PreTrainedTokenizerBase", OSError(errno.ENOSPC, "No space left on device")),
        ("LlamaForCausalLM", RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")),
    ],
)
def test_a_disk_that_gets_full_leaves_no_half_folder_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, error: Exception, begun: bool
) -> None:
    import transformers

    def full(self: Any, folder: Path, **_: Any) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "half").write_bytes(b"half")
        raise error

    write_gguf(tmp_path / "tiny.gguf")
    if begun:
        (tmp_path / "model").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(getattr(transformers, writer), "save_pretrained", full)
        with pytest.raises(StoreError, match=rf"{tmp_path}/model: cannot be written; is the disk full\? .*No space"):
            convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", dtype="float32")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"tiny.gguf", *(["model"] if begun else [])}
    convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", dtype="float32")
    assert (tmp_path / "model" / "config.json").is_file()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"convert: folder: got .* allowed: an empty or missing folder"):
        convert_gguf(tmp_path / "none.gguf", tmp_path, dtype="float32")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
