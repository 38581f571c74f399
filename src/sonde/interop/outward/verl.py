"""Every environment as an agent loop of verl (0.9), whose engine generates and whose trainers learn.

    # agent_loop.yaml, named by actor_rollout_ref.rollout.agent.agent_loop_config_path
    - name: sonde
      _target_: sonde.interop.outward.verl.SondeAgentLoop

    pandas.DataFrame(make_rows("wordle", 1000)).to_parquet("train.parquet")       # data.train_files

A row of the dataset names the environment and the episode in `extra_info` (`env`, constructor arguments as JSON in
`config`, `seed`, `index`, `split`); the k samples of a row share one world. Tokens are kept as sampled, the mask marks
those of the model, and verl's own token builder joins the turns. The return (the sum of rewards) is the reward of the
episode; `extra_fields` have the reward of each turn (`turn_scores`) with the number of response tokens up to its end
(`turn_ends`), for advantages per turn, and the outcome.

An episode that fills the response ends there with the reward earned so far: `out_of_turns`, `truncated` by the
`context`, as in sonde's own training. Other seats are sonde's own policies. Tested with verl 0.9.1's own agent loop on
a CPU, with a scripted engine (`make test-hosts`); verl needs a GPU to train, so no training was run.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from sonde._util.extras import missing_extra
from sonde.core import Action, Completion, Env
from sonde.core.episode import CUT
from sonde.models.chat.reasoning import decode_reply, find_open_mark, special_marks, split_completion

from ..session import SeatObservation, Session, episode_rows

try:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.verl", "verl") from e

AGENT_NAME = "sonde"
_TAIL = 16
"""Tokens at the end of a prompt that are searched for the opening mark of a thought."""


@register(AGENT_NAME)
class SondeAgentLoop(AgentLoopBase):
    """See the module."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        place = kwargs["extra_info"]
        session = Session(place["env"], split=place.get("split", "train"), **json.loads(place.get("config") or "{}"))
        heard = await session.reset_async(
            int(place["seed"]), index=place.get("index"), sample=int(place.get("sample", 0))
        )
        system = [message for message in kwargs.get("raw_prompt", ()) if message["role"] == "system"]
        messages: list[dict[str, str]] = [*system, {"role": "user", "content": heard.text}]
        spoken = _EpisodeTokens(await self.ct_build_initial_tokens(messages))
        room, request = int(self.rollout_config.response_length), uuid4().hex
        while True:
            open_mark = find_open_mark(self.tokenizer.decode(spoken.ids[-_TAIL:]))
            text = await self._generate_turn(spoken, request, sampling_params, session, room)
            completion, answer = split_completion(Completion(text=text, open_mark=open_mark))
            heard = await session.say_async(Action(answer, completions=(completion,)))
            spoken.end_turn(heard)
            if heard.done:
                break
            before = [*messages, {"role": "assistant", "content": text}]
            messages = [*before, {"role": "user", "content": heard.text}]
            merged, mask, logprobs = await self.ct_merge_context_msg(
                before, messages, spoken.ids, spoken.mask, spoken.logprobs
            )
            if len(mask) >= room:
                break
            spoken.merge_tokens(merged.token_ids, mask, logprobs)
        return spoken.make_output(heard, room)

    async def _generate_turn(
        self, spoken: _EpisodeTokens, request: str, sampling: Mapping[str, Any], session: Session, room: int
    ) -> str:
        """Generate the model's turn and append its tokens; returns the decoded text."""
        most = max(1, min(session.env.spec.max_new_tokens, room - len(spoken.mask)))
        found = await self.server_manager.generate(
            request_id=request, prompt_ids=spoken.ids, sampling_params={**sampling, "max_tokens": most}
        )
        logprobs = (spoken.logprobs or []) if found.log_probs else None
        merged, mask, logprobs = await self.ct_merge_assistant_token(
            spoken.ids, found.token_ids, spoken.mask, logprobs, assistant_logprobs=found.log_probs or None
        )
        spoken.merge_tokens(merged.token_ids, mask, logprobs)
        return decode_reply(self.tokenizer, found.token_ids, special_marks(self.tokenizer))


class _EpisodeTokens:
    """The tokens of an episode: prompt and response, the mask of the model's own, and the rewards of its turns."""

    def __init__(self, prompt: list[int]) -> None:
        self.ids, self.mask = list(prompt), list[int]()
        self.logprobs: list[float] | None = None
        self.rewards, self.ends = list[float](), list[int]()

    def merge_tokens(self, ids: list[int], mask: list[int], logprobs: list[float] | None) -> None:
        self.ids, self.mask, self.logprobs = ids, mask, logprobs

    def end_turn(self, heard: SeatObservation) -> None:
        self.rewards.append(heard.reward)
        self.ends.append(len(self.mask))

    def make_output(self, heard: SeatObservation, room: int) -> AgentLoopOutput:
        prompt = len(self.ids) - len(self.mask)
        end = heard.outcome or CUT["context"]._asdict()
        return AgentLoopOutput(
            prompt_ids=self.ids[:prompt],
            response_ids=self.ids[prompt : prompt + room],
            response_mask=self.mask[:room],
            response_logprobs=self.logprobs[:room] if self.logprobs else None,
            reward_score=sum(self.rewards),
            num_turns=2 * len(self.rewards) + 1,
            metrics={},
            extra_fields={
                "turn_scores": self.rewards,
                "turn_ends": self.ends,
                "tool_rewards": [],
                "outcome": end["kind"],
                "truncated": end["truncated"],
            },
        )


def _describe_row(place: Mapping[str, Any]) -> str:
    return f"{place['env']}, world {place['seed']}"


def make_rows(
    env: Env[Any] | str, n: int, *, seed: int = 0, split: str = "train", **config: Any
) -> Iterator[dict[str, Any]]:
    """n rows of a dataset for verl, for world seeds from `seed` on. They hold nothing that is hidden from the model."""
    for place in episode_rows(env, n, seed=seed, split=split, **config):
        yield {
            "prompt": [{"role": "user", "content": _describe_row(place)}],  # a placeholder: the loop sends the real one
            "agent_name": AGENT_NAME,
            "data_source": f"sonde/{place['env']}",
            "extra_info": {"index": None, **place},
        }
