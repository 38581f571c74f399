"""Locate and load a model's files: shipped with sonde, in a folder, or on the hub.

The hub's client tries six times for each of several files before it gives up, which takes a minute or more without a
network. `locate_model` asks the hub once, for a few seconds; if it does not answer, or `HF_HUB_OFFLINE` forbids
asking, the model is loaded from the hub's local cache, or not at all.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from sonde.core.errors import SondeError, UserError, nearest_hint

from ..chat.templates import check_template
from . import fetch
from .saving import hide_progress_bars
from .shipped import SHIPPED

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


def check_whole_model(model: str, source: ModelSource) -> None:
    """Raise `UserError` for the folder of an adapter: it plays with its base model, but is none to begin with."""
    file = Path(source.path) / "adapter_config.json"
    if file.is_file() and not file.with_name("config.json").is_file():
        base = json.loads(file.read_text("utf-8")).get("base_model_name_or_path")
        raise UserError(
            f"model: {model!r} is an adapter of {base!r}, allowed: a whole model, as a training saves with "
            "settings.save=merged in the folder `model` (peft's `merge_and_unload` merges any adapter)"
        )


def _check_tokenizer_files(model: str, folder: Path) -> None:
    """Raise `UserError` for the folder of a model without any file of a tokenizer."""
    if (folder / "config.json").is_file() and not any(
        file for pattern in _TOKENIZER_FILES for file in folder.glob(pattern)
    ):
        raise UserError(
            f"model: {model!r} has no tokenizer, allowed: a folder with the files of one (tokenizer.json, ...); "
            "`save_pretrained` of the tokenizer writes them"
        )


def load_tokenizer(model: str, source: ModelSource, **options: Any) -> Any:
    """Load the tokenizer of a located model, and check that its chat template, if any, terminates. The template of a
    model that also takes images may be in the file of its processor, which tokenizers do not read."""
    from transformers import AutoTokenizer

    _check_tokenizer_files(model, Path(source.path))
    with report_loading_errors(model), hide_progress_bars():
        tokenizer: Any = AutoTokenizer.from_pretrained(source.path, local_files_only=source.local, **options)
        if not tokenizer.chat_template:
            tokenizer.chat_template = _read_processor_template(source, options.get("revision"))
    if model not in SHIPPED:
        check_template(model, tokenizer)
    return tokenizer


def _read_processor_template(source: ModelSource, revision: str | None) -> str | None:
    """The chat template in the file of a model's processor; None if there is none."""
    from transformers.utils.hub import cached_file

    file = cached_file(
        source.path, "chat_template.json", revision=revision, local_files_only=source.local,
        _raise_exceptions_for_missing_entries=False, _raise_exceptions_for_connection_errors=False,
    )  # fmt: skip
    held: object = json.loads(Path(file).read_text("utf-8")) if file else None
    template = cast("Mapping[str, object]", held).get("chat_template") if isinstance(held, Mapping) else None
    return template if isinstance(template, str) else None


_TOKENIZER_FILES = ("*token*", "*vocab*", "*merges*", "*.model", "*.spm", "*.bpe", "*.gguf")
_ALLOWED = f"a folder with its files, a name on the hub, or one of {', '.join(fetch.fetchable_models())}"


def _locate_in_cache(model: str, revision: str | None, why: str) -> ModelSource:
    """The model in the hub's local cache."""
    from huggingface_hub import try_to_load_from_cache

    cached_file = try_to_load_from_cache(model, "config.json", revision=revision)
    if not isinstance(cached_file, str):
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
