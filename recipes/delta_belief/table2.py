"""Test with other users than in training (ΔBelief-RL, table 2, for a tiny model).

    python recipes/delta_belief/table2.py [--arms ARM ...] [--users USER ...] [--user-url URL] [--quick] [--json]

The models of `compare.py` (missing ones are trained) learned with the rule user (`rules`). Here a language model takes
its seat (`smollm2`), or answers only if the rules have no answer (`hybrid:smollm2`); users have the names of `sonde
eval --user`. Rules decide whether a guess is right, so a user can mislead, but cannot give a win away. Success is at
temperature 1, in one game of each of the 40 training secrets.

The paper uses stronger models as test users than in training. SmolLM2-135M, which runs anywhere, is a weaker one.
`--users http:MODEL --user-url URL` selects another.
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
"""Maximum tokens of a user's reply. A valid reply has a few words; a longer one is unusable and requested again."""


def make_user(name: str, url: str | None) -> Policy | None:
    """The user of this name; None for the environment's own user."""
    return (
        None if name == RULES else sonde.build(model_seats(name, None, url, None, max_new_tokens=LONGEST_REPLY)["user"])
    )


def play_users(lab: Lab, arm: str, seed: int, name: str, url: str | None) -> Row:
    """Test a model with a user."""
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
    parser.add_argument(
        "--users", nargs="+", default=[RULES, "hybrid:smollm2", "smollm2"], help="names as for `sonde eval --user`"
    )
    parser.add_argument("--user-url", help="the address of a user's model")
    args = parser.parse_args()
    lab = common.make_lab(args)
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
