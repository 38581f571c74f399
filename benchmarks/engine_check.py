"""Check that a live vLLM or SGLang server does what sonde needs for playing and training; takes a minute.

python benchmarks/engine_check.py vllm Qwen/Qwen3-8B http://localhost:8000/v1 [--adapter FOLDER] [--weights FOLDER]
python benchmarks/engine_check.py sglang Qwen/Qwen3-8B http://localhost:30000

Each line (or, with `--json`, object) names a requirement, the result and, after a failure, what to change. The exit
status is 0 if nothing failed. `--tokenizer` names a folder, for a model name that the hub does not know;
`--adapter` is a LoRA of peft for this model, `--weights` a folder of the same architecture with other
weights, under paths that both the server and this machine see: they are loaded here too, and the server must give the
same log-probabilities for a row of tokens. The server keeps those weights afterwards. Checks that were not requested
are listed as such.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import sonde
from sonde import Completion, Message, Probe, Sampling
from sonde.core import SondeError, UserError, WorldError
from sonde.models.chat.chat import ScoredIds
from sonde.models.hf import HF
from sonde.models.remote.served_weights import make_weight_probe, mean_distance
from sonde.models.remote.token_client import TokenEndpoint

ASKED = (Message("user", "Name some things that one can find in a kitchen, and say what they are for."),)
LONG = (Message("user", " ".join(f"Item {i} is kept in box {(7 * i) % 31}." for i in range(40))),)
CLOSE = 0.1
"""Nats: most that two log-probabilities of a token may differ on average, by the arithmetic of bfloat16."""
TOLD = 4.0
"""How many times nearer to a folder's weights a server has to be after it was given them."""
Verdict = Literal["ok", "fails", "not checked"]


@dataclass(frozen=True)
class CheckResult:
    """One line of the table."""

    check: str
    verdict: Verdict
    said: str


Check = Callable[[TokenEndpoint, argparse.Namespace], Awaitable[tuple[Verdict, str]]]


def judge_checks(good: bool, said: str, otherwise: str) -> tuple[Verdict, str]:
    return ("ok", said) if good else ("fails", f"{said}: {otherwise}")


async def draw_samples(model: TokenEndpoint, messages: Sequence[Message] = ASKED, **sampling: Any) -> Completion:
    return await model.generate(messages, Sampling(**{"max_new_tokens": 48, "seed": 1, **sampling}))


async def score_ids(model: TokenEndpoint, c: Completion, messages: Sequence[Message] = ASKED) -> list[float]:
    """What the server says of the tokens of a completion, as a prompt; but for one that ends it."""
    [found] = await model.score([Probe((*messages, Message("assistant", c.text, c)))])
    return found


async def encode_ids(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    c = await draw_samples(model)
    good = len(c.ids) == c.usage.completion and len(c.logprobs) == len(c.ids) and max(c.ids) < len(model.chat.tokenizer)
    said = f"{len(c.ids)} ids and {len(c.logprobs)} log-probabilities of {c.usage.completion} tokens"
    return judge_checks(good, said, "is this its tokenizer (--tokenizer)?")


async def token_in_token_out(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    first = await draw_samples(model, max_new_tokens=16)
    talk = (*ASKED, Message("assistant", first.text, first), Message("user", "And in a garden?"))
    second = await draw_samples(model, talk, max_new_tokens=16)
    whole = len(first.prompt_ids) + len(first.ids)
    said = f"{second.shared} of the first turn's {whole} tokens open the second's prompt"
    return judge_checks(second.shared == whole, said, "the template rewrites history; see docs/models.md")


async def token_probabilities(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    c = await draw_samples(model)
    as_prompt = await score_ids(model, c)
    apart = mean_distance(c.logprobs[: len(as_prompt)], as_prompt)
    said = f"sampled and scored log-probabilities differ by {apart:.4f} on average"
    return judge_checks(apart < CLOSE, said, "what is trained is not what was sampled; penalties or quantised caches?")


async def check_temperature(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    more: dict[str, Any] = {"logprobs_mode": "processed_logprobs"} if options.kind == "vllm" else {}
    asked = replace(model, **more)  # which keeps what it is told, whatever that is
    try:
        c = await draw_samples(asked, temperature=2.0, max_new_tokens=64)
    finally:
        await asked.close()
    as_prompt = await score_ids(model, c)
    apart = mean_distance(c.logprobs[: len(as_prompt)], as_prompt)
    found = "processed_logprobs" if apart > CLOSE else "raw_logprobs"
    said = f"at temperature 2 they differ by {apart:.3f} from those at 1: {found}"
    if options.kind == "sglang":
        return judge_checks(apart > CLOSE, said, "start it without SGLANG_RETURN_ORIGINAL_LOGPROB")
    return judge_checks(found == options.logprobs_mode, said, f"say logprobs_mode={found} (--logprobs-mode {found})")


async def check_seeds(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    a, b, c = [await draw_samples(model, seed=seed, temperature=1.0) for seed in (5, 5, 6)]
    same, other = a.ids == b.ids, a.ids != c.ids
    said = f"equal seeds {'the same' if same else 'other'} tokens, other seeds {'other' if other else 'the same'} ones"
    how = "start it with --enable-deterministic-inference" if options.kind == "sglang" else "is a cache in front of it?"
    return judge_checks(same and other, said, how)


async def check_samples(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    found = await asyncio.gather(*(draw_samples(model, seed=seed) for seed in range(16)))
    distinct = len({tuple(c.ids) for c in found})
    return judge_checks(
        distinct > 1, f"16 samples at once, {distinct} different", "samples of a group collapse into one"
    )


async def check_limits(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    cut, greedy = (
        await draw_samples(model, max_new_tokens=3),
        await draw_samples(model, max_new_tokens=400, temperature=0.0),
    )
    good = (len(cut.ids), cut.finish) == (3, "length") or cut.finish == "stop"
    ends = greedy.finish == "length" or greedy.ids[-1] in model.chat.ends
    said = f"a limit of 3 gives {len(cut.ids)} ({cut.finish}); an answer ends after {len(greedy.ids)} ({greedy.finish})"
    return judge_checks(good and ends, said, "the token that ends an answer has to be among its ids")


async def prefix_cache(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    await draw_samples(model, LONG, max_new_tokens=1)
    again = await draw_samples(model, LONG, max_new_tokens=1)
    said = f"{again.usage.cached} of {again.usage.prompt} prompt tokens from the cache the second time"
    how = "start vLLM with --enable-prompt-tokens-details, or it does not say; without --no-enable-prefix-caching"
    good = again.usage.cached > again.usage.prompt // 2
    return judge_checks(good, said, how if options.kind == "vllm" else "start it without --disable-radix-cache")


async def check_scores(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    said = (await draw_samples(model, temperature=0.0, max_new_tokens=24)).text
    turned = " ".join(reversed(said.split()))
    asked = [Probe((*ASKED, Message("assistant", text))) for text in (said, turned, said)]
    own, other, again = await model.score(asked)
    a, b, twice = statistics.fmean(own), statistics.fmean(other), mean_distance(own, again)
    told = f"its likeliest answer {a:.2f} per token, turned round {b:.2f}, asked twice {twice:.4f} apart"
    return judge_checks(a > b and twice < CLOSE, told, "is this the model's tokenizer and template?")


async def check_adapter(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    return await _publish_weights(model, options.adapter, adapter=True)


async def check_weights(model: TokenEndpoint, options: argparse.Namespace) -> tuple[Verdict, str]:
    return await _publish_weights(model, options.weights, adapter=False)


async def _publish_weights(model: TokenEndpoint, folder: Path | None, *, adapter: bool) -> tuple[Verdict, str]:
    """Whether the server plays with the weights of a folder once it was told to: what it says of a row of tokens has
    moved from what it said before to what the folder says."""
    if folder is None:
        return "not checked", f"--{'adapter' if adapter else 'weights'} FOLDER"
    probe = make_weight_probe(model.chat.tokenizer)
    before, wanted = await model.score_ids(probe), await _score_here(folder, model, probe)
    begun = time.perf_counter()
    await model.publish_weights(folder, "check-1", adapter=adapter)
    took, after = time.perf_counter() - begun, await model.score_ids(probe)
    await draw_samples(model)
    await model.confirm_weights(played=True)
    moved, left = mean_distance(before, wanted), mean_distance(after, wanted)
    said = f"in {took:.1f} s; {moved:.4f} nats per token from the folder's before, {left:.4f} after"
    if left < CLOSE and moved <= max(TOLD * left, 1e-3):
        return "not checked", f"{said}: these are nearly the weights it had; name a folder of others"
    how = "it does not play with them; vLLM on a CPU keeps the old output head where embeddings are tied"
    return judge_checks(left < CLOSE, said, how)


async def _score_here(folder: Path, model: TokenEndpoint, probe: ScoredIds) -> list[float]:
    """What the weights of a folder say of these tokens."""
    from transformers import AutoModelForCausalLM

    try:
        module: Any = AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
    except (OSError, ValueError) as e:
        raise UserError(f"{folder}: no weights that can be loaded here: {' '.join(str(e).split())[:200]}") from e
    hf = HF.from_module(module, model.chat.tokenizer, model=str(folder))
    try:
        return await hf.score_ids(probe)
    finally:
        await hf.close()


CHECKS: dict[str, Check] = {
    "token ids": encode_ids,
    "token in, token out": token_in_token_out,
    "log-probabilities": token_probabilities,
    "temperature": check_temperature,
    "seeds": check_seeds,
    "samples": check_samples,
    "limits": check_limits,
    "prefix cache": prefix_cache,
    "scores": check_scores,
    "adapter": check_adapter,
    "weights": check_weights,
}


async def run_checks(options: argparse.Namespace) -> list[CheckResult]:
    """All checks, one after the other: an error of one is its verdict."""
    more: dict[str, Any] = {"logprobs_mode": options.logprobs_mode} if options.kind == "vllm" else {}
    model: TokenEndpoint = sonde.make(
        f"models:{options.kind}", base_url=options.base_url, model=options.model, tokenizer=options.tokenizer or "",
        api_key_env=options.api_key_env, retries=1, **more,
    )  # fmt: skip
    found: list[CheckResult] = []
    gone = ""
    for name, run in CHECKS.items():
        try:
            found.append(
                CheckResult(name, "not checked", gone) if gone else CheckResult(name, *await run(model, options))
            )
        except SondeError as e:
            found.append(CheckResult(name, "fails", str(e)))
            gone = f"the server no longer answers since {name!r}" if await _is_gone(model, e) else ""
    await model.close()
    return found


async def _is_gone(model: TokenEndpoint, error: SondeError) -> bool:
    """Whether the server has died of what it was asked last."""
    if not isinstance(error, WorldError):
        return False
    try:
        await draw_samples(model, max_new_tokens=1)
    except SondeError:
        return True
    return False


def parse_args(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("vllm", "sglang"))
    parser.add_argument("model", help="the name under which it is served")
    parser.add_argument("base_url")
    parser.add_argument("--tokenizer")
    parser.add_argument("--logprobs-mode", choices=("raw_logprobs", "processed_logprobs"), default="raw_logprobs")
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse_args(arguments)
    found = asyncio.run(run_checks(options))
    if options.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    else:
        for one in found:
            print(f"{one.verdict:<12} {one.check:<20} {one.said}")
    return int(any(one.verdict == "fails" for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
