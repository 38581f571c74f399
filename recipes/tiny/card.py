"""Copy the first of several trained models into the package, if all pass the gate, and write its card.

    python recipes/tiny/card.py --env maze runs/tiny/maze-0 runs/tiny/maze-1 runs/tiny/maze-2 [--to FOLDER]

Reads the gate's numbers from the folders, where `gate.py` wrote them, and writes `training.json` and `CARD.md`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import games
import gate
from games import Game, Lesson
from gate import Measured

from sonde.train.training_folder import COMMAND

PACKAGE = Path(__file__).parents[2] / "src" / "sonde" / "models" / "tiny"

CARD = """# {name}

A language model of {parameters:,} parameters that plays one environment of sonde like a novice: {title}.
It exists so that learning from one's own play can be shown, tested and measured on a laptop.

```python
model = sonde.make("models:hf", model="{name}", max_batch=256)
agent = sonde.make("agents:llm", model=model, context="{context}", temperature=1.0, min_p=0.0, max_new_tokens=8)
```

## What it is

- Llama architecture: 96 wide, 3 layers, 4 heads, SwiGLU 256, tied embeddings, {window} tokens of context, float32.
- A tokenizer of its own with {words} entries: the words, numbers and signs of this environment; one token each.
- Trained from scratch on {tokens:,} tokens of play, in {minutes:.1f} CPU minutes on one thread (all of it: vocabulary,
  play of the teachers, training), seed {seed}: `python recipes/tiny/train.py --env {called} --seed {seed}`.
- The play is that of program teachers on tasks of the train split, by the real rules, in the real chat format. Their
  skill, defined in `recipes/tiny`, is drawn once per episode. Lessons, with their share of the steps and of teachers:
{lessons}
- {worlds}

## What it is not

It is not a general language model: it knows no word but those of its environment, reads every other one as `<unk>`,
and can neither chat nor reason nor play anything else. It is deliberately not good at its game. Nothing that is shown
with it says how large models explore.

## What it was measured to do

Test tasks, {n} episodes each, 95 % intervals (Wilson, by task); training seeds {seeds}, of which {seed} is this one.

{table}

Turns per episode at temperature 1: {turns:.1f}.

## Licence

Apache-2.0. Weights, tokenizer and teachers' play were made by the authors of sonde; no other model or data was used.
"""


def collect_facts(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "training.json").read_text())


def write_card(game: Game, known: Mapping[str, Any], rows: Sequence[Measured]) -> str:
    """The text of `CARD.md`."""
    return CARD.format(
        **known,
        called=game.called or game.env.name,
        seeds=", ".join(str(row.seed) for row in rows),
        name=game.name,
        title=game.title,
        window=game.window,
        worlds=game.worlds,
        minutes=known["cpu_seconds"] / 60.0,
        lessons="\n".join(f"  {i}. {_describe_lesson(lesson)}" for i, lesson in enumerate(game.lessons, 1)),
        n=rows[0].episodes,
        table=gate.format_table(game, rows),
        turns=rows[0].warm.turns,
    )


def _describe_lesson(lesson: Lesson) -> str:
    taught = ", ".join(f"{skill} {share:.0%}" for skill, share in lesson.skills.items())
    said = [taught or "drill, beginnings of games without rules or teachers, and what is hidden stated"]
    said += ["without the rules, to save time"] if lesson.bare else []
    said += [f"what is hidden stated in {lesson.stated:.0%} of the episodes"] if lesson.stated else []
    return f"{lesson.share:.0%} of the steps: {'; '.join(said)}"


def ship_model(game: Game, folders: Sequence[Path], rows: Sequence[Measured], to: Path) -> None:
    """Copy the first folder to its place, with the measurements."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folders[0], to, ignore=shutil.ignore_patterns("gate.json", COMMAND))
    for path in to.iterdir():
        path.chmod(0o644)
    known = {**collect_facts(folders[0]), "gate": [asdict(row) for row in rows]}
    (to / "training.json").write_text(json.dumps(known, indent=2) + "\n")
    (to / "CARD.md").write_text(write_card(game, known, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="models of training seeds 0, 1, ...; seed 0 is shipped")
    parser.add_argument("--env", choices=sorted(games.GAMES), required=True)
    parser.add_argument("--no-gate", action="store_true", help="ship a model that is meant to play badly")
    parser.add_argument("--to", type=Path, default=None, help="folder to write (default: that of the package)")
    args = parser.parse_args()
    game = games.GAMES[args.env]()
    rows = [gate.load_measurements(folder) for folder in args.folders]
    print(gate.format_table(game, rows))
    missed = [
        f"{folder}: {text}" for folder, row in zip(args.folders, rows, strict=True) for text in gate.list_failures(row)
    ]
    if missed and not args.no_gate:
        sys.exit("\n".join(missed))
    ship_model(game, args.folders, rows, args.to or PACKAGE / args.env)


if __name__ == "__main__":
    main()
