"""Fixes in a stranger's words, and what must not pass for one: `python tests/truth/fixes.py [--missed]`.

`customer_service.fixes.txt` has a line per message: `+` where it proposes what is wrong or what helps and must win, `-`
where it must not (another cause, several at once, denied, reported, asked about, vague); the product, the hidden cause,
the message. All were written from the names of causes and fixes alone, before their author had seen the judge.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Row(NamedTuple):
    """A message, and whether it must win against this cause."""

    right: bool
    product: str
    cause: str
    message: str


def rows() -> list[Row]:
    lines = (HERE / "customer_service.fixes.txt").read_text("utf-8").splitlines()
    parts = ([part.strip() for part in line.split("|")] for line in lines)
    return [Row(mark == "+", product, cause, message) for mark, product, cause, message in parts]


def wins(row: Row) -> bool:
    """Whether the customer with this cause says that the goal is reached."""
    import sonde

    game = sonde.make("customer_service")
    seated = sonde.SeatedPolicies(game)
    seated.reset(game.task({"product": row.product, "cause": row.cause}))
    seated.step(row.message)
    outcome = seated.episode.outcome
    return outcome is not None and outcome.kind == "win"


def main() -> None:
    found = [(row, wins(row)) for row in rows()]
    if "--missed" in sys.argv[1:]:
        sys.stdout.write("".join(f"{row}\n" for row, won in found if won != row.right))
    right = [won for row, won in found if row.right]
    accepted = [row.right for row, won in found if won]
    recall, precision = 100 * sum(right) / len(right), 100 * sum(accepted) / max(len(accepted), 1)
    sys.stdout.write(f"recall {recall:.1f} % of {len(right)}, precision {precision:.1f} % of {len(accepted)}\n")


if __name__ == "__main__":
    main()
