"""A tiny random Llama with a tokenizer of one id per word, and samples of made-up tokens: what tests of training need.

`tiny_tokenizer(words)` knows these words and nothing else; `tiny_model(seed=0)` has its vocabulary. Both together are a
chat model: `HF.from_module(tiny_model(), tiny_tokenizer(), model="tiny")`, or `write(folder)` and
`HF(model=str(folder))`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sonde.core.seeding import Rng, derive
from sonde.train.types import Pair, Row, Sample

SPECIALS = ("<unk>", "<|end|>", "<|system|>", "<|user|>", "<|agent|>")
END, AGENT = 1, 4
WORDS = (
    "move left right up down stay at goal wall free you are the a maze go to won lost try again pull arm red blue "
    "green yes no is it 0 1 2 3 4 5 6 7 8 9 , . ? answer start end not here there tally wins of turn next"
)
TEMPLATE = (
    "{% for m in messages %}{{ {'system': '<|system|>', 'user': '<|user|>', 'assistant': '<|agent|>'}[m['role']] }} "
    "{{ m['content'] }} <|end|> {% endfor %}{% if add_generation_prompt %}<|agent|> {% endif %}"
)


def tiny_tokenizer(words: Sequence[str] | str = WORDS) -> Any:
    """One id per word; words are parted by white space; others are `<unk>`; padding and end are both `<|end|>`."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = words.split() if isinstance(words, str) else list(words)
    vocab = {word: i for i, word in enumerate(dict.fromkeys((*SPECIALS, *known)))}
    raw = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=raw, unk_token="<unk>", eos_token="<|end|>", pad_token="<|end|>",
        additional_special_tokens=list(SPECIALS[2:]), clean_up_tokenization_spaces=False,
    )  # fmt: skip
    fast.chat_template = TEMPLATE
    return fast


def tiny_model(seed: int = 0, *, vocab: int | None = None, **changes: Any) -> Any:
    """A random Llama of some ten thousand weights, in evaluation mode, without dropout."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {
        "vocab_size": vocab or len(tiny_tokenizer()), "hidden_size": 32, "intermediate_size": 48,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "max_position_embeddings": 1024, "initializer_range": 0.2, "bos_token_id": None, "eos_token_id": END,
        "pad_token_id": END, "tie_word_embeddings": True,
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(LlamaConfig(**{**sizes, **changes})).float().eval()


def where(model: Any, tensors: Any) -> dict[str, Any]:
    """A batch where the model is: training moves a model to the GPU, if there is one."""
    return {name: t.to(model.device) if hasattr(t, "to") else t for name, t in tensors.items()}


def write(folder: Path, seed: int = 0, words: str = WORDS, *, template: str = TEMPLATE, **changes: Any) -> Path:
    """The folder, with a model and the tokenizer of these words in it."""
    tokenizer = tiny_tokenizer(words)
    tokenizer.chat_template = template
    tiny_model(seed, vocab=len(tokenizer), **changes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def row(rng: Rng, turns: int = 2, *, vocab: int = 59, longest: int = 5) -> Row:
    """Turns of random prompt tokens and random agent tokens; with advantages, log-probabilities and a reference."""
    ids, agent, turn = array("i"), bytearray(), array("i")
    for i in range(turns):
        prompt, said = rng.randrange(2, 2 + longest), rng.randrange(1, 1 + longest)
        ids.extend(rng.randrange(5, vocab) for _ in range(prompt + said))
        agent += bytes(prompt) + b"\1" * said
        turn.extend([-1] * prompt + [i] * said)
    nan = float("nan")
    return Row(
        ids=ids, agent=bytes(agent), turns=turn, logprobs=array("d", [-rng.random() * 3 if a else nan for a in agent]),
        temperatures=array("d", [1.0 if a else nan for a in agent]),
        weights=array("i", [0 if a else -1 for a in agent]), versions=("0",),
        advantages=array("d", [rng.gauss(0, 1) if a else 0.0 for a in agent]),
        reference=array("d", [-rng.random() * 3 if a else nan for a in agent]),
    )  # fmt: skip


def sample(seed: int, *, rows: int = 1, turns: int = 2, group: str = "", longest: int = 5) -> Sample:
    """A sample of random rows; every other one a success."""
    rng = Rng(derive(seed, "sample"))
    won = seed % 2 == 0
    return Sample(
        rows=tuple(row(rng, turns, longest=longest) for _ in range(rows)), trajectory=f"trajectory-{seed}",
        group=group or f"group-{seed // 2}", task=f"task-{seed // 2}", env="maze", kind="win" if won else "loss",
        score=float(won), rewards=(0.0,) * (turns - 1) + (float(won),), tags={},
    )  # fmt: skip


def samples(n: int, **options: Any) -> list[Sample]:
    return [sample(i, **options) for i in range(n)]


def mixed(n: int, **options: Any) -> list[Sample]:
    """Of one to four turns, so that packing puts several in a line."""
    return [sample(i, turns=1 + i % 4, **options) for i in range(n)]


def pairs(n: int, **options: Any) -> list[Pair]:
    return [Pair(sample(2 * i, **options), sample(2 * i + 1, **options)) for i in range(n)]


def bare(given: Sample) -> Sample:
    """Without anything attached: neither advantages nor log-probabilities nor a reference."""
    none: dict[str, None] = dict.fromkeys(("advantages", "logprobs", "temperatures", "reference"))
    rows = tuple(replace(r, **none) for r in given.rows)
    return replace(given, rows=rows)


def knowing(words: str, folder: Path, seed: int = 0) -> str:
    """A folder with a random model that knows a game's few words, and what it says is far from certain."""
    return str(write(folder, seed, words, initializer_range=0.05))


def train_offline(
    model: Any,
    objective: Any,
    items: Sequence[Any],
    settings: Any,
    tokenizer: Any = None,
    *,
    resume: bool | str | Path = False,
    callbacks: Sequence[Any] = (),
) -> Any:
    """Train `model` in place on fixed items, and save it."""
    from sonde.train.trainer import SondeTrainer

    return SondeTrainer(model, objective, items, settings, tokenizer, callbacks).train(resume)


def stop_at(step: int) -> Any:
    """A callback that ends a training after this step."""
    from transformers import TrainerCallback

    class StopAt(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            control.should_training_stop = state.global_step == step

    return StopAt()
