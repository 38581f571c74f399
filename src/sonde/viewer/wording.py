"""A training in words: what was trained, on what, and with which settings.

Rate, schedule, length and batch are always told; of the other settings those that differ from their defaults.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from sonde._util.escaping import plain
from sonde.core import names
from sonde.core.registry import summary
from sonde.train.settings import LoraSettings, TrainSettings

from .histories import MODELS, History
from .text import compact

_SHOWN = ("lr", "schedule", "warmup", "epochs", "max_steps", "batch_size")
"""Settings that are always told."""
_APART = ("folder", "report_to", "keep", "reference", "save", "lora")
"""Settings that are told elsewhere, in other words, or not, as they change nothing that can be seen here."""
_WORDS = {
    "micro_batch": "micro-batches of {:,}",
    "micro_tokens": "micro-batches of at most {:,} tokens",
    "packing": "rows packed end to end",
    "max_tokens": "rows of at most {:,} tokens",
    "weight_decay": "weight decay {:g}",
    "seed": "seed {}",
    "bf16": "computed in bfloat16",
    "gradient_checkpointing": "activations computed again in the backward pass",
    "save_steps": "a checkpoint every {:,} steps",
    "logging_steps": "each point a mean over {:,} steps",
}


def facts(history: History, others: Sequence[History]) -> list[tuple[str, str]]:
    """Headings and what there is to say under them; `others` are the trainings of the page."""
    found = {
        "objective": _objective(history),
        "preset": _preset(history.data),
        "from": _start(history, others),
        "learned from": ", ".join(_items(history.data) or _games(history.data)),
        "selected": _counts(history.data.get("selected")),
        "rows": _counts(history.data.get("rows")),
        "settings": "; ".join(settings_in_words(history.settings)) if history.settings else "",
        "length": _length(history),
    }
    return [(heading, plain(text)) for heading, text in found.items() if text]


def settings_in_words(s: TrainSettings) -> list[str]:
    """The rate, the length and the batch; then what differs from the defaults.

    >>> settings_in_words(TrainSettings(lr=2e-4, epochs=2.0, seed=3))[2:]
    ['32 items to a step', 'seed 3']
    """
    rise = f" after a rise over {100 * s.warmup:g} % of the steps" if s.warmup else ""
    length = _epochs(s.epochs) if s.max_steps is None else f"{s.max_steps:,} steps"
    always = [f"learning rate {s.lr:g}, {s.schedule}{rise}", length, f"{s.batch_size:,} items to a step"]
    return [*always, *_differing(s)]


def _differing(s: TrainSettings) -> Iterator[str]:
    usual = TrainSettings()
    changed = [f.name for f in fields(s) if getattr(s, f.name) != getattr(usual, f.name)]
    for name in changed:
        value = getattr(s, name)
        if name == "betas":
            yield f"betas of Adam {value[0]:g} and {value[1]:g}"
        elif name == "clip":
            yield f"gradients clipped at norm {value:g}" if value else "gradients not clipped"
        elif name not in (*_SHOWN, *_APART):
            yield _WORDS.get(name, name.replace("_", " ") + " {}").format(value)
    if s.lora is not None:
        yield _lora(s.lora)
    if s.reference != usual.reference:
        yield "reference: the model without its adapter"
    if s.save != usual.save:
        yield "the adapter alone is saved"


def _lora(lora: LoraSettings) -> str:
    places = ", ".join([lora.targets] if isinstance(lora.targets, str) else lora.targets)
    places = "all linear layers" if places == "all-linear" else places
    dropout = f", dropout {lora.dropout:g}" if lora.dropout else ""
    return f"LoRA of rank {lora.r} with alpha {lora.alpha:g} on {places}{dropout}"


def _objective(history: History) -> str:
    words = _named(history.objective)
    options = history.data.get("options")
    if not isinstance(options, Mapping) or not options:
        return words
    return f"{words}, with " + ", ".join(f"{key} {compact(value, 40)}" for key, value in options.items())


def _named(objective: str) -> str:
    """Its name, and the first line of its file where it is one of sonde's."""
    about = summary("objectives", objective).rstrip(".") if objective in names("objectives") else ""
    return f"{objective}: {about}" if about else objective


def _preset(data: Mapping[str, Any]) -> str:
    """Its name and what was changed in it."""
    changed = data.get("overridden")
    name = str(data.get("preset", ""))
    return f"{name}, but {', '.join(map(str, changed))}" if isinstance(changed, list) and changed else name


def _start(history: History, others: Sequence[History]) -> str:
    """The model of another training of the page by that training's name, others by theirs."""
    if not history.start:
        return ""
    places = {(other.folder / name).resolve(): other for other in others for name in MODELS}
    before = places.get(Path(history.start).resolve())
    return f"the model of {before.name}" if before else history.start


def _items(data: Mapping[str, Any]) -> list[str]:
    """What a training on recorded episodes learned from."""
    if "items" not in data:
        return []
    selected = data.get("selected")
    pairs = isinstance(selected, Mapping) and "pairs" in selected
    return [f"{int(data['items']):,} {'pairs of episodes' if pairs else 'samples'}"]


def _games(data: Mapping[str, Any]) -> list[str]:
    """What a training that plays learned from."""
    online = data.get("online")
    if not isinstance(online, Mapping):
        return []
    games = [f"{game['name']} ({int(game['tasks']):,} tasks)" for game in online["games"]]
    played = f"its own play of {' and '.join(games)}"
    return [played, f"{online['k']} episodes to a task", f"temperature {online['temperature']:g}"]


def _counts(counts: Any) -> str:
    """Counts that are above 0."""
    if not isinstance(counts, Mapping):
        return ""
    return ", ".join(f"{str(name).replace('_', ' ')} {n:,}" for name, n in counts.items() if _is_count(n))


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _length(history: History) -> str:
    parts = [f"{history.steps:,} step{'' if history.steps == 1 else 's'}"]
    if "episodes" in history.counters:
        parts.append(f"{history.counters['episodes']:,.0f} episodes played")
    elif "epoch" in history.counters:
        parts.append(_epochs(history.counters["epoch"]))
    return ", ".join(parts)


def _epochs(n: float) -> str:
    return f"{n:.3g} epoch{'' if n == 1 else 's'}"
