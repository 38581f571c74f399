"""Writing a run: round trips, resuming, refusing."""

import asyncio
import json
import math
import random
import re
import signal
import subprocess
import sys
import textwrap
from array import array
from dataclasses import replace
from pathlib import Path

import pytest

import sonde
from sonde.core import Act, Action, Completion, Episode, Frozen, StoreError, Trajectory, Turn, UserError
from sonde.runs.store import Key, Run, RunWriter, writer
from sonde.runs.store.codec import encode_trajectory

CONFIG = {"env": {"name": "mastermind"}, "seats": [{"k": 1}], "temperature": 0.7}


def key(t: Trajectory) -> Key:
    return Key(t.task.id, t.seed, t.sample)


def write(folder: Path, trajectories: list[Trajectory]) -> Run:
    with RunWriter.open(folder, CONFIG) as run:
        for t in trajectories:
            run.append_trajectory(t)
    return Run.load(folder)


def saying(t: Trajectory, act: Act) -> Trajectory:
    return replace(t, turns=(Turn(0, (act,)),))


def test_what_is_read_equals_what_was_written(tmp_path: Path, play, seats) -> None:
    given = [*play(5), seats]
    run = write(tmp_path / "run", given)
    assert len(run) == 6
    assert [t.to_json() for t in run] == [json.loads(json.dumps(t.to_json())) for t in given]
    sampled, back = given[4].turns[2].acts[0].action.completions[0], run[4].turns[2].acts[0].action.completions[0]
    assert (back.ids, back.logprobs, back.prompt_ids) == (sampled.ids, sampled.logprobs, sampled.prompt_ids)
    assert (back.usage, back.reasoning, back.finish) == (sampled.usage, sampled.reasoning, "length")
    assert Episode.replay(sonde.make("mastermind"), run[4]).n_acts == 3


def test_values_outside_json_survive(tmp_path: Path, seats) -> None:
    """A model may say half a surrogate pair, a log-probability may be infinite, an integer may be long."""
    completion = Completion(text="\ud800", ids=array("i", [1, 2]), logprobs=array("f", [-math.inf, -1.2]))
    act = Act("agent", Action("half \udfff \x00 </Answer>", completions=(completion,)), Frozen(agent="\ud83d"),
              Frozen(agent=math.inf), Frozen(big=2**80, few=(1, 2)))  # fmt: skip
    back = write(tmp_path / "run", [saying(seats, act)])[0].turns[0].acts[0]
    assert back.action.text == "half \udfff \x00 </Answer>"
    assert back.action.completions[0].text == "\ud800"
    assert back.action.completions[0].logprobs == array("f", [-math.inf, -1.2])
    assert (dict(back.told), dict(back.rewards)) == ({"agent": "\ud83d"}, {"agent": math.inf})
    assert dict(back.info) == {"big": 2**80, "few": [1, 2]}


@pytest.mark.parametrize("value", [{1, 2}, object(), {3: "x"}])
def test_values_that_are_not_json_are_refused_by_name(tmp_path: Path, seats, value: object) -> None:
    bad = saying(seats, Act("agent", Action("x"), Frozen(), Frozen(), Frozen(field=value)))
    with RunWriter.open(tmp_path, CONFIG) as run, pytest.raises(StoreError, match=f"trajectory {seats.id}: not JSON"):
        run.append_trajectory(bad)
    assert len(Run.load(tmp_path)) == 0


@pytest.mark.parametrize(("field", "value"), [("seed", -1), ("seed", 2**64), ("sample", -1), ("sample", 2**63)])
def test_keys_beyond_64_bits_are_refused(tmp_path: Path, seats, field: str, value: int) -> None:
    with RunWriter.open(tmp_path, CONFIG) as run, pytest.raises(UserError, match=rf"trajectory\.{field}: got {value}"):
        run.append_trajectory(replace(seats, **{field: value}))


def test_the_configuration_is_kept_with_version_and_fingerprint(tmp_path: Path) -> None:
    RunWriter.open(tmp_path, {**CONFIG, "seats": ({"k": 1},)}).close()
    run = Run.load(tmp_path)
    assert run.config == CONFIG
    assert run.version == sonde.__version__
    assert run.fingerprint == sonde.core.content_hash(CONFIG)
    assert run.commit is None or len(run.commit.removesuffix("-dirty")) == 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"temperature": 1}, r"config\.temperature: got 1, the run has 0\.7"),
        ({"seats": [{"k": 2}]}, r"config\.seats\[0\]\.k: got 2, the run has 1"),
        ({"seats": []}, r"config\.seats: got \[\], the run has \[\{"),
        ({"more": True}, r"config\.more: got true, the run has nothing"),
    ],
)
def test_another_configuration_is_refused_with_its_first_difference(tmp_path: Path, change, words: str) -> None:
    RunWriter.open(tmp_path, CONFIG).close()
    with pytest.raises(UserError, match=words):
        RunWriter.open(tmp_path, {**CONFIG, **change})
    RunWriter.open(tmp_path, CONFIG).close()  # the refusal let go of the lock


def test_files_left_by_a_killed_start_are_ignored(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".config.json.tmp").write_text('{"for')
    RunWriter.open(tmp_path, CONFIG).close()
    assert Run.load(tmp_path).config == CONFIG
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".lock", ".lock-0", "config.json", "trajectories-00000.jsonl.zst",
    ]  # fmt: skip


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    RunWriter.open(tmp_path, CONFIG).close()
    saved = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**saved, "sonde": "0.0.1"}))
    with pytest.raises(UserError, match=r'version of sonde: got "[^"]+", the run has "0\.0\.1"'):
        RunWriter.open(tmp_path, CONFIG)
    (tmp_path / "config.json").write_text(json.dumps({**saved, "format": 99}))
    with pytest.raises(StoreError, match="format 99 is newer"):
        Run.load(tmp_path)


def test_folders_that_are_not_runs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="is not a run folder"):
        RunWriter.open(tmp_path, CONFIG)
    with pytest.raises(UserError, match="is not a run folder"):
        Run.load(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    for name in "abc":
        RunWriter.open(tmp_path / name, CONFIG).close()
    held = re.escape(f"(it has no config.json, but holds {tmp_path / 'a'}, {tmp_path / 'b'} and 1 more)")
    with pytest.raises(UserError, match=held):
        Run.load(tmp_path)
    with pytest.raises(UserError, match="config: not JSON"):
        RunWriter.open(tmp_path / "new", {"a": object()})


def test_finished_episodes_are_known_when_a_run_is_continued(tmp_path: Path, play) -> None:
    write(tmp_path, play(4))
    with RunWriter.open(tmp_path, CONFIG) as run:
        assert run.finished_keys == {key(t) for t in play(4)}
        with pytest.raises(UserError, match="already holds task"):
            run.append_trajectory(play(1)[0])
        run.append_trajectory(play(1, first=4)[0])
        assert len(run.finished_keys) == 5
        for _ in range(2):  # as the index knew it, and as it knows it after looking again
            assert run.finished_keys == {key(t) for t in play(5)} and key(play(1, first=5)[0]) not in run.finished_keys
            assert run.finished_keys & {key(t) for t in play(9)[3:]} == {key(t) for t in play(5)[3:]}
            run.flush()
            run._save_index()
        assert not run.finished_keys._since
    assert [key(t) for t in Run.load(tmp_path)] == [key(t) for t in play(5)]


def test_a_failed_episode_is_not_finished_and_is_superseded(tmp_path: Path, play) -> None:
    first = play(1)
    failed = play(3, error="WorldError: no connection")
    run = write(tmp_path, [*first, *failed[1:], failed[1]])
    assert [t.error for t in run] == ["", failed[2].error, failed[1].error]
    with RunWriter.open(tmp_path, CONFIG) as again:
        assert again.finished_keys == {key(first[0])}
        again.append_trajectory(play(1, first=1)[0])
    run = Run.load(tmp_path)
    assert [(t.sample, t.error) for t in run] == [(0, ""), (2, failed[2].error), (1, "")]
    assert run.trajectories.superseded_count == 2


def test_one_writer_per_run(tmp_path: Path, play) -> None:
    with RunWriter.open(tmp_path, CONFIG) as run:
        with pytest.raises(StoreError, match="another writer is open"):
            RunWriter.open(tmp_path, CONFIG)
        run.append_trajectory(play(1)[0])
        run.flush()
        assert len(Run.load(tmp_path)) == 1  # reading needs no lock
    run.close()
    RunWriter.open(tmp_path, CONFIG).close()


def test_shards_roll_over_and_read_as_one(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LOG_BYTES", 1000)
    with RunWriter.open(tmp_path, CONFIG, fsync=True) as run:
        for t in play(7):
            run.append_trajectory(t)
            run.flush()
    names = sorted(p.name for p in tmp_path.glob("*.zst"))
    assert names[:2] == ["trajectories-00000.jsonl.zst", "trajectories-00001.jsonl.zst"]
    assert [encode_trajectory(t) for t in Run.load(tmp_path)] == [encode_trajectory(t) for t in play(7)]
    (tmp_path / names[0]).rename(tmp_path / "gone")
    with pytest.raises(StoreError, match=r"trajectories-00000\.jsonl\.zst is missing"):
        Run.load(tmp_path)


def test_within_an_event_loop_nothing_waits_while_the_loop_does(tmp_path: Path, play) -> None:
    async def go() -> list[int]:
        with RunWriter.open(tmp_path, CONFIG) as run:
            seen = []
            for burst in (play(2), play(3, first=2)):
                for t in burst:
                    run.append_trajectory(t)
                seen.append(len(Run.load(tmp_path)))
                await asyncio.sleep(0)
                seen.append(len(Run.load(tmp_path)))
        return seen

    assert asyncio.run(go()) == [0, 2, 2, 5]


def test_canonical_exports_are_equal_whatever_the_order(tmp_path: Path, play, seats) -> None:
    given = [*play(6), seats]
    shuffled = [given[i] for i in (4, 6, 1, 0, 5, 3, 2)]
    one, two = write(tmp_path / "one", given), write(tmp_path / "two", [t.without_timings() for t in shuffled])
    assert list(one.canonical_lines()) == list(two.canonical_lines())
    keys = [(r["task"]["index"], r["sample"]) for r in map(json.loads, one.canonical_lines()) if r["seed"] == 5]
    assert sorted(keys) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert b'"usage":[30,' not in b"".join(one.canonical_lines())
    other = write(tmp_path / "three", [*play(5), seats])
    assert list(other.canonical_lines()) != list(one.canonical_lines())


CHILD = textwrap.dedent("""
    import sys, warnings
    from dataclasses import replace
    import sonde
    from sonde.core import Action, Episode
    from sonde.runs.store import RunWriter
    warnings.simplefilter("ignore")
    env = sonde.make("mastermind")
    task = env.task("0427")
    ep = Episode.begin(env, task).step(Action("<Answer>1122</Answer>" + "".join(map(str, range(40_000)))))
    with RunWriter.open(sys.argv[1], {}) as run:
        print("ready", flush=True)
        done = run.finished_keys
        for sample in range(1_000_000):
            if (task.id, 0, sample) not in done:
                run.append_trajectory(ep.fork(sample=sample).to_trajectory())
                if sample % 3 == 0:
                    run.flush()
                    print(sample, flush=True)
""")


@pytest.mark.thorough
def test_a_run_survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    rng = random.Random(0)
    promised: set[int] = set()
    for _ in range(6):
        child = subprocess.Popen([sys.executable, "-c", CHILD, tmp_path], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(rng.uniform(0.005, 0.15))
        child.send_signal(signal.SIGKILL)
        # The last line may have been cut: then its number was not announced in full.
        promised |= {int(line) for line in child.stdout.read().split("\n")[:-1]}
        assert child.wait() == -signal.SIGKILL
        child.stdout.close()
        stored = [t.sample for t in Run.load(tmp_path)]
        assert stored == list(range(len(stored)))  # none twice, none missing in between
        assert promised <= set(stored)
    assert promised
