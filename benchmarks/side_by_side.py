"""sonde beside other libraries on this CPU: one table of ratios, from one run.

    python benchmarks/side_by_side.py [--rows rollout decode training start-up memory] [--rounds 5] [--small] [--json]

Every cost is CPU time or memory of a process of its own; in every round ours and theirs run in turn, so that the load
of the machine meets both. The ratio is theirs / ours in the same round, its median with the smallest and the largest:
above 1 ours is cheaper. A library that is not installed, or fails, has a line that says so and no number.

    rollout   CPU us per turn of Mastermind through one chat endpoint on this machine, whose own time does not count.
              Ours has 64 games in flight and records them. TextArena plays by its OpenAIAgent, one game after the
              other; GEM has no client, so a loop over the openai client plays it with the whole history; verifiers
              plays its own loop with an environment that says "Go on."
    decode    CPU ms per sampled token of conversations of SmolLM2-135M, `transformers.generate` on the whole history
              and vLLM with its prefix cache (not compiled, which takes longer than the measurement)
    training  CPU us per token of supervised training at the shape of SmolLM2-135M: a bare loop over transformers, and
              TRL's SFTTrainer (`train.py` has more arms)
    start-up  CPU s of a fresh interpreter until there is an environment, or until models and trainers are imported
    memory    KB per episode of 10,000 games of Mastermind in memory, five guesses each

TRL's own rollouts play with its model or with vLLM, not through an endpoint, so they have no line in `rollout`.
"""

# Types are checked without these libraries too.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.resolve()
REPLY = "<Answer>1 2 3 4</Answer> [1 2 3 4] \\boxed{1 2 3 4}"
"""A guess in the syntax of every library."""


@dataclass(frozen=True)
class Size:
    """How much is measured in one process."""

    games: int
    episodes: int
    conversations: int
    turns: int
    tokens: int
    steps: int
    batch: int


FULL = Size(games=128, episodes=10_000, conversations=8, turns=5, tokens=16, steps=4, batch=16)
SMALL = Size(games=16, episodes=1_000, conversations=2, turns=3, tokens=8, steps=2, batch=2)


# --- the endpoint ----------------------------------------------------------------------------------------------------


@contextmanager
def serve_replies() -> Iterator[str]:
    """The address of an endpoint in another process that answers every chat with `REPLY`."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        server.terminate()
        server.join()


def _serve(report: Any) -> None:
    from http_client import InstantServer, serve_instant

    whole = {"id": "x", "created": 0, "model": "m"}

    class ReplyServer(InstantServer):
        def make_response(self, body: bytes) -> bytes:
            prompt = len(body) // 4
            usage = {"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20}
            if json.loads(body).get("stream"):
                delta = {"index": 0, "delta": {"role": "assistant", "content": REPLY}, "finish_reason": None}
                end = {"index": 0, "delta": {}, "finish_reason": "stop"}
                rows = [{**whole, "object": "chat.completion.chunk", "choices": [part]} for part in (delta, end)]
                rows.append({**whole, "object": "chat.completion.chunk", "choices": [], "usage": usage})
                kind, text = "text/event-stream", "".join(f"data: {json.dumps(row)}\n\n" for row in rows)
                text += "data: [DONE]\n\n"
            else:
                choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
                kind = "application/json"
                text = json.dumps({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n\r\n"
            return (head + text).encode()

    serve_instant(report, ReplyServer)


# --- rollout: CPU us per turn ----------------------------------------------------------------------------------------


def cpu_seconds() -> float:
    """CPU time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def time_turns(play: Callable[[int], int], games: int) -> float:
    """CPU us per turn of `play(games)`, which returns its turns; two games before warm up."""
    play(2)
    begun = cpu_seconds()
    turns = play(games)
    return (cpu_seconds() - begun) / turns * 1e6


def roll_sonde(size: Size) -> float:
    import sonde
    from sonde.runs.rollout import Plan, record_plan

    env = sonde.make("mastermind")
    tasks = env.tasks("train")
    with serve_replies() as url, tempfile.TemporaryDirectory() as folder:
        model = sonde.make("models:http", base_url=url, model="m", api_key_env="", concurrency=64)
        policies = {"agent": sonde.make("agents:llm", model=model)}

        def play(games: int) -> int:
            run = record_plan(env, policies, tasks[:games], Plan(concurrency=64), Path(folder) / str(games), {})
            return sum(entry.turns for entry in run.trajectories.index_entries())

        return time_turns(play, size.games)


def roll_textarena(size: Size) -> float:
    import textarena as library

    with serve_replies() as url:
        agent = library.agents.OpenAIAgent(model_name="m", api_key="none", base_url=url)

        def play(games: int) -> int:
            turns = 0
            for seed in range(games):
                env = library.make("Mastermind-v0")
                env.reset(num_players=1, seed=seed)
                done = False
                while not done:
                    _, observation = env.get_observation()
                    done, _ = env.step(action=agent(observation))
                    turns += 1
            return turns

        return time_turns(play, size.games)


def roll_gem(size: Size) -> float:
    import gem as library
    from openai import OpenAI

    logging.getLogger("httpx").setLevel(logging.WARNING)  # importing gem makes it tell every request
    with serve_replies() as url:
        client = OpenAI(api_key="none", base_url=url)

        def play(games: int) -> int:
            turns = 0
            for seed in range(games):
                env: Any = library.make("game:Mastermind-v0-hard")
                observation, _ = env.reset(seed=seed)
                chat: list[Any] = []
                done = False
                while not done:
                    chat.append({"role": "user", "content": observation})
                    said = client.chat.completions.create(model="m", messages=chat).choices[0].message.content
                    chat.append({"role": "assistant", "content": said})
                    observation, _, terminated, truncated, _ = env.step(said)
                    done = terminated or truncated
                    turns += 1
            return turns

        return time_turns(play, size.games)


def roll_verifiers(size: Size) -> float:
    """One game of 20 turns: it starts a process for every turn."""
    import verifiers.v1 as vf

    from sonde.interop.outward.verifiers import SondeEnvConfig, SondeTasksetConfig

    class Talk(vf.Env[SondeEnvConfig]):
        async def run(self, task: Any, agents: Any) -> None:
            async with agents.agent.interaction(task) as exchange:
                for _ in range(20):
                    await exchange.turn("Go on.")

    env: Any = Talk(SondeEnvConfig(taskset=SondeTasksetConfig(id="sonde-verifiers", env="mastermind")))
    os.environ["ENDPOINT_KEY"] = "none"
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with serve_replies() as url:

        async def play() -> None:
            client = vf.EvalClientConfig(base_url=url, api_key_var="ENDPOINT_KEY")
            async with env.serving():
                episode = await env.run_episode(next(iter(env.taskset)), vf.ModelContext(model="m", client=client))
            assert episode.ok, episode.traces[0].errors

        begun = cpu_seconds()
        asyncio.run(play())
        return (cpu_seconds() - begun) / 20 * 1e6


# --- decode: CPU ms per sampled token --------------------------------------------------------------------------------

_WORDS = 30
"""Words that are told in every turn."""


def _load_smollm2() -> Any:
    from hf_generate import endless_steer

    hf = endless_steer({"model": "smollm2", "dtype": "float32", "threads": 1})
    from hf_generate import play_with_sonde

    asyncio.run(play_with_sonde(hf, 1, 1, 2, 4))
    hf.release_cache()
    return hf


def _per_token(seconds: float, size: Size) -> float:
    return seconds / (size.conversations * size.turns * size.tokens) * 1e3


def decode_sonde(size: Size) -> float:
    from hf_generate import play_with_sonde, time_call

    hf = _load_smollm2()
    return _per_token(time_call(lambda: play_with_sonde(hf, size.turns, size.conversations, size.tokens, _WORDS)), size)


def decode_transformers(size: Size) -> float:
    from hf_generate import play_with_generate

    hf = _load_smollm2()
    begun = time.process_time()
    play_with_generate(hf, size.turns, size.conversations, size.tokens, _WORDS)
    return _per_token(time.process_time() - begun, size)


def decode_vllm(size: Size) -> float:
    """With the weights of smollm2 in the folder that SMOLLM2 names, since vLLM reads files of its own."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # or its time is that of another process
    from vllm import LLM, SamplingParams

    if not (folder := os.environ.get("SMOLLM2")):
        raise LookupError("SMOLLM2: names no folder with the weights of SmolLM2-135M")
    engine = LLM(folder, dtype="float32", enable_prefix_caching=True, max_model_len=4096, enforce_eager=True)
    sampling = SamplingParams(temperature=0.7, min_p=0.3, max_tokens=size.tokens, ignore_eos=True)
    from hf_generate import make_text

    def play(conversations: int, turns: int) -> None:
        rngs = [random.Random(i) for i in range(conversations)]
        chats: list[list[Any]] = [[] for _ in rngs]
        for _ in range(turns):
            for chat, rng in zip(chats, rngs, strict=True):
                chat.append({"role": "user", "content": make_text(rng, _WORDS)})
            for chat, out in zip(chats, engine.chat(chats, sampling, use_tqdm=False), strict=True):
                chat.append({"role": "assistant", "content": out.outputs[0].text})

    play(1, 1)
    begun = time.process_time()
    play(size.conversations, size.turns)
    return _per_token(time.process_time() - begun, size)


# --- training: CPU us per token --------------------------------------------------------------------------------------


def train_arm(arm: str) -> Callable[[Size], float]:
    def train(size: Size) -> float:
        os.environ["BATCH"] = str(size.batch)
        import train as benchmark

        benchmark.SHAPE["name"] = "135m"
        found = benchmark.measure_way(arm, size.steps, 0)
        return found["seconds"] / found["tokens"] * 1e6

    return train


# --- start-up: CPU s -------------------------------------------------------------------------------------------------


def start_up(code: str) -> Callable[[Size], float]:
    """Of a fresh interpreter; run once before, so that byte code is there."""

    def start(size: Size) -> float:
        _run_code(code)
        begun = cpu_seconds()
        _run_code(code)
        return cpu_seconds() - begun

    return start


def _run_code(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.splitlines() or ["no message"])[-1]
        if missing := re.fullmatch(r"ModuleNotFoundError: No module named '(.+)'", said):
            raise ModuleNotFoundError(said, name=missing[1])
        raise LookupError(said)


# --- memory: KB per episode ------------------------------------------------------------------------------------------


def _grown_memory(make: Callable[[int], Any], size: Size) -> float:
    make(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = [make(seed) for seed in range(1, size.episodes + 1)]
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / len(kept)


def keep_sonde(size: Size) -> float:
    import sonde
    from sonde.core import Episode

    env = sonde.make("mastermind")
    tasks = env.tasks("train")

    def make(seed: int) -> Episode:
        ep = Episode.begin(env, tasks[seed % len(tasks)], seed=seed)
        for i in range(5):
            ep = ep.step(f"<Answer>1 2 3 {i}</Answer>")
        return ep

    return _grown_memory(make, size)


def keep_textarena(size: Size) -> float:
    import textarena as library

    def make(seed: int) -> Any:
        env = library.make("Mastermind-v0")
        env.reset(num_players=1, seed=seed)
        for i in range(5):
            env.get_observation()
            env.step(action=f"[1 2 3 {4 + i % 3}]")
        return env

    return _grown_memory(make, size)


def keep_gem(size: Size) -> float:
    import gem as library

    def make(seed: int) -> Any:
        env: Any = library.make("game:Mastermind-v0-hard")
        env.reset(seed=seed)
        for i in range(5):
            env.step(f"\\boxed{{1 2 3 {4 + i % 3}}}")
        return env

    return _grown_memory(make, size)


# --- the table -------------------------------------------------------------------------------------------------------

_OURS = "sonde"
_ENV = {
    _OURS: "import sonde; sonde.make('mastermind')",
    "gem": "import gem; gem.make('game:Mastermind-v0-hard')",
    "textarena": "import textarena; textarena.make('Mastermind-v0')",
    "verifiers": "import verifiers.v1 as vf; vf.Env",
}
_ENGINE = {
    _OURS: "from sonde.models.hf import HF; from sonde.train.trainer import SondeTrainer",
    "transformers": "from transformers import AutoModelForCausalLM, Trainer",
    "trl": "from trl import GRPOTrainer, SFTTrainer",
    "vllm": "from vllm import LLM, SamplingParams",
}
Arms = dict[str, Callable[[Size], float]]
ROWS: dict[str, tuple[str, Arms]] = {
    "rollout": (
        "CPU us a turn",
        {_OURS: roll_sonde, "gem": roll_gem, "textarena": roll_textarena, "verifiers": roll_verifiers},
    ),
    "decode": (
        "CPU ms a token",
        {_OURS: decode_sonde, "transformers": decode_transformers, "vllm": decode_vllm},
    ),
    "training": (
        "CPU us a token",
        {_OURS: train_arm("sonde"), "transformers": train_arm("bare"), "trl": train_arm("trl-sft")},
    ),
    "start-up": ("CPU s, an environment", {name: start_up(code) for name, code in _ENV.items()}),
    "start-up of models": ("CPU s, imports", {name: start_up(code) for name, code in _ENGINE.items()}),
    "memory": ("KB an episode", {_OURS: keep_sonde, "gem": keep_gem, "textarena": keep_textarena}),
}


def measure_arm(row: str, arm: str, small: bool) -> dict[str, Any]:
    """The cost by one library, measured in this process; or what it lacks."""
    try:
        return {"cost": ROWS[row][1][arm](SMALL if small else FULL)}
    except ModuleNotFoundError as e:
        return {"lacks": f"not installed: {e.name}"}
    except Exception as e:
        return {"lacks": f"not measured: {type(e).__name__}: {' '.join(str(e).split())[:100]}"}


def run_arm(row: str, arm: str, small: bool) -> dict[str, Any]:
    """`measure_arm` in a process of its own."""
    command = [sys.executable, __file__, "--one", row, arm, *(["--small"] if small else [])]
    more = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(HERE.parent / "src"), str(HERE.parent)])}
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode or not last.startswith("{"):
        return {"lacks": f"not measured: {(done.stderr.splitlines() or ['no message'])[-1][:100]}"}
    return json.loads(last)


def measure_row(row: str, rounds: int, small: bool) -> list[dict[str, Any]]:
    """A line for every other library: our cost, theirs, and the ratios of the rounds. What fails once is left out."""
    arms = list(ROWS[row][1])
    found: dict[str, list[float]] = {arm: [] for arm in arms}
    lacks: dict[str, str] = {}
    for _ in range(rounds):
        for arm in [arm for arm in arms if arm not in lacks]:
            result = run_arm(row, arm, small)
            if "cost" in result:
                found[arm].append(result["cost"])
            else:
                lacks[arm] = result["lacks"]
    if _OURS in lacks:
        raise SystemExit(f"{row}: {_OURS}: {lacks[_OURS]}")
    return [{"row": row, "peer": arm, **_compare(found, lacks, arm)} for arm in arms if arm != _OURS]


def _compare(found: dict[str, list[float]], lacks: dict[str, str], arm: str) -> dict[str, Any]:
    if arm in lacks:
        return {"lacks": lacks[arm]}
    ratios = [theirs / ours for theirs, ours in zip(found[arm], found[_OURS], strict=True)]
    return {"ours": statistics.median(found[_OURS]), "theirs": statistics.median(found[arm]), "ratios": ratios}


def format_line(line: dict[str, Any]) -> str:
    head = f"{line['row']:20} {ROWS[line['row']][0]:22} {line['peer']:13}"
    if "lacks" in line:
        return f"{head} {line['lacks']}"
    ratios = line["ratios"]
    spread = f"{statistics.median(ratios):8.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"
    return f"{head} {line['ours']:10.3g} {line['theirs']:10.3g} {spread}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a fraction of the work")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        row, arm = args.one
        print(json.dumps(measure_arm(row, arm, args.small)))
        return
    if not args.json:
        print(f"{'':20} {'cost':22} {'beside':13} {'sonde':>10} {'theirs':>10}   ratio, theirs / ours")
    for row in args.rows:
        for line in measure_row(row, args.rounds, args.small):
            print(json.dumps(line) if args.json else format_line(line), flush=True)


if __name__ == "__main__":
    main()
