"""Locate a model's files: shipped with sonde, in a folder, or on the hub.

The hub's client tries six times for each of several files before it gives up, which takes a minute or more without a
network. `locate_model` asks the hub once, for a few seconds; if it does not answer, or `HF_HUB_OFFLINE` forbids
asking, the model is loaded from the hub's local cache, or not at all.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from sonde.core.errors import SondeError, UserError, nearest_hint

from . import fetch

SECONDS = 5.0
"""How long to wait for the hub's answer."""
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")


class ModelSource(NamedTuple):
    """What `from_pretrained` takes: a folder, or a name on the hub; and the commit of a folder from the hub's cache."""

    path: str
    local: bool
    commit: str = ""


def locate_model(model: str, revision: str | None = None) -> ModelSource:
    """Locate the files of a model: a name of `files.fetch`, a folder, or a name on the hub. Raises `UserError` if none
    fits."""
    if model in fetch.fetchable_models():
        return ModelSource(str(fetch.fetch_model(model)), True)
    if Path(model).is_dir():
        return ModelSource(model, True)
    if not _HUB_NAME.fullmatch(model):
        raise UserError(f"model: {model!r} is neither a folder nor a name on a hub; allowed: {_ALLOWED}")
    why = _why_unreachable()
    return _locate_in_cache(model, revision, why) if why else ModelSource(model, False)


def loading_error(model: str, error: Exception) -> UserError:
    """The error for a model whose files cannot be loaded."""
    kind = "" if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: "
    reason = kind + next(iter(str(error).strip().splitlines()), "" if kind else type(error).__name__)
    return UserError(f"model: {model!r} cannot be loaded: {reason}{nearest_hint(model, fetch.fetchable_models())}")


@contextmanager
def report_loading_errors(model: str) -> Iterator[None]:
    """Report any failure to read a model's files as one line. The loaders raise many types: errors of pickle, of
    safetensors, of shapes that do not match."""
    try:
        yield
    except SondeError:
        raise
    except Exception as e:
        raise loading_error(model, e) from e


_ALLOWED = f"a folder with its files, a name on the hub, or one of {', '.join(fetch.fetchable_models())}"


def _locate_in_cache(model: str, revision: str | None, why: str) -> ModelSource:
    """The model, or adapter, in the hub's local cache."""
    from huggingface_hub import try_to_load_from_cache

    files = (try_to_load_from_cache(model, name, revision=revision) for name in ("config.json", "adapter_config.json"))
    if not isinstance(cached_file := next(filter(None, files), None), str):
        hint = nearest_hint(model, fetch.fetchable_models())
        raise UserError(f"model: {model!r} is not on this machine, and {why}; allowed: {_ALLOWED}{hint}")
    folder = Path(cached_file).parent
    return ModelSource(str(folder), True, commit=folder.name)


def _why_unreachable() -> str:
    """Why the hub cannot be asked; empty if it answers anything."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE forbids to ask the hub"
    try:
        with urlopen(Request(constants.ENDPOINT, method="HEAD"), timeout=SECONDS):
            return ""
    except HTTPError:
        return ""
    except OSError as e:
        why = e.reason if isinstance(e, URLError) else e
        answered = isinstance(why, ssl.SSLError)  # the hub's client may trust other certificates
        return "" if answered else f"{constants.ENDPOINT} cannot be reached ({' '.join(str(why).split())})"
