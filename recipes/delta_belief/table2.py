"""Other users at test than in training (ΔBelief-RL, table 2, for a tiny model).

    python recipes/delta_belief/table2.py [--arms ARM ...] [--users USER ...] [--user-url URL] [--quick] [--json]

The models of `compare.py`, trained where they are missing, learned with the rule user (`rules`). Here a language model
takes its seat (`smollm2`), or is asked only where the rules have no answer (`hybrid:smollm2`); users are named as by
`sonde eval --make_user`. Rules decide whether a guess is right, so that a user can mislead, but give no win away.
Success at T=1, one game of each of the 40 things that were secrets in training.

The paper puts stronger models in the place of the one that it trained with. SmolLM2-135M, which runs anywhere, is a
weaker one. `--users http:MODEL --make_user-url URL` asks another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import common
from common import ARMS, Cell, Lab, Row, estimate_success, format_estimate

import sonde
from sonde.cli.players import model_seats
from sonde.core import Policy

RULES = "rules"
LONGEST_REPLY = 24
"""Tokens. A reply is one of a few words; one that goes on cannot be used, and is asked for again."""


def make_user(name: str, url: str | None) -> Policy | None:
    """Who replies; None is the environment's own user."""
    return (
        None if name == RULES else sonde.build(model_seats(name, None, url, None, max_new_tokens=LONGEST_REPLY)["user"])
    )


def play_users(lab: Lab, arm: str, seed: int, name: str, url: str | None) -> Row:
    """How a model plays against a user."""
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    key: dict[str, Any] = {
        "measure": "user",
        "arm": arm,
        "user": name,
        "url": url,
        "seed": seed,
        **lab.training_identity,
    }
    return common.load_or_make_row(lab.out, key, partial(_play_user_of_seed, model, seed, name, url))


def _play_user_of_seed(model: str, seed: int, name: str, url: str | None) -> dict[str, Any]:
    return {"drawn": common.play_games(model, 1.0, 1, seed + 2000, split="train", user=make_user(name, url))}


Table = Mapping[str, Mapping[str, Sequence[Row]]]


def as_json(table: Table) -> dict[str, dict[str, Any]]:
    return {
        arm: {name: asdict(estimate_success(found, "drawn")) for name, found in row.items()}
        for arm, row in table.items()
    }


def tabulate_users(table: Table) -> list[list[Cell]]:
    return [
        [arm, *(format_estimate(estimate_success(found, "drawn")) for found in row.values())]
        for arm, row in table.items()
    ]


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief", "to_go"])
    parser.add_argument("--users", nargs="+", default=[RULES, "hybrid:smollm2", "smollm2"], help="as of `--user`")
    parser.add_argument("--user-url", help="where a user's model is served")
    args = parser.parse_args()
    lab = common.lab_of(args)
    common.run_arms(lab, {name: ARMS[name] for name in args.arms})
    table = {
        arm: {
            name: [play_users(lab, arm, seed, name, args.user_url) for seed in range(lab.seeds)] for name in args.users
        }
        for arm in ("base", *args.arms)
    }
    common.print_rows(args, "table2", ["arm", *args.users], tabulate_users(table), as_json(table))


if __name__ == "__main__":
    main()
