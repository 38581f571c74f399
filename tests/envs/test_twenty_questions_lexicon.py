"""The lexicon that is shipped is the one that the phrases and the knowledge base spell out."""

from sonde.envs._rules.twenty_questions.phrases import lexicon, spelled_out


def test_the_shipped_lexicon_is_that_of_the_phrases() -> None:
    assert {k: list(v) for k, v in spelled_out().items()} == dict(lexicon())
