"""The settings of LMRL-Gym's table 5, task by task, and its strength of values at decoding.

Columns: `dialogue` (20 questions, guess my city, car dealer), `maze`, `text_nav`, `chess`, `endgames`, `wordle`. The
paper starts the value-based methods and PPO from the BC model (section 5), so give that as `--model`. It prints neither
epochs nor schedules; constant rate and one epoch are ours. The defaults of its scripts rarely equal the table: maze's
ILQL, for example, has tau .95 and no conservative term there, and that of 20 questions beta 16 and a weight of .01.

Source: LMRL-Gym (Abdulhai et al. 2023), section 5, table 5; each preset's `source` names what is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sonde._util.frozen import Frozen

from ..credit import GAE
from ..online.settings import OnlineSettings
from ..rewards import RewardMix
from ..selection import ShareRule
from ..settings import TrainSettings
from ..training import Learning, Training

TASKS = ("dialogue", "maze", "text_nav", "chess", "endgames", "wordle")
BETA: Mapping[str, Mapping[str, float]] = Frozen(
    mc=Frozen(dialogue=16.0, maze=16.0, chess=8.0, endgames=8.0, wordle=64.0),
    ilql=Frozen(dialogue=4.0, maze=16.0, text_nav=1.0, chess=8.0, endgames=8.0, wordle=32.0),
)
"""Factor of values when they are added to log-probabilities (`HF(beta=...)`); text-nav's for MC is not printed."""
MODELS: Mapping[str, str] = Frozen(dict.fromkeys(TASKS, "gpt2") | {"dialogue": "gpt2-medium"})
"""Hub names of the models; the car dealer's is gpt2-xl."""

_BC = TrainSettings(lr=1e-4, batch_size=128, schedule="constant", warmup=0.0, bf16=True, save_steps=100)
_TABLE = "LMRL-Gym table 5; constant rate, one epoch, bfloat16, micro-batch and when to save: ours"


def list_presets() -> dict[str, Training]:
    """Every method and task by name, `lmrl_TASK_METHOD`; PPO on recorded games of chess (`lmrl_chess_ppo_offline`,
    `lmrl_endgames_ppo_offline`); also `bc`, `filtered_bc` and `online_filtered_bc` by themselves."""
    every = {f"lmrl_{task}_{method}": maker(task) for task in TASKS for method, maker in _METHODS.items()}
    named = {name: every[f"lmrl_dialogue_{name}"] for name in ("bc", "filtered_bc", "online_filtered_bc")}
    offline = {f"lmrl_{task}_ppo_offline": _make_ppo_offline(task) for task in ("chess", "endgames")}
    return every | named | offline


def _make_bc(task: str) -> Training:
    several = "; it lists two rates (1e-4, 1e-5) and three sizes (128, 256, 32), of which the first"
    more = several if task == "chess" else ""
    return Training(objective="bc", settings=_BC, source=_TABLE + more)


def _make_filtered_bc(task: str) -> Training:
    top = {"dialogue": 0.1, "wordle": 0.3}.get(task)
    rule = ShareRule(success=True) if top is None else ShareRule(top=top)
    return Training(objective="bc", settings=_BC, learning=Learning(share=rule), source=_TABLE)


def _make_online_filtered_bc(task: str) -> Training:
    return Training(
        objective="bc",
        online=OnlineSettings(k=1, keep=0.3, rewards=RewardMix.from_paper("env")),
        settings=_change_settings(_BC, max_steps=100_000 // 128),
        source="LMRL-Gym section 5; its code: 128 rollouts, the best 30 % kept, from the current weights; table 5 for "
        "rate and size of BC; less than 100k samples: as it limits PPO; the rest: ours",
    )  # fmt: skip


def _make_mc(task: str) -> Training:
    cql = {"dialogue": 1e-3, "maze": 0.5, "text_nav": 1e-3, "chess": 1e-4, "endgames": 1e-4, "wordle": 1e-2}[task]
    batch = {"chess": 64, "endgames": 64, "wordle": 32}.get(task, 128)
    more = "; endgames: it prints two weights, 1 and 1e-4, of which the second" if task == "endgames" else ""
    return Training(
        objective="mc",
        options={"discount": 1.0 if task == "wordle" else 0.99, "cql": cql},
        settings=_change_settings(_BC, lr=3e-5 if task == "wordle" else 1e-4, batch_size=batch),
        source=f"{_TABLE}{more}; decode with beta {BETA['mc'].get(task, 'as for ILQL')}",
    )


def _make_ilql(task: str) -> Training:
    cql = {"dialogue": 1e-3, "maze": 0.5, "text_nav": 1e-3, "chess": 1e-4, "endgames": 1e-4, "wordle": 1e-2}[task]
    more = "; endgames: no weight is printed, so that of chess" if task == "endgames" else ""
    limit = "bootstrap" if task in ("maze", "text_nav") else "end"  # elsewhere limits are rules of the game
    return Training(
        objective="ilql",
        options={"tau": 0.99 if task == "maze" else 0.7, "discount": 0.99, "cql": cql, "limit": limit},
        settings=_change_settings(
            _BC, lr=3e-5 if task == "wordle" else 1e-4, batch_size=32 if task == "wordle" else 128
        ),
        source=f"{_TABLE}; Polyak .005: its code; limit: ours{more}; decode with beta {BETA['ilql'][task]:g}",
    )


def _make_ppo(task: str) -> Training:
    lr = {"dialogue": 1e-6, "maze": 1e-6, "text_nav": 5e-6, "chess": 1e-5, "endgames": 1e-5, "wordle": 3e-5}[task]
    rollouts = {"dialogue": 2048, "text_nav": 4000, "chess": 1024}.get(task, 512)
    batch, kl = 32 if task == "wordle" else 128, {"maze": 0.1, "wordle": 1e-3}.get(task, 0.01)
    updates = rollouts // batch
    more = f"; {updates * batch} rollouts, a multiple of the batch, for 4,000" if rollouts % batch else ""
    lessons = "; --shown RUN: whom it imitates beside" if task == "wordle" else ""
    return Training(
        objective="ppo",
        options={**_PPO, "bc": 10.0} if task == "wordle" else _PPO,
        online=OnlineSettings(
            k=1,
            updates_per_rollout=updates,
            rewards=RewardMix.from_paper("env"),
            credit=GAE(discount=0.99, lam=0.95, kl=kl),
        ),
        settings=_change_settings(
            _BC, lr=lr, batch_size=batch, max_steps=100_000 // rollouts * updates, save_steps=updates
        ),
        source=f"{_TABLE}; less than 100k samples: section 5; clip of values, whitening, k 1: its code{more}{lessons}",
    )


def _make_ppo_offline(task: str) -> Training:
    known = _make_ppo(task)
    return replace(
        known,
        recorded=True,
        settings=replace(known.settings, max_steps=None),
        source=f"{known.source}; tables 8 and 9 do not describe it: numbers of PPO, one epoch of the dataset: ours",
    )


_PPO: Mapping[str, Any] = Frozen(clip=0.2, value_clip=0.2, value_weight=0.5, linear=True)


def _change_settings(settings: TrainSettings, **changes: Any) -> TrainSettings:
    return settings.with_overrides(changes)


_METHODS = {
    "bc": _make_bc,
    "filtered_bc": _make_filtered_bc,
    "online_filtered_bc": _make_online_filtered_bc,
    "mc": _make_mc,
    "ilql": _make_ilql,
    "ppo": _make_ppo,
}
