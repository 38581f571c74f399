"""Trainings on the page: curves that say what was logged, safe and small, and the stages of a model side by side."""

from __future__ import annotations

import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sonde.core import UserError
from sonde.evaluation.run_evaluation import EVALUATION
from sonde.train.presets import preset
from sonde.train.settings import TrainSettings, write_settings
from sonde.viewer import write_report
from sonde.viewer.figures.training import (
    PANELS,
    THIN_TO,
    draw_training,
    format_tick,
    is_constant,
    moving_mean,
    smoothing_window,
    thin_points,
)
from sonde.viewer.training_history import DATA, HISTORY, SETTINGS, Series, describe_settings, read_histories

from .conftest import play as play_codes

PAIR = {"accuracy": 0.5, "reward_margin": 0.1, "log_ratio_chosen": 0.2, "log_ratio_rejected": -0.3, "nll": 0.4}
PLAYED = {"success": 0.1, "score": 0.1, "reward": 0.1, "turns": 4.0, "ratio": 1.0, "clipped_low": 0.0, "errors": 0.0}


def entries(n: int, numbers: dict[str, float], **more: Any) -> list[dict[str, Any]]:
    """A history in which all that is not 0 or 1 grows by a tenth of itself at every step."""
    grown = [{k: v if v in (0, 1) else v * (1 + i / 10) for k, v in numbers.items()} for i in range(n)]
    return [{"loss": 1 / (i + 1), "grad_norm": 0.5 + i, **grown[i], **more, "step": i + 1} for i in range(n)]


def training(folder: Path, rows: list[dict[str, Any]], /, **data: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / HISTORY).write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    write_settings(folder / SETTINGS, preset("tiny_rpo", folder=str(folder)).settings)
    if data:
        (folder / DATA).write_bytes(orjson.dumps(data))
    return folder


def page(folders: list[Path], to: Path, **options: Any) -> str:
    return write_report(folders, to / "report.html", **options).read_text("utf-8")


def figures(text: str) -> dict[str, str]:
    """The accessible description of every figure of trainings, by its title."""
    labels = re.findall(r'aria-label="([^"]* by step of the training [^"]*)"', text)
    return {label.partition(" by step")[0]: label for label in labels}


def play(folder: Path, label: str, model: str) -> Path:
    """A run whose agent says that its model is `model`."""
    agent = {"name": "agents:llm", "model": {"name": "models:fake", "pattern": ("<Answer>12</Answer>",)}}
    run = play_codes(folder / label, agent, label=label)
    saved = orjson.loads((run / EVALUATION).read_bytes())
    saved["agent"]["model"]["model"] = model
    (run / EVALUATION).write_bytes(orjson.dumps(saved))
    return run


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_names_of_files_are_those_that_training_writes() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from sonde.train import by_name, trainer

    assert (HISTORY, SETTINGS, DATA) == (trainer.HISTORY, trainer.SETTINGS, by_name.DATA)


def test_pairs_are_drawn_in_the_figures_of_pairs(tmp_path: Path) -> None:
    found = figures(page([], tmp_path, training=[training(tmp_path / "rpo", entries(5, PAIR))]))
    wanted = {"Loss", "Pairwise accuracy", "Reward margin", "Log ratios", "Negative log-likelihood"}
    assert set(found) == {*wanted, "Gradient norm"}
    assert found["Loss"] == "Loss by step of the training rpo: loss from 1 to 0.2"
    assert found["Log ratios"].endswith("log ratio chosen from 0.2 to 0.28, log ratio rejected from −0.3 to −0.42")


def test_what_never_changes_is_told_and_equal_lines_are_one(tmp_path: Path) -> None:
    text = page([], tmp_path, training=[training(tmp_path / "grpo", entries(5, PLAYED))])
    assert set(figures(text)) == {"Loss", "Success", "Reward", "Turns", "Gradient norm"}
    assert "Constant: ratio 1, clipped low 0, errors 0." in text
    assert ">reward = return</text>" in text


def test_what_went_wrong_stands_first_and_then_what_was_held_out(tmp_path: Path) -> None:
    rows = [{**row, "flat_groups": 1.0, "held_out": 0.2} for row in entries(5, {**PLAYED, "success": 0.0})]
    rows[0]["held_out_start"] = 0.5
    text = page([], tmp_path, training=[training(tmp_path / "grpo", rows)])
    section = text[text.index('<section class="env training') :]
    problem, headline = section.index("so nothing was learned"), section.index("held-out tasks won")
    assert section.index("<b>Step 2:</b> 20 % of the held-out tasks are won, 50 % before training.") < headline
    assert problem < headline < section.index("<dl") < section.index("<figure>")
    assert "<b>50 % → 20 %</b><span>held-out tasks won" in section and "<b>0 %</b><span>own episodes won" in section
    assert "<b>100 %</b><span>groups without a signal" in section and "unreadable answers" not in section
    first = re.search(r"<figcaption><b>([^<]*)</b>", section)
    assert first is not None and first[1] == "Success" and "flat groups 1" in section


def test_success_that_never_changes_is_drawn(tmp_path: Path) -> None:
    rows = entries(4, {"success": 0.0, "turns": 1.0})
    assert set(figures(page([], tmp_path, training=[training(tmp_path / "a", rows)]))) == {
        "Loss",
        "Success",
        "Gradient norm",
    }


def test_ticks_of_an_axis_can_be_told_apart() -> None:
    ticks = [0.693141, 0.693142, 0.693143]
    assert len({format_tick(value, ticks) for value in ticks}) == 3
    assert [format_tick(value, [0.0, 0.5, 1.0]) for value in (0.0, 0.5, 1.0)] == ["0", "0.5", "1"]


def test_no_name_or_number_passes_the_edge_of_its_figure(tmp_path: Path) -> None:
    folder = training(tmp_path / "t", entries(3, PLAYED, held_out_score=0.2))
    (history,) = read_histories([folder], [])
    tiny = {**history.series, "loss": Series((1, 2, 3), (-1.25e-08, -2e-08, -3.75e-08))}
    drawn = draw_training(replace(history, series=tiny))
    for name, drawing in drawn.items():
        box = drawing.figure.get_tightbbox(FigureCanvasAgg(drawing.figure).get_renderer())
        assert box.x0 >= 0 and box.x1 <= drawing.figure.get_size_inches()[0], name
    assert {"reward", "loss"} <= drawn.keys()


def test_a_loss_that_is_the_likelihood_is_drawn_once(tmp_path: Path) -> None:
    rows = [{**row, "nll": row["loss"] * (1 + 1e-7)} for row in entries(5, {})]
    text = page([], tmp_path, training=[training(tmp_path / "sft", rows)])
    assert set(figures(text)) == {"Loss", "Gradient norm"} and "The loss is the negative log-likelihood" in text


def test_numbers_without_words_get_a_figure_under_their_own_name(tmp_path: Path) -> None:
    hostile = "<script>x</script>\u202e"
    text = page([], tmp_path, training=[training(tmp_path / "a", entries(3, {"my_metric": 2.0, hostile: 3.0}))])
    assert figures(text)["My metric"].endswith("my metric from 2 to 2.4")
    assert "<script>x" not in text and "\u202e" not in text and "&lt;script>x" in text


def test_every_logged_number_has_one_figure() -> None:
    names = [name for panel in PANELS for name in panel.lines]
    assert len(names) == len(set(names))
    assert {*PAIR, *PLAYED, "loss", "grad_norm", "learning_rate"} <= set(names)


def test_one_step_makes_a_table_and_no_curve(tmp_path: Path) -> None:
    text = page([], tmp_path, training=[training(tmp_path / "one", entries(1, PAIR))])
    assert not figures(text) and "One step was logged, so there is no curve." in text
    assert '<th scope="row">log ratio rejected</th><td>−0.3</td>' in text


def test_a_long_history_stays_small(tmp_path: Path) -> None:
    rows = [{"loss": math.sin(i * i), "reward": math.cos(i * i), "score": 0.5 * i, "step": i} for i in range(1, 20_001)]
    text = page([], tmp_path, training=[training(tmp_path / "long", rows)])
    assert len(text) < 140_000 and "their moving mean over 667 points" in text
    for path in re.findall(r'<path d="([^"]*)"', text):
        assert len(re.findall("[ML]", path)) <= THIN_TO + 1  # the drawing library may repeat the last point


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(4, 100))
def test_thinning_keeps_ends_and_extremes(values: list[float], most: int) -> None:
    at = thin_points(values, most)
    assert at == sorted(set(at)) and (at[0], at[-1]) == (0, len(values) - 1) and len(at) <= max(most, 2)
    assert {min(values), max(values)} <= {values[i] for i in at}


def test_the_moving_mean_leaves_lines_alone_and_short_curves_too() -> None:
    values = [2.0 * i for i in range(100)]
    assert smoothing_window(len(values)) == 3
    assert moving_mean(values)[1:-1] == pytest.approx(values[1:-1])
    assert (moving_mean(values)[0], moving_mean(values)[-1]) == (1.0, 197.0)
    assert list(moving_mean(values[:60])) == pytest.approx(values[:60])


def test_rates_may_change_by_little_but_shares_may_not() -> None:
    found = Series((1, 2), (1e-7, 2e-7))
    assert not is_constant("learning_rate", found) and is_constant("success", found)


# --- what is told -----------------------------------------------------------------------------------------------------


def test_settings_are_listed_where_they_are_not_the_default() -> None:
    assert describe_settings(preset("paprika_sft").settings)[:5] == [
        "lr 1e-06", "schedule cosine", "warmup 0.04", "epochs 1.0", "batch_size 32",
    ]  # fmt: skip
    found = describe_settings(preset("starpo", max_steps=70, seed=5, clip=0.0, logging_steps=2).settings)
    assert {"max_steps 70", "seed 5", "clip 0.0", "lora.r 64", "lora.alpha 64.0", "betas [0.9, 0.95]"} <= set(found)
    assert "logging_steps 2" in found and "lora.targets all-linear" in found
    usual = describe_settings(TrainSettings())
    for settings in (TrainSettings(packing=True), TrainSettings(micro_tokens=9), TrainSettings(bf16=True)):
        assert len(describe_settings(settings)) == 1 + len(usual)


def test_data_and_models_are_told(tmp_path: Path) -> None:
    selected = {"tasks": 20, "failed": 0, "solved": 7, "pairs": 6}
    sft = training(
        tmp_path / "round-1" / "sft", entries(3, {}), objective="sft", model="hub/name", items=4, selected={}
    )
    named = {"preset": "tiny_rpo", "overridden": ["options.beta 0.5 (0.1)", "settings.lr 0.1 (2e-05)"]}
    data = {"objective": "rpo", "options": {"beta": 0.5}, "items": 6, "selected": selected, "rows": {"tokens": 12345}}
    rpo = training(tmp_path / "round-1" / "rpo", entries(3, PAIR), model=str(sft / "model"), **named, **data)
    text = page([], tmp_path, training=[sft, rpo])
    for told in ("hub/name", "the model of sft", "likelihood of the chosen trajectory, with beta 0.5",
                 "6 pairs of episodes", "4 samples",
                 "tiny_rpo, but options.beta 0.5 (0.1), settings.lr 0.1 (2e-05)"):  # fmt: skip
        assert told in text
    assert "tasks 20, solved 7, pairs 6" in text and "tokens 12,345" in text and "micro_batch 32" in text


def test_games_are_told(tmp_path: Path) -> None:
    online = {"k": 8, "temperature": 1.0, "games": [{"name": "maze", "env": {}, "tasks": 1500}]}
    rows = entries(3, PLAYED, episodes=192)
    text = page([], tmp_path, training=[training(tmp_path / "a", rows, objective="grpo", model="m", online=online)])
    assert "self-play of maze (1,500 tasks), 8 episodes per task, temperature 1" in text
    assert "3 steps, 192 episodes played" in text


def test_names_are_as_long_as_they_need_to_be(tmp_path: Path) -> None:
    folders = [training(tmp_path / a / "rpo", entries(2, {})) for a in ("round-1", "round-2")]
    assert [h.name for h in read_histories(folders)] == ["round-1/rpo", "round-2/rpo"]
    assert [h.name for h in read_histories([*folders[:1], *folders[:1]])] == ["rpo"]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {**row, "accuracy": None if i == 1 else 0.1 * i} for i, row in enumerate(entries(4, {}))
    ]
    folder = training(tmp_path / "a", rows)
    (folder / SETTINGS).unlink()
    text = page([], tmp_path, training=[folder])
    assert "accuracy: no number in 1 of 4 entries" in text
    assert "settings.json is not in the folder" in text and "data.json is not in the folder" in text


def test_a_folder_without_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no history\.jsonl"):
        write_report([], tmp_path / "report.html", training=[tmp_path])
    folder = training(tmp_path / "a", [])
    for content, told in (
        (b"", "got no entries"),
        (b"{", "line 1: not JSON"),
        (b'{"loss": 1}\n', "whole number as its"),
    ):
        (folder / HISTORY).write_bytes(content)
        with pytest.raises(UserError, match=told):
            write_report([], tmp_path / "report.html", training=[folder])
    assert not (tmp_path / "report.html").exists()


# --- beside evaluations -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    """Evaluations before and after two trainings, named so that their order is not that of the alphabet."""
    root = tmp_path_factory.mktemp("pipeline")
    sft = training(root / "sft", entries(4, {}), objective="sft", model="hub/name")
    rpo = training(root / "rpo", entries(4, PAIR), objective="rpo", model=str(sft / "model"))
    models = {"untrained": "hub/name", "fine-tuned": str(sft / "model"), "by-pairs": str(rpo / "model")}
    return [play(root / "runs", label, model) for label, model in models.items()], [sft, rpo]


def test_trainings_carry_the_name_and_colour_of_the_agent_they_made(
    pipeline: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    text = page(pipeline[0], tmp_path, training=pipeline[1], transcripts=0)
    assert text.count('<section class="env training of-agent agent-1"') == 1
    assert "the model of fine-tuned" in text and "Loss by step of the training by-pairs" in text
    for i, section in enumerate(text.split('<section class="env training')[1:], 1):
        assert f"stroke: var(--agent{i})" in section and f"stroke: var(--agent{i - 1})" not in section
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids)) and {"training-0", "training-1"} <= set(ids)


@pytest.mark.thorough
def test_stages_stand_in_the_order_given(pipeline: tuple[list[Path], list[Path]], tmp_path: Path) -> None:
    runs, trained = pipeline
    for order in (runs, runs[::-1]):
        text = page(order, tmp_path, training=trained, transcripts=0)
        label = re.search(r'aria-label="Episodes won by stage in mastermind: ([^"]*)"', text)
        assert label and re.findall(r"[a-z-]+(?= \d)", label[1]) == [folder.parent.name for folder in order]
    assert "by-pairs +0.0 [" in page(runs, tmp_path, training=trained, transcripts=0)
    assert "Before and after training" not in page(runs, tmp_path, transcripts=0)  # nothing says that these are stages


def test_stages_are_known_by_the_labels_of_a_pipeline(pipeline: tuple[list[Path], list[Path]], tmp_path: Path) -> None:
    copies: list[Path] = []
    for folder, label in zip(pipeline[0], ("base", "round-1-sft", "another"), strict=True):
        copy = Path(shutil.copytree(folder, tmp_path / label))
        saved = orjson.loads((copy / EVALUATION).read_bytes())
        (copy / EVALUATION).write_bytes(orjson.dumps({**saved, "label": label}))
        copies.append(copy)
    text = page(copies, tmp_path, transcripts=0)
    label = re.search(r'aria-label="Episodes won by stage in mastermind: ([^"]*)"', text)
    assert label and "base" in label[1] and "round-1-sft" in label[1] and "another" not in label[1]
    assert "Before and after training" not in page(copies[1:], tmp_path, transcripts=0)


@pytest.mark.slow
def test_equal_trainings_give_equal_bytes(pipeline: tuple[list[Path], list[Path]], tmp_path: Path) -> None:
    first, second = (page(pipeline[0], tmp_path, training=pipeline[1]) for _ in range(2))
    assert first == second
    assert page(pipeline[0], tmp_path) != first
