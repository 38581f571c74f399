"""Write ``answers.txt``: the legal answer for each fix.

Run ``python src/sonde/envs/customer_service/sources/compile_answers.py`` after changes to the products or the reader,
and before ``compile.py``.

A line per cause: `product/cause: CATCHWORDS | SUGGESTION`. The suggestion is the last of the declared sentences for the
fix that the customer understands, or a short one made from a cue; the catchwords are the words of it without which it
is not understood, so that nobody can propose the fix without them. If every sentence is redundant, they are as few of
its words as suffice, or its first words that suffice. Catchwords belong to one product only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sonde.envs._shared.english.speech import read_speech
from sonde.envs._shared.english.tokens import tokenize, word_set
from sonde.envs.customer_service.products import Cause, load_products
from sonde.envs.customer_service.reading import content_stem, content_stems, read_sentences

TARGET = Path(__file__).resolve().parent / "answers.txt"


def main() -> None:
    taken: set[str] = set()
    rows: list[str] = []
    for product in load_products().values():
        for number, cause in enumerate(product.causes):
            words, sentence = next(row for row in answers(product.id, number, cause) if row[0] not in taken)
            taken.add(words)
            rows.append(f"{product.id}/{cause.id}: {words} | {sentence}\n")
    TARGET.write_text("".join(rows), encoding="ascii")


def answers(name: str, number: int, cause: Cause) -> Iterator[tuple[str, str]]:
    """Catchwords and sentence, the best first."""
    sentences = [*reversed(cause.suggestions), *map(short, cause.fix_cues)]
    for sentence in sentences:
        said = sentence.split()
        if is_understood(name, number, said):
            rest = [(w, said[:i], said[i + 1 :]) for i, w in enumerate(said)]
            cut = [(w, [[*a, *b], [*a, w[1:], *b]]) for w, a, b in rest]
            needed = [w for w, less in cut if not any(is_understood(name, number, words) for words in less)]
            words = [w for w in tokenize(" ".join(needed)) if content_stems([w])]
            if words and all(content_stem(w[:-1]) != content_stem(w) for w in words):
                yield " ".join(words), sentence
    for sentence in sentences:
        least = [w for w in tokenize(sentence) if content_stems([w])]
        for word in list(least):
            less = [w for w in least if w != word]
            least = less if is_understood(name, number, less) else least
        if is_understood(name, number, least) and len(least) < 4:
            yield " ".join(least), f"My suggestion: {' '.join(least)}."
    for sentence in sentences:
        said = tokenize(sentence)
        enough = next((n for n in range(1, len(said) + 1) if is_understood(name, number, said[:n])), 0)
        if enough:
            yield " ".join(w for w in said[:enough] if content_stems([w])), sentence


def short(cue: str) -> str:
    return f"Please {cue}." if cue.split(maxsplit=1)[0] in word_set("deeds") else f"My suggestion: {cue}."


def is_understood(name: str, number: int, words: Sequence[str]) -> bool:
    return read_sentences(name, read_speech(" ".join(words))).proposed == (number,)


if __name__ == "__main__":
    main()
