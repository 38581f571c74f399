"""A model for the tests of TRL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model and a tokenizer that know the game's words. Afterwards, what TRL sets for the whole process is undone."""
    import torch
    from accelerate.state import AcceleratorState, GradientState

    from ..train.asking import WORDS
    from ..train.tiny import knowing

    generator = torch.get_rng_state()
    yield Path(knowing(WORDS, tmp_path_factory.mktemp("trl")))
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    torch.set_rng_state(generator)
