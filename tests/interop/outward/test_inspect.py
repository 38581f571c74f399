"""Inspect: a task per environment, evaluated with its mock model; the scores are those of sonde."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.testing import check_interop

from .. import hosts, pages
from ..endpoint import serve_endpoint

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, ModelOutput

INSPECT = str(Path(sys.executable).with_name("inspect"))

pytestmark = [
    pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs the extra: pip install 'sonde-rl[inspect]'"),
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*MemoryObject.*:pytest.PytestUnraisableExceptionWarning"),
]


def mock_model(say: Any) -> Any:
    """Inspect's mock: what it says is a function of what it was told; `usage`, so that no tokenizer is asked for."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(messages: Any, tools: Any, choice: Any, config: GenerateConfig) -> ModelOutput:
        output = ModelOutput.from_content("mockllm/model", *say(messages))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=reply, memoize=False)


def evaluate_task(folder: Path, task: Any, say: Any, **options: Any) -> Any:
    from inspect_ai import eval as inspect_eval

    (log,) = inspect_eval(task, model=mock_model(say), log_dir=str(folder), display="none", **options)
    assert log.status == "success", log.error
    return log


def test_every_environment_is_a_task() -> None:
    from inspect_ai._util.registry import registry_info

    from sonde.interop.outward.inspect import TASKS

    assert set(TASKS) == set(sonde.names())
    assert {registry_info(made).name.rpartition("/")[2] for made in TASKS.values()} == set(sonde.names())


@pytest.mark.parametrize("name", hosts.SOME)
def test_it_keeps_the_contract_of_adapters(name: str) -> None:
    check_interop(hosts.inspect, sonde.make(name), episodes=4, concurrent=1000 if name == "wordle" else 50)


def test_an_evaluation_from_end_to_end(tmp_path: Path) -> None:
    """Six tasks, two epochs: odd tasks are won in the second turn. Numbers by hand; the log can be read back, and holds
    no hidden word that was not said."""
    from inspect_ai.log import read_eval_log

    from sonde.interop.outward.inspect import make_task

    env = sonde.make("wordle")
    words = [task.hidden for task in env.tasks("test")[:6]]
    first = {Episode.begin(env, task, seed=0).messages["agent"][0].content for task in env.tasks("test")[:6]}
    assert len(first) == 1  # so that a reply cannot depend on the task but by what was told
    turn = {"n": 0}

    def say(messages: Any) -> tuple[str, ...]:
        turn["n"] += 1
        return ("<think>hm</think><Answer>toast</Answer>",)

    log = evaluate_task(tmp_path, make_task(env, gains=True, indices=range(6)), say, epochs=2)
    scores = {score.name: score.metrics for score in log.results.scores}
    assert turn["n"] == 6 * 2 * env.spec.max_turns and len(log.samples) == 12
    assert scores["success"]["mean"].value == 0.0 and scores["out_of_turns"]["mean"].value == 1.0
    assert scores["turns"]["mean"].value == env.spec.max_turns and scores["cut"]["mean"].value == 1.0
    gains = []
    for task in env.tasks("test")[:6]:
        ep = Episode.begin(env, task, seed=0)
        while ep.to_act:
            ep = ep.step("<Answer>toast</Answer>")
        gains.append(sum(ep.information_gain() or ()))
    mean = sum(gains) / 6
    assert scores["gain"]["mean"].value == pytest.approx(mean)
    error = (sum((g - mean) ** 2 for g in gains) / 5 / 6) ** 0.5
    assert scores["gain"]["stderr"].value == pytest.approx(error, rel=0.1)
    again = read_eval_log(log.location)
    shown = "".join(sample.model_dump_json() for sample in again.samples or ())
    assert len(again.samples or ()) == 12 and not any(f'"{word}"' in shown for word in words if word != "toast")
    assert again.samples and again.samples[0].store["sonde"]["outcome"]["kind"] == "out_of_turns"


def test_an_answer_that_was_cut_is_known_as_such(tmp_path: Path) -> None:
    from sonde.interop.outward.inspect import make_task

    log = evaluate_task(tmp_path, make_task("wordle", max_turns=1, indices=[0]), lambda _: ("<Answer>to", "max_tokens"))
    assert log.samples[0].store["sonde"]["outcome"] == {
        "kind": "unreadable", "score": 0.0, "claimed": None, "judged": None, "truncated": "tokens"
    }  # fmt: skip
    assert {s.name: s.metrics["mean"].value for s in log.results.scores}["unreadable"] == 1.0


def test_inspects_own_limit_is_an_error_of_the_world(tmp_path: Path) -> None:
    from sonde.interop.outward.inspect import make_task

    log = evaluate_task(
        tmp_path, make_task("wordle", indices=[0]), lambda _: ("<Answer>toast</Answer>",), message_limit=4
    )
    found = {s.name: s.metrics["mean"].value for s in log.results.scores}
    assert found["error"] == 1.0 and found["success"] == 0.0 and 0 < found["turns"] < 6


@pytest.mark.parametrize("ended", [1, 2])
@pytest.mark.parametrize(
    "reducers", [["mean"], pytest.param(["median", "max", "mode", "at_least_1"], marks=pytest.mark.thorough)]
)
def test_a_sample_without_a_turn_costs_the_gains_of_no_other(tmp_path: Path, reducers: list[str], ended: int) -> None:
    """One of four samples is ended by a limit before its first turn, be it the first one or not."""
    from inspect_ai import Epochs
    from inspect_ai.log import read_eval_log
    from inspect_ai.util import LimitExceededError

    from sonde.interop.outward.inspect import make_task

    calls = {"n": 0}

    def say(messages: Any) -> tuple[str, ...]:
        calls["n"] += 1
        if calls["n"] == ended:
            raise LimitExceededError("message", value=1, limit=1)
        return ("<Answer>toast</Answer>",)

    task = make_task("wordle", max_turns=1, indices=[0, 1], gains=True)
    log = evaluate_task(tmp_path, task, say, epochs=Epochs(2, reducers), max_samples=1)
    assert calls["n"] == 4 and len(log.samples) == 4
    values = [sample.scores["outcome"].value for sample in read_eval_log(log.location).samples or ()]
    assert sorted(v["turns"] for v in values) == [0, 1, 1, 1] and all(v["gain"] >= 0.0 for v in values)
    (cut,) = (v for v in values if v["error"] == 1.0)
    assert cut["gain"] == cut["return"] == cut["turns"] == 0.0
    found = {s.reducer: s.metrics["mean"].value for s in log.results.scores if s.name == "gain"}
    assert set(found) == set(reducers)
    if "mean" in found:
        assert found["mean"] == pytest.approx(sum(v["gain"] for v in values) / 4)


def test_gains_are_absent_where_no_beliefs_exist(tmp_path: Path) -> None:
    from sonde.interop.outward.inspect import make_task

    log = evaluate_task(tmp_path, make_task("maze", indices=[0], gains=True, max_turns=1), lambda _: ("Hello.",))
    assert "gain" not in log.samples[0].scores["outcome"].value


@pytest.fixture(scope="module")
def make_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command leaves that was given an endpoint: three tasks, two samples each."""
    folder, say = tmp_path_factory.mktemp("inspect"), "<Answer>toast</Answer>"
    with serve_endpoint(lambda messages: say) as url:
        known = {**os.environ, "LOCAL_BASE_URL": url, "LOCAL_API_KEY": "none"}
        options = ["-T", "max_turns=2", "-T", "gains=true", "--limit", "3", "--epochs", "2", "--display", "plain"]
        command = ["eval", "sonde/wordle", "--model", "openai-api/local/any", *options, "--log-dir", str(folder)]
        done = subprocess.run([INSPECT, *command], env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.thorough
def test_its_command_evaluates_on_a_local_endpoint(make_logs: Path) -> None:
    """Every sample is the episode of core with these numbers."""
    from inspect_ai.log import read_eval_log

    (file,) = make_logs.glob("*.eval")
    log = read_eval_log(str(file))
    assert log.status == "success" and log.samples and len(log.samples) == 6
    env = sonde.make("wordle", max_turns=2)
    for sample in log.samples:
        ep = Episode.begin(env, env.tasks("test")[sample.metadata["index"]], seed=0, sample=sample.epoch - 1)
        ep = ep.step("<Answer>toast</Answer>").step("<Answer>toast</Answer>")
        found = sample.store["sonde"]
        assert ep.outcome is not None and found["outcome"] == ep.outcome._asdict()
        assert [turn["gain"] for turn in found["turns"]] == pytest.approx(ep.information_gain())
        told = [m.text for m in sample.messages if m.role == "user"]
        assert told == [m.content for m in ep.messages["agent"] if m.role == "user"]


@pytest.mark.thorough
def test_its_command_evaluates_with_the_mock_model(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    options = ["--limit", "2", "--display", "none", "--log-dir", str(tmp_path)]
    command = [INSPECT, "eval", "sonde/maze", "--model", "mockllm/model", "-T", "max_turns=2", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (file,) = tmp_path.glob("*.eval")
    assert done.returncode == 0 and len(read_eval_log(str(file)).samples or ()) == 2


@pytest.mark.thorough
def test_its_viewer_opens_the_logs(make_logs: Path, tmp_path: Path) -> None:
    """In a browser: the task, its samples, a conversation as core had it; no error of its script."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here; on Debian: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    bundle = [INSPECT, "view", "bundle", "--log-dir", str(make_logs), "--output-dir", str(tmp_path / "site")]
    subprocess.run(bundle, check=True, capture_output=True)
    handler = partial(QuietHandler, directory=tmp_path / "site")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    said: list[str] = []
    with playwright.sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.get_by_text("sonde/wordle").first.click()
        page.get_by_text("test-1").first.click()
        page.get_by_text("<Answer>toast</Answer>").first.wait_for()
        page.get_by_text("t: absent").first.wait_for()
    server.shutdown()
    server.server_close()
    assert not said


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_errors() -> None:
    from sonde.interop.outward.inspect import TASKS, make_task

    with pytest.raises(UserError, match="split: unknown name 'dev'"):
        make_task("wordle", split="dev")
    with pytest.raises(UserError, match="unknown name 'lmlr'"):
        TASKS["wordle"](preset="lmlr")


def test_the_page_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ((_, code, printed),) = pages.page_examples("inspect.md")
    assert pages.run_code(code) == printed


def test_a_model_acts_by_tools(tmp_path: Path) -> None:
    """Inspect offers the environment's tool; a call plays, a reply without one is counted and cannot win."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from sonde.interop.outward.inspect import make_task

    env, offered = sonde.make("wordle"), list[Any]()
    word = env.tasks("test")[0].hidden

    def reply(messages: Any, tools: Any, choice: Any, config: GenerateConfig) -> ModelOutput:
        offered.append(tools)
        said = {
            0: lambda: ModelOutput.for_tool_call("mockllm/model", "act", {"action": "toast"}, content="I try."),
            1: lambda: ModelOutput.for_tool_call("mockllm/model", "act", {"action": word}),
        }
        output = said[sum(m.role == "assistant" for m in messages)]()
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    from inspect_ai import eval as inspect_eval

    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    task = make_task(env, indices=[0], tools=True)
    (log,) = inspect_eval(task, model=model, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    scores = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert (scores["success"], scores["turns"], scores["bad_calls"]) == (1.0, 2.0, 0.0)
    assert [m.role for m in log.samples[0].messages] == ["user", "assistant", "tool", "assistant", "tool"]
    [tool] = offered[0]
    assert tool.name == "act" and tool.parameters.properties["action"].description == "The word to guess."

    spoken = evaluate_task(tmp_path, task, lambda messages: (f"<Answer>{word}</Answer>",))
    scores = {score.name: score.metrics["mean"].value for score in spoken.results.scores}
    assert (scores["success"], scores["bad_calls"]) == (0.0, 1.0)
