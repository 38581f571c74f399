"""How SmolLM2-135M is best taught in a short time: adapters or all weights, and at which rate.

    python recipes/paprika/smollm2_rates.py [--quick] [--json] [--save]

A part of the teachers' games of `smollm2_games.py` is learned from by SFT in each way, one epoch, and the teachers'
replies in other games of the train split are predicted: nats per token of the agent's, by game. No test task is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import Parser, Table, publish
from retention import measure_nats
from rows import kept
from smollm2_games import LEARNED, Game, configure_program, configure_sft, measure_cost, train_model

from sonde.core import AGENT, Trajectory, build
from sonde.models.chat.chat import Chat
from sonde.models.files.fetch import fetch_model
from sonde.models.files.saving import hide_progress_bars
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import prepare_data
from sonde.train.model_io import load_model

NAME = "smollm2_rates"
WAYS = (("adapter", 1e-3), ("all weights", 1e-4), ("adapter", 3e-4), ("all weights", 3e-5))
PART, UNSEEN = 0.34, 4
"""The share of the laptop's games that is learned from, and the games of each environment that are predicted."""


def play_teachers(share: float, unseen: int) -> tuple[list[Trajectory], dict[str, list[Trajectory]]]:
    """Games to learn from, and others to predict."""
    learned: list[Trajectory] = []
    predicted: dict[str, list[Trajectory]] = {}
    for game in LEARNED:
        n = max(2, round(game.taught * share))
        played = _play(game, n + unseen)
        learned += played[:n]
        predicted[game.name] = played[n:]
    return learned, predicted


def _play(game: Game, n: int) -> list[Trajectory]:
    env, teacher = game.make_env(), build(configure_program(game, "reference"))
    return collect_trajectories(env, {AGENT: teacher}, env.tasks("train")[:n], Plan())


def predict_teachers(model: str, games: dict[str, list[Trajectory]]) -> dict[str, float]:
    """Nats per token of the teachers' replies in won games, by environment."""
    module, tokenizer = load_model(model)
    chat, learning = Chat(tokenizer, label=model, template={}), configure_sft(Path()).learning
    found: dict[str, float] = {}
    for name, played in games.items():
        rows = [sample.rows[0] for sample in prepare_data("sft", played, chat, learning).items]  # pyright: ignore[reportAttributeAccessIssue]
        nats = measure_nats(module, tokenizer.pad_token_id, rows)
        found[name] = sum(map(sum, nats)) / len(nats)
    return found


def try_way(
    kind: str, rate: float, games: tuple[list[Trajectory], dict[str, list[Trajectory]]], folder: Path
) -> dict[str, Any]:
    learned, predicted = games
    training = configure_sft(folder / f"{kind.replace(' ', '-')}-{rate:g}")
    lora = training.settings.lora if kind == "adapter" else None
    training = replace(training, settings=replace(training.settings, lr=rate, lora=lora, save_steps=None))
    trained = measure_cost(lambda: train_model(str(fetch_model("smollm2")), training, learned, None))
    return {**trained, "nats": predict_teachers(str(trained["model"]), predicted)}


def report(found: Sequence[Any]) -> Table:
    names = list(found[0]["nats"])
    cells = [
        [row["way"], *(row["nats"][name] for name in names), row.get("tokens"), row.get("cpu_seconds")]
        for row in found
    ]  # fmt: skip
    return Table("nats per token of the teachers' replies", ["", *names, "tokens", "CPU s"], cells)


def main() -> None:
    args = Parser(__doc__).parse_args()
    folder = args.out / NAME
    with hide_progress_bars():
        games = play_teachers(*((0.05, 2) if args.quick else (PART, UNSEEN)))
        source = str(fetch_model("smollm2"))
        found = [kept(folder, {"way": "before"}, lambda: {"nats": predict_teachers(source, games[1])})]
        for kind, rate in WAYS[: 2 if args.quick else None]:
            way = {"way": f"{kind}, {rate:g}"}
            found.append(kept(folder, way, lambda k=kind, r=rate: try_way(k, r, games, folder)))
    table = report(found)
    publish(args, NAME, [table], {"rows": found}, {NAME: table})


if __name__ == "__main__":
    main()
