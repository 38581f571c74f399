"""Values at decoding: what is drawn from, that it is a configuration, and a policy beside the model that values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sonde import Message, Probe, Sampling, UserError
from sonde.core.registry import build
from sonde.models.hf import HF

torch = pytest.importorskip("torch")

from sonde.models.local.heads import Heads, HeadSpec, attach_heads, load_heads, perturb_logits  # noqa: E402 (needs torch)

from ..test_hf import WARM, play, run  # noqa: E402
from ..tiny import model, tokenizer, write  # noqa: E402

CHAT = (Message("user", "guess the secret code now"),)
ALL = HeadSpec(v=True, q=2, target=True)


def write_heads(folder: Path, net: Any, spec: HeadSpec = ALL) -> Heads:
    """Heads that say something, beside a model."""
    heads = attach_heads(net, spec, 0)
    with torch.no_grad():
        for i, p in enumerate(heads.parameters()):
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(i)) * 0.2)
    heads.save(folder)
    return heads


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def valued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model, of another size, with heads."""
    folder = write(tmp_path_factory.mktemp("valued"), hidden_size=48, num_hidden_layers=2, initializer_range=0.2)
    write_heads(folder, model(hidden_size=48, num_hidden_layers=2, initializer_range=0.2))
    return folder


def load(folder: Path) -> Any:
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


def by_hand(folder: Path, heads_at: Path, ids: list[int], n: int, **how: Any) -> list[float]:
    """Log-probabilities of the last `n` ids under the perturbed policy, by one plain pass of each model."""
    net, other = load(folder), load(heads_at)
    heads = load_heads(heads_at, other)
    with torch.no_grad():
        logits = net(input_ids=torch.tensor([ids])).logits[0]
        hidden = other.model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        v = heads.state_value(hidden) if how.pop("minus_v", True) and heads.v is not None else None
        logp = perturb_logits(logits, heads.least_q(hidden), v, **how).log_softmax(-1)
    at = range(len(ids) - n, len(ids))
    return [float(logp[t - 1, ids[t]]) for t in at]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [{"beta": 0.5}, {"beta": 1.5, "minus_v": False}, {"beta": 0.3, "top_k": 3}])
@pytest.mark.parametrize("beside", [True, False])
def test_what_is_drawn_from_is_the_policy_that_values_prefer(
    policy: Path, valued: Path, how: dict[str, Any], beside: bool
) -> None:
    """However episodes share batches and slots: by one plain pass of each model, to 1e-4."""
    folder = policy if beside else valued
    hf = HF(model=str(folder), heads=str(valued), **how)
    for row in run(play(hf, 4, 2)):
        ids: list[int] = []
        for c in row:
            ids = [*ids[: c.shared], *c.prompt_ids, *c.ids]
            wanted = by_hand(folder, valued, ids, len(c.ids), **how)
            assert list(c.logprobs) == pytest.approx(wanted, abs=1e-4)
    assert hf.stats.prefilled < hf.stats.needed + 400  # what was said before is not computed again
    run(hf.close())


def test_scoring_is_the_policys_own(policy: Path, valued: Path) -> None:
    probe = [Probe((*CHAT, Message("assistant", "no")))]
    plain, steered = HF(model=str(policy)), HF(model=str(policy), heads=str(valued), beta=3.0)
    assert run(steered.score(probe))[0] == pytest.approx(run(plain.score(probe))[0], abs=1e-5)
    for hf in (plain, steered):
        run(hf.close())


@pytest.mark.parametrize("beside", [True, False])
def test_texts_are_ranked_by_policy_and_values_together(policy: Path, valued: Path, beside: bool) -> None:
    """By one plain pass of each model: log pi + beta (min Q - V), summed over the text and the token that ends it;
    `top_k` does not matter, what is listed does."""
    folder = policy if beside else valued
    texts = ("0 4 2 7", "Is it green?", "0 4")
    hf = HF(model=str(folder), heads=str(valued), beta=0.7, top_k=1)
    found = run(hf.rank([Probe((*CHAT, Message("assistant", text)), ending=True) for text in texts]))
    words, told, net, other = tokenizer(), list[float](), load(folder), load(valued)
    heads = load_heads(valued, other)
    prompt = words.apply_chat_template(
        [{"role": "user", "content": CHAT[0].content}], add_generation_prompt=True, tokenize=False
    )
    for text in texts:
        before, ids = (words.encode(t, add_special_tokens=False) for t in (prompt, f"{prompt}{text}<|im_end|>"))
        with torch.no_grad():
            log_pi = net(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
            hidden = other.model(input_ids=torch.tensor([ids])).last_hidden_state[0]
            worth = log_pi + 0.7 * (heads.least_q(hidden) - heads.state_value(hidden)[:, None])
        told.append(sum(float(worth[t - 1, ids[t]]) for t in range(len(before), len(ids))))
    assert found == pytest.approx(told, abs=1e-4)
    run(hf.close())


def test_without_values_texts_are_ranked_by_their_likelihood(policy: Path) -> None:
    hf, probes = HF(model=str(policy)), [Probe((*CHAT, Message("assistant", text))) for text in ("no", "0 4 2 7")]
    assert run(hf.rank(probes)) == pytest.approx([sum(row) for row in run(hf.score(probes))])
    run(hf.close())


def test_without_strength_the_policy_is_itself(policy: Path, valued: Path) -> None:
    """And V, taken away or not, changes nothing of what is said."""
    plain = run(play(HF(model=str(policy)), 3, 2))
    none = run(play(HF(model=str(policy), heads=str(valued), beta=0.0), 3, 2))
    assert [c.ids for row in plain for c in row] == [c.ids for row in none for c in row]
    a, b = (run(play(HF(model=str(policy), heads=str(valued), minus_v=v), 3, 2)) for v in (True, False))
    assert [c.ids for row in a for c in row] == [c.ids for row in b for c in row] != [c.ids for r in none for c in r]


def test_heads_are_a_configuration(policy: Path, valued: Path) -> None:
    plain, steered = HF(model=str(policy)), HF(model=str(policy), heads=str(valued), beta=4.0)
    assert not {"heads", "beta", "minus_v", "top_k", "heads_weights"} & set(plain.config)
    assert steered.config["heads_weights"] is not None and build(steered.config) == steered
    assert len({plain.fingerprint, steered.fingerprint, HF(model=str(policy), heads=str(valued)).fingerprint}) == 3


def test_other_heads_at_the_same_place_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path)
    net = model()
    write_heads(folder, net)
    hf = HF(model=str(folder), heads=str(folder), beta=2.0)
    attach_heads(net, HeadSpec(v=True, q=1), 0).save(folder)
    with pytest.raises(UserError, match=r"hf: weights: .* start a new run for another model"):
        run(hf.generate(CHAT, WARM))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beta": 2.0}, "hf: beta: got 2.0, allowed: the default, unless heads is given"),
        ({"top_k": 5}, "hf: top_k: got 5, allowed: the default, unless heads is given"),
        ({"heads": "x", "beta": -1.0}, "hf: beta: got -1.0, allowed: a number >= 0"),
        ({"heads": "x", "top_k": 0}, "hf: top_k: got 0"),
        (
            {"heads": "x", "steer": lambda hidden, logits: logits},
            "hf: steer: got .* allowed: None with heads, which steer themselves",
        ),
    ],
)
def test_what_does_not_go_together_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        HF(model="m", **wrong)


def test_heads_that_cannot_be_used_are_named(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"heads\.safetensors is missing; allowed: the folder of a model trained with"):
        run(HF(model=str(policy), heads=str(policy)).generate(CHAT, Sampling(max_new_tokens=2)))
    state_only = write(tmp_path / "v")
    attach_heads(net := model(), HeadSpec(v=True), 0).save(state_only)
    with pytest.raises(UserError, match="got heads without token values, allowed: heads of mc"):
        run(HF(model=str(policy), heads=str(state_only)).generate(CHAT, WARM))
    other = write(tmp_path / "w", vocab_size=330)
    write_heads(other, model(vocab_size=330))
    with pytest.raises(UserError, match=r"values 330 tokens, allowed: 320, the vocabulary of"):
        run(HF(model=str(policy), heads=str(other)).generate(CHAT, WARM))
    assert net is not None
