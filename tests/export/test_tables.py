"""The two tables of runs: values by hand, the same in every format, and as data frames."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde._util import extras
from sonde.beliefs.elicitation import Elicited
from sonde.beliefs.records import save_beliefs
from sonde.core import Action, ProgramPolicy, UserError, View
from sonde.evaluation.run_evaluation import reopen_run, rescore_run
from sonde.export import frames, write_tables
from sonde.export.columns import EPISODES, TABLES, TURNS
from sonde.export.tables import Source, table_columns, tabulate

BANDIT = sonde.make("bernoulli_bandit")
PAGE = Path(__file__).parents[2] / "docs" / "take-numbers-away.md"


class Pull(ProgramPolicy):
    """Pulls one arm all the time."""

    def act_now(self, view: View) -> Action:
        return Action(BANDIT.say("Q"))


def play(folder: Path, env: Any = BANDIT, agent: Any = None, **options: Any) -> sonde.Run:
    return sonde.rollout(env, agent or Pull(), folder=folder, **options)


def rows(table: Any, run: sonde.Run) -> list[dict[str, Any]]:
    return [dict(row) for row in tabulate(table, [Source.from_run(run)])]


def test_turns_of_a_bandit_by_hand(tmp_path: Path) -> None:
    """Five arms, one pays with 0.6 and the others with 0.4. Truth: not Q. A failure of Q has the likelihood 0.4 if Q
    pays more and 0.6 otherwise; a success the reverse."""
    run = play(tmp_path / "run", tasks=1)
    (episode,) = run
    mine = [row for row in rows("turns", run) if row["trajectory"] == episode.id]
    assert [row["turn"] for row in mine] == [*range(1, 101)]
    of_q, of_others, best = 0.2, 0.8, 0.2
    for row, turn in zip(mine, episode.turns, strict=True):
        paid = turn.info["reward"] == 1.0
        assert row["reward"] == turn.info["reward"] and row["result"] == "step" and row["tokens"] == 0
        assert row["regret"] == pytest.approx(0.2), "Q is not the best arm of this world"
        assert row["exact_before"] == pytest.approx(best)
        of_q, of_others = of_q * (0.6 if paid else 0.4), of_others * (0.4 if paid else 0.6)
        of_q, of_others = of_q / (of_q + of_others), of_others / (of_q + of_others)
        best = of_others / 4
        entropy = -sum(p * math.log2(p) for p in (of_q, *[best] * 4))
        assert row["exact_after"] == pytest.approx(best) and row["entropy_after"] == pytest.approx(entropy)
        assert row["bits"] == pytest.approx(row["entropy_before"] - row["entropy_after"])
        assert row["truth_bits"] == pytest.approx(math.log2(row["exact_after"] / row["exact_before"]))


def test_episodes_are_the_sums_of_their_turns(tmp_path: Path) -> None:
    fake = sonde.make("agents:llm", model=sonde.make("models:fake"))
    runs = [
        play(tmp_path / "bandit", tasks=2, k=2),
        play(tmp_path / "wordle", sonde.make("wordle"), "random", tasks=3),
        play(tmp_path / "llm", sonde.make("wordle"), fake, tasks=2),
    ]
    for run in runs:
        turns = rows("turns", run)
        for episode in rows("episodes", run):
            mine = [turn for turn in turns if turn["trajectory"] == episode["trajectory"]]
            assert episode["turns"] == len(mine)
            for name in ("reward", "tokens", "bits", "truth_bits", "invalid", "repeated", "not_known"):
                whole = episode["return" if name == "reward" else name]
                assert whole == pytest.approx(sum(turn[name] for turn in mine)), name
            known = [turn["efficiency"] for turn in mine if turn["efficiency"] is not None]
            assert episode["efficiency"] == (pytest.approx(sum(known) / len(known)) if known else None)
            if episode["regret"] is not None:
                assert episode["regret"] == pytest.approx(sum(turn["regret"] for turn in mine))
    assert rows("episodes", runs[2])[0]["tokens"] > 0 and rows("episodes", runs[1])[0]["regret"] is None


def test_rows_of_all_runs_in_the_order_of_tasks(tmp_path: Path) -> None:
    a, b = play(tmp_path / "a", tasks=2, k=2), play(tmp_path / "b", BANDIT, "random", tasks=2)
    found = [dict(row) for row in tabulate("episodes", [Source.from_run(a), Source.from_run(b)])]
    assert [(row["agent"], row["index"], row["sample"]) for row in found[:4]] == [
        (found[0]["agent"], i, j) for i in (0, 1) for j in (0, 1)
    ]  # fmt: skip
    assert [row["agent"] for row in found[4:]] == ["random", "random"]
    assert found[0]["tag.group"] == "bernoulli_bandit"
    assert list(table_columns("episodes", [Source.from_run(a)])) == [*EPISODES, "tag.group"]
    assert list(table_columns("turns", [Source.from_run(a)])) == [*TURNS]


def test_elicited_beliefs_stand_beside_exact_ones(tmp_path: Path) -> None:
    run = play(tmp_path / "run", sonde.make("wordle"), "entropy", tasks=1)
    (episode,) = run
    beliefs = [Elicited(-9.0 + t) for t in range(len(episode.turns) + 1)]
    save_beliefs(run.folder, sonde.make("wordle"), [episode], {episode.id: beliefs}, {"model": "m"})
    (row,), turns = rows("episodes", run), rows("turns", run)
    assert (row["first_belief"], row["last_belief"]) == (-9.0, -9.0 + len(turns))
    assert [(t["belief_before"], t["belief_after"]) for t in turns] == [(-9.0 + i, -8.0 + i) for i in range(len(turns))]


def test_the_saved_evaluation_counts(tmp_path: Path) -> None:
    """Its label, and no gains where it has none."""
    run = play(tmp_path / "run", tasks=2)
    rescore_run(reopen_run(run, gains=False), run.folder)
    found = rows("turns", run)
    assert found[0]["bits"] is None and found[0]["exact_before"] is None and found[0]["regret"] is not None


def test_the_same_in_every_format(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    run = play(tmp_path / "run", sonde.make("wordle"), "random", tasks=2, seed=2**64 - 1)
    written = write_tables([run], tmp_path / "out", ("csv", "jsonl", "parquet"))
    assert [path.name for path in written] == [f"{t}.{f}" for t in TABLES for f in ("csv", "jsonl", "parquet")]
    for table in TABLES:
        mine = [{n: row.get(n) for n in table_columns(table, [Source.from_run(run)])} for row in rows(table, run)]
        lines = (tmp_path / "out" / f"{table}.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line) for line in lines] == mine
        assert pq.read_table(tmp_path / "out" / f"{table}.parquet").to_pylist() == mine
        with (tmp_path / "out" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        assert found == [{n: "" if v is None else str(v) for n, v in row.items()} for row in mine]
    assert not [path for path in (tmp_path / "out").iterdir() if path.suffix == ".tmp"]


def test_hostile_text_stays_one_cell(tmp_path: Path) -> None:
    class Rude(ProgramPolicy):
        def act_now(self, view: View) -> Action:
            raise sonde.WorldError('a "b",\n\r\ud800 c')

    run = play(tmp_path / "run", agent=Rude(), tasks=1)
    write_tables([run.folder], tmp_path / "out", ("csv", "jsonl"))
    with (tmp_path / "out" / "episodes.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["error"] == 'WorldError: a "b",\n\r\ufffd c' and row["outcome"] == "error"
    assert json.loads((tmp_path / "out" / "episodes.jsonl").read_text("utf-8"))["error"] == row["error"]


def test_frames_of_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = play(tmp_path / "run", tasks=2)
    turns, episodes = run.to_frame("turns"), run.to_frame()
    assert len(turns) == 200 and len(episodes) == 2
    assert turns.regret.mean() == pytest.approx(episodes.regret.mean() / 100)
    assert str(turns.turn.dtype) == "Int64" and str(episodes.success.dtype) == "boolean"
    assert turns.belief_before.isna().all() and str(turns.belief_before.dtype) == "float64"
    assert (turns.turn - 50).min() == -49, "numbers are signed"


def test_frames_of_polars(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    run = play(tmp_path / "run", tasks=2)
    found = run.to_frame("turns", library="polars")
    assert found.schema["regret"] == pl.Float64 and found["belief_before"].null_count() == len(found) == 200
    assert run.to_frame(library="polars")["success"].dtype == pl.Boolean


def test_an_evaluation_alone_has_what_needs_no_record(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = play(tmp_path / "run", tasks=2)
    whole, alone = run.to_frame("turns"), sonde.evaluate(run).to_frame("turns")
    lacks = ["result", "reward", "tokens", "exact_before", "exact_after", "regret"]
    assert alone[lacks].isna().all(axis=None)
    assert alone.drop(columns=lacks).equals(whole.drop(columns=lacks))


def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = play(tmp_path / "run", tasks=1)
    with pytest.raises(UserError, match="of: got 'turn', allowed: episodes, turns"):
        run.to_frame("turn")  # pyright: ignore
    with pytest.raises(UserError, match="library: unknown name 'panda'"):
        run.to_frame(library="panda")
    with pytest.raises(UserError, match="export: format: unknown name 'xlsx'"):
        write_tables([run.folder], tmp_path / "out", ["xlsx"])
    with pytest.raises(UserError, match="is not a run folder"):
        write_tables([tmp_path / "none"], tmp_path / "out")
    with pytest.raises(UserError, match="no runs or no formats"):
        write_tables([], tmp_path / "out")
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    monkeypatch.setattr(extras, "list_extras", lambda: {"pandas": "frames"})
    with pytest.raises(UserError, match=r"a data frame needs pandas, .* pip install 'sonde-rl\[frames\]'"):
        run.to_frame()
    assert not (tmp_path / "out").exists()


def test_the_page_has_every_column() -> None:
    text = PAGE.read_text("utf-8")
    for columns in TABLES.values():
        for name, column in columns.items():
            assert f"| `{name}` | {column.unit} | {column.meaning} |" in text, name
