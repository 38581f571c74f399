"""What `import sonde` offers, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sonde


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_every_name_is_there() -> None:
    for name in sonde.__all__:
        assert getattr(sonde, name) is not None
    assert {*sonde.__all__} <= {*dir(sonde)} and {*sonde.LAZY} <= {*sonde.__all__}
    assert {"make", "evaluate", "rollout", "Run", "Episode", "train"} <= {*sonde.__all__}


def test_the_first_page_needs_one_import() -> None:
    code = "import sonde; played = sonde.rollout('combination_lock', 'entropy', tasks=2); e = sonde.evaluate(played)\n"
    code += "print(len(played), e.metrics['success'].mean)"
    assert python(code) == "2 1.0"


def test_importing_sonde_loads_nothing_heavy() -> None:
    heavy = "numpy", "torch", "matplotlib", "pandas", "aiohttp", "typer", "jinja2", "sonde.evaluation", "sonde.viewer"
    assert python(f"import sys, sonde; print(*(m for m in {heavy} if m in sys.modules))") == ""


def test_the_name_of_a_module_loads_it_without_torch() -> None:
    code = "import sys, sonde; sonde.train, sonde.train.preset; print('torch' in sys.modules)"
    assert python(code) == "False"
    assert python("import sonde; print(sonde.figures.FORMATS)") == "('pdf', 'svg', 'png')"


def test_training_is_called_by_name() -> None:
    pytest.importorskip("torch")
    from sonde.train import by_name

    assert sonde.train.learn is by_name.learn and sonde.train.learn_online is by_name.learn_online
    assert sonde.train.preset("tiny_sft").objective == "sft" and sonde.train.Game.__name__ == "Game"
    with pytest.raises(AttributeError, match=r"module 'sonde\.train' has no attribute 'fit'"):
        sonde.train.fit  # noqa: B018  # pyright: ignore


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sonde' has no attribute 'evalute'"):
        sonde.evalute  # noqa: B018  # pyright: ignore


def test_values_print_in_two_lines_at_most() -> None:
    env = sonde.make("wordle")
    ep = sonde.Episode.begin(env, env.task("toast")).step(env.say("boost"))
    (played,) = sonde.rollout(env, "random", tasks=1)
    shown = {
        ep: "<Episode wordle/custom[0] seed 0: 1 acts, agent to act>",
        ep.posterior(): "<Belief over 9 hypotheses, 3.17 bits: 'coast' 0.111, 'foist' 0.111, 'hoist' 0.111, ...>",
        played: f"<Trajectory {played.id[:8]} of wordle (paprika), test 0, seed 0, sample 0: 6 turns, out_of_turns>",
    }
    assert {value: repr(value) for value in shown} == shown
    lines = repr(sonde.evaluate([played])).splitlines()
    assert lines[0] == "<Evaluation of random in wordle (paprika), 1 tasks of test, 1 samples each:"
    assert lines[1].startswith(" success 0.000 [") and len(lines) == 2
