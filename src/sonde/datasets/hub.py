"""Runs, datasets and trained models on a hub, by the hub's own client (huggingface_hub).

    push_folder("runs/mine", "me/wordle-runs")             # a private repository, unless private=False
    folder = pull_folder("me/wordle-runs", "runs/theirs")

A folder with a model (`config.json` of transformers, or an adapter) becomes a repository of models, every other one a
dataset. What is rebuilt from the rest stays here: index, locks, caches. A folder without a `README.md` gets one that
says what it is and how to load it. Client, token and address are those of huggingface_hub: `hf auth login` or
`HF_TOKEN`, and `HF_ENDPOINT` for another hub.

A pulled run comes from somebody else: commands that read it import no code that it names, unless told to (`--trust`).
Configurations hold the addresses of endpoints, never keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from sonde import __version__
from sonde._util.extras import require_extra
from sonde.core import UserError, invalid

RepoKind = Literal["model", "dataset"]
KINDS = get_args(RepoKind)
LEFT_OUT = ("index.sqlite*", "*.lock", ".lock*", "**/.lock*", "**/index.sqlite*", ".cache/**", "**/optimizer.pt")
"""Patterns of files that are not pushed."""
_MODEL_FILES = ("adapter_config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


def folder_kind(folder: Path) -> RepoKind:
    """Whether a folder holds a model or data."""
    return "model" if any((folder / name).is_file() for name in _MODEL_FILES) else "dataset"


def push_folder(folder: Path | str, repo: str, *, private: bool = True, revision: str | None = None) -> str:
    """Upload a folder to the repository `repo` (`user/name`), which is created if necessary; returns the address of the
    commit. An existing repository keeps its visibility and its other files."""
    folder = Path(folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        raise invalid("folder", str(folder), "a folder with files")
    chosen = folder_kind(folder)
    with _report_hub_errors(repo):
        api = _client().HfApi(library_name="sonde", library_version=__version__)
        api.create_repo(repo, repo_type=chosen, private=private, exist_ok=True)
        told = api.upload_folder(
            repo_id=repo, folder_path=folder, repo_type=chosen, revision=revision, ignore_patterns=list(LEFT_OUT),
            commit_message=f"Pushed by sonde {__version__}",
        )  # fmt: skip
        if not (folder / "README.md").is_file() and not api.file_exists(repo, "README.md", repo_type=chosen):
            api.upload_file(
                path_or_fileobj=describe_folder(folder, repo, chosen).encode(), path_in_repo="README.md", repo_id=repo,
                repo_type=chosen, revision=revision, commit_message="Say what this is",
            )  # fmt: skip
    return str(told)


def pull_folder(repo: str, out: Path | str, *, kind: RepoKind = "dataset", revision: str | None = None) -> Path:
    """Download a repository into the folder `out`, which must be new or empty; returns it."""
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise invalid("out", str(out), "a new or empty folder")
    if kind not in KINDS:
        raise invalid("kind", kind, " or ".join(KINDS))
    with _report_hub_errors(repo):
        _client().snapshot_download(repo, repo_type=kind, revision=revision, local_dir=out)
    return out


def describe_folder(folder: Path, repo: str, kind: RepoKind) -> str:
    """A README for a folder that has none: what it is, and how to load it."""
    name = repo.rpartition("/")[2]
    head = "---\ntags:\n- sonde\n---\n\n"
    if kind == "model":
        load = f"sonde.make('models:hf', model='{repo}')"
        return f"{head}# {name}\n\nA model trained with sonde.\n\n```python\n{load}\n```\n"
    what = "A dataset"
    if (config := _read_config(folder)) and isinstance(config.get("env"), dict):
        what = f"Episodes of the environment `{config['env'].get('name')}`"
    pull = f"sonde hub pull {repo} --out {name}\nsonde view {name}"
    return f"{head}# {name}\n\n{what}, recorded by sonde {__version__}.\n\n```sh\n{pull}\n```\n"


def _read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a run folder; empty if it is none."""
    try:
        saved = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    found = saved.get("config") if isinstance(saved, dict) else None
    return found if isinstance(found, dict) else {}


def _client() -> Any:
    require_extra("a hub", "huggingface_hub")
    import huggingface_hub

    return huggingface_hub


@contextmanager
def _report_hub_errors(repo: str) -> Iterator[None]:
    """Errors of the hub, of its client and of the network in one line."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the client raises its own errors, those of httpx and ValueErrors
        if not isinstance(error, OSError | ValueError) and type(error).__module__.partition(".")[0] not in _FOREIGN:
            raise
        raise UserError(f"hub: {repo!r}: {' '.join(str(error).split())[:300] or type(error).__name__}") from error


_FOREIGN = ("huggingface_hub", "httpx", "httpcore", "requests")
