"""Run parts of long work as actors on a Ray cluster (Ray 2.60): the `Workers` of `_util.workers` on many machines.

    sonde rollout wordle runs/a --on ray                 # a Ray of its own, on this machine
    sonde rollout wordle runs/a --on ray:auto            # the cluster that this machine belongs to
    sonde rollout wordle runs/a --on ray:10.0.0.1:6379

Every part is an actor with one CPU. Ray itself never restarts it: `run_parts` does, with what is missing of the part.
All machines must have sonde installed, see the run folder and the files in the configuration under the same paths, and
have the endpoints' keys in their own environment. Only the configuration and short results travel between machines.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from sonde._util.extras import missing_extra
from sonde._util.workers import LAST, PATIENCE, Work, WorkerMessage, perform_part
from sonde.core.errors import Halted, UserError, WorldError, invalid

try:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
    import ray
    from ray.exceptions import RayActorError, RayError, RayTaskError
except ModuleNotFoundError as e:
    raise missing_extra("--on ray", "ray") from e


LOOK = 2.0
"""Seconds between two polls of the cluster while it is silent."""


class OnRay:
    """Actors on the cluster at an address, or on a local Ray that stops with this object. If the program has already
    initialised Ray, that one is used."""

    def __init__(self, address: str = "", n: int | None = None) -> None:
        """Space for n parts at once; by default one per CPU of the cluster (`self.n`)."""
        self._own = not ray.is_initialized()
        if self._own:
            how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
            how |= {} if address else {"include_dashboard": False}
            try:
                _check_address(address)
                ray.init(address or "local", **how)
            except Exception as e:  # Ray raises some errors as plain exceptions
                why = " ".join(str(e).split())
                if not address:
                    raise UserError(f"on: Ray cannot be started on this machine ({why})") from e
                raise UserError(
                    f"on: Ray cannot be reached at {address!r} ({why}), allowed: its address, or auto"
                ) from e
        self._actors: dict[int, Any] = {}
        self._said: dict[Any, int] = {}
        cpus = int(ray.cluster_resources().get("CPU", 0))
        self.n = n or cpus
        if not 0 < self.n <= cpus:  # an actor without a CPU would wait forever, silently
            self.close()
            raise invalid("processes", n, f"1 to {cpus}, the CPUs of this Ray")

    def begin(self, part: int, work: Work, given: Any) -> None:
        remote: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)
        self._actors[part] = actor = remote.remote()
        said = actor.run_part.options(num_returns="streaming").remote(str(Path.cwd()), sys.path, work, given)
        self._said[said] = part

    def next_message(self) -> WorkerMessage:
        said: Any = self._first_ready()
        part = self._said[said]
        try:
            kind, value = ray.get(next(said))
        except RayActorError as e:
            kind, value = "gone", str(e).partition("\n")[0]
        except RayTaskError as e:  # sonde is missing there, or has another version
            kind, value = "raised", WorldError(f"worker {part}: {e.cause!r}")
        except (StopIteration, RayError) as e:
            kind, value = "gone", repr(e)
        if kind in (*LAST, "gone"):
            del self._said[said]
            ray.kill(self._actors.pop(part))
        return WorkerMessage(part, kind, value)

    def _first_ready(self) -> Any:
        """The first actor with a message. Raises `Halted` if none can ever run: an actor without a node waits, and Ray
        does not report it."""
        bare = 0.0
        while True:
            ready, _ = ray.wait(list(self._said), num_returns=1, timeout=LOOK)
            if ready:
                return ready[0]
            bare = 0.0 if ray.cluster_resources().get("CPU", 0) >= 1 else bare + LOOK
            if bare >= PATIENCE:
                raise Halted(
                    f"on: Ray has had no CPU for {bare:g} seconds, its nodes are gone; finished episodes are kept, and "
                    "the same command continues"
                )

    def close(self) -> None:
        for actor in self._actors.values():
            ray.kill(actor)
        if self._own:
            ray.shutdown()


def _check_address(address: str) -> None:
    """Raise `OSError` if nothing listens, which Ray itself takes minutes to notice."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), PATIENCE).close()


class _Actor:
    """The actor process on the cluster."""

    def run_part(self, folder: str, path: Sequence[str], work: Work, given: Any) -> Iterator[tuple[str, Any]]:
        sys.path.extend(place for place in path if place not in sys.path)
        if Path(folder).is_dir():
            os.chdir(folder)
        said: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        Thread(target=perform_part, args=(work, given, lambda *message: said.put(message)), daemon=True).start()
        kind = ""
        while kind not in LAST:
            kind, value = said.get()
            yield kind, value
