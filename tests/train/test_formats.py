"""Exchange formats: rows that TRL's own collators mask as we do, and conversations."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import UserError
from sonde.agents.llm import LLM
from sonde.core import AGENT, Trajectory
from sonde.models.fake import END, Fake
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.conversations import Records, read_items
from sonde.train.data import make_samples as sonde_samples
from sonde.train.formats import message_rows, preference_ids, preference_rows, sft_rows, to_dataset
from sonde.train.types import Learns, Pair, Row, Sample
from tests.cases import each

from .test_as_sampled import chat
from .tiny import bare, pairs, sample, samples

NAN = math.nan


def numbers(values: array[Any] | None) -> object:
    """An array as something that compares: its type, its length and its very bytes (NaN included)."""
    return None if values is None else (values.typecode, len(values), values.tobytes())


def whole(s: Sample) -> object:
    """A sample as something that compares."""
    fields = ("ids", "turns", "logprobs", "weights", "advantages", "reference", "proximal", "returns", "values")
    rows = [(*(numbers(getattr(row, f)) for f in fields), row.agent, row.versions) for row in s.rows]
    return (rows, s.trajectory, s.group, s.task, s.env, s.kind, s.cut, repr(s.score), repr(s.rewards), dict(s.tags))


def read_back(learns: Learns, rows: Iterable[dict[str, Any]]) -> list[Any]:
    """The items that an objective learns from these rows."""
    return list(read_items(learns, [Records("rows", rows)], chat()).items)


# --- TRL -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trl() -> Any:
    """TRL's collators, where it is installed."""
    return pytest.importorskip("trl.trainer.sft_trainer"), pytest.importorskip("trl.trainer.dpo_trainer")


def test_rows_for_sft_hold_our_mask() -> None:
    (row,) = bare(sample(0)).rows
    (labels,), (mask,) = (list(sft_rows([sample(0)], mask=m)) for m in ("labels", "completion_mask"))
    assert labels["input_ids"] == mask["input_ids"] == row.ids.tolist()
    assert mask["completion_mask"] == list(row.agent)
    assert labels["labels"] == [i if a else -100 for i, a in zip(row.ids, row.agent, strict=True)]
    assert 0 < sum(row.agent) < len(row)
    with pytest.raises(UserError, match="mask: got 'all', allowed: labels, completion_mask"):
        list(sft_rows([], mask="all"))  # type: ignore[arg-type]


@pytest.mark.parametrize("padding_free", [False, True])
def test_the_collator_of_trl_masks_exactly_what_we_mask(trl: Any, padding_free: bool) -> None:
    given_ = samples(5, rows=2)
    batch = trl[0].DataCollatorForLanguageModeling(pad_token_id=1, padding_free=padding_free)(list(sft_rows(given_)))
    rows = [row for s in given_ for row in s.rows]
    if padding_free:
        ids, labels = ([list(v)] for v in (batch["input_ids"][0].tolist(), batch["labels"][0].tolist()))
        ours = [([i for row in rows for i in row.ids], [a for row in rows for a in row.agent])]
    else:
        ids, labels = (batch[k].tolist() for k in ("input_ids", "labels"))
        ours = [(row.ids.tolist(), list(row.agent)) for row in rows]
    for (tokens, agent), theirs, labelled in zip(ours, ids, labels, strict=True):
        assert theirs[: len(tokens)] == tokens
        assert [v != -100 for v in labelled] == [bool(a) for a in agent] + [False] * (len(theirs) - len(tokens))
        assert all(v in (-100, i) for v, i in zip(labelled, theirs, strict=True))


def test_the_trainer_of_trl_folds_our_completion_mask_into_the_same_labels(trl: Any, tmp_path: Path) -> None:
    del trl
    pytest.importorskip("datasets")
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    from .tiny import tiny_model, tiny_tokenizer

    given_ = [bare(s) for s in samples(4)]
    both = [to_dataset(sft_rows(given_, mask=m)) for m in ("labels", "completion_mask")]
    config = SFTConfig(
        output_dir=str(tmp_path), completion_only_loss=True, report_to=[], use_cpu=True, max_length=None, bf16=False,
        disable_tqdm=True, save_strategy="no", activation_checkpointing=False,
    )  # fmt: skip
    prepared: list[list[list[int]]] = []
    for rows in both:
        trainer = SFTTrainer(tiny_model(), args=config, train_dataset=rows, processing_class=tiny_tokenizer())
        assert trainer.train_dataset is not None
        prepared.append(trainer.train_dataset["labels"][:])  # type: ignore[index]
    assert prepared[0] == prepared[1] == [row["labels"] for row in sft_rows(given_)]


def aligned(n: int) -> list[Pair]:
    """Pairs that begin with the same prompt."""

    def shared(p: Pair) -> Pair:
        prompt = p.chosen.rows[0].agent.index(1)
        rejected, own = p.rejected.rows[0], p.rejected.rows[0].agent.index(1)
        same = Row(
            ids=p.chosen.rows[0].ids[:prompt] + rejected.ids[own:],
            agent=bytes(prompt) + rejected.agent[own:],
            turns=array("i", [-1] * prompt) + rejected.turns[own:],
        )
        return Pair(p.chosen, replace(p.rejected, rows=(same,)))

    return [shared(p) for p in pairs(n)]


def test_pairs_as_tokens_are_what_the_collator_of_trl_takes_and_it_masks_only_the_prompt(trl: Any) -> None:
    given_ = aligned(3)
    found = list(preference_ids(given_))
    for row, (chosen, rejected) in zip(found, given_, strict=True):
        for side, s in (("chosen", chosen), ("rejected", rejected)):
            assert row["prompt_ids"] + row[f"{side}_ids"] == s.rows[0].ids.tolist()
            assert [0] * len(row["prompt_ids"]) + row[f"{side}_mask"] == list(s.rows[0].agent)
    batch = trl[1].DataCollatorForPreference(pad_token_id=1)(found)
    theirs = batch["completion_mask"].sum(-1).tolist()
    assert theirs == [len(row[f"{side}_ids"]) for side in ("chosen", "rejected") for row in found]
    ours = [sum(row[f"{side}_mask"]) for side in ("chosen", "rejected") for row in found]
    assert all(a < b for a, b in zip(ours, theirs, strict=True))  # TRL trains on what the environment said, too


def test_pairs_that_are_no_pairs_of_rows_are_refused() -> None:
    with pytest.raises(UserError, match="pair: got trajectory-0 and trajectory-1, allowed: two with one prompt"):
        list(preference_ids(pairs(1)))
    with pytest.raises(UserError, match="sample trajectory-0: rows: got 2, allowed: 1"):
        list(preference_ids(pairs(1, rows=2)))


def test_datasets_come_from_rows() -> None:
    pytest.importorskip("datasets")
    found = to_dataset(sft_rows(samples(3)))
    assert found.column_names == ["input_ids", "labels"]
    assert found[1] == list(sft_rows(samples(3)))[1]
    with pytest.raises(UserError, match="rows: got 'none', allowed: one or more"):
        to_dataset([])


def test_without_datasets_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match="datasets: not installed; pip install"):
        to_dataset(sft_rows(samples(1)))


# --- conversations ---------------------------------------------------------------------------------------------------


def played(*script: str, n: int = 1) -> list[Trajectory]:
    env = sonde.make("minesweeper", max_turns=3)
    policy = LLM(model=Fake(script=script))
    return collect_trajectories(env, {AGENT: policy}, env.tasks("test")[:n], Plan())


ONE, TWO = "<Answer>reveal 0 0</Answer>", "<Answer>reveal 1 1</Answer>"


def roles(rows: Sequence[dict[str, str]]) -> str:
    return "".join(m["role"][0] for m in rows)


def test_games_as_conversations_end_with_what_the_agent_said() -> None:
    (t,) = played(ONE)
    (row,) = message_rows([t], system="Play.")
    assert roles(row["messages"]) == "suauaua"
    assert [m["content"] for m in row["messages"] if m["role"] == "assistant"] == [ONE] * 3
    assert row["messages"][3]["content"] == t.turns[0].told
    with pytest.raises(UserError, match=f"trajectory {t.id}: seat 'user' says nothing"):
        list(message_rows([t], seat="user"))


def test_preferences_as_conversations_share_the_prompt() -> None:
    (a,), (b,) = played(ONE), played(TWO)
    (row,) = preference_rows([(a, b)])
    assert (roles(row["prompt"]), roles(row["chosen"]), roles(row["rejected"])) == ("u", "auaua", "auaua")
    assert (row["chosen"][0]["content"], row["rejected"][0]["content"]) == (ONE, TWO)
    other = next(t for t in played(ONE, n=9) if t.task.public != a.task.public)
    with pytest.raises(UserError, match="which begin differently"):
        list(preference_rows([(a, other)]))


def test_conversations_come_back_as_text_only() -> None:
    """With the model's own tokenizer, a faithful template and canonical text, the tokens are even the same."""
    (t,) = played(ONE, TWO)
    (live,), _ = sonde_samples([t])
    (again,) = read_back("successes", message_rows([t]))
    (mine,), (theirs,) = again.rows, live.rows
    assert (mine.ids, mine.agent, mine.turns, mine.logprobs) == (theirs.ids, theirs.agent, theirs.turns, None)
    assert (again.kind, again.score, again.rewards, again.env) == ("win", 1.0, (0.0, 0.0, 1.0), "")


def test_only_the_completion_is_trained() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    (s,) = read_back("successes", [{"prompt": said, "completion": [{"role": "assistant", "content": "de"}]}])
    (row,) = s.rows
    assert bytes(i for i, a in zip(row.ids, row.agent, strict=True) if a and i != END) == b"de"
    assert (row.ids[-1], row.agent[-1], row.n_agent) == (END, 1, 3)


def said(*texts: str, **marks: Any) -> list[dict[str, Any]]:
    """User and assistant in turn, the first assistant message with these fields beside."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return [messages[0], {**messages[1], **marks}, *messages[2:]]


def trained(ids: Sequence[int], agent: Sequence[int]) -> str:
    """What of these tokens is trained on, `.` for an end of message."""
    return "".join("." if i == END else chr(i) for i, a in zip(ids, agent, strict=True) if a)


MARKS: list[dict[str, Any]] = [
    {"weight": 0}, {"train": False}, {"weight": 0.0, "train": None}, {"weight": 0, "train": 1},
]  # fmt: skip


@each("mark", MARKS)
def test_messages_that_are_not_to_be_trained_on_are_context(mark: dict[str, Any]) -> None:
    """In every form: the tokens of the prompt are the same, the loss counts nothing of the marked message."""
    whole_row = read_back("successes", [{"messages": said("a", "bad", "c", "good")}])[0].rows[0]
    assert trained(whole_row.ids, whole_row.agent) == "bad.good."
    rows = [
        {"messages": said("a", "bad", "c", "good", **mark)},
        {"prompt": [{"role": "user", "content": "a"}], "completion": said("a", "bad", "c", "good", **mark)[1:]},
    ]
    for s in read_back("successes", rows):
        (row,) = s.rows
        assert row.ids == whole_row.ids and trained(row.ids, row.agent) == "good." and s.rewards == (1.0,)
        (columns,) = sft_rows([s])
        assert trained(columns["labels"], [label >= 0 for label in columns["labels"]]) == "good."
    marked, other = said("a", "bad", "c", "good", **mark), said("a", "bad", "c", "worse", **mark)
    (pair,) = read_back("pairs", [{"chosen": marked, "rejected": other}])
    assert [trained(s.rows[0].ids, s.rows[0].agent) for s in pair] == ["good.", "worse."]
    assert pair.chosen.group == pair.rejected.group


def test_marks_that_change_nothing() -> None:
    plain = read_back("successes", [{"messages": said("a", "b", "c", "d")}])
    for mark in ({"weight": 1}, {"train": True}, {"weight": 1, "train": True}):
        again = read_back("successes", [{"messages": said("a", "b", "c", "d", **mark)}])
        assert [whole(s) for s in again] == [whole(s) for s in plain]
    on_user = [{"role": "user", "content": "a", "weight": 0}, {"role": "assistant", "content": "b"}]
    (row,) = read_back("successes", [{"messages": on_user}])[0].rows
    assert trained(row.ids, row.agent) == "b."


def test_preferences_come_back_as_pairs() -> None:
    (a,), (b,) = played(ONE), played(TWO)
    (found,) = read_back("pairs", preference_rows([(a, b)]))
    assert (found.chosen.success, found.rejected.success) == (True, False)
    assert (found.rejected.score, found.rejected.rewards) == (0.0, (0.0, 0.0, 0.0))
    assert found.chosen.group == found.rejected.group and found.chosen.trajectory != found.rejected.trajectory
    assert [s.rows[0].ids for s in found] == [sonde_samples([t])[0][0].rows[0].ids for t in (a, b)]
    (won,), (lost,) = message_rows([a]), message_rows([b])
    (implicit,) = read_back("pairs", [{"chosen": won["messages"], "rejected": lost["messages"]}])
    assert [whole(s) for s in implicit] == [whole(s) for s in found]


@each(
    "row, message",
    [
        ({"texts": "hello"}, r"row 1: no column 'messages', allowed: a list of messages; there: texts"),
        ({"messages": "hello"}, r"row 1: messages: got 'hello', allowed: a list"),
        ({"messages": [{"role": "tool", "content": "x"}]}, r"row 1: messages\[0\]: got .*tool.*, allowed: a role"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, r"row 1: messages\[0\]: got .*image"),
        (
            {"messages": [{"role": "user", "content": "x"}]},
            r"row 1: messages: got \['user'\], allowed: an assistant message",
        ),
        ({"messages": [{"role": "assistant", "content": "x"}]}, r"row 1: messages: got \[\], allowed: a user message"),
        (
            {"messages": said("a", "b", weight=0)},
            r"row 1: messages: got \['user', 'assistant'\], allowed: an assistant message to",
        ),
        ({"messages": said("a", "b", weight=0.5)}, r"row 1: messages\[1\]: weight: got 0.5, allowed: 0 or 1"),
        ({"messages": said("a", "b", train="no")}, r"row 1: messages\[1\]: train: got 'no', allowed: true or false"),
        (
            {"messages": [{"role": "user", "content": "x", "train": True}]},
            r"row 1: messages\[0\]: train: got True, allowed: true or false on assistant messages",
        ),
    ],
)
def test_rows_that_are_no_conversations_are_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_back("successes", [row])
