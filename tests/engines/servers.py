"""Real engines as processes of their own, in `.venv-engines` (`make engines`): started, watched, killed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ENGINES = Path(__file__).parents[2] / ".venv-engines"
PYTHON = ENGINES / "bin" / "python"
NAME = "served"
HERE = Path(__file__).parent
PATIENCE = 300
"""Seconds that a server has to start: compiling what it imports takes two minutes of a busy machine."""
ALONE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
VLLM = {
    **ALONE, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1",
    "VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
}  # fmt: skip
FLAGS = (
    *("--served-model-name", NAME, "--host", "127.0.0.1", "--dtype", "float32", "--enforce-eager"),
    # A prompt that is read in parts has no seed there: "CPU Generator does not use offset", and the engine is dead.
    *("--no-enable-chunked-prefill", "--max-num-batched-tokens", "4096", "--max-model-len"),
)


def need(*modules: str) -> None:
    """Skip the test where these modules of the engines' environment are missing, with the reason that `make engines`
    gave, if it was run."""
    told = ENGINES / "left-out.txt"
    if not PYTHON.exists():
        pytest.skip(told.read_text().strip() if told.exists() else "no engines here: make engines")
    for module in modules:
        if not any(ENGINES.glob(f"lib/python*/site-packages/{module}")):
            pytest.skip(told.read_text().strip() if told.exists() else f"{module} is not in {ENGINES.name}")


@dataclass
class Server:
    """A command that serves at `port`. Its processes are killed when the block is left, and also when the tests are
    killed (`leash.py`)."""

    command: Sequence[str]
    port: int
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    process: subprocess.Popen[bytes] | None = None
    _output: IO[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # or each start compiles all that it imports
        self._output = self.log.open("ab")
        leash = [sys.executable, str(HERE / "leash.py"), *self.command]
        self.process = subprocess.Popen(
            leash, stdin=subprocess.PIPE, stdout=self._output, stderr=self._output,
            env={**kept, **self.environment},
        )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()

    def kill(self) -> None:
        """`kill -9` for the server and all that it has started."""
        if self.process is not None:
            self.process.communicate(timeout=60)  # which closes the leash
        if self._output is not None:
            self._output.close()
        self.process = self._output = None

    def _wait(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.tail()
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.3)
        raise AssertionError(self.tail())

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def vllm(folder: Path, log: Path, *flags: str, length: int = 512) -> Server:
    """A vLLM that serves a folder under `NAME`."""
    need("vllm")
    port = free_port()
    serve = [str(PYTHON), "-m", "vllm.entrypoints.cli.main", "serve", str(folder), "--port", str(port)]
    return Server([*serve, *FLAGS, str(length), *flags], port, log, VLLM)


def llama(gguf: Path, log: Path) -> Server:
    """A llama.cpp that serves a GGUF file."""
    need("xllamacpp")
    port = free_port()
    return Server([str(PYTHON), str(HERE / "llama_server.py"), str(gguf), str(port)], port, log, ALONE)
