"""What `models:vllm` and `models:http` promise, on a real vLLM: the numbers of `models:hf`, runs that survive, and
errors that say what to do."""

from __future__ import annotations

import json
import runpy
import signal
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from sonde import Message, Probe, Sampling, UserError
from sonde.core import AGENT, Halted, Trajectory
from sonde.core.types import Json
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.limits import BudgetWarning
from sonde.runs.run import RunConfig, config_from, play_run, prepare_run
from sonde.runs.store import Run

from ..cli.invoke import failure
from ..cli.invoke import run as run_command
from .asking import EXACT, local, run, served, sonde_command, talk
from .servers import NAME, Server

pytestmark = pytest.mark.slow

QUESTIONS = ("Begin.", "no", "yes")
CHECK = Path(__file__).parents[2] / "benchmarks" / "engine_check.py"


def config(model: dict[str, Json], **more: Any) -> RunConfig:
    agent = {"name": "agents:llm", "temperature": 1.0, "min_p": 0.0, "max_new_tokens": 8, "model": model}
    env = {"name": "twenty_questions", "preset": "small"}
    return config_from({"env": env, "seats": {AGENT: agent}, "n_tasks": 8, "k": 1, **more})


def reached(server: Server, tokenizer: Path) -> dict[str, Json]:
    return {
        "name": "models:vllm", "base_url": server.url, "model": NAME, "tokenizer": str(tokenizer), "api_key_env": "",
    }  # fmt: skip


def spoken(trajectories: Run) -> dict[str, list[str]]:
    return {t.task.id: [act.action.text.strip() for act in t.acts] for t in trajectories}


@pytest.mark.parametrize("temperature", [0.0, 1.0, 0.6])
def test_tokens_and_log_probabilities_are_those_of_the_same_weights_here(
    plays_tied: Server, tied: Path, temperature: float
) -> None:
    """Greedily the tokens too; what is sampled by its random numbers is scored here."""
    model = served(plays_tied, tied, logprobs_mode="processed_logprobs")
    said = run(talk(model, QUESTIONS, temperature=temperature))
    assert said[1].shared == len(said[0].prompt_ids) + len(said[0].ids), "token in, token out"
    if temperature == 0.0:
        here = run(talk(local(tied), QUESTIONS, temperature=0.0))
        assert [c.ids for c in said] == [c.ids for c in here] and [c.text for c in said] == [c.text for c in here]
    for completion, expected in zip(said, logits_here(tied, said, temperature), strict=True):
        assert list(completion.logprobs) == pytest.approx(expected, abs=EXACT)


def logits_here(folder: Path, said: list[Any], temperature: float) -> list[list[float]]:
    """The log-probabilities of sampled ids at a temperature (greedy ones: at 1), by transformers alone."""
    import torch
    from transformers import AutoModelForCausalLM

    module: Any = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    ids, found = list[int](), list[list[float]]()
    for completion in said:
        ids = [*ids[: completion.shared], *completion.prompt_ids, *completion.ids]
        with torch.no_grad():
            logits = module(torch.tensor([ids])).logits[0].double() / (temperature or 1.0)
        places = range(len(ids) - len(completion.ids), len(ids))
        found.append([torch.log_softmax(logits[i - 1], -1)[ids[i]].item() for i in places])
    return found


def test_scores_are_those_of_the_same_weights_here(plays_tied: Server, tied: Path) -> None:
    asked = (Message("user", "Begin."),)
    texts = ("Is it an animal?", "Is it a rabbit?", "It is a cat.")
    probes = [Probe((*asked, Message("assistant", text)), ending=ending) for text in texts for ending in (False, True)]

    async def scores(model: Any) -> list[list[float]]:
        try:
            return await model.score(probes)
        finally:
            await model.close()

    there, here = run(scores(served(plays_tied, tied))), run(scores(local(tied)))
    for a, b in zip(there, here, strict=True):
        assert a == pytest.approx(b, abs=EXACT)


def test_seeds_decide_what_is_drawn(plays_tied: Server, tied: Path) -> None:
    async def draws() -> list[list[int]]:
        model = served(plays_tied, tied)
        try:
            asked = (Message("user", "Begin."),)
            drawn = [
                await model.generate(asked, Sampling(max_new_tokens=8, temperature=1.5, seed=seed))
                for seed in (3, 3, *range(10, 18))
            ]
            return [list(c.ids) for c in drawn]
        finally:
            await model.close()

    first, again, *others = run(draws())
    assert first == again and len({tuple(ids) for ids in others}) > 4


def test_greedy_games_are_those_of_the_same_weights_here(plays_tied: Server, tied: Path, tmp_path: Path) -> None:
    """By `vllm:`, and by `http:`, whose prompts the server renders and whose replies are texts."""
    greedy = {"seats": {AGENT: {"name": "agents:llm", "temperature": 0.0, "min_p": 0.0, "max_new_tokens": 8}}}
    here = {"name": "models:hf", "model": str(tied), "dtype": "float32", "threads": 1}
    http = {"name": "models:http", "base_url": plays_tied.url, "model": NAME, "api_key_env": ""}
    games = dict[str, dict[str, list[str]]]()
    for name, model in (("hf", here), ("vllm", reached(plays_tied, tied)), ("http", http)):
        asked = config(model, seats={AGENT: {**greedy["seats"][AGENT], "model": model}})
        execute_run(prepare_run(asked), tmp_path / name)
        games[name] = spoken(Run.load(tmp_path / name))
    assert len(games["hf"]) == 8 and games["vllm"] == games["hf"] and games["http"] == games["hf"]


def test_beliefs_are_those_of_the_same_weights_here(
    plays_tied: Server, tied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    play_run(prepare_run(config(reached(plays_tied, tied), n_tasks=3)), tmp_path / "run")
    how = ("elicit", tmp_path / "run", "--template", "answer", "--candidates", "4", "--json")
    tied_here = run_command(*map(str, how), "--model", f"hf:{tied}")
    there = run_command(
        *map(str, how), "--fresh", "--model", f"vllm:{NAME}", "--base-url", plays_tied.url,
        "-o", f"model.tokenizer={tied}",
    )  # fmt: skip
    a, b = (json.loads(text)["beliefs"]["all"]["target"] for text in (tied_here, there))
    assert len(a) > 1
    for x, y in zip(a, b, strict=True):
        assert x["mean"] == pytest.approx(y["mean"], abs=1e-4)


def test_a_budget_ends_a_run_and_a_larger_one_continues_it(plays_tied: Server, tied: Path, tmp_path: Path) -> None:
    asked = config(reached(plays_tied, tied), n_tasks=8, k=3, concurrency=4, budget=1000)
    with pytest.warns(BudgetWarning, match="not all planned episodes were played"):
        play_run(prepare_run(asked), tmp_path / "run")
    n = len(Run.load(tmp_path / "run"))
    assert 0 < n < 24
    play_run(prepare_run(config(reached(plays_tied, tied), n_tasks=8, k=3)), tmp_path / "run")
    assert len(Run.load(tmp_path / "run")) == 24


@pytest.mark.filterwarnings("ignore::sonde.runs.store.StoreWarning")
def test_an_interrupted_run_goes_on(plays_tied: Server, tied: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    agent = {"name": "agents:llm", "temperature": 1.0, "min_p": 0.0, "max_new_tokens": 8}
    asked = {
        "env": {"name": "twenty_questions", "preset": "small"}, "n_tasks": 8, "k": 12, "concurrency": 4,
        "split": "train",
        "seats": {AGENT: {**agent, "model": reached(plays_tied, tied)}},
    }  # fmt: skip
    file.write_text(json.dumps(asked))
    command = ("rollout", "twenty_questions", tmp_path / "run", "--config", file)
    process = sonde_command(*command, folder=tmp_path)
    wait_for(tmp_path / "run", 4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted; what was finished is kept" in err, err
    n = len(Run.load(tmp_path / "run"))
    assert 4 <= n < 96
    play_run(prepare_run(config_from(asked)), tmp_path / "run")
    stored = Run.load(tmp_path / "run")
    assert len(stored) == 96 and stored.trajectories.superseded_count == 0
    assert not any(t.error for t in stored)


def wait_for(folder: Path, n: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if (folder / "config.json").is_file() and len(Run.load(folder)) >= n:
            return
        time.sleep(0.1)
    raise AssertionError(f"{folder} has not {n} episodes")


# --- what goes wrong -------------------------------------------------------------------------------------------------


async def _one_reply(model: Any) -> None:
    try:
        await model.generate((Message("user", "Begin."),), Sampling(max_new_tokens=8))
    finally:
        await model.close()


def test_the_address_is_taken_with_v1_and_without(plays_tied: Server, tied: Path) -> None:
    run(_one_reply(served(plays_tied, tied, base_url=plays_tied.url.removesuffix("/v1"))))


def test_a_model_that_is_not_served_is_named(plays_tied: Server, tied: Path) -> None:
    with pytest.raises(UserError, match=r"base_url or model: 404 from /v1/completions.*does not exist") as caught:
        run(_one_reply(served(plays_tied, tied, model="another")))
    assert "models:http" not in str(caught.value)


def test_another_models_tokenizer_is_noticed(plays_tied: Server) -> None:
    with pytest.raises(UserError, match=r"tokenizer: got 'sonde-tiny-maze'.*the server decodes"):
        run(_one_reply(served(plays_tied, Path("sonde-tiny-maze"))))


@pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")
def test_a_server_that_was_killed_ends_the_run_and_one_begun_anew_completes_it(
    plays_tied: Server, tied: Path, tmp_path: Path
) -> None:
    asked = config({**reached(plays_tied, tied), "retries": 0}, n_tasks=8, k=12, concurrency=4)
    played = list[Trajectory]()

    def kill_at_eight(trajectory: Trajectory) -> None:
        played.append(trajectory)
        if len(played) == 8:
            plays_tied.kill()

    with pytest.raises((Halted, UserError)):
        play_run(prepare_run(asked), tmp_path / "run", on_done=kill_at_eight)
    assert len(played) >= 8
    with plays_tied:
        play_run(prepare_run(asked), tmp_path / "run")
        stored = Run.load(tmp_path / "run")
        assert len(stored) == 96 and not any(t.error for t in stored)
        _check_that_other_weights_are_noticed(plays_tied, tied, tmp_path)
        _check_that_an_unseen_folder_is_named_at_once(plays_tied, tied)


def _check_that_other_weights_are_noticed(server: Server, tied: Path, tmp_path: Path) -> None:
    """A server that a training has left with other weights does not continue a run, nor is it asked for the beliefs of
    who played; and one that keeps its old output head does not pass for one that plays with what it was given."""
    changed = changed_model(tied, tmp_path / "changed")
    arguments = ["vllm", NAME, server.url, "--tokenizer", str(tied), "--api-key-env", "", "--json"]
    mode = ["--logprobs-mode", "processed_logprobs"]
    found = checks([*arguments, *mode, "--weights", str(changed)])
    wrong = {name: row for name, row in found.items() if row["verdict"] == "fails"}
    assert set(wrong) == {"weights"}, found
    assert "tied" in wrong["weights"]["said"]
    asked = config(reached(server, tied), n_tasks=8, k=13)
    with pytest.raises(UserError, match=r"the server holds weights 'check-1-.*not 'default'.*at the start of"):
        play_run(prepare_run(asked), tmp_path / "run")
    command = ("elicit", str(tmp_path / "run"), "--model", f"vllm:{NAME}", "--base-url", server.url)
    said = failure(*command, "-o", f"model.tokenizer={tied}")
    assert "the server holds weights 'check-1-" in said


def _check_that_an_unseen_folder_is_named_at_once(server: Server, tied: Path) -> None:
    """The last that is asked of a server: vLLM 0.32 does not survive it, and answers the next request with 500."""

    async def publish() -> None:
        model = served(server, tied)
        try:
            await model.publish_weights(Path("/nowhere/step-1"), "step-1", adapter=False)
        finally:
            await model.close()
            assert model.stats.retries == 0

    message = "500 from /collective_rpc.*from a folder that it sees under the same path: /nowhere/step-1"
    with pytest.raises(UserError, match=message):
        run(publish())


def checks(arguments: list[str]) -> dict[str, dict[str, str]]:
    """The lines of `benchmarks/engine_check.py`."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(CHECK))["main"](arguments)
    return {row["check"]: row for row in json.loads(printed.getvalue())}


def changed_model(source: Path, target: Path) -> Path:
    """The same model with other weights, its embeddings among them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    module: Any = AutoModelForCausalLM.from_pretrained(source, dtype="float32")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.05 * p.std() * torch.randn(p.shape, generator=generator))
    module.save_pretrained(target)
    AutoTokenizer.from_pretrained(source).save_pretrained(target)
    return target
