"""SkyRL-Gym: environments by their ids, rewards per step, rows of a data set, and what it averages over a batch."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.testing import check_interop

from .. import hosts, pages

pytestmark = pytest.mark.skipif(not find_spec("skyrl_gym"), reason="needs the extra: pip install 'sonde-rl[skyrl-gym]'")


@pytest.mark.parametrize("name", hosts.SOME)
def test_it_keeps_the_contract_of_adapters(name: str) -> None:
    check_interop(hosts.skyrl_gym, sonde.make(name), episodes=3, concurrent=1000 if name == "wordle" else 30)


def test_a_row_is_an_episode() -> None:
    """Through JSON, as a parquet file would keep it; the system message of a row stays in front."""
    import skyrl_gym

    from sonde.interop.outward.skyrl_gym import make_rows

    env = sonde.make("wordle", preset="lmrl", max_turns=2)
    row = json.loads(json.dumps(list(make_rows(env, 3, seed=5))[1]))
    made = skyrl_gym.make(row["env_class"], env_config={}, extras=row)
    assert made.session.env == env and made.max_turns == 2
    prompt, _ = made.init([{"role": "system", "content": "Be brief."}, *row["prompt"]])
    ep = Episode.begin(env, env.tasks("train")[6], seed=6)
    assert prompt == [{"role": "system", "content": "Be brief."}, *row["prompt"]]
    assert row["prompt"] == [m.to_json() for m in ep.messages["agent"]]
    word = ep.task.hidden
    assert not any(f'"{word}"' in str(value) for value in row.values())
    first, last = made.step(env.say("crane")), made.step(env.say(word))
    ep = ep.step(env.say("crane")).step(env.say(word))
    assert [first["reward"], last["reward"]] == [t.rewards.get("agent", 0.0) for t in ep.turns]
    assert last["done"] and last["metadata"]["outcome"] == ep.outcome._asdict()  # type: ignore[union-attr]
    metrics = made.get_metrics()
    assert metrics == {"success": 1.0, "score": ep.outcome.score, "turns": 2.0, "win": 1.0, "loss": 0.0,
                       "unreadable": 0.0, "out_of_turns": 0.0, "error": 0.0}  # type: ignore[union-attr]  # fmt: skip
    assert made.aggregate_metrics([metrics, {**metrics, "success": 0.0}])["success"] == 0.5


def test_every_environment_is_registered() -> None:
    import skyrl_gym

    assert {f"sonde_{name}" for name in sonde.names()} <= set(skyrl_gym.registry)


def test_errors() -> None:
    from sonde.interop.outward.skyrl_gym import TextEnv, make_rows

    with pytest.raises(UserError, match=r"extras: got \['split'\], allowed: columns with a seed"):
        TextEnv({}, {"split": "train"})
    with pytest.raises(UserError, match="split: unknown name 'dev'"):
        list(make_rows("wordle", 1, split="dev"))


def test_the_page_says_what_happens() -> None:
    ((_, code, printed),) = pages.page_examples("skyrl_gym.md")
    assert pages.run_code(code) == printed
