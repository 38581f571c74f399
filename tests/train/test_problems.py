"""What a training's history says is going wrong."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.train.problems import find_problems, list_problems
from tests.cases import each


def entries(n: int = 3, **numbers: float) -> list[dict[str, float]]:
    usual = {"success": 0.4, "unreadable": 0.0, "cut": 0.0, "flat_groups": 0.3, "nll": 0.2, "turns": 5.0}
    return [{"step": i + 1, **usual, **numbers} for i in range(n)]


@each(
    "history, name, remedy",
    [
        (entries(1, unreadable=0.94), "unreadable", "online.examples"),
        (entries(1, invalid=4.9), "unreadable", "sonde train sft"),
        (entries(1, cut=0.6), "cut", "online.max_new_tokens"),
        (entries(3, flat_groups=1.0, success=0.0), "flat", "easier tasks"),
        (entries(3, flat_groups=1.0, success=1.0), "flat", "harder tasks"),
        ([*entries(2), *entries(3, nll=0.005)], "certain", "objective.kl"),
        (entries(3, kl_sampled=0.2), "kl_sampled", "settings.lr"),
        (entries(3, kl_reference=1.5), "kl_reference", "objective.kl"),
        ([*entries(1, held_out_start=0.6, held_out=0.45), *entries(1, held_out=0.4)], "worse", "folder `best`"),
    ],
)
def test_each_problem_is_named_with_what_helps(history: list[dict[str, float]], name: str, remedy: str) -> None:
    (problem,) = find_problems(history)
    assert problem.name == name and remedy in problem.remedy and str(problem) == f"{problem.seen}; {problem.remedy}"


@each(
    "history",
    [
        [], entries(), entries(2, flat_groups=1.0), [*entries(2, flat_groups=1.0), *entries(1)],
        [{"step": 1, "loss": 0.4, "nll": 0.4}, *({"step": i, "loss": 0.01, "nll": 0.001} for i in (2, 3, 4))],
        [*entries(1, held_out_start=0.6, held_out=0.4), *entries(1, held_out=0.55)],
    ],
)  # fmt: skip
def test_what_does_not_last_or_is_usual_is_none(history: list[Any]) -> None:
    """The fifth is supervised: there a small loss is what is wanted."""
    assert find_problems(history) == []


def test_the_remedy_of_a_kl_term_exists_in_both_objectives_that_have_one() -> None:
    pytest.importorskip("torch")
    from sonde.cli.training_overrides import override_training
    from sonde.train.presets import PRESETS

    (certain,) = find_problems([*entries(2), *entries(3, nll=0.005)])
    (far,) = find_problems(entries(3, kl_reference=1.5))
    for objective, name in (("grpo", "objective.kl"), ("ppo", "online.credit.kl")):
        assert f"{objective}: -o {name}=0.01" in certain.remedy and f"{objective}: -o {name}=0.01" in far.remedy
        training = PRESETS[f"tiny_{objective}"]
        changed, _ = override_training(training, {}, [f"{name}=0.01"])
        kl = changed.options["kl"] if objective == "grpo" else changed.online.credit.kl  # type: ignore[union-attr]
        assert kl == 0.01


def test_flat_groups_are_not_named_where_replies_explain_them() -> None:
    assert [p.name for p in find_problems(entries(3, flat_groups=1.0, unreadable=1.0))] == ["unreadable"]


def test_a_history_lists_each_problem_where_it_first_shows() -> None:
    history = [*entries(2), *entries(4, flat_groups=1.0, success=0.0)]
    history = [{**entry, "step": i + 1} for i, entry in enumerate(history)]
    assert [(step, problem.name) for step, problem in list_problems(history)] == [(5, "flat")]


def test_python_warns_once() -> None:
    pytest.importorskip("torch")
    from types import SimpleNamespace

    from sonde.train.callbacks import TrainingWarning, WarningCallback

    state = SimpleNamespace(
        log_history=[{"loss": 0.0, **entry} for entry in entries(3, flat_groups=1.0)], global_step=3,
        is_world_process_zero=True,
    )  # fmt: skip
    callback = WarningCallback()
    with pytest.warns(TrainingWarning, match=r"step 3: in the last 3 steps all episodes .* \(40 % won\); easier tasks"):
        callback.on_log(None, state, None)
    callback.on_log(None, state, None)
