"""Train a model by name in one call: on recorded episodes (`learn`) or while it plays (`learn_online`).

    learn("sonde-tiny-maze", preset("tiny_rpo", folder="trained"), trajectories)
    learn_online("sonde-tiny-maze", preset("tiny_grpo", folder="trained"), [Game(env, env.tasks("train"), "maze")])

`sft` learns from PAPRIKA's successes, `bc` from a share of all episodes (`Learning.share`), preference objectives from
PAPRIKA's pairs (`selection.py`). `kto` and `rwr` need no pairs and get every episode that ended by the
rules of its game; `mc` and `ilql` also get those with unreadable answers. Source: PAPRIKA (arXiv 2502.17543), sections
3.2 and 3.3; LMRL-Gym (Abdulhai et al. 2023), section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from sonde._util.argument_checks import check_call
from sonde._util.extras import require_extra
from sonde._util.folders import write_atomically
from sonde.agents.llm import LLM, SHOWN
from sonde.core import AGENT, EMPTY, AnyPolicy, Trajectory, UserError, invalid, unknown
from sonde.core.types import Json
from sonde.models.chat.chat import Chat
from sonde.models.files.weights import model_fingerprint
from sonde.models.hf import HF

from .conversations import ReadItems, Records, read_items
from .data import RowReport, as_sampled, has_ids, make_samples, pair_samples
from .objectives import find_objective, objectives_learning_from
from .objectives import make_objective as objective_of
from .presets import list_overrides
from .provenance import check_origin
from .selection import (
    Counts,
    PairRule,
    SFTRule,
    ShareRule,
    failure_kind,
    group_by_world,
    has_ended,
    is_success,
    select_pairs,
    select_share,
    select_successes,
)
from .settings import TrainSettings
from .training import NEEDED, Learning, Training
from .training_folder import DATA, check_free, discard_training, lock_folder
from .types import Item, Learns, Sample

if TYPE_CHECKING:
    from sonde.models.remote.token_client import TokenEndpoint

    from .collect import Game
    from .trainer import SondeTrainer, TrainResult

POLICIES: tuple[Learns, ...] = ("successes", "share", "pairs", "samples")
"""What objectives learn from that change the model's own play; `values` are for decoding (`models.local.heads`)."""

T = TypeVar("T")
Rule = TypeVar("Rule", SFTRule, PairRule, ShareRule)


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Training items, counts of the selection, and the report of rows."""

    items: tuple[Item, ...]
    counts: Mapping[str, Json]
    rows: RowReport

    def to_json(self) -> dict[str, Json]:
        return {"items": len(self.items), "selected": dict(self.counts), "rows": self.rows.to_json()}


def prepare_data(
    objective: str, played: Iterable[Trajectory], chat: Chat, learning: Learning | None = None,
    max_tokens: int | None = None, recorded: bool = False, records: Sequence[Records] = (),
) -> TrainingData:  # fmt: skip
    """The items that `objective` learns from, those of recorded episodes before those of `records` (all of which are
    learned from: rules of selection are about episodes). With `recorded`, one that learns from play gets what values
    get. Raises `UserError` where nothing is left to learn from."""
    learns = find_objective(objective).learns
    if learns == "play" and recorded:
        learns = "values"
    if learns == "play":
        raise unknown("objective", objective, objectives_learning_from(*POLICIES, "values"))
    learning = learning or Learning()
    if learns == "values" and learning.by_turn:
        raise invalid("learning: by_turn", True, f"false for {objective}: values cover everything that follows")
    played = list(played)
    data = TrainingData(items=(), counts={}, rows=RowReport())
    if played or not records:
        data = _select_items(learns, played, chat, learning, max_tokens)
    if records:
        data = _add_records(data, read_items(learns, records, chat, max_tokens=max_tokens, by_turn=learning.by_turn))
    if not data.items:
        counts = {**data.counts, **{name: n for name, n in data.rows.to_json().items() if n}}
        counted = ", ".join(f"{name} {n}" for name, n in counts.items())
        needed = _NEEDED[learns] if played else "rows"
        needed += "" if max_tokens is None else f", of at most {max_tokens:,} tokens"
        raise UserError(f"train {objective}: no training items in the data: {counted}; allowed: {needed}")
    return data


_NEEDED: Mapping[str, str] = {
    "successes": "episodes that were won",
    "pairs": "tasks with an episode that was won and a worse one",
    "share": "episodes that ended by the rules",
    "samples": "episodes that ended by the rules",
    "values": "episodes that ended",
}
"""What the data of an objective must hold, by what it learns from."""


def _add_records(data: TrainingData, read: ReadItems) -> TrainingData:
    counts = {**data.counts, "records": len(read.items)}
    return TrainingData(items=(*data.items, *read.items), counts=counts, rows=data.rows + read.report)


def _select_items(
    learns: Learns, played: Sequence[Trajectory], chat: Chat, learning: Learning, max_tokens: int | None
) -> TrainingData:
    """Only selectable episodes are encoded; the counts cover everything."""
    if isinstance(rule := selection_rule(learns, learning, max_tokens), PairRule):
        ready = _ensure_ids([t for t in played if is_success(t) or failure_kind(t) in rule.negatives], chat, learning)
        chosen = select_pairs(ready, rule, learning.seed)
        items, report = pair_samples(chosen.pairs, max_tokens=max_tokens)
        counts = {**_count_selection(played, chosen.counts), "pairs": len(chosen.pairs), "one_sided": chosen.one_sided}
        return TrainingData(items=tuple(items), counts=counts, rows=report)
    if isinstance(rule, ShareRule):
        picked = select_share(_ensure_ids(played, chat, learning), rule)
        trajectories, counts = picked.trajectories, picked.counts.to_json()
    elif isinstance(rule, SFTRule):
        picked = select_successes(_ensure_ids(list(filter(is_success, played)), chat, learning), rule)
        trajectories, counts = picked.trajectories, _count_selection(played, picked.counts)
    else:
        admitted = has_ended if learns == "values" else _ended_by_rules
        trajectories = tuple(_ensure_ids([t for t in played if admitted(t)], chat, learning))
        counts = {"trajectories": len(played)}
    singles, report = make_samples(trajectories, max_tokens=max_tokens, by_turn=learning.by_turn)
    return TrainingData(items=tuple(singles), counts={**counts, "selected": len(trajectories)}, rows=report)


def selection_rule(learns: Learns, learning: Learning, max_tokens: int | None) -> SFTRule | ShareRule | PairRule | None:
    """The rule that selects what is learned from, with the trainer's limit of length; None where nothing is
    selected."""
    if learns == "pairs":
        return _limit_rule(learning.pairs, max_tokens)
    if learns == "share":
        return _limit_rule(learning.share, max_tokens)
    if learns != "successes":
        return None
    return _limit_rule(learning.sft, None if learning.by_turn else max_tokens)  # by turn, a long one is left out alone


def encode_play(trajectories: Iterable[Trajectory], chat: Chat, learning: Learning) -> list[Trajectory]:
    """The trajectories with the token ids that `chat`'s model would have sampled; those that never ended as they
    are."""
    given = list(trajectories)
    encoded = iter(_ensure_ids([t for t in given if has_ended(t)], chat, learning))
    return [next(encoded) if has_ended(t) else t for t in given]


def _count_selection(played: Sequence[Trajectory], counts: Counts) -> dict[str, Json]:
    """The counts of a selection from a part of the episodes, extended to all of them."""
    whole = replace(counts, trajectories=len(played), tasks=len(group_by_world(played)))
    return {**replace(whole, failed=sum(not has_ended(t) for t in played)).to_json()}


def _limit_rule(rule: Rule, max_tokens: int | None) -> Rule:
    """The rule with the trainer's length limit. As in the paper, too long trajectories are left out first: the best one
    that is short enough is selected, rather than none where the best is too long."""
    limits = [limit for limit in (rule.max_tokens, max_tokens) if limit is not None]
    return replace(rule, max_tokens=min(limits, default=None))


def _ended_by_rules(t: Trajectory) -> bool:
    """Whether the rules of the game ended it, rather than a failure or an unreadable answer."""
    return t.outcome is not None and t.outcome.kind not in ("error", "unreadable")


def _ensure_ids(trajectories: Sequence[Trajectory], chat: Chat, learning: Learning) -> list[Trajectory]:
    """The trajectories as the model sampled them, or as it would have."""
    if learning.encode or not all(has_ids(t) for t in trajectories):
        if calling := next((t for t in trajectories if t.policies.get(AGENT, {}).get("tools")), None):
            raise UserError(
                f"trajectory {calling.id}: its agent acted by tool calls; allowed: with the token ids that the trained "
                "model sampled, or of an agent that writes its answers"
            )
        shown = LLM(model=HF(model=chat.label), **{name: getattr(learning, name) for name in SHOWN})
        return [as_sampled(t, shown, chat) for t in trajectories]
    for t in trajectories[:16]:
        _check_tokens(t, chat)
    return list(trajectories)


def _check_tokens(t: Trajectory, chat: Chat) -> None:
    """Check that the ids of the agent's completions are this tokenizer's."""
    for c in (c for act in t.acts if act.seat == AGENT for c in act.action.completions if c.ids):
        if not chat.holds_text(c):
            raise UserError(
                f"trajectory {t.id}: its token ids are those of {c.model!r}, whose tokenizer is not that of "
                f"{chat.label!r}; encode the texts again (Learning.encode, --encode)"
            )


def _list_of(field: str, values: Iterable[T], kind: type[T]) -> list[T]:
    """The values, all of which are of this kind."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise invalid(field, values, f"a list of {kind.__name__}")
    found = list(values)
    for i, value in enumerate(found):
        if not isinstance(value, kind):
            raise invalid(f"{field}[{i}]", value, f"a {kind.__name__}")
    return found


def _check_callbacks(called: str, callbacks: Sequence[Any]) -> None:
    """Raise `UserError` for what is neither a callback of transformers nor a class of them."""
    from transformers import TrainerCallback

    for i, callback in enumerate(callbacks):
        kind = callback if isinstance(callback, type) else type(callback)
        if not issubclass(kind, TrainerCallback):
            raise invalid(f"{called}: callbacks[{i}]", callback, "a transformers.TrainerCallback")


@check_call
def learn(
    model: str,
    training: Training,
    played: Iterable[Trajectory],
    *,
    records: Sequence[Records] = (),
    reference: str | None = None,
    resume: bool = False,
    fresh: bool = False,
    callbacks: Sequence[Any] = (),
) -> TrainResult:
    """Train `model` on recorded episodes and on `records` of others (`train.data_files`), and save it in
    `training.settings.folder`.

    `reference` names the model that preference objectives compare with; None is `model` itself in its initial state.
    With `resume` an interrupted run, which must have the same model, data and settings, continues from its last
    checkpoint, or restarts if it has none. `fresh` removes an earlier training from the folder. A folder that holds a
    training is refused otherwise, and so is one that another training is writing to.
    """
    require_extra("training", *NEEDED)
    played = _list_of("learn: played", played, Trajectory)
    _check_callbacks("learn", callbacks)
    from .logprobs import ReferenceModel
    from .model_io import load_model
    from .trainer import SondeTrainer

    settings, learning = training.settings, training.learning
    made = objective_of(training.objective, **training.options)
    with _claim_folder(settings, resume=resume, fresh=fresh) as folder:
        module, tokenizer = load_model(model)
        chat = Chat(tokenizer, label=model, template=learning.template)
        data = prepare_data(training.objective, played, chat, learning, settings.max_tokens, training.recorded, records)
        compared = None
        if reference is not None and "reference" in made.needs:
            compared = ReferenceModel(
                weights=model_fingerprint(reference) or reference, load=lambda: load_model(reference)[0]
            )
            settings = replace(settings, reference="given")
        described = {"model": model, "weights": model_fingerprint(model), **_describe_training(training)}
        described |= {**data.to_json(), "reference": reference or model, "learning": learning.to_json()}
        if training.recorded:
            from .online.recorded import RecordedTrainer

            described |= {"online": training.online.to_json()}
            samples = cast("Sequence[Sample]", data.items)
            trainer: SondeTrainer = RecordedTrainer(
                module, made, samples, settings, training.online, tokenizer=tokenizer, callbacks=callbacks
            )
        else:
            trainer = SondeTrainer(module, made, data.items, settings, tokenizer, callbacks, compared)
        return _run_training(folder, described, trainer, resume)


def _describe_training(training: Training) -> dict[str, Json]:
    """The description of a training in its folder."""
    named = {"preset": training.preset, "overridden": list_overrides(training)} if training.preset else {}
    return {"objective": training.objective, "options": dict(training.options), **named}


@contextmanager
def _claim_folder(settings: TrainSettings, *, resume: bool, fresh: bool) -> Iterator[Path]:
    """Reserve the folder of a training."""
    folder = Path(settings.folder)
    if resume and fresh:
        raise UserError("train: got resume and fresh, allowed: one of them")
    with lock_folder(folder):
        if fresh:
            discard_training(folder)
        if not resume:
            check_free(folder)
        yield folder


def _run_training(folder: Path, described: Mapping[str, Any], trainer: SondeTrainer, resume: bool) -> TrainResult:
    """Train, after writing the description of the data."""
    check_origin(folder, trainer.origin)
    if trainer.is_world_process_zero():
        write_atomically(folder / DATA, orjson.dumps(described, option=orjson.OPT_INDENT_2).decode())
    return trainer.train(resume)


@check_call
def learn_online(
    model: str,
    training: Training,
    games: Sequence[Game],
    *,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    shown: Iterable[Trajectory] = (),
    server: TokenEndpoint | None = None,
    resume: bool = False,
    fresh: bool = False,
    callbacks: Sequence[Any] = (),
) -> TrainResult:
    """Train `model` while it plays. `policies` take the other seats; `shown` are demonstrations to imitate
    (`objective.bc` of ppo), encoded as the model would have seen them; `server` (`models:vllm`, `models:sglang`) plays
    with the published weights (`train.online.rollout_backend`). The rest is as in `learn`."""
    require_extra("training", *NEEDED)
    from .collect import Game

    games, shown = _list_of("learn_online: games", games, Game), _list_of("learn_online: shown", shown, Trajectory)
    seats = {seat for game in games for seat in game.env.spec.seats} - {AGENT}
    for seat in policies:
        if seat not in seats:
            raise unknown("learn_online: policies: seat", seat, seats)
    _check_callbacks("learn_online", callbacks)
    from .model_io import load_model
    from .online.trainer import OnlineTrainer

    made, settings = objective_of(training.objective, **training.options), training.settings
    with _claim_folder(settings, resume=resume, fresh=fresh) as folder:
        module, tokenizer = load_model(model)
        chat = Chat(tokenizer, label=model, template=training.online.template)
        demonstrations = _encode_demonstrations(list(shown), chat, training)
        trainer = OnlineTrainer(
            module, made, games, settings, training.online, tokenizer=tokenizer, policies=policies,
            callbacks=callbacks, shown=demonstrations, server=server,
        )  # fmt: skip
        described = {"model": model, "weights": model_fingerprint(model), **_describe_training(training)}
        return _run_training(folder, {**described, "online": trainer.resume_identity}, trainer, resume)


def _encode_demonstrations(shown: Sequence[Trajectory], chat: Chat, training: Training) -> list[Sample]:
    """Demonstrations as the model would have seen them."""
    if not shown:
        return []
    looks = {name: getattr(training.online, name) for name in SHOWN}
    data = prepare_data("bc", shown, chat, replace(training.learning, **looks), training.online.max_tokens)
    return cast("list[Sample]", list(data.items))
