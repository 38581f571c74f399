"""What a language model in the agent's seat is shown, and what of its words reaches the environment."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

import sonde
from sonde.agents.llm import LLM
from sonde.core import AGENT, Capabilities, Completion, Episode, Message, Model, Sampling, UserError, derive
from sonde.models.fake import Fake, render_prompt
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

ENV = sonde.make("battleship")
TASK = ENV.tasks("test")[0]
SHOTS = (
    "<Think>corner</Think><Answer>A1</Answer>", "<Answer>B2</Answer>", "<Answer>C3</Answer>", "<Answer>D4</Answer>",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Scripted(Model):
    """Says its lines in turn and notes what it was asked."""

    lines: tuple[str, ...] = SHOTS
    finish: str = "stop"
    reasoning: str = ""
    asked: list[tuple[tuple[Message, ...], Sampling]] = field(default_factory=list, metadata={"config": False})
    capabilities = Capabilities()

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.asked.append((tuple(messages), sampling))
        text = self.lines[(len(self.asked) - 1) % len(self.lines)]
        return Completion(text=text, finish=self.finish, reasoning=self.reasoning)  # type: ignore[arg-type]


def play_episode(
    turns: int, *, env: Any = ENV, model: Scripted | None = None, **settings: Any
) -> tuple[Scripted, Episode]:
    """The model after that many turns, and the episode."""
    model = model or Scripted()
    agent = LLM(model=model, **settings)
    ep = Episode.begin(env, env.tasks("test")[0])
    for _ in range(turns):
        ep = ep.step(asyncio.run(agent.act(ep.view())))
    return model, ep


def list_contents(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in messages]


def check_alternates(messages: Sequence[Message]) -> None:
    roles = [m.role for m in messages]
    if roles[0] == "system":
        roles = roles[1:]
    assert roles[0] == roles[-1] == "user"
    assert "system" not in roles
    assert all(a != b for a, b in pairwise(roles))


# --- prompts -------------------------------------------------------------------------------------------------------


def test_the_whole_history_is_shown_and_grows_at_its_end() -> None:
    model, ep = play_episode(3)
    prompts = [m for m, _ in model.asked]
    assert [len(p) for p in prompts] == [1, 3, 5]
    assert prompts[2] == ep.messages[AGENT][:5]
    for earlier, later in pairwise(prompts):
        assert later[: len(earlier)] == earlier, "the same objects, so that a backend finds its tokens"


def test_the_last_turns_follow_the_opening() -> None:
    model, ep = play_episode(4, context="last:2")
    whole = ep.messages[AGENT]
    assert list_contents(model.asked[2][0]) == list_contents(whole[:5]), "two turns are not more than there are"
    assert list_contents(model.asked[3][0]) == list_contents((whole[0], *whole[3:7]))
    assert "A1" not in "".join(m.content for m in model.asked[3][0][1:])


def test_a_summary_replaces_the_history() -> None:
    model, ep = play_episode(
        3, env=sonde.make("minesweeper"), model=Scripted(lines=("<Answer>reveal 0 0</Answer>",)), context="render"
    )
    for messages, _sampling in model.asked:
        assert [m.role for m in messages] == ["user"]
    assert len(model.asked) == 3 and ep.view().rendered
    assert model.asked[0][0][0].content != model.asked[1][0][0].content, "it shows the board as it is now"


def test_context_told_shows_only_the_last_message() -> None:
    model, ep = play_episode(3, context="told")
    whole = ep.messages[AGENT]
    assert [list_contents(messages) for messages, _ in model.asked] == [list_contents((whole[at],)) for at in (0, 2, 4)]


def test_context_render_is_refused_without_a_summary() -> None:
    env = sonde.make("mastermind")
    with pytest.raises(UserError, match="agents:llm: context: mastermind renders no summary; use full or last:K"):
        play_episode(1, env=env, context="render")


def test_a_system_message_comes_first() -> None:
    model, _ = play_episode(2, system="Be brief.", examples=1)
    for messages, _sampling in model.asked:
        assert (messages[0].role, messages[0].content) == ("system", "Be brief.")
        check_alternates(messages)


def test_examples_are_whole_won_games_before_this_one() -> None:
    none, one, two = (play_episode(2, examples=n)[0].asked[1][0] for n in (0, 1, 2))
    assert len(none) < len(one) < len(two)
    opening = none[0].content
    assert opening not in [m.content for m in one], "the new opening shares a message with the end of the example"
    assert two[-3].content.endswith(opening) and one[-3].content.endswith(opening)
    assert list_contents(two[-2:]) == list_contents(none[-2:])
    assert all("<Answer>" in m.content for m in two if m.role == "assistant")


def test_examples_without_thinking_show_answers_only() -> None:
    whole, short = (play_episode(1, examples=2, answer_only=only)[0].asked[0][0] for only in (False, True))
    assert [m.role for m in whole] == [m.role for m in short]
    assert any("<Think>" in m.content for m in whole if m.role == "assistant")
    for a, b in zip(whole, short, strict=True):
        if a.role == "assistant":
            assert b.content.startswith("<Answer>") and a.content.endswith(b.content)
        else:
            assert a.content == b.content
    mine = play_episode(2, examples=1, answer_only=True)[0].asked[1][0]
    assert "<Think>corner</Think>" in mine[-2].content, "the model's own turns stay as it said them"


def test_more_examples_than_there_are_is_an_error() -> None:
    with pytest.raises(
        UserError, match=r"agents:llm: examples: got 50, allowed: at most . for battleship, preset paprika"
    ):
        play_episode(1, examples=50)


@each("context", ["full", "last:1", "last:3"])
@each("examples", [0, 2])
@each("system", ["", "Be brief."])
def test_every_prompt_alternates_strictly(context: str, examples: int, system: str) -> None:
    model, _ = play_episode(4, context=context, examples=examples, system=system)
    for messages, _sampling in model.asked:
        check_alternates(messages)


# --- reasoning -----------------------------------------------------------------------------------------------------


def test_reasoning_never_reaches_the_environment_and_is_kept_on_record() -> None:
    _, ep = play_episode(1, model=Scripted(lines=("<think>A1 or <Answer>F6</Answer>?</think><Answer>B2</Answer>",)))
    act = ep.turns[0].acts[0]
    assert act.action.text == "<Answer>B2</Answer>"
    assert act.action.completions[0].reasoning == "A1 or <Answer>F6</Answer>?"
    assert "<think>" in act.action.completions[0].text, "the tokens that were sampled stay whole"


def test_a_backends_own_reasoning_stays() -> None:
    model = Scripted(lines=("<Answer>B2</Answer>",), reasoning="told apart by the endpoint")
    _, ep = play_episode(1, model=model)
    assert ep.turns[0].acts[0].action.completions[0].reasoning == "told apart by the endpoint"


def test_reasoning_that_was_never_closed_says_nothing() -> None:
    _, ep = play_episode(1, model=Scripted(lines=("<think>surely <Answer>A1</Answer>",), finish="length"))
    assert ep.turns[0].text == ""
    assert ep.outcome is not None
    assert (ep.outcome.kind, ep.outcome.truncated) == ("unreadable", "tokens")


@each("finish, flag", [("length", "tokens"), ("stop", "")])
def test_an_unreadable_answer_by_the_token_limit_is_flagged(finish: str, flag: str) -> None:
    _, ep = play_episode(1, model=Scripted(lines=("<Think>I could shoot at",), finish=finish))
    assert ep.outcome is not None
    assert (ep.outcome.kind, ep.outcome.truncated) == ("unreadable", flag)


def test_an_answer_that_the_limit_cut_behind_is_an_answer() -> None:
    _, ep = play_episode(1, model=Scripted(lines=("<Answer>A1</Answer> because",), finish="length"))
    assert ep.outcome is None and ep.turns[0].info["result"] != "invalid"


def test_by_default_the_model_does_not_meet_its_reasoning_again() -> None:
    lines = ("<think>hm</think><Answer>A1</Answer>", "<Answer>B2</Answer>", "<Answer>C3</Answer>")
    without, _ = play_episode(3, model=Scripted(lines=lines))
    assert list_contents(without.asked[2][0])[1] == ("assistant", "<Answer>A1</Answer>")
    assert without.asked[2][0][1].completion is not None, "the record of the call stays behind what was said"
    kept, _ = play_episode(3, model=Scripted(lines=lines), keep_thinking=True)
    assert list_contents(kept.asked[2][0])[1] == ("assistant", lines[0])
    assert kept.asked[2][0][1].completion is not None


@each("keep_thinking", [False, True])
@each("context", ["full", "last:1", "last:2", "last:3"])
def test_every_prompt_can_be_rebuilt_from_the_record(context: str, keep_thinking: bool) -> None:
    """Each prompt is a prefix of the call before it and new tokens, also after thoughts that were left out."""
    env = sonde.make("mastermind")
    model = Fake(pattern=("<think>{a|bc|d}</think><Answer>0011</Answer>", "<Answer>{2233|1 2 3 4}</Answer>"))
    agent = LLM(model=model, context=context, keep_thinking=keep_thinking)
    for seed in range(8):
        ep, whole = Episode.begin(env, env.task("9876"), seed=seed), array("i")
        while ep.to_act is not None:
            prompt = agent.build_prompt(ep.view())
            ep = ep.step(asyncio.run(agent.act(ep.view())))
            c = ep.turns[-1].acts[0].action.completions[0]
            whole = whole[: c.shared] + c.prompt_ids
            assert whole == render_prompt(prompt)
            whole += c.ids


# --- sampling ------------------------------------------------------------------------------------------------------


def test_every_call_has_its_own_seed() -> None:
    model = Scripted()
    env = sonde.make("mastermind", max_turns=4)
    model = Scripted(lines=("<Answer>0000</Answer>",))
    collect_trajectories(env, {AGENT: LLM(model=model)}, [env.task("9999"), env.task("8888")], Plan(k=3, seed=5))
    seeds = [s.seed for _, s in model.asked]
    assert len(seeds) == 2 * 3 * 4 == len(set(seeds))


def test_the_seed_is_derived_from_the_view() -> None:
    view = Episode.begin(ENV, TASK, seed=3, sample=2).view()
    model = Scripted()
    asyncio.run(LLM(model=model).act(view))
    assert model.asked[0][1].seed == derive(view.seed, "call", 0)


def test_sampling_defaults_are_those_of_the_paper() -> None:
    sampling = play_episode(1)[0].asked[0][1]
    assert (sampling.temperature, sampling.min_p, sampling.top_p, sampling.stop) == (0.7, 0.3, 1.0, ())
    assert sampling.max_new_tokens == ENV.spec.max_new_tokens
    settings = {"temperature": 0.0, "min_p": 0.1, "top_p": 0.9, "stop": ("\n",), "max_new_tokens": 7}
    other = play_episode(1, **settings)[0].asked[0][1]
    assert replace(other, seed=0) == Sampling(**settings)


@each(
    "settings, says",
    [
        ({"context": "last:0"}, "agents:llm: context: got 'last:0', allowed: full, render, told or last:K"),
        ({"context": "last"}, "context: got 'last'"), ({"context": "last:x"}, "context: got 'last:x'"),
        ({"context": "all"}, "context: got 'all'"), ({"examples": -1}, "examples: got -1, allowed: 0 or more"),
        ({"max_new_tokens": 0}, "max_new_tokens: got 0, allowed: 1 or more"),
        ({"max_new_tokens": -1}, "max_new_tokens: got -1"),
        ({"temperature": -0.1}, "temperature: got -0.1, allowed: 0 or more"), ({"top_p": 0.0}, "top_p: got 0.0"),
        ({"min_p": 1.5}, "min_p: got 1.5"), ({"model": "fake"}, "model: got 'fake', allowed: a model"),
        ({"stop": "abc"}, "stop: got 'abc', allowed: a list"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        sonde.make("agents:llm", **{"model": Scripted(), **settings})


def test_closing_it_closes_its_model() -> None:
    closed: list[bool] = []

    @dataclass(frozen=True, kw_only=True)
    class Held(Scripted):
        async def close(self) -> None:
            closed.append(True)

    asyncio.run(LLM(model=Held()).close())
    assert closed == [True]
