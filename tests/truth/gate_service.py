"""A support agent's questions crossed with test tasks: `python tests/truth/gate_service.py customer_service [--keep]`.

`ENV.gate.txt` has a line per question, as `gate_cities.py` says: of which product (`any`: of all), the question, the
share of the test tasks whose customer answers it, that of "Yes" and of "No", and how many different answers there are.
The questions were written from the openings alone, as language models ask, before their author had seen the parser;
the last twelve are printed in ΔBelief-RL's appendix A.2.3, in other words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from gate_cities import Row, main


@cache
def cases(env: str) -> Mapping[str, Sequence[tuple[str, tuple[int, ...]]]]:
    """The product and the values of the findings of every test task, by product and in all."""
    import sonde

    game: Any = sonde.make(env)
    found: dict[str, list[tuple[str, tuple[int, ...]]]] = {"any": []}
    for task in game.split("test"):
        state: Any = sonde.Episode.begin(game, task).state
        case = state.world
        found["any"].append((case.product, case.values))
        found.setdefault(case.product, []).append((case.product, case.values))
    return found


def measured(env: str, rows: Iterable[Row]) -> list[Row]:
    """The same questions, asked now."""
    return [_asked(row, cases(env)[row.kind]) for row in rows]


def _asked(row: Row, cells: Sequence[tuple[str, tuple[int, ...]]]) -> Row:
    heard = [said for product, values in cells if (said := answer(product, values, row.question))]
    begun = Counter(said.split()[0].strip(".,") for said in heard)
    answered, yes, no = (round(100 * n / len(cells)) for n in (len(heard), begun["Yes"], begun["No"]))
    return Row(row.kind, row.question, answered, yes, no, len(set(heard)))


def answer(product: str, values: tuple[int, ...], question: str) -> str:
    """What a customer answers of the product; empty where it is nothing but that they do not know."""
    from sonde.envs.customer_service.answering import answer_finding
    from sonde.envs.customer_service.products import load_products
    from sonde.envs.customer_service.reading import answer_everyday, read_support_message

    query = read_support_message(product, question)
    if query.kind == "finding":
        return answer_finding(load_products()[product], query, values[query.target])
    if query.kind in ("fix", "cause"):
        return load_products()[product].causes[query.target].failed
    return answer_everyday(product, question)


if __name__ == "__main__":
    main(measured)
