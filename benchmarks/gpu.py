"""Correctness and speed of sonde on this machine's GPU, in at most eight minutes.

    python benchmarks/gpu.py                                     a random Llama of half a billion weights, in bfloat16
    python benchmarks/gpu.py --model Qwen/Qwen3-0.6B [--json]    any other
    python benchmarks/gpu.py --device cpu --size tiny --minutes 1

First checks, with sonde-tiny-maze in float32: scores packed into one tree against separate passes, greedy decoding
against transformers' `generate`, log-probabilities at sampling against those that training computes; and how often the
host waits for the GPU per decoded token (`torch.cuda.set_sync_debug_mode`). Then decoding, of prompts of different
lengths that share their beginning, beside transformers' `generate` and its continuous batching: tokens per second from
nothing kept to the last token, so reading the prompts is in it; end tokens are forbidden, so all do the same work.
Then one step of GRPO on mazes. Last, in what time is left, the tests (`--tests`; none without a checkout).

Prints a table for docs/scale.md. The exit status is 1 where a check or a test fails. Needs no network, except for a
`--model` that is not on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from gpu_checks import (
    CHECKS,
    PLAIN,
    TINY,
    CheckResult,
    check_waits,
    endless_steer,
    list_said,
    load_model,
    make_talks,
    time_seconds,
)

import sonde
from sonde.core import EMPTY, UserError

ROOT = Path(__file__).parents[1]
SIZES: dict[str, tuple[int, int, int, int, int]] = {
    "tiny": (0, 0, 0, 0, 0),
    "0.1b": (576, 1536, 30, 9, 3),
    "0.5b": (896, 4864, 24, 14, 2),
    "1.5b": (1536, 8960, 28, 12, 2),
}
"""Width, inner width, layers, heads and heads of keys, as SmolLM2-135M and Qwen2.5's small models have them; `tiny` is
sonde-tiny-maze itself."""
VOCABULARY = 49_152
ROWS = (1, 16, 64, 256)
# --- what is measured ------------------------------------------------------------------------------------------------


def write_results(size: str, folder: Path) -> str:
    """A model with random weights in a folder, with the tokenizer of sonde-tiny-maze."""
    if size == "tiny":
        return TINY
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    width, inner, layers, heads, pairs = SIZES[size]
    config = LlamaConfig(
        hidden_size=width, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=pairs, vocab_size=VOCABULARY, max_position_embeddings=4096, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=2, pad_token_id=1,
    )  # fmt: skip
    LlamaForCausalLM(config).bfloat16().save_pretrained(folder)
    AutoTokenizer.from_pretrained(TINY).save_pretrained(folder)
    return str(folder)


def peak_memory(device: str) -> float:
    """Peak GiB in use on the device since the last call."""
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    import torch

    most = torch.cuda.max_memory_allocated() / 2**30
    torch.cuda.reset_peak_memory_stats()
    return most


# --- decoding --------------------------------------------------------------------------------------------------------


def make_prompts(name: str, rows: int, words: int) -> list[list[int]]:
    """The same prompts as ids."""
    from transformers import AutoTokenizer

    from sonde.models.chat.chat import Chat

    chat = Chat(AutoTokenizer.from_pretrained(name), label=name, template=EMPTY)
    return [list(chat.encode_prompt(messages).ids) for messages in make_talks(rows, words)]


def by_sonde(o: argparse.Namespace, rows: int) -> float:
    hf = endless_steer(o.model, o.device, o.dtype, rows)
    chats, told = make_talks(rows, o.words), replace(PLAIN, max_new_tokens=o.new)
    asyncio.run(list_said(hf, chats, replace(told, max_new_tokens=2)))  # loads, warms up
    hf.release_cache()
    begun = time_seconds(o.device)
    completions = asyncio.run(list_said(hf, chats, told))
    seconds = time_seconds(o.device) - begun
    asyncio.run(hf.close())
    assert {len(c.ids) for c in completions} == {o.new}
    return seconds


def by_generate(o: argparse.Namespace, rows: int) -> float:
    import torch

    model, _ = load_model(o.model, o.device, o.dtype)
    asked = make_prompts(o.model, rows, o.words)
    longest = max(map(len, asked))
    ids = torch.tensor([[0] * (longest - len(row)) + row for row in asked], device=o.device)
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in asked], device=o.device)

    def run_batch(new: int) -> Any:
        more: dict[str, Any] = {"do_sample": True, "temperature": 1.0, "top_k": 0, "pad_token_id": 0}
        return model.generate(ids, attention_mask=mask, min_new_tokens=new, max_new_tokens=new, **more)

    run_batch(2)
    begun = time_seconds(o.device)
    out = run_batch(o.new)
    seconds = time_seconds(o.device) - begun
    assert out.shape == (rows, longest + o.new)
    return seconds


def by_continuous(o: argparse.Namespace, rows: int) -> float:
    from transformers import ContinuousBatchingConfig, GenerationConfig

    model, _ = load_model(o.model, o.device, o.dtype)
    asked = make_prompts(o.model, rows, o.words)
    settings: dict[str, Any] = {}
    if o.device == "cpu":  # by itself it would take most of the machine's memory
        settings = {"page_size": 32, "num_blocks": sum(1 + (len(row) + o.new) // 32 for row in asked) + 1,
                    "max_batch_tokens": 512}  # fmt: skip

    def run_batch(new: int) -> Any:
        told = GenerationConfig(
            do_sample=True, temperature=1.0, top_k=0, max_new_tokens=new, eos_token_id=-1, pad_token_id=0
        )
        config = ContinuousBatchingConfig(**settings)
        return model.generate_batch(asked, generation_config=told, continuous_batching_config=config)

    run_batch(2)
    begun = time_seconds(o.device)
    out = run_batch(o.new)
    seconds = time_seconds(o.device) - begun
    assert [len(one.generated_tokens) for one in out.values()] == [o.new] * rows
    return seconds


ARMS: dict[str, Callable[[argparse.Namespace, int], float]] = {
    "sonde": by_sonde, "generate": by_generate, "continuous batching": by_continuous,
}  # fmt: skip


def measure_arm(o: argparse.Namespace) -> None:
    """Measure one arm with one number of rows in a process of its own, which reports in JSON."""
    peak_memory(o.device)
    seconds = ARMS[o.one](o, o.rows[0])
    print(json.dumps({"seconds": seconds, "gib": peak_memory(o.device)}))


def measure_decoding(o: argparse.Namespace, arm: str, rows: int, until: float) -> CheckResult:
    command = [sys.executable, __file__, "--one", arm, "--rows", str(rows), "--model", o.model, "--device", o.device]
    command += ["--dtype", o.dtype, "--words", str(o.words), "--new", str(o.new)]
    left = until - time.monotonic()
    if left < 5:
        return CheckResult(arm, "left out: no time", rows=rows)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired:
        return CheckResult(arm, f"left out: more than {left:.0f} s", rows=rows)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return CheckResult(arm, last, "fails" if arm.startswith("sonde") else "not checked", rows)
    told = json.loads(done.stdout.splitlines()[-1])
    speed = rows * o.new / told["seconds"]
    return CheckResult(arm, f"{speed:,.0f} tokens/s, {told['gib']:.1f} GiB", rows=rows, figure=speed)


# --- training, tests -------------------------------------------------------------------------------------------------


def measure_grpo(o: argparse.Namespace) -> list[CheckResult]:
    """The second of two steps: 64 episodes of mazes, 5 turns each."""
    from sonde.train.by_name import learn_online
    from sonde.train.collect import Game
    from sonde.train.presets import preset

    env = sonde.make("maze", preset="pairs", max_turns=5)
    peak_memory(o.device)
    with tempfile.TemporaryDirectory() as folder:
        size, bf16 = (64, True) if o.device == "cuda" else (16, False)
        training = preset(
            "tiny_grpo", folder=folder, max_steps=2, batch_size=size, micro_batch=16, bf16=bf16, logging_steps=1
        )
        training = replace(training, online=replace(training.online, max_new_tokens=o.new // 4, lock_step=False))
        result = learn_online(o.model, training, [Game(env, env.tasks("train"), "maze")])
    step = [entry for entry in result.history if "seconds_playing" in entry][-1]
    play, train = step["seconds_playing"], step["seconds_training"]
    text = (
        f"{play:.1f} s playing {size} episodes, {train:.1f} s training on them, {peak_memory(o.device):.1f} GiB at most"
    )
    return [CheckResult("a step of GRPO", text, figure=play + train)]


def run_tests(paths: Sequence[str], until: float) -> CheckResult:
    """Run pytest until the time limit; its last line."""
    what = "tests"
    there = [str(ROOT / path) for path in paths if (ROOT / path).exists()]
    seconds = until - time.monotonic()
    if not there or seconds < 5:
        return CheckResult(what, "no time is left" if there else "no files: --tests, in a checkout", "not checked")
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-m", "not slow and not thorough", *there]
    run = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        out, _ = run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=60)
    failed = [line.split()[1] for line in out.splitlines() if line.startswith(("FAILED", "ERROR "))]
    summary = out.strip().splitlines()[-1].strip("= ") if out.strip() else f"exit code {run.returncode}"
    text = f"{summary}{' (stopped: time is up)' if run.returncode == 2 else ''} {' '.join(failed)}".strip()
    return CheckResult(what, text, "fails" if failed or run.returncode not in (0, 2, 5) else "ok")


# --- all of it -------------------------------------------------------------------------------------------------------


def run_everything(o: argparse.Namespace) -> list[CheckResult]:
    begun = time.monotonic()
    end = begun + 60 * o.minutes
    found = [check(o.device, attention) for attention in ("sdpa", "eager") for check in CHECKS]
    found.append(check_waits(o.device, o.model, o.dtype))
    until = begun + 0.6 * (end - begun)
    found += [measure_decoding(o, arm, rows, until) for rows, arm in product(o.rows, ARMS)]
    found += measure_grpo(o)
    return [*found, run_tests(o.tests, end)]


def format_table(o: argparse.Namespace, found: Sequence[CheckResult]) -> str:
    """The results as a table, for the terminal and the page."""
    speeds = {(f.what, f.rows): "-" if math.isnan(f.figure) else f"{f.figure:,.0f}" for f in found if f.rows}
    lines = [f"{describe_machine(o)}. {o.called}, {o.dtype}, {o.new} tokens after prompts of up to {o.words} words", ""]
    lines += [
        f"| tokens per {'CPU ' if o.device == 'cpu' else ''}second | " + " | ".join(f"{n} rows" for n in o.rows) + " |"
    ]
    lines += ["|---" * (1 + len(o.rows)) + "|"]
    lines += [f"| {arm} | " + " | ".join(speeds[arm, n] for n in o.rows) + " |" for arm in ARMS]
    rest = [f"{f.verdict or '':<12} {f.what + (f', {f.rows} rows' if f.rows else ''):<28} {f.said}" for f in found]
    return "\n".join([*lines, "", *rest])


def describe_machine(o: argparse.Namespace) -> str:
    import torch
    import transformers

    device = (
        torch.cuda.get_device_name()
        if o.device == "cuda"
        else f"{platform.machine()}, {torch.get_num_threads()} threads"
    )
    return f"{device}, torch {torch.__version__}, transformers {transformers.__version__}, sonde {sonde.__version__}"


def parse_args(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder or a hub's name, in place of random weights")
    parser.add_argument("--size", choices=SIZES, default="0.5b", help="of random weights (default 0.5b)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16", "float16"), help="default: bfloat16; float32 on a CPU"
    )
    parser.add_argument("--minutes", type=float, default=8.0, help="at most, more or less (default 8)")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="sequences at once")
    parser.add_argument("--words", type=int, help="of a prompt, at most")
    parser.add_argument("--new", type=int, help="tokens of a completion")
    parser.add_argument("--tests", nargs="*", default=["tests/models", "tests/train"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", choices=ARMS, help=argparse.SUPPRESS)
    o = parser.parse_args(arguments)
    words, new, dtype = (60, 16, "float32") if o.device == "cpu" else (600, 128, "bfloat16")
    o.words, o.new, o.dtype = o.words or words, o.new or new, o.dtype or dtype
    o.called = o.model or ("sonde-tiny-maze" if o.size == "tiny" else f"a random Llama ({o.size})")
    return o


def main(arguments: Sequence[str]) -> int:
    o = parse_args(arguments)
    one = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    os.environ["CUDA_VISIBLE_DEVICES"] = one if o.device == "cuda" else ""  # whatever else is here
    import torch

    if o.device == "cuda" and not torch.cuda.is_available():
        raise UserError("gpu: device: got 'cuda', which torch does not find here; allowed: --device cpu --size tiny")
    if o.one:
        measure_arm(o)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        o.model = o.model or write_results(o.size, Path(folder))
        found = run_everything(o)
    print(
        json.dumps({"where": describe_machine(o), "found": [asdict(f) for f in found]}, indent=2)
        if o.json
        else format_table(o, found)
    )
    return int(any(f.verdict == "fails" for f in found))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as e:
        sys.exit(str(e))
