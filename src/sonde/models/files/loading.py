"""Load the module, the configuration and the tokenizer of a model by name or folder.

A model may be an adapter (peft): it is loaded as what its base model becomes with the adapter merged into it. It then
plays as fast as its base, and can be trained like any other model, with or without a fresh adapter; disabling that one
gives the model at the start of training. The base may be an adapter itself, as where a training began with one: then
both are merged, in order.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from sonde._util.extras import require_extra
from sonde.core.errors import UserError, invalid

from ..chat.templates import check_template
from .hub import ModelSource, locate_model, report_loading_errors
from .saving import hide_progress_bars
from .shipped import SHIPPED

ADAPTER_CONFIG = "adapter_config.json"
_MERGED = "sonde_holds_adapter"
_TOKENIZER = "tokenizer_config.json"
_TOKENIZER_FILES = ("*token*", "*vocab*", "*merges*", "*.model", "*.spm", "*.bpe", "*.gguf")


class Located(NamedTuple):
    """A model's files at a revision (of a hub; None is the newest)."""

    source: ModelSource
    revision: str | None

    @property
    def options(self) -> dict[str, Any]:
        """What `from_pretrained` takes, beside the path."""
        return {"revision": self.revision, "local_files_only": self.source.local}

    def find_file(self, name: str) -> Path | None:
        """The file of this name, downloaded if it is on the hub; None if there is none."""
        from transformers.utils.hub import cached_file

        with report_loading_errors(self.source.path):
            file = cached_file(
                self.source.path, name, **self.options,
                _raise_exceptions_for_missing_entries=False, _raise_exceptions_for_connection_errors=False,
            )  # fmt: skip
        return Path(file) if file else None


class ModelParts(NamedTuple):
    """The files of a model: a whole one, and the adapters to merge into it, in order."""

    name: str
    base: Located
    adapters: tuple[Located, ...]

    @property
    def commit(self) -> str:
        """The commit of what was asked for, where it is in the hub's cache."""
        return [self.base, *self.adapters][-1].source.commit


def locate_parts(model: str, revision: str | None = None) -> ModelParts:
    """Locate the files of a model by name or folder. Raises `UserError` where it cannot be found, and for an adapter
    that names no base model, or one that cannot be found."""
    found, adapters = Located(locate_model(model, revision), revision), list[Located]()
    while (named := _read_base(found)) is not None:
        if found in adapters:
            raise UserError(f"model: {model!r} is an adapter whose base models lead back to {found.source.path!r}")
        adapters.insert(0, found)
        try:
            found = Located(locate_model(*named), named[1])
        except UserError as e:
            raise UserError(f"model: {model!r} is an adapter, and its base model cannot be loaded: {e}") from e
    return ModelParts(model, found, tuple(adapters))


def _read_base(found: Located) -> tuple[str, str | None] | None:
    """The base model that an adapter names, and its revision; None where the model is no adapter."""
    file = found.find_file(ADAPTER_CONFIG)
    if file is None or any(file.parent.glob("model*.safetensors")):  # whole weights
        return None
    with report_loading_errors(found.source.path):
        told = cast("Mapping[str, object]", json.loads(file.read_text("utf-8")))
        base, revision = told.get("base_model_name_or_path"), told.get("revision")
    if not isinstance(base, str) or not base:
        raise invalid(f"model: {file}: base_model_name_or_path", base, "the folder or the name of a model")
    return base, revision if isinstance(revision, str) else None


def load_causal_model(parts: ModelParts, **options: Any) -> Any:
    """The module of a model, with adapters merged; `options` are of `from_pretrained`."""
    from transformers import AutoModelForCausalLM

    if parts.adapters:
        require_extra(f"model: {parts.name!r} is an adapter, which", "peft")
    with report_loading_errors(parts.name), hide_progress_bars():
        base = parts.base
        module: Any = AutoModelForCausalLM.from_pretrained(base.source.path, **base.options, **options)
        for adapter in parts.adapters:
            module = _add_adapter(module, adapter)
        return module


def _add_adapter(module: Any, adapter: Located) -> Any:
    """The model with this adapter merged into it, in place."""
    from peft import PeftModel

    path = adapter.source.path
    with hide_peft_warnings():
        merged = merge_adapter_in_place(PeftModel.from_pretrained(module, path, **adapter.options))
    merged.name_or_path = str(Path(path).absolute()) if adapter.source.local else path  # the base of further adapters
    setattr(merged, _MERGED, True)
    return merged


@contextmanager
def hide_peft_warnings() -> Iterator[None]:
    """Hide that peft 0.21 uses an outdated name of transformers 5.23, and that the base of an adapter may be an adapter
    itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Could not find a config file in", UserWarning)
        warnings.filterwarnings("ignore", r"`is_gradient_checkpointing` is deprecated", FutureWarning)
        yield


def holds_adapter(module: Any) -> bool:
    """Whether the module was loaded with an adapter merged into it."""
    return getattr(module, _MERGED, False)


def merge_adapter_in_place(wrapped: Any) -> Any:
    """The plain model that computes what a model of peft does. An output head with an adapter gets weights of its own,
    where it shares those of the embeddings: else merging would change these, too."""
    plain = wrapped.get_base_model()
    inner, head = plain.get_input_embeddings(), getattr(plain.get_output_embeddings(), "base_layer", None)
    if head is not None and head.weight is getattr(inner, "base_layer", inner).weight:
        import torch

        head.weight = torch.nn.Parameter(head.weight.detach().clone(), requires_grad=False)
        plain.config.get_text_config().tie_word_embeddings = plain.config.tie_word_embeddings = False
    return wrapped.merge_and_unload()


def load_config(parts: ModelParts) -> Any:
    """The configuration of a model's module: of an adapter, its base model's."""
    from transformers import AutoConfig

    with report_loading_errors(parts.name):
        return AutoConfig.from_pretrained(parts.base.source.path, **parts.base.options)


# --- the tokenizer ---------------------------------------------------------------------------------------------------


def load_tokenizer(parts: ModelParts) -> Any:
    """Load the tokenizer of a model, and check that its chat template, if any, terminates. That of an adapter without
    one is its base model's. The template of a model that also takes images may be in the file of its processor, which
    tokenizers do not read."""
    from transformers import AutoTokenizer

    found = next((adapter for adapter in reversed(parts.adapters) if adapter.find_file(_TOKENIZER)), parts.base)
    _check_tokenizer_files(parts.name, Path(found.source.path))
    with report_loading_errors(parts.name), hide_progress_bars():
        tokenizer: Any = AutoTokenizer.from_pretrained(found.source.path, **found.options)
        if not tokenizer.chat_template:
            tokenizer.chat_template = _read_processor_template(found)
    if parts.name not in SHIPPED:
        check_template(parts.name, tokenizer)
    return tokenizer


def _check_tokenizer_files(model: str, folder: Path) -> None:
    """Raise `UserError` for the folder of a model without any file of a tokenizer."""
    if (folder / "config.json").is_file() and not any(
        file for pattern in _TOKENIZER_FILES for file in folder.glob(pattern)
    ):
        raise UserError(
            f"model: {model!r} has no tokenizer, allowed: a folder with the files of one (tokenizer.json, ...); "
            "`save_pretrained` of the tokenizer writes them"
        )


def _read_processor_template(found: Located) -> str | None:
    """The chat template in the file of a model's processor; None if there is none."""
    file = found.find_file("chat_template.json")
    held: object = json.loads(file.read_text("utf-8")) if file else None
    template = cast("Mapping[str, object]", held).get("chat_template") if isinstance(held, Mapping) else None
    return template if isinstance(template, str) else None
