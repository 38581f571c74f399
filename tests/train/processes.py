"""Start two processes that train together, as torchrun would."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path


def run_both(script: Path, folder: Path) -> None:
    """Run `script folder` as rank 0 and as rank 1; both have to end well."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    common["CUDA_VISIBLE_DEVICES"] = ""  # over gloo, on processors: one GPU would not do for two
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(folder)],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
