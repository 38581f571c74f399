"""Turn a GGUF file into a folder that any transformers program loads in a fraction of a second.

Loading GGUF through transformers dequantises every tensor each time (seconds to minutes); a safetensors folder is
memory-mapped. `dequantize=True` matters: a model whose weights stay in GGUF blocks cannot be saved.

transformers 5 ignores the file's pre-tokenizer (GGUF key `tokenizer.ggml.pre`) and cuts all text as GPT-2 does. For
`smollm`, llama.cpp isolates every digit first; without that, "\\n\\n5" and "a  5" become other tokens than those the
model was trained on. It is put back here.

Needs the `hf` extra; every heavy import is inside a function.
"""

from __future__ import annotations

import shutil
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from sonde.core.errors import SondeError, invalid

from .saving import saving

DTYPES = ("float32", "bfloat16")


def convert(gguf: Path, folder: Path, *, dtype: str) -> None:
    """Write model (safetensors), config, tokenizer and chat template of `gguf` to `folder`, as one of `DTYPES`.

    The folder, which must be empty or not there, is whole or as it was: where the disk gets full, say, which is told.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise invalid("convert: folder", str(folder), "one that is empty, or not there")
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        with saving(folder):
            _write(gguf, partial, dtype)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(gguf: Path, folder: Path, dtype: str) -> None:
    import transformers  # noqa: F401 (first, because it keeps the stderr it finds for its log)

    with redirect_stderr(StringIO()):  # progress bars, which would cross the caller's own report; errors still raise
        tokenizer = _tokenizer(gguf)
        model = _model(gguf, dtype)
        tokenizer.model_max_length = model.config.max_position_embeddings
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _model(gguf: Path, dtype: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    model: Any = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        quantization_config=GgufConfig(gguf_file=gguf.name, dequantize=True),
        dtype=torch.float32,  # what the blocks unpack to; the type asked for is rounded to from there
        local_files_only=True,
    )
    return model.to(getattr(torch, dtype))


def _tokenizer(gguf: Path) -> Any:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizer(_pre_tokenizer_name(gguf))
    return tokenizer


def pre_tokenizer(name: str) -> Any:
    """The `tokenizers` pre-tokenizer that llama.cpp calls `name` (its table `llama_vocab_pre_type`)."""
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    if name == "smollm":
        return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    raise SondeError(f"tokenizer.ggml.pre is {name!r}; pre-tokenizers known to sonde: 'smollm'")


def _pre_tokenizer_name(gguf: Path) -> str:
    from gguf import GGUFReader

    field = GGUFReader(str(gguf)).fields.get("tokenizer.ggml.pre")
    return str(field.contents()) if field else "missing"
