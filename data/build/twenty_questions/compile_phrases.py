"""Spells out the phrases of twenty questions: key -> expressions, in ``envs/data/twenty_questions_lexicon.json``.

The phrases are authored by hand in ``envs/data/twenty_questions_phrases.txt``; names of classes and the meanings of
attributes come from the knowledge base. Run this file with Python after either has changed.
"""

from __future__ import annotations

import json
from pathlib import Path

from sonde.envs._rules.twenty_questions.phrases import spelled_out

OUT = Path(__file__).parents[3] / "src/sonde/envs/data/twenty_questions_lexicon.json"


def main() -> None:
    found = spelled_out()
    OUT.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    print(f"{len(found)} keys, {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
