"""The recipe for prime-rl, which needs GPUs: its own configuration classes read the file, our taskset's fields in it.

`SONDE_TEST_WHEELS` names a folder with the package `prime_rl` of prime-rl-configs in it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from ..verl_host import WHEELS

RECIPE = Path(__file__).parents[3] / "recipes" / "interop" / "prime_rl.toml"

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]  # of what others say when imported


def test_prime_rl_reads_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own classes, which know no field but theirs and, under a source's `env`, ours."""
    monkeypatch.syspath_prepend(os.environ.get(WHEELS, "nowhere"))
    pytest.importorskip("verifiers", reason="needs the extra: pip install 'sonde-rl[verifiers]'")
    configs = pytest.importorskip("prime_rl.configs.rl", reason=f"prime_rl is not in {WHEELS}")
    from sonde.interop.outward.verifiers import SondeEnvConfig

    text = RECIPE.read_text("utf-8")
    read = configs.RLConfig.model_validate(tomllib.loads(text))
    assert read.orchestrator.algo.type == "grpo" and read.orchestrator.model.name == "Qwen/Qwen3-1.7B"
    train, test = read.orchestrator.train.source[0], read.orchestrator.eval.source[0]
    for source, split in ((train, "train"), (test, "test")):
        assert isinstance(source.env, SondeEnvConfig) and source.env.agent.runtime.type == "subprocess"
        assert source.env.taskset.split == split and source.env.taskset.make_env().tasks(split)
    assert train.group_size == 8 and train.sampling.max_completion_tokens == 1024
    with pytest.raises(ValueError, match="environment"):
        configs.RLConfig.model_validate(tomllib.loads(text.replace('env = "wordle"', 'environment = "wordle"')))
