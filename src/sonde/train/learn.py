"""From a model's name to a trained model in one call: from recorded episodes, or from episodes played on the way.

    learn("sonde-tiny-maze", "rpo", trajectories, preset("tiny_rpo", folder="trained"))
    learn_online("sonde-tiny-maze", [Game(env, env.tasks("train"), "maze")], preset("tiny_grpo", folder="trained"))

Supervised objectives get PAPRIKA's successes, preference objectives its pairs (`selection.py`); `kto` and `rwr` need no
pairs and get every episode that ended by the rules of its game. Source: PAPRIKA (arXiv 2502.17543), sections 3.2, 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from sonde.agents.llm import LLM
from sonde.core import EMPTY, AnyPolicy, Trajectory, UserError, unknown
from sonde.core.checked import Checked
from sonde.core.extras import need
from sonde.core.types import Json
from sonde.models import fetch
from sonde.models.chat import Chat
from sonde.models.hf import HF, no_bars

from .algos import objective as objective_of
from .data import RowReport, has_ids, pair_samples, samples
from .selection import PairRule, SFTRule, pairs, sft_set
from .settings import TrainSettings
from .tokenise import as_sampled
from .types import Item

if TYPE_CHECKING:
    from .gather import Game
    from .groups import OnlineSettings
    from .trainer import TrainResult

PAIRED = ("dpo", "rpo", "ipo", "ln_dpo", "simpo")
UNPAIRED = ("kto", "rwr")
SUPERVISED = ("sft",)
OFFLINE = (*SUPERVISED, *PAIRED, *UNPAIRED)
"""The objectives that learn from recorded episodes."""
DATA = "data.json"
NEEDED = ("torch", "transformers", "accelerate")


@dataclass(frozen=True, kw_only=True)
class Learning(Checked):
    """How recorded episodes become items.

    `sft` and `pairs` are the rules of selection. `encode`: encode the texts again although token ids were recorded
    (those of another model, say). `context`, `system`: what `agents:llm` showed the model, or would have shown it; used
    where texts are encoded.
    """

    called = "learning"

    sft: SFTRule = field(default_factory=SFTRule)
    pairs: PairRule = field(default_factory=PairRule)
    encode: bool = False
    context: str = "full"
    system: str = ""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Data:
    """What there is to learn from: the items, what was selected (counts), and what the rows hold."""

    items: tuple[Item, ...]
    counts: Mapping[str, Json]
    rows: RowReport

    def to_json(self) -> dict[str, Json]:
        return {"items": len(self.items), "selected": dict(self.counts), "rows": self.rows.to_json()}


def load_model(name: str, *, revision: str | None = None) -> tuple[Any, Any]:
    """Module in float32 and tokenizer, to train: a folder, a name that `sonde models list` shows, or a hub name."""
    need("training", *NEEDED)
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = str(fetch.fetch(name)) if name in fetch.known() else name
    options: dict[str, Any] = {"revision": revision, "local_files_only": Path(source).is_dir()}
    try:
        with no_bars():
            model: Any = AutoModelForCausalLM.from_pretrained(source, dtype="float32", **options)
            return model, AutoTokenizer.from_pretrained(source, **options)
    except (OSError, ValueError) as e:
        raise UserError(f"train: model: {name!r} cannot be loaded: {str(e).strip().splitlines()[0]}") from e


def prepare(
    objective: str, played: Iterable[Trajectory], chat: Chat, learning: Learning | None = None,
    max_tokens: int | None = None,
) -> Data:  # fmt: skip
    """The items that `objective` learns from. Raises `UserError` where nothing is left to learn from."""
    if objective not in OFFLINE:
        raise unknown("objective", objective, OFFLINE)
    learning = learning or Learning()
    data = _prepared(objective, list(played), chat, learning, max_tokens)
    if not data.items:
        raise UserError(f"train {objective}: nothing to learn from; selected: {dict(data.counts)}, rows: {data.rows}")
    return data


def _prepared(
    objective: str, played: Sequence[Trajectory], chat: Chat, learning: Learning, max_tokens: int | None
) -> Data:
    if objective in PAIRED:
        chosen = pairs(played, learning.pairs, learning.seed)
        used = {id(t): t for pair in chosen.pairs for t in pair}
        ready = dict(zip(used, _with_ids(list(used.values()), chat, learning), strict=True))
        both = [(ready[id(a)], ready[id(b)]) for a, b in chosen.pairs]
        found, report = pair_samples(both, max_tokens=max_tokens)
        counts = {**chosen.counts.to_json(), "pairs": len(both), "one_sided": chosen.one_sided}
        return Data(items=tuple(found), counts=counts, rows=report)
    if objective in SUPERVISED:
        picked = sft_set(played, learning.sft)
        trajectories, counts = picked.trajectories, picked.counts.to_json()
    else:
        trajectories, counts = tuple(t for t in played if _ended(t)), {"trajectories": len(played)}
    singles, report = samples(_with_ids(trajectories, chat, learning), max_tokens=max_tokens)
    return Data(items=tuple(singles), counts={**counts, "selected": len(trajectories)}, rows=report)


def _ended(t: Trajectory) -> bool:
    """By the rules of its game: neither the world nor the format broke it off."""
    return t.outcome is not None and t.outcome.kind not in ("error", "format")


def _with_ids(trajectories: Sequence[Trajectory], chat: Chat, learning: Learning) -> list[Trajectory]:
    """The trajectories as the model sampled them, or as it would have."""
    if learning.encode or not all(has_ids(t) for t in trajectories):
        shown = LLM(model=HF(model=chat.label), context=learning.context, system=learning.system)
        return [as_sampled(t, shown, chat) for t in trajectories]
    for t in trajectories[:16]:
        _check_tokens(t, chat)
    return list(trajectories)


def _check_tokens(t: Trajectory, chat: Chat) -> None:
    """Whether the ids of its completions are this tokenizer's."""
    for c in (c for act in t.acts for c in act.action.completions if c.ids):
        if max(c.ids) >= len(chat.tokenizer) or chat.decode(c.ids) != c.text:
            raise UserError(
                f"trajectory {t.id}: its token ids are those of {c.model!r}, whose tokenizer is not that of "
                f"{chat.label!r}; encode the texts again (Learning.encode, --encode)"
            )


def learn(
    model: str,
    objective: str,
    played: Iterable[Trajectory],
    settings: TrainSettings,
    *,
    learning: Learning | None = None,
    options: Mapping[str, Json] = EMPTY,
    reference: str | None = None,
    resume: bool = False,
    callbacks: Sequence[Any] = (),
) -> TrainResult:
    """Train `model` on recorded episodes and save it in `settings.folder`; `options` are the objective's own.

    `reference` names the model that preference objectives compare with; None is `model` itself, as it starts. With
    `resume` a run that was interrupted goes on from its last checkpoint; one that has none starts again.
    """
    need("training", *NEEDED)
    from .trainer import train_offline

    made = objective_of(objective, **options)
    module, tokenizer = load_model(model)
    chat = Chat(tokenizer, label=model, template={})
    data = prepare(objective, played, chat, learning, settings.max_tokens)
    folder = Path(settings.folder)
    folder.mkdir(parents=True, exist_ok=True)
    items = data.items
    if reference is not None and "reference" in made.needs:
        items = _compared(items, reference, settings, tokenizer)
        settings = replace(settings, reference="given")
    described = {"model": model, "objective": objective, "options": dict(options), **data.to_json()}
    described |= {"reference": reference or model}
    described["learning"] = asdict(learning or Learning())
    (folder / DATA).write_bytes(orjson.dumps(described, option=orjson.OPT_INDENT_2))
    return train_offline(module, made, items, settings, tokenizer, resume=resume, callbacks=callbacks)


def _compared(items: Sequence[Item], reference: str, settings: TrainSettings, tokenizer: Any) -> tuple[Item, ...]:
    """The items with the log-probabilities of another model as their reference."""
    from .reference import Referee

    module, _ = load_model(reference)
    return tuple(Referee(model=module, pad_id=tokenizer.pad_token_id or 0, bf16=settings.bf16)(items))


def learn_online(
    model: str,
    games: Sequence[Game],
    settings: TrainSettings,
    *,
    online: OnlineSettings | None = None,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    options: Mapping[str, Json] = EMPTY,
    resume: bool = False,
    callbacks: Sequence[Any] = (),
) -> TrainResult:
    """Train `model` by GRPO while it plays; `policies` take the other seats, `options` are the objective's."""
    need("training", *NEEDED)
    from .online import OnlineTrainer

    made = objective_of("grpo", **options)
    module, tokenizer = load_model(model)
    trainer = OnlineTrainer(
        module, made, games, settings, online, tokenizer=tokenizer, policies=policies, callbacks=callbacks
    )
    described = {"model": model, "objective": "grpo", "options": dict(options), "online": trainer.tied}
    Path(settings.folder).mkdir(parents=True, exist_ok=True)
    (Path(settings.folder) / DATA).write_bytes(orjson.dumps(described, option=orjson.OPT_INDENT_2))
    return trainer.train(resume=resume)
