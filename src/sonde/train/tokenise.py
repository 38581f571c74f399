"""Token ids for trajectories that came without: a program's, a person's, an endpoint's, or those of another model.

The episode is replayed act by act. At each act the agent's prompt is what `policy` would have made of that view, and
what was said is encoded and ended as the model would have sampled it; later prompts contain these very ids. That is the
path of live sampling (`agents.llm`, `models.chat`), so a trajectory that a live model recorded comes out with the ids
it had, wherever the model said its texts in the tokens that the tokenizer gives them. Nothing was sampled here, so
there are no log-probabilities; objectives that need them refuse such rows.

Source: ours. Tasks of training on a teacher's play: PAPRIKA (arXiv 2502.17543), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sonde.agents.llm import LLM
from sonde.core import AGENT, Action, Completion, Episode, Message, Trajectory, Usage, UserError, build_recorded
from sonde.models.chat.chat import Chat
from sonde.models.chat.reasoning import split_completion


def as_sampled(trajectory: Trajectory, policy: LLM, chat: Chat) -> Trajectory:
    """The same trajectory, with the completions that `policy` would have recorded had its model said these texts.

    `chat` is the tokenizer and template of the model to be trained. Where an act has one completion that led to its
    text (an endpoint's, say), the model said all of it, reasoning included, and was cut where that was cut; otherwise
    it said the act's text. Reasoning that an endpoint returned apart from its text is not part of what is said. A text
    that the tokenizer does not give back is an error.
    """
    env = build_recorded(trajectory.env)
    Episode.replay(env, trajectory)
    ep = Episode.begin(env, trajectory.task, seed=trajectory.seed, sample=trajectory.sample)
    for act in trajectory.acts:
        action = act.action
        if act.seat == AGENT:
            said = _said(action)
            try:
                completion = spoken(chat, policy.prompt(ep.view()), said.text, said.finish)
            except UserError as e:
                raise UserError(f"trajectory {trajectory.id}: turn {len(ep.turns)}: {e}") from e
            thought = replace(completion, reasoning=split_completion(said)[0].reasoning, open_mark=said.open_mark)
            action = Action(action.text, action.memory, (thought,))
        ep = ep.step(action)
    return replace(trajectory, turns=ep.turns)


def spoken(chat: Chat, messages: Sequence[Message], text: str, finish: str = "stop") -> Completion:
    """The completion that a model would have recorded, had it said `text` to these messages: the ids that the template
    has there (`Chat.encode_reply`)."""
    prompt = chat.prompt(messages)
    reply = chat.encode_reply(messages, text, cut=finish == "length")
    return Completion(
        text=reply.text,
        ids=reply.ids,
        prompt_ids=prompt.ids[prompt.shared :],
        shared=prompt.shared,
        finish="length" if finish == "length" else "stop",
        model=chat.label,
        usage=Usage(len(prompt.ids), len(reply.ids)),
    )


def end_of_message(chat: Chat) -> int:
    """The id that ends an assistant message: what the template puts there, else the tokenizer's end of text."""
    return chat.end


def _said(action: Action) -> Completion:
    """What the model said in this act, without what an endpoint told apart from it."""
    if len(action.completions) == 1:
        (c,) = action.completions
        if split_completion(c)[1] == action.text:
            return replace(c, reasoning="")
    return Completion(text=action.text)
