"""Read the folder of a training: what it logged, its settings, its data, and a summary of them in words.

`history.jsonl` is required; the page reports missing `settings.json` and `data.json`. The names of the files are those
of `train/trainer.py` and `train/by_name.py`, which need torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from sonde._util.escaping import make_visible
from sonde.core import UserError, names
from sonde.core.registry import read_summary
from sonde.core.types import Json
from sonde.evaluation.evaluate import Evaluation
from sonde.train.problems import Problem, list_problems
from sonde.train.settings import TrainSettings, read_settings

from .figures.axes import AgentStyle
from .templating import to_compact_json, to_indented_json

HISTORY, SETTINGS, DATA = "history.jsonl", "settings.json", "data.json"
MODELS = ("model", "adapter")
"""Folders in which a trained model may be saved."""
_COUNTERS = ("step", "epoch", "episodes")
"""Keys of an entry that say how far the training was."""
_START = "_start"
"""How a key ends that says what a number was before training."""


class Series(NamedTuple):
    """One logged number: the steps that have it, and its values."""

    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class TrainingHistory:
    """A training. `problems` are those of `train/problems.py` with the step at which each first shows; `style` is that
    of the runs of the trained model, if the page shows any."""

    folder: Path
    name: str
    steps: int
    entries: int
    counters: Mapping[str, float]
    series: Mapping[str, Series]
    notes: Sequence[str]
    problems: Sequence[tuple[int, Problem]]
    settings: TrainSettings | None
    data: Mapping[str, Any]
    style: AgentStyle | None = None

    @property
    def objective(self) -> str:
        return str(self.data.get("objective", ""))

    @property
    def start(self) -> str:
        """The model that training began from."""
        return str(self.data.get("model", ""))

    @property
    def model_folders(self) -> set[Path]:
        """The possible locations of the trained model."""
        return find_model_folders(self.folder)

    @property
    def settings_json(self) -> str:
        """Settings and data as JSON."""
        settings = None if self.settings is None else self.settings.to_json()
        return to_indented_json({"settings": settings, "data": dict(self.data)})


def is_training_folder(folder: Path) -> bool:
    """Whether a training logged into this folder."""
    return (folder / HISTORY).is_file()


def find_model_folders(folder: Path) -> set[Path]:
    """The folders of a training that may hold its model."""
    return {(folder / name).resolve() for name in MODELS}


def read_histories(
    folders: Sequence[Path], players: Sequence[tuple[Evaluation, AgentStyle]] = ()
) -> list[TrainingHistory]:
    """The trainings in these folders, in the order given; `players` are the evaluated agents of the page.

    Raises `UserError` for a folder that holds no training.
    """
    folders = list(dict.fromkeys(folders))
    styles = {model: style for evaluation, style in players if (model := model_path(evaluation.agent)) is not None}
    found = [next((styles[at] for at in find_model_folders(f) if at in styles), None) for f in folders]
    return [_read_history(*one) for one in zip(folders, _shorten_names(folders), found, strict=True)]


def model_path(agent: Json) -> Path | None:
    """The model that an agent's configuration names, as a path; None for agents without one."""
    model = agent.get("model") if isinstance(agent, Mapping) else None
    name = model.get("model") if isinstance(model, Mapping) else model
    return Path(name).resolve() if isinstance(name, str) and name else None


def _shorten_names(folders: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart."""
    resolved = [folder.resolve() for folder in folders]
    longest = max((len(path.parts) for path in resolved), default=1)
    for n in range(1, longest + 1):
        short = ["/".join(path.parts[-n:]) for path in resolved]
        if len(set(short)) == len(set(resolved)):
            return [make_visible(name) for name in short]
    return [make_visible(str(path)) for path in resolved]


def _read_history(folder: Path, name: str, style: AgentStyle | None) -> TrainingHistory:
    entries = _read_entries(folder)
    keys = [key for key in dict.fromkeys(k for entry in entries for k in entry) if key not in _COUNTERS]
    series = {key: _read_series(entries, key) for key in keys}
    for key in [key for key in keys if key.endswith(_START)]:
        series |= _prepend_start(key.removesuffix(_START), series.pop(key), series)
    settings, data = folder / SETTINGS, folder / DATA
    absent = [f"{path.name} is not in the folder" for path in (settings, data) if not path.is_file()]
    return TrainingHistory(
        folder=folder,
        name=style.name if style else name,
        steps=int(entries[-1]["step"]),
        entries=len(entries),
        counters={key: float(entries[-1][key]) for key in _COUNTERS if key in entries[-1]},
        series={key: found for key, found in series.items() if found.steps},
        notes=[*absent, *_list_gaps(entries, keys)],
        problems=list(list_problems(entries)),
        settings=read_settings(settings) if settings.is_file() else None,
        data=_read_object(data) if data.is_file() else {},
        style=style,
    )


def _read_entries(folder: Path) -> list[dict[str, Any]]:
    path = folder / HISTORY
    if not path.is_file():
        raise UserError(f"{folder}: no {HISTORY}, allowed: the folder of a training that has logged a step")
    entries = [
        _parse_entry(line, f"{path}, line {i}") for i, line in enumerate(path.read_bytes().splitlines(), 1) if line
    ]
    if not entries:
        raise UserError(f"{path}: got no entries, allowed: one or more")
    return entries


def _parse_entry(line: bytes, where: str) -> dict[str, Any]:
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        raise UserError(f"{where}: not JSON ({e})") from e
    if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
        raise UserError(
            f"{where}: got {to_compact_json(entry, 60)}, allowed: an object with a whole number as its step"
        )
    return entry


def _read_object(path: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as e:
        raise UserError(f"{path}: not JSON ({e})") from e
    if not isinstance(found, dict):
        raise UserError(f"{path}: got {to_compact_json(found, 60)}, allowed: an object")
    return found


def _read_series(entries: Sequence[Mapping[str, Any]], key: str) -> Series:
    found = [(int(e["step"]), float(e[key])) for e in entries if _is_number(e.get(key))]
    return Series(tuple(step for step, _ in found), tuple(value for _, value in found))


def _prepend_start(key: str, start: Series, series: Mapping[str, Series]) -> dict[str, Series]:
    """A number that was also measured before training, with that at step 0."""
    after = series.get(key, Series((), ()))
    return {key: Series((0, *after.steps), (start.values[0], *after.values))} if start.values else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _list_gaps(entries: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """Logged values that are not numbers: the curve leaves them out, so the page lists them."""
    found = {name: sum(name in entry and not _is_number(entry[name]) for entry in entries) for name in keys}
    return [f"{make_visible(name)}: no number in {n} of {len(entries)} entries" for name, n in found.items() if n]


# --- in words ---------------------------------------------------------------------------------------------------------


def describe_training(history: TrainingHistory, others: Sequence[TrainingHistory]) -> list[tuple[str, str]]:
    """Headings with texts: what was trained, on what, with which settings; `others` are the trainings of the page."""
    found = {
        "objective": _describe_objective(history),
        "preset": _describe_preset(history.data),
        "start": _describe_start(history, others),
        "data": ", ".join(_describe_items(history.data) or _describe_games(history.data)),
        "selected": _describe_counts(history.data.get("selected")),
        "rows": _describe_counts(history.data.get("rows")),
        "settings": ", ".join(describe_settings(history.settings)) if history.settings else "",
        "length": _describe_length(history),
    }
    return [(heading, make_visible(text)) for heading, text in found.items() if text]


def describe_settings(settings: TrainSettings) -> list[str]:
    """Learning rate, schedule, length and batch, and all other settings that differ from the default.

    >>> describe_settings(TrainSettings(lr=2e-4, max_steps=70, seed=3))
    ['lr 0.0002', 'schedule cosine', 'warmup 0.04', 'max_steps 70', 'batch_size 32', 'seed 3']
    """
    length = "epochs" if settings.max_steps is None else "max_steps"
    always = ("lr", "schedule", "warmup", length, "batch_size")
    mine, usual = _flatten_lora(asdict(settings)), _flatten_lora(asdict(TrainSettings()))
    left_out = {*always, "epochs", "folder", "report_to", "keep", "lora"}
    changed = [key for key, value in mine.items() if key not in left_out and value != usual.get(key)]
    return [f"{key} {to_compact_json(mine[key], 60)}" for key in (*always, *changed)]


def _flatten_lora(values: Mapping[str, Any]) -> dict[str, Any]:
    inner = {f"lora.{key}": value for key, value in (values.get("lora") or {}).items()}
    return {**values, **inner}


def _describe_objective(history: TrainingHistory) -> str:
    name, options = history.objective, history.data.get("options")
    about = read_summary("objectives", name).rstrip(".") if name in names("objectives") else ""
    words = f"{name}: {about}" if about else name
    if not isinstance(options, Mapping) or not options:
        return words
    return f"{words}, with " + ", ".join(f"{key} {to_compact_json(value, 40)}" for key, value in options.items())


def _describe_preset(data: Mapping[str, Any]) -> str:
    """The preset's name and its overrides."""
    changed = data.get("overridden")
    name = str(data.get("preset", ""))
    return f"{name}, but {', '.join(map(str, changed))}" if isinstance(changed, list) and changed else name


def _describe_start(history: TrainingHistory, others: Sequence[TrainingHistory]) -> str:
    """The starting model: by the name of the training that made it, if the page shows that training."""
    if not history.start:
        return ""
    at = Path(history.start).resolve()
    before = next((other for other in others if at in other.model_folders), None)
    return f"the model of {before.name}" if before else history.start


def _describe_items(data: Mapping[str, Any]) -> list[str]:
    """The data of a training on recorded episodes."""
    if "items" not in data:
        return []
    selected = data.get("selected")
    pairs = isinstance(selected, Mapping) and "pairs" in selected
    return [f"{int(data['items']):,} {'pairs of episodes' if pairs else 'samples'}"]


def _describe_games(data: Mapping[str, Any]) -> list[str]:
    """The data of online training."""
    online = data.get("online")
    if not isinstance(online, Mapping):
        return []
    games = [f"{game['name']} ({int(game['tasks']):,} tasks)" for game in online["games"]]
    return [
        f"self-play of {' and '.join(games)}",
        f"{online['k']} episodes per task",
        f"temperature {online['temperature']:g}",
    ]


def _describe_counts(counts: Any) -> str:
    """Counts above 0."""
    if not isinstance(counts, Mapping):
        return ""
    return ", ".join(f"{str(k).replace('_', ' ')} {n:,}" for k, n in counts.items() if _is_number(n) and n > 0)


def _describe_length(history: TrainingHistory) -> str:
    parts = [f"{history.steps:,} step{'' if history.steps == 1 else 's'}"]
    if "episodes" in history.counters:
        parts.append(f"{history.counters['episodes']:,.0f} episodes played")
    elif "epoch" in history.counters:
        n = history.counters["epoch"]
        parts.append(f"{n:.3g} epoch{'' if n == 1 else 's'}")
    return ", ".join(parts)
