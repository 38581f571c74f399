"""The run folder: its configuration, which later writers cannot change, its locks and its file names.

config.json                       format, versions, fingerprint and the resolved configuration; how models are accessed
                                  (`core.config.HOW`) as last used; the number of planned episodes, where it is known
trajectories-00000.jsonl.zst ...  the logs of writer 0, in order; trajectories-3-00000.jsonl.zst ... those of writer 3
index.sqlite                      derived from the logs (`index.py`)
annotations-NAME.jsonl.zst        results computed later
endpoints-0.json ...              what the endpoints of writer 0 did not accept (`models.remote.adapting`)
.lock                             held while a writer starts, or the run is removed
.lock-0, .lock-3 ...              held by writer 0, 3 ... while it writes
.lock-scoring                     held while the run is evaluated
.annotations-NAME....lock         held while annotations of this name are written
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sonde._util.extras import DISTRIBUTION
from sonde._util.folders import write_atomically
from sonde.core import StoreError, UserError, content_hash, identity, invalid
from sonde.core.config import first_difference
from sonde.core.registry import configured_names, describe_reach

FORMAT = 2
"""Version of the folder's layout; readers refuse others."""

CONFIG = "config.json"
DEEP = 5
"""Maximum depth of folders searched for runs."""
PATIENCE = 10.0
"""Seconds that a writer waits for another one that is starting."""
_OURS = re.compile(r"\..*|config\.json|endpoints-\d+\.json|index\.sqlite|(trajectories|annotations)-.*\.jsonl\.zst")
_REMEDIES = "allowed: the same one, another folder, or starting over (--fresh, `sonde.runs.store.discard_run`)"
PLANNED = "planned"
_FIELDS = {"format", "sonde", "commit", "fingerprint", "config"}


def read_config(folder: Path) -> dict[str, Any]:
    """The content of `config.json`."""
    try:
        saved = json.loads((folder / CONFIG).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"run: {folder} is not a run folder ({_explain_no_run(folder)})") from None
    except ValueError as e:
        raise StoreError(f"{folder / CONFIG}: not JSON ({e})") from e
    if not isinstance(saved, dict) or not set(saved) >= _FIELDS:
        raise StoreError(f"{folder / CONFIG}: not the configuration of a run")
    if saved["format"] != FORMAT:
        age = "newer" if saved["format"] > FORMAT else "older"
        raise StoreError(f"{folder}: format {saved['format']} is {age} than this sonde's {FORMAT}")
    return saved


def _explain_no_run(folder: Path) -> str:
    if not folder.exists():
        return "it does not exist"
    runs = sorted(str(path.parent) for path in folder.glob(f"*/{CONFIG}"))
    more = f" and {len(runs) - 2} more" if len(runs) > 2 else ""
    return f"it has no {CONFIG}" + (f", but holds {', '.join(runs[:2])}{more}" if runs else "")


def read_planned(folder: Path) -> int | None:
    """The number of episodes that the run will have when its last plan is played; None if no plan told it."""
    planned = read_config(folder).get(PLANNED)
    return planned if isinstance(planned, int) else None


def save_planned(folder: Path, n: int) -> None:
    """Note the number of episodes that the run will have; its configuration and fingerprint stay."""
    held = hold_lock(folder / ".lock", wait=PATIENCE)
    try:
        saved = read_config(folder)
        if saved.get(PLANNED) != n:
            _write_config(folder, {**saved, PLANNED: n})
    finally:
        held.release()


def describe_tampering(saved: Mapping[str, Any]) -> str | None:
    """Describe how a configuration differs from the one its fingerprint was made of. None if it does not differ, or if
    that cannot be decided because another version wrote it or it names code that is not imported here."""
    config = saved["config"]
    if saved["sonde"] != version(DISTRIBUTION) or any(describe_reach(name) for name in configured_names(config)):
        return None
    if content_hash(identity(config)) == saved["fingerprint"]:
        return None
    return "its fingerprint is not that of its content: it was changed after the run began"


def claim_writer(folder: Path, config: Mapping[str, Any], writer: int) -> FileLock:
    """Register this process as a writer of a run folder, creating the folder if needed; returns the lock it holds.

    Raises `UserError` if the folder belongs to another configuration, or holds files but no run.
    """
    wanted = describe_run(config)
    if folder.is_dir() and not (folder / CONFIG).exists() and any(not p.name.startswith(".") for p in folder.iterdir()):
        raise UserError(f"run: {folder} is not a run folder and not empty")
    folder.mkdir(parents=True, exist_ok=True)
    coming = hold_lock(folder / ".lock", wait=PATIENCE)
    try:
        saved = read_config(folder) if (folder / CONFIG).exists() else None
        if saved is not None:
            _check_description(saved, wanted, folder)
            wanted = {**saved, "config": wanted["config"]}
        held = hold_lock(folder / f".lock-{writer}")
        try:
            if wanted != saved:
                _write_config(folder, wanted)
        except BaseException:
            held.release()
            raise
    finally:
        coming.release()
    return held


def _write_config(folder: Path, content: Mapping[str, Any]) -> None:
    write_atomically(folder / CONFIG, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def discard_run(folder: Path | str, *, also: Collection[str] = ()) -> None:
    """Delete a run so that another one can start in its place; a missing or empty folder is left alone.

    Raises `UserError` if the folder is not a run, or holds anything besides a run and files whose names match `also`;
    `StoreError` while another process writes to it.
    """
    folder = Path(folder).resolve()
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    read_config(folder)
    foreign = sorted(p.name for p in folder.iterdir() if not _OURS.fullmatch(p.name) and p.name not in also)
    if foreign:
        raise UserError(f"run: {folder} holds {foreign[0]}, which does not belong to a run; move it away first")
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.discarded")
    with ExitStack() as held:
        for lock in (folder / ".lock", *folder.glob(".lock-*"), *folder.glob(".annotations-*.lock")):
            held.callback(hold_lock(lock).release)
        if os.name == "nt":  # Windows cannot rename a folder with open files, so a new writer keeps its files
            held.close()
        try:
            folder.rename(aside)  # in one step: a half-deleted run could be resumed
            shutil.rmtree(aside)
        except OSError as e:
            raise UserError(f"run: {folder} cannot be removed: {e}") from e


def discard_unplayed(folder: Path) -> None:
    """Delete a run in which nothing was recorded; a run with content or another active writer is kept."""
    if not any(log.stat().st_size for log in folder.glob("*.jsonl.zst")):
        with suppress(UserError, StoreError):
            discard_run(folder)


def hold_lock(lock: Path, *, wait: float = 0.0) -> FileLock:
    """Hold a lock file for this process until it releases it or ends in any way."""
    held = FileLock(lock, timeout=wait, thread_local=False)
    try:
        held.acquire()
    except Timeout:
        raise StoreError(f"{lock.parent}: another writer is open on this run (it holds {lock.name})") from None
    except OSError as e:
        raise StoreError(f"{lock.parent}: not writable ({lock.name}: {e.strerror})") from e
    return held


@contextmanager
def lock_scoring(folder: Path) -> Iterator[None]:
    """A lock held while this process evaluates a run; waits for another process that does so."""
    read_config(folder)
    held = hold_lock(folder / ".lock-scoring", wait=-1.0)
    try:
        yield
    finally:
        held.release()


def describe_run(config: Mapping[str, Any]) -> dict[str, Any]:
    """The content of `config.json`: a configuration and the version of the code that runs it."""
    try:
        plain = json.loads(json.dumps(config, allow_nan=False))
    except (TypeError, ValueError) as e:
        raise UserError(f"config: not JSON ({e}), allowed: JSON values") from e
    if not isinstance(plain, dict):
        raise invalid("config", config, "a mapping")
    return {
        "format": FORMAT,
        "sonde": version(DISTRIBUTION),
        "commit": _git_commit(),
        "fingerprint": content_hash(identity(plain)),
        "config": plain,
    }


def _check_description(saved: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path) -> None:
    """Check a saved description: the commit may change within a run, the version and the configuration may not."""
    field = first_difference(identity(saved["config"]), identity(wanted["config"]), "config")
    field = field or first_difference(saved["sonde"], wanted["sonde"], "version of sonde")
    if field:
        trained = "; the model was trained or replaced since" if ".weights:" in field else ""
        raise UserError(f"run: {folder} was started with another configuration: {field}{trained}; {_REMEDIES}")


def _git_commit() -> str | None:
    """The commit of this library's own checkout, with `-dirty` if its code has changed; None if it is installed as a
    package."""
    here = Path(__file__)

    def run_git(*words: str) -> subprocess.CompletedProcess[str]:
        typed = ["git", "-C", str(here.parent), *words]
        return subprocess.run(typed, check=False, capture_output=True, text=True, timeout=10)

    try:
        ours, head = run_git("ls-files", "--error-unmatch", here.name), run_git("rev-parse", "HEAD")
        changed = run_git("diff", "--quiet", "HEAD", "--", str(here.parents[1]))
    except (OSError, subprocess.SubprocessError):
        return None
    if ours.returncode or head.returncode:
        return None
    return head.stdout.strip() + "-dirty" * bool(changed.returncode)
