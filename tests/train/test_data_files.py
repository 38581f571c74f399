"""Training data of others: every form and file, item by item, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from sonde.core import UserError
from sonde.models.chat.chat import Chat
from sonde.models.fake import END
from sonde.train.by_name import prepare_data
from sonde.train.conversations import Records, read_items
from sonde.train.data_files import is_data, read_records
from sonde.train.types import Pair, Sample
from tests.cases import Checks, each

from .test_as_sampled import MARKS, FakeTokenizer


class PlainTokenizer(FakeTokenizer):
    """That of `models:fake`, which puts nothing before a text."""

    eos_token = next(mark for mark, i in MARKS.items() if i == END)

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return super().encode(text, add_special_tokens=False)


class BeginningTokenizer(PlainTokenizer):
    """One that puts a mark before a text, as Llama's does."""

    bos_token = next(mark for mark, i in MARKS.items() if i != END)

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return super().encode(f"{self.bos_token}{text}" if add_special_tokens else text, False)


def chat() -> Chat:
    return Chat(PlainTokenizer(), label="fake", template={})


def text_of(sample: Sample, trained: bool = True) -> str:
    """What of a sample is trained on, or all of it, `.` for an end of message."""
    (row,) = sample.rows
    ids = (i for i, a in zip(row.ids, row.agent, strict=True) if a or not trained)
    return "".join("." if i == END else chr(i) if i < 256 else "|" for i in ids)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def demonstrations(*rows: dict[str, Any], **options: Any) -> list[str]:
    found = read_items("successes", [Records("x", rows)], chat(), **options).items
    return [text_of(item) for item in found if isinstance(item, Sample)]


def test_every_form_of_demonstrations() -> None:
    checks = Checks()
    for name, row, trained in (
        ("messages", {"messages": [user("a"), said("b"), user("c"), said("d")]}, "b.d."),
        ("WildChat", {"conversation": [{**user("a"), "toxic": False}, {**said("b"), "turn": 1}], "model": "m"}, "b."),
        ("prompt and completion", {"prompt": [user("a"), said("b"), user("c")], "completion": [said("d")]}, "d."),
        ("plain prompt and completion", {"prompt": "ab ", "completion": "cd"}, "cd."),
        ("text", {"text": "abc"}, "abc."),
        ("text with its end", {"text": f"abc{PlainTokenizer.eos_token}"}, "abc."),
    ):
        checks.run(name, lambda row=row, trained=trained: _is(demonstrations(row), [trained]))
    checks.report()


def _is(got: object, wanted: object) -> None:
    assert got == wanted


@each("prompt", ["a", f"{BeginningTokenizer.bos_token}a"])
def test_a_text_begins_once(prompt: str) -> None:
    rows = [{"prompt": prompt, "completion": "bc"}]
    (sample,) = read_items("share", [Records("x", rows)], Chat(BeginningTokenizer(), label="fake", template={})).items
    assert isinstance(sample, Sample) and text_of(sample, trained=False) == "|abc."


def test_a_plain_text_has_no_template() -> None:
    (sample,) = read_items("share", [Records("x", [{"prompt": "ab", "completion": "c"}])], chat()).items
    assert isinstance(sample, Sample) and text_of(sample, trained=False) == "abc."


def test_every_form_of_preferences() -> None:
    a, b = [user("q"), said("x"), user("r")], [user("q")]
    checks = Checks()
    for name, row, sides in (
        ("explicit", {"prompt": a, "chosen": [said("good")], "rejected": [said("bad")]}, ("good.", "bad.")),
        ("implicit", {"chosen": [*a, said("good")], "rejected": [*a, said("bad")]}, ("good.", "bad.")),
        ("implicit, at once", {"chosen": [*b, said("good")], "rejected": [*b, said("bad")]}, ("good.", "bad.")),
        ("said twice", {"prompt": "r", "chosen": [*a, said("good")], "rejected": [*a, said("bad")]}, ("good.", "bad.")),
        ("plain", {"prompt": "why? ", "chosen": "yes", "rejected": "no"}, ("yes.", "no.")),
        ("plain, implicit", {"chosen": "I say yes", "rejected": "I say no"}, (" yes.", " no.")),
    ):

        def check(row: Any = row, sides: tuple[str, str] = sides) -> None:
            (pair,) = read_items("pairs", [Records("x", [row])], chat()).items
            assert isinstance(pair, Pair)
            assert (text_of(pair.chosen), text_of(pair.rejected)) == sides
            assert pair.chosen.group == pair.rejected.group and pair.chosen.success and not pair.rejected.success

        checks.run(name, check)
    checks.report()


def test_rows_with_labels() -> None:
    rows = [
        {"prompt": [user("a")], "completion": [said("b")], "label": False},
        {"prompt": "a", "completion": "c", "label": True},
        {"prompt": "a", "chosen": "d", "rejected": "e"},
    ]
    assert labelled(rows) == [("b.", False, 0.0), ("c.", True, 1.0), ("d.", True, 1.0), ("e.", False, 0.0)]


def labelled(rows: list[Any]) -> list[tuple[str, bool, float]]:
    """Text, success and score of the samples of these rows."""
    found = read_items("samples", [Records("x", rows)], chat()).items
    return [(text_of(s), s.success, s.score) for s in found if isinstance(s, Sample)]


def test_a_column_that_is_null_is_not_there() -> None:
    """As where one file holds rows of several forms."""
    absent = dict.fromkeys(("prompt", "completion", "messages", "conversation", "text", "chosen", "rejected", "label"))
    assert demonstrations({**absent, "prompt": [user("a")], "completion": [said("b")]}) == ["b."]
    assert demonstrations({**absent, "messages": [user("a"), said("b")]}) == ["b."]
    assert demonstrations({**absent, "text": "abc"}) == ["abc."]
    assert labelled([{**absent, "chosen": [user("a"), said("b")], "rejected": [user("a"), said("c")]}]) == [
        ("b.", True, 1.0), ("c.", False, 0.0),
    ]  # fmt: skip
    assert labelled([{**absent, "messages": [user("a"), said("b")], "label": True}]) == [("b.", True, 1.0)]


def test_turn_by_turn_and_what_is_too_long() -> None:
    row = {"messages": [user("a"), said("bb"), user("c"), said("dd")]}
    assert demonstrations(row, by_turn=True) == ["bb.", "dd."]
    whole = read_items("successes", [Records("x", [row])], chat())
    length = len(whole.items[0].rows[0])  # type: ignore[union-attr]
    assert whole.report.tokens == length and whole.report.agent_tokens == 6
    short = read_items("successes", [Records("x", [row, row])], chat(), max_tokens=length - 1)
    assert (short.items, short.report.too_long) == ((), 2)


@each(
    "learns, row, message",
    [
        (
            "successes",
            {"messages": [user("a"), {**said("b"), "tool_calls": [1]}]},
            r"x: row 2: messages\[1\]: tool_calls",
        ),
        ("successes", {"messages": [user("a"), said("b")], "tools": [{"name": "f"}]}, "x: row 2: tools: got"),
        ("successes", {"prompt": "a", "completion": [said("b")]}, "x: row 2: prompt: got another form"),
        ("successes", {"prompt": "a"}, "x: row 2: no column 'completion', allowed: .*; there: prompt"),
        ("successes", {"prompt": "a", "completion": ""}, "x: row 2: text: got ''"),
        ("successes", ["a"], "x: row 2: got .*, allowed: an object with columns"),
        ("pairs", {"messages": [user("a"), said("b")]}, "x: row 2: no column 'chosen', allowed: .*; there: messages"),
        (
            "pairs",
            {"prompt": "b", "chosen": [user("a"), said("b")], "rejected": [user("a"), said("c")]},
            "x: row 2: prompt",
        ),
        ("pairs", {"chosen": "a", "rejected": [said("b")]}, "x: row 2: rejected: got another form"),
        ("pairs", {"chosen": "a b", "rejected": "a b"}, "x: row 2: text: got ''"),
        ("samples", {"prompt": "a", "completion": "b"}, "x: row 2: label: got None, allowed: true or false"),
        ("values", {"prompt": "a", "completion": "b"}, "values are learned from rewards"),
    ],
)
def test_what_is_refused(learns: Any, row: Any, message: str) -> None:
    good = {"prompt": "a", "completion": "b", "chosen": "c", "rejected": "d"}
    with pytest.raises(UserError, match=message):
        read_items(learns, [Records("x", [good, row])], chat())


ROWS = [{"prompt": f"p{i}", "chosen": "c", "rejected": "r"} for i in range(5)]


def written(tmp_path: Path, name: str) -> Path:
    """The rows in a file or folder of this kind."""
    path = tmp_path / name
    if name.endswith(".jsonl"):
        path.write_text("".join(f"{json.dumps(row)}\n\n" for row in ROWS), "utf-8-sig")
    elif name.endswith(".json"):
        path.write_text(json.dumps(ROWS))
    elif name == "hub":
        (path / "data").mkdir(parents=True)
        written(path / "data", "train-00000-of-00001.jsonl")
        (path / "data" / "test-00000-of-00001.jsonl").write_text(json.dumps({"prompt": "t"}))
    else:
        datasets = pytest.importorskip("datasets")
        made = datasets.Dataset.from_list(ROWS)
        if name.endswith(".parquet"):
            made.to_parquet(str(path))
        elif name == "one":
            made.save_to_disk(str(path), num_shards=2)
        else:
            datasets.DatasetDict({"train": made, "val": made.select(range(2))}).save_to_disk(str(path))
    return path


def test_every_kind_of_file(tmp_path: Path) -> None:
    checks = Checks()
    for name in ("a.jsonl", "a.json", "hub", "a.parquet", "one", "several"):

        def check(name: str = name) -> None:
            path = written(tmp_path, name)
            assert is_data(path)
            assert list(read_records(path).rows) == ROWS

        checks.run(name, check)
    checks.run("a split", lambda: _is(list(read_records(tmp_path / "several", "val").rows), ROWS[:2]))
    checks.report()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.jsonl").write_text('{"text": "a"}\n{"text": ')
    (tmp_path / "c.json").write_text("{}")
    (tmp_path / "d.parquet").write_text("no")
    (tmp_path / "empty").mkdir()
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "origin.json").write_text("{}")
    (tmp_path / "trained" / "history.jsonl").write_text('{"loss": 0.5}')
    written(tmp_path, "hub")
    for name, split, message in (
        ("a.txt", "train", "a file ending in .jsonl, .json, .parquet"),
        ("b.jsonl", "train", r"b\.jsonl: line 2: not JSON"),
        ("c.json", "train", "a list of objects"),
        ("d.parquet", "train", "not readable as Parquet"),
        ("empty", "train", "one with .jsonl or .parquet files"),
        ("trained", "train", "this is the folder of a training, and its model is .*model"),
        ("hub", "dev", "split: unknown name 'dev'; known: test, train"),
    ):
        with pytest.raises(Exception, match=message):
            read_items("successes", [read_records(tmp_path / name, split)], chat())


def test_records_are_learned_from_beside_episodes() -> None:
    data = prepare_data("rpo", [], chat(), records=[Records("x", ROWS)])
    assert data.counts == {"records": 5} and all(isinstance(item, Pair) for item in data.items)
    with pytest.raises(UserError, match="no training items in the data: records 0, trajectories 10, too_long 10"):
        prepare_data("rpo", [], chat(), max_tokens=2, records=[Records("x", ROWS)])
