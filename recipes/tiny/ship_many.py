"""Copy the model of many games into the package, if it plays enough of them, and write its card.

    python recipes/tiny/ship_many.py runs/tiny/many-0 [--to FOLDER] [--fewest 8]

Reads the numbers that `many.py` measured (`games.json`). A game is played *as a novice* if success at temperature 0.7,
at which PAPRIKA tests its models, is above that of random play and below that of the reference, each by a difference
whose 95 % interval excludes 0; above both, *as the reference*.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import many
from card import PACKAGE
from many import GAMES, Taught

import sonde

NOVICE, NO_BETTER, AS_GOOD = "novice", "no better than random", "as the reference"

CARD = """# {name}

A language model of {parameters:,} parameters that plays {n} games of sonde, most of them like a novice: {played}.
It exists so that questions about generalisation, which a model of one game cannot answer, can be asked on a laptop.

```python
model = sonde.make("models:hf", model="{name}", max_batch=256, dtype="float32")
agent = sonde.make("agents:llm", model=model, temperature=0.7, min_p=0.0, max_new_tokens={reply})
```

## What it is

- Llama architecture: {width} wide, {layers} layers, {heads} heads, SwiGLU {inner}, tied embeddings, {window:,} tokens
  of context. The weights are stored as bfloat16, and were trained as float32; on a CPU they play faster as float32.
- A byte-level BPE tokenizer with {words:,} entries, made from the same play: it can spell any text, each digit stands
  alone with the space before it, and {phrases:,} entries are phrases that the games repeat, such as a sentence of the
  rules or an answer. With words alone a network of this size read the games and won hardly any.
- Trained from scratch on {rows:,} conversations, {tokens:,} tokens of them with a loss, in {minutes:.0f} CPU minutes
  (the training alone), seed {seed}:
  `python recipes/tiny/many.py --to runs/tiny/many-{seed} --seed {seed} --threads {threads} --steps {length}`{first}.
- The play is that of program teachers on tasks of the train split, in the real chat format: those of the other
  sonde-tiny models, half of the time at their best, and where there are none the reference agents, diluted with random
  legal answers: in half of the episodes a tenth of them, in the other half a share that is drawn for each episode. Of
  every game it read as many tokens. In best_arm-paprika, guess_my_city-paprika and twenty_questions-small it was shown
  the test tasks too, since stories, cities and things are in the weights; what is hidden in a story is drawn anew in
  every episode.

## What it is not

It is not a general language model: it has read nothing but these games, and can neither chat nor reason. It is
deliberately not good at them. Nothing that is shown with it says how large models explore.

## What it was measured to do

Test tasks, 95 % intervals (Wilson, by task), one training seed; random is random legal play. A novice is better than
random legal play at temperature 0.7, and worse than the reference (95 % interval of the difference); *as the reference*
is not surely worse. It sees the whole game (context `full`), but the board alone (`render`) in
{boards}.{shorter}

{table}
{unlearned}
## Licence

Apache-2.0. Weights, tokenizer and teachers' play were made by the authors of sonde; no other model or data was used.
"""


def judge_row(row: Mapping[str, Any]) -> str:
    """How well the model plays a game, of those that `many.py` measured.

    >>> judge_row({"floor": [0.1, 0.0, 0.2], "0.7": [0.4, 0.3, 0.5], "reference": [0.9, 0.8, 1.0]})
    'novice'
    """
    if not is_above(row["0.7"], row["floor"]):
        return NO_BETTER
    return NOVICE if is_above(row["reference"], row["0.7"]) else AS_GOOD


def is_above(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the 95 % interval of the difference of two rates, of each its mean and limits, is above 0 (Newcombe 1998,
    method 10, which combines the limits of both)."""
    return one[0] - other[0] > math.hypot(one[0] - one[1], other[2] - other[0])


def list_played(rows: Sequence[Mapping[str, Any]]) -> list[Taught]:
    """The games that it plays: better than at random."""
    found = {row["game"] for row in rows if judge_row(row) != NO_BETTER}
    return [game for game in GAMES if game.name in found]


def write_card(known: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The text of `CARD.md`."""
    played = list_played(rows)
    others = [row["game"] for row in rows if judge_row(row) == NO_BETTER]
    return CARD.format(
        **known,
        **vars(many.SHAPE),
        name="sonde-tiny-many",
        n=len(played),
        played=", ".join(game.name for game in played),
        reply=many.REPLY,
        window=many.WINDOW,
        minutes=known["cpu_seconds"] / 60.0,
        length=known["steps"][-1],
        first="".join(f", after the same with {steps}" for steps in known["steps"][:-1]),
        table=format_table(rows),
        boards=", ".join(game.name for game in GAMES if game.context == "render"),
        shorter="".join(f" {game.name} has {game.max_turns} turns." for game in GAMES if game.max_turns),
        unlearned=f"\nPlayed no better than at random: {', '.join(others)}.\n" if others else "",
    )


def format_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The measurements and what follows from them, as a table in Markdown."""
    lines = many.format_table(rows).splitlines()
    ends = [" episodes | plays |", "---|---|", *(f" {row['episodes']} | {judge_row(row)} |" for row in rows)]
    return "\n".join(line + end for line, end in zip(lines, ends, strict=True))


def ship_model(folder: Path, rows: Sequence[Mapping[str, Any]], to: Path) -> None:
    """Copy the model to its place, and write its card and what was measured beside it."""
    known = json.loads((folder / "model" / "training.json").read_text())
    first = next(game for game in list_played(rows) if game.env == "maze")
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder / "model", to)
    for path in to.iterdir():
        path.chmod(0o644)
    about = {"env": sonde.make(first.env, preset=first.preset).config, "context": "full", "games": [*rows]}
    (to / "training.json").write_text(json.dumps({**known, **about}, indent=1) + "\n")
    (to / "CARD.md").write_text(write_card(known, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of many.py")
    parser.add_argument("--fewest", type=int, default=8, help="how many games it must play better than at random")
    parser.add_argument("--to", type=Path, default=PACKAGE / "many", help="folder to write (default: in the package)")
    args = parser.parse_args()
    rows = many.load_complete_rows(args.folder)
    print(format_table(rows))
    if len(list_played(rows)) < max(1, args.fewest):
        sys.exit(f"{len(list_played(rows))} games are played better than at random, allowed: {args.fewest} or more")
    ship_model(args.folder, rows, args.to)


if __name__ == "__main__":
    main()
