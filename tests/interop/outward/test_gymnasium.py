"""Gymnasium: its own checks, vector environments, seeds, and what `info` holds."""

from __future__ import annotations

import pytest

pytest.importorskip("gymnasium", reason="needs the extra: pip install 'sonde-rl[gymnasium]'")

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import sonde
from sonde.core import Episode, UserError, thaw
from sonde.interop.outward.gymnasium import TextEnv, Unicode, make
from sonde.testing import check_interop

from .. import hosts

WORD = "<Answer>toast</Answer>"


@pytest.mark.parametrize("name", hosts.SOME)
def test_gymnasium_checks_it(name: str) -> None:
    made = gymnasium.make(f"sonde/{name}-v0", gains=True)
    check_env(made.unwrapped)
    assert made.unwrapped.spec is not None and made.unwrapped.spec.id == f"sonde/{name}-v0"


def test_every_environment_is_registered_and_made_with_its_arguments() -> None:
    assert {f"sonde/{name}-v0" for name in sonde.names()} <= set(gymnasium.registry)
    made = gymnasium.make("sonde.interop.outward.gymnasium:sonde/wordle-v0", preset="lmrl", max_turns=2).unwrapped
    assert isinstance(made, TextEnv) and made.session.env == sonde.make("wordle", preset="lmrl", max_turns=2)


@pytest.mark.parametrize("name", hosts.SOME)
def test_it_keeps_the_contract_of_adapters(name: str) -> None:
    check_interop(hosts.gymnasium, sonde.make(name), episodes=4, concurrent=1000 if name == "wordle" else 50)


def test_a_game_by_hand() -> None:
    """Wordle, the word of train[3] found in the second turn; gains are those of core."""
    env = sonde.make("wordle")
    task = env.tasks("train")[3]
    host = make(env, gains=True)
    text, info = host.reset(seed=3)
    assert info == {"messages": [{"role": "user", "content": text}], "turn": 0, "facts": {}}
    word = f"<Answer>{task.hidden}</Answer>"
    first = host.step(WORD)
    last = host.step(word)
    ep = Episode.begin(env, task, seed=3).step(WORD).step(word)
    gains = ep.gains()
    assert gains is not None and [first[4]["gain"], last[4]["gain"]] == pytest.approx([g.realised for g in gains])
    assert [first[4]["truth_gain"], last[4]["truth_gain"]] == pytest.approx([g.truth for g in gains])
    assert first[1:4] == (0.0, False, False) and last[1:4] == (1.0, True, False)
    assert last[4]["outcome"]["kind"] == "win" and last[4]["facts"] == thaw(ep.turns[-1].info)
    assert [m["role"] for m in last[4]["messages"]][:4] == ["user", "assistant"] * 2
    assert host.session.trajectory().id == ep.to_trajectory().id
    with pytest.raises(UserError, match="the episode is over"):
        host.step(WORD)


def test_running_out_of_turns_is_truncation() -> None:
    host = make("wordle", max_turns=1)
    host.reset(seed=0)
    _, _, terminated, truncated, info = host.step(WORD)
    assert (terminated, truncated, info["outcome"]["kind"]) == (False, True, "out_of_turns")


def test_seeds() -> None:
    """A seed is an episode; without one, the next comes from `np_random`; options name task and sample."""
    host = make("best_arm")
    tasks = host.session.env.tasks("train")

    def ids() -> tuple[str, int, int]:
        ep = host.session.episode
        return ep.task.id, ep.seed, ep.sample

    host.reset(seed=len(tasks) + 1)
    assert ids() == (tasks[1].id, len(tasks) + 1, 0)
    host.reset()
    second = ids()
    host.reset()
    assert ids() != second
    host.reset(seed=len(tasks) + 1)
    host.reset()
    assert ids() == second
    host.reset(seed=5, options={"index": 2, "sample": 7})
    assert ids() == (tasks[2].id, 5, 7)


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_vectors(kind: type[SyncVectorEnv | AsyncVectorEnv]) -> None:
    """Three at once, each as it is alone; one that has ended begins anew in the next step."""
    options = {"shared_memory": False, "context": "spawn"} if kind is AsyncVectorEnv else {}
    vector = gymnasium.make_vec(
        "sonde.interop.outward.gymnasium:sonde/wordle-v0", num_envs=3, vectorization_mode=kind.__name__[:-9].lower(),
        vector_kwargs=options, max_turns=2,
    )  # fmt: skip
    alone = [make("wordle", max_turns=2) for _ in range(3)]
    texts, info = vector.reset(seed=[4, 4, 5])
    firsts = [one.reset(seed=seed)[0] for one, seed in zip(alone, (4, 4, 5), strict=True)]
    assert list(texts) == firsts and len(info["messages"]) == 3
    for turn in range(2):
        texts, rewards, terminated, truncated, info = vector.step([WORD] * 3)
        for i, one in enumerate(alone):
            text, reward, *flags, its = one.step(WORD)
            assert (texts[i], rewards[i], [terminated[i], truncated[i]]) == (text, reward, flags)
            assert list(info["messages"][i]) == its["messages"] and info["turn"][i] == turn + 1
    assert truncated.all() and list(info["outcome"]["kind"]) == ["out_of_turns"] * 3
    assert vector.step([WORD] * 3)[4]["turn"].tolist() == [0, 0, 0]
    vector.close()


def test_any_text_is_in_the_space() -> None:
    space = Unicode(seed=1)
    assert all(text in space for text in ("", "two words", "é", "🟩", "\n")) and 5 not in space
    assert space == Unicode() and space != gymnasium.spaces.Text(5)
    drawn = [space.sample() for _ in range(50)]
    assert max(map(len, drawn)) <= 40 and len(set(drawn)) > 40
    assert [Unicode(seed=1).sample() for _ in range(3)] == [drawn[0]] * 3


def test_render_is_the_conversation() -> None:
    host = make("wordle", render_mode="ansi")
    host.reset(seed=0)
    host.step("no word")
    assert host.render().startswith("told: ") and "\n\nagent: no word\n\ntold: " in host.render()


def test_errors() -> None:
    host = make("wordle")
    with pytest.raises(UserError, match=r"session: no episode is running; call reset\(\)"):
        host.step("x")
    with pytest.raises(UserError, match=r"options: unknown name 'task'; known: index, sample"):
        host.reset(options={"task": 3})
    with pytest.raises(UserError, match=r"index: got -1, allowed: 0 to \d+, the tasks of split 'train' of wordle"):
        host.reset(options={"index": -1})
    with pytest.raises(UserError, match=r"render_mode: got 'human', allowed: None or 'ansi'"):
        make("wordle", render_mode="human")
    with pytest.raises(UserError, match=r"environment: unknown name 'wordel' \(did you mean 'wordle'"):
        make("wordel")
