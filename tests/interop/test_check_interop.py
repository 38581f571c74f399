"""The contract of adapters: the shape all are made of keeps it, and every way of breaking it is caught by a rule."""

from __future__ import annotations

import asyncio
import dataclasses
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde._util.extras import missing_extra
from sonde.core import ContractError, Env, Episode, UserError
from sonde.interop.session import Session
from sonde.testing import INTEROP_RULES, HostEpisode, InteropCase, check_interop

from . import hosts
from .hosts import Reply

ENV = sonde.make("wordle")


@pytest.mark.thorough
@pytest.mark.parametrize("name", hosts.SOME)
def test_the_shape_of_all_adapters_keeps_it(name: str) -> None:
    check_interop(hosts.own, sonde.make(name), episodes=4, concurrent=1000 if name == "wordle" else 50)


@pytest.mark.slow
@pytest.mark.parametrize("adapter", hosts.NEEDS)
@pytest.mark.parametrize("name", sonde.names())
def test_every_environment_through_every_adapter(name: str, adapter: str) -> None:
    check_interop(hosts.find_adapter(adapter), sonde.make(name))


# --- broken ones -----------------------------------------------------------------------------------------------------


async def forget_seed(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """Forgets the seed, so that a drawn world is always the same one."""
    if seed < 0:
        raise UserError(f"seed: {seed}")
    return await hosts.own(env, seed=0, index=index, reply=reply)


async def another_task(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    return await hosts.own(env, seed=seed, index=max(0, index - 1), reply=reply)


async def final_reward_only(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    played = await hosts.own(env, seed=seed, index=index, reply=reply)
    return dataclasses.replace(played, rewards=[sum(played.rewards)])


async def no_outcome(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    return dataclasses.replace(await hosts.own(env, seed=seed, index=index, reply=reply), outcome=None)


async def leak_task(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """Hands the whole task to the player's side."""
    played = await hosts.own(env, seed=seed, index=index, reply=reply)
    return dataclasses.replace(played, crossed=env.tasks("train")[index].to_json())


async def time_is_failure(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    played = await hosts.own(env, seed=seed, index=index, reply=reply)
    return dataclasses.replace(played, terminated=True, truncated=False)


async def strip_tags(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """Tidies up what the player says."""

    async def tidy(text: str) -> str:
        return (await reply(text)).replace("<Answer>", "").replace("</Answer>", "")

    return await hosts.own(env, seed=seed, index=index, reply=tidy)


_one: list[Session] = []


async def share_session(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """All episodes are played at one table."""
    _one[:] = _one[:1] if _one and _one[0].env == env else [Session(env)]
    heard = await _one[0].reset_async(seed, index=index)
    told, rewards = [heard.text], list[float]()
    while not heard.done:
        heard = await _one[0].say_async(await reply(heard.text))
        told.append(heard.text)
        rewards.append(heard.reward)
    return HostEpisode(
        told=told, rewards=rewards, outcome=heard.outcome, terminated=heard.terminated, truncated=heard.truncated
    )


async def ends_early(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """The host's own limit is one turn below the environment's."""
    return await hosts.own(dataclasses.replace(env, max_turns=1), seed=seed, index=index, reply=reply)  # type: ignore[type-var]


async def hide_errors(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """Says of any error that there was one."""
    try:
        return await hosts.own(env, seed=seed, index=index, reply=reply)
    except UserError as e:
        raise RuntimeError("something went wrong") from e


async def wrap_index(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """Takes any index, as a list of Python does."""
    n = len(env.tasks("train"))
    return await hosts.own(env, seed=abs(seed), index=index % n, reply=reply)


@pytest.mark.parametrize(
    ("adapter", "rule"),
    [
        (another_task, "a_seed_is_an_episode"), (final_reward_only, "a_seed_is_an_episode"),
        (no_outcome, "a_seed_is_an_episode"), (strip_tags, "a_seed_is_an_episode"),
        (ends_early, "a_seed_is_an_episode"), (leak_task, "hidden_text_never_crosses"),
        (time_is_failure, "truncation_is_truncation"), (share_session, "many_at_once"),
        (share_session, "groups_share_worlds"), (hide_errors, "errors_are_readable"),
        (wrap_index, "errors_are_readable"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)  # fmt: skip
def test_a_broken_adapter_is_caught(adapter: Any, rule: str) -> None:
    crossing = InteropCase(adapter=adapter, env=ENV, episodes=6, concurrent=20)
    with pytest.raises((ContractError, UserError)):
        asyncio.run(_run_rule(rule, crossing))


async def _run_rule(rule: str, crossing: InteropCase) -> None:
    await INTEROP_RULES[rule](crossing)


def test_a_dropped_seed_is_caught_where_worlds_are_drawn() -> None:
    with pytest.raises(ContractError, match="a_seed_is_an_episode"):
        check_interop(forget_seed, sonde.make("bernoulli_bandit"), episodes=6, concurrent=20)


def test_all_broken_rules_are_named_and_the_others_are_not() -> None:
    with pytest.raises(ContractError) as caught:
        check_interop(leak_task, ENV, episodes=3, concurrent=10)
    first, *rest = str(caught.value).splitlines()
    assert first == f"the adapter breaks 1 of 6 rules on wordle ({ENV.config})"
    assert len(rest) == 1 and rest[0].startswith("  hidden_text_never_crosses: <Episode wordle/train[")
    assert rest[0].endswith("is hidden and crosses")


# --- the session itself ----------------------------------------------------------------------------------------------


def test_a_seed_names_a_task_and_a_world() -> None:
    """Seeds 0 to n - 1 are every task once; the session's episode is that of core."""
    session, tasks = Session("wordle"), ENV.tasks("train")
    for seed in (0, 1, len(tasks) - 1, len(tasks), 3 * len(tasks) + 2):
        session.reset(seed)
        assert session.episode.task == tasks[seed % len(tasks)] and session.episode.seed == seed
    session.reset(seed=9, index=4, sample=2)
    heard = session.say("<Answer>toast</Answer>")
    ep = Episode.begin(ENV, tasks[4], seed=9, sample=2).step("<Answer>toast</Answer>")
    assert session.episode.id == ep.id and heard.text == ep.turns[-1].told
    assert session.messages == [m.to_json() for m in ep.messages["agent"]]


def test_gains_are_those_of_core_and_none_where_there_is_no_filter() -> None:
    session = Session("wordle", gains=True)
    session.reset(3)
    heard = [session.say(f"<Answer>{word}</Answer>") for word in ("toast", "crane")]
    gains = session.episode.gains()
    assert gains is not None
    assert [(h.gain, h.truth_gain) for h in heard] == [(g.realised, g.truth) for g in gains]
    plain = Session("wordle")
    plain.reset(3)
    assert plain.say("<Answer>toast</Answer>").gain is None
    without = Session("maze", gains=True)
    without.reset(3)
    assert without.episode.filter() is not None or without.say("up").gain is None


def test_synchronous_and_waiting_play_are_one() -> None:
    """In car_dealer another seat speaks too, here by a program, on the spot or waited for."""

    async def waiting() -> list[str]:
        session = Session("car_dealer")
        heard = [
            await session.reset_async(5),
            await session.say_async("Hello!"),
            await session.say_async("It costs 20,000 dollars."),
        ]
        await session.close_async()
        return [h.text for h in heard]

    session = Session("car_dealer")
    heard = [session.reset(5), session.say("Hello!"), session.say("It costs 20,000 dollars.")]
    assert [h.text for h in heard] == asyncio.run(waiting())
    assert all(h.text for h in heard)
    session.close()


def test_a_record_is_made_of_what_is_over() -> None:
    session = Session("wordle", max_turns=1)
    with pytest.raises(UserError, match=r"call reset\(\) first"):
        session.say("x")
    session.reset(3)
    with pytest.raises(UserError, match="the episode is still running"):
        session.trajectory()
    session.say("x")
    record = session.trajectory(host="a test")
    assert record.tags == {"host": "a test"} and record.outcome is not None
    assert Episode.replay(session.env, record).outcome == record.outcome


def test_errors_of_a_session() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"env": "agents:random"}, "env: got 'agents:random', allowed: an environment"),
        ({"env": ENV, "preset": "lmrl"}, r"config: got .*, allowed: nothing, since the environment is already built"),
        ({"env": "wordle", "split": "dev"}, "split: unknown name 'dev'"),
        ({"env": "wordle", "policies": {"agent": sonde.make("agents:random")}}, "'agent', which the host plays"),
        ({"env": "wordle", "policies": {"judge": sonde.make("agents:random")}}, "wordle has no seat 'judge'"),
    ]
    for arguments, message in cases:
        with pytest.raises(UserError, match=message):
            Session(**arguments)
    with pytest.raises(UserError, match="seed: got -1, allowed"):
        Session("wordle").reset(-1)


@pytest.mark.parametrize(
    ("module", "package", "brings"),
    [("inspect", "inspect_ai", "inspect-ai"), ("verifiers", "verifiers", "verifiers"),
     ("skyrl_gym", "skyrl_gym", "skyrl-gym")],
)  # fmt: skip
def test_a_missing_host_is_named_with_what_brings_it(module: str, package: str, brings: str) -> None:
    """Importing the adapter without its host; the extra's name is in pyproject.toml."""
    if find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(UserError) as caught:
        import_module(f"sonde.interop.outward.{module}")
    assert str(caught.value) == str(missing_extra(f"sonde.interop.outward.{module}", brings))
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert f'\n{module.replace("_", "-")} = ["{brings}>=' in project
