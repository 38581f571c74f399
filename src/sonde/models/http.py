"""Any endpoint that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, hosted ones.

Keys, retries and the classification of errors: `remote.client`. No token ids come back; `models:vllm` and
`models:sglang` keep them. A field that the endpoint refuses is left out from then on, or sent by its other name
(`remote.adapting`); hosts with names of their own: `remote.providers`.

Many hosts refuse a message without content, which a reply of nothing but reasoning leaves in the history. So a blank
message is always sent as `BLANK`, to every host, and a conversation is the same wherever it is played.

With `Sampling.tools` a request has `tools`, demands one call (`tool_choice`, `parallel_tool_calls`, `strict`; left out
where refused), and shows past calls and what they returned in the messages `assistant` and `tool`. Arguments that are
no JSON object are shown as `{}`, since many hosts parse the arguments of past calls and refuse the conversation. The
content beside a call may be null; where that is refused it is `BLANK`. A host that reports that it cannot read the call
which its model wrote gives an unusable call, not a failure: the model is to blame.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sonde.core import (
    EMPTY,
    HOW,
    Capabilities,
    CapabilityError,
    Completion,
    Message,
    Probe,
    Sampling,
    UserError,
    freeze,
    invalid,
)
from sonde.core.model import CAPABILITIES
from sonde.core.tools import Tool

from .remote.adapting import (
    BLANK,
    LIMITS,
    OMITTABLE,
    EndpointForm,
    Refusal,
    RequestForm,
    field_names,
    leave_out,
    missing_fields,
    named_fields,
    other_limit,
    refused_fields,
)
from .remote.addresses import names_version
from .remote.client import Endpoint, check_extra, gather_all
from .remote.keys import SecretHeaders
from .remote.openai_chat import max_reply_bytes, read_completion
from .remote.prompt_logprobs import PromptTokens, max_echo_bytes, read_prompt_tokens, score_span
from .remote.verdicts import UnreadableReply

T = TypeVar("T")

_SHRUNK = (
    "{}: a conversation grew, but its prompt went from {:,} to {:,} tokens by the endpoint's own count. Either it cuts "
    "the beginning, the rules included, of what is too long for the context that it was started with, or its count "
    "leaves out what it has cached"
)
_NOT_EXTRA = {*OMITTABLE, *LIMITS, "api_key", "authorization", "messages", "model", "n", "stream",
              "tools", "prompt_logprobs", "add_generation_prompt", "continue_final_message"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Http(Endpoint):
    """An endpoint that takes messages; `base_url` is the address up to but not including `/chat/completions`.

    For arguments not named here see `Endpoint`. `max_tokens_field` is one of `LIMITS`; `omit` names fields (of
    `OMITTABLE`) that are never sent, `extra` adds others to the request. Other fields that the endpoint refuses are
    found by trying (`adapted`), unless `strict`, which makes a refusal an error. `logprobs` asks for log-probabilities,
    which come without token ids; `prompt_logprobs` says that the endpoint gives those of a prompt, which `score` needs
    (vLLM does).

    >>> Http(base_url="http://localhost:8000/v1", model="qwen").config["concurrency"]
    64
    """

    max_tokens_field: str = "max_tokens"
    logprobs: bool = False
    prompt_logprobs: bool = field(default=False, metadata=HOW)
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Any] = EMPTY
    strict: bool = field(default=False, metadata=HOW)
    adapted: EndpointForm = field(default_factory=lambda: EndpointForm(""), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.omit, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("omit", self.omit, f"a list of {', '.join(OMITTABLE)}")
        if not isinstance(self.extra, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("extra", self.extra, "a mapping of names of fields to JSON values")
        object.__setattr__(self, "omit", tuple(self.omit))
        object.__setattr__(self, "extra", freeze(self.extra))
        object.__setattr__(
            self, "capabilities", Capabilities(logprobs=self.logprobs, score=self.prompt_logprobs, tools=True)
        )
        super().__post_init__()
        self.adapted.key = f"{self.model} at {self.base_url}"

    def _check_request(self) -> None:
        if self.max_tokens_field not in LIMITS:
            raise invalid("max_tokens_field", self.max_tokens_field, " or ".join(LIMITS))
        if wrong := sorted(set(self.omit) - set(OMITTABLE)):
            raise invalid("omit", wrong[0], ", ".join(OMITTABLE))
        check_extra(self.extra, _NOT_EXTRA)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.count_call(self._request_completion(messages, sampling))

    async def _request_completion(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        def read(reply: bytes, keys: SecretHeaders) -> Completion:
            def warn(end: str) -> None:
                self._warn_unknown_reason(keys.hide_secrets(end))

            return keys.hide_in(read_completion(reply, self.model, warn, by_tools=bool(sampling.tools)))

        try:
            completed, sent = await self._send_adapting(
                self.request_body(messages, sampling),
                read,
                most=lambda request: max_reply_bytes(request, sampling.max_new_tokens, self._logprobs_per_token),
                seed=sampling.seed,
            )
        except UnreadableReply as e:
            return e.completion
        if shrunk := self.experience.find_shrunk_prompt(messages, completed.usage.prompt):
            self.experience.warn_once("shrunk", _SHRUNK.format(self.model, *shrunk))
        if self.logprobs and completed.text and not completed.calls and not completed.logprobs:
            raise UserError("logprobs: got True, allowed: False, since the endpoint returns no log-probabilities")
        asked = field_names(self._request_fields(messages, sampling))
        unsent = tuple(sorted(asked - field_names(sent) - {*LIMITS, "logprobs"}))
        cut = sampling.cut_at_stop(completed.text) if "stop" in unsent else None
        if cut is not None:  # the endpoint did not get the stop words
            completed = replace(completed, text=cut, finish="stop")
        if _is_cut_call(completed, sampling):
            completed = replace(completed, finish="length")
        return replace(completed, unsent=unsent) if unsent else completed

    async def _send_adapting(
        self,
        body: Mapping[str, Any],
        read: Callable[[bytes, SecretHeaders], T],
        *,
        most: Callable[[int], int],
        seed: int,
    ) -> tuple[T, Mapping[str, Any]]:
        """Send this request, or if the endpoint refuses it, the same in a form that it accepts. Returns what `read`
        parses from the reply, and the request that was sent. Every form has the messages, the model and the token
        limit."""
        form, first = RequestForm() if self.strict else self.adapted.form, None
        while True:
            sent = form.apply_to(body)
            try:
                result = await self.send_request(
                    self.url_of(form.below + "/chat/completions"), sent, read, most=most, seed=seed
                )
            except Refusal as e:
                first = first or e
                after = None if self.strict else form.next_form(e, body, versioned=names_version(self.base_url))
                if after is None:
                    raise self._add_remedies(first, body, form) from e
                form = after
            else:
                self._keep_form(form)
                return result, sent

    def _keep_form(self, form: RequestForm) -> None:
        """Use this form, which the endpoint accepted, from now on."""
        for note in () if self.strict else form.describe_form(self.adapted.key):
            self.stats.say_once(note)
        if form != self.adapted.form and not self.strict:
            self.adapted.form = self.adapted.form.join_with(form)

    def _blames_fields(self, reply: bytes, body: Mapping[str, Any]) -> bool:
        named = refused_fields(reply, field_names(body)) & {*OMITTABLE, *LIMITS, *self.extra}
        return bool(named or missing_fields(reply, body))

    def _add_remedies(self, refusal: Refusal, body: Mapping[str, Any], form: RequestForm) -> Refusal:
        """A refusal with the settings that might help."""
        if refusal.status in (404, 405):
            tried = f"; {form.below} was tried, too" if form.below else ""
            return Refusal(refusal.message + tried, refusal.status, refusal.reply, asker=self)
        named, remedies = named_fields(refusal.reply, field_names(body)), list[tuple[str, str]]()
        if limit := other_limit(refusal, body):
            remedies.append((f"max_tokens_field={limit}", "sends the limit by that name"))
        if leave := named & set(OMITTABLE):
            names = ",".join([*self.omit, *sorted(leave)])
            remedies.append((f"omit=[{names}]", f"leaves {'it' if len(leave) == 1 else 'them'} out"))
        return Refusal(refusal.message, refusal.status, refusal.reply, remedies, asker=self)

    def _warn_unknown_reason(self, reason: str) -> None:
        """Warn about an unknown finish reason."""
        shown = repr(reason[:40])
        self.stats.say_once(f"{self.adapted.key}: finish_reason {shown} is unknown; its replies are used unchanged")

    def request_body(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        """The request as configured, in a form to which `RequestForm.apply_to` must be applied. Seeds are cut to 31
        bits, the most that every endpoint accepts."""
        return leave_out(self._request_fields(messages, sampling), self.omit) | dict(self.extra)

    def _request_fields(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        """All fields that the call asks for."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": _messages_to_send(messages, by_tools=bool(sampling.tools)),
            self.max_tokens_field: sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed & 0x7FFFFFFF,
        }
        if sampling.top_p < 1.0:
            fields["top_p"] = sampling.top_p
        if sampling.min_p > 0.0:
            fields["min_p"] = sampling.min_p
        if sampling.stop:
            fields["stop"] = list(sampling.stop)
        if self.logprobs:
            fields["logprobs"] = True
        if sampling.tools:
            fields["tools"] = [_strict_tool(tool) for tool in sampling.tools]
            fields |= {"tool_choice": "required", "parallel_tool_calls": False}
        return fields

    @property
    def _logprobs_per_token(self) -> int:
        others = self.extra.get("top_logprobs", 0)
        return 1 + others if self.logprobs and isinstance(others, int) else int(self.logprobs)

    # --- scores ------------------------------------------------------------------------------------------------------

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        if not self.prompt_logprobs:
            raise self.capability_error("score")
        return await gather_all([self._score_probe(probe, i) for i, probe in enumerate(probes)])

    async def _score_probe(self, probe: Probe, seed: int) -> list[float]:
        """Two calls if the end of the message counts too: only without it is known where the message stops."""
        said = await self.stats.count_call(self._request_echo(probe, seed, ends=False))
        ended = await self.stats.count_call(self._request_echo(probe, seed, ends=True)) if probe.ending else None
        return score_span(probe, said, ended)

    async def _request_echo(self, probe: Probe, seed: int, *, ends: bool) -> PromptTokens:
        def read_echo(reply: bytes, keys: SecretHeaders) -> PromptTokens:
            prompt = read_prompt_tokens(reply)
            if prompt is None:
                raise CapabilityError(
                    f"prompt_logprobs: got True, but {urlsplit(self.url_of('/chat/completions')).path} returns none; "
                    f"backends that can score: {', '.join(CAPABILITIES['score'])}"
                )
            return prompt

        prompt, _ = await self._send_adapting(
            self.echo_body(probe, ends=ends), read_echo, most=max_echo_bytes, seed=seed
        )
        return prompt

    def echo_body(self, probe: Probe, *, ends: bool) -> dict[str, Any]:
        """The request for the log-probabilities of a prompt that stops at the end of the probe's last message, or, if
        it `ends`, after what the template writes there."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [*_messages_to_send(probe.messages[:-1]), probe.messages[-1].to_json()],
            self.max_tokens_field: 1,
            "temperature": 1.0,
            "prompt_logprobs": 0,
            "add_generation_prompt": False,
            "continue_final_message": not ends,
        }
        return {k: v for k, v in fields.items() if k not in self.omit} | dict(self.extra)

    def _wrong_request_error(self, status: int, line: str) -> UserError:
        if status in (400, 422):
            return UserError(f"model, omit or extra: the endpoint refuses the request: {line}")
        return super()._wrong_request_error(status, line)


def _messages_to_send(messages: Sequence[Message], *, by_tools: bool = False) -> list[dict[str, Any]]:
    """Messages in the form in which they are sent. With tools, what follows a message with calls is what the first call
    returned, and only the first is shown."""
    sent: list[dict[str, Any]] = []
    for i, message in enumerate(messages):
        shown = (message if message.content.strip() else message._replace(content=BLANK)).to_json()
        call = _first_call(message, i) if by_tools else None
        returned = _first_call(messages[i - 1], i - 1) if by_tools and i else None
        if call:
            thought = message.completion.reasoning if message.completion else ""
            sent.append({**shown, "tool_calls": [call], "reasoning_content": thought or BLANK})
        elif returned:
            sent.append({"role": "tool", "tool_call_id": returned["id"], "content": shown["content"]})
        else:
            sent.append(dict(shown))
    return sent


def _is_cut_call(c: Completion, sampling: Sampling) -> bool:
    """Whether the token limit cut a call. Some hosts say `tool_calls` of every reply with one, however it ended."""
    return c.usage.completion >= sampling.max_new_tokens and any(call.fields is None for call in c.calls)


def _strict_tool(tool: Tool) -> dict[str, Any]:
    """A tool whose schema binds the sampler of hosts that can do so."""
    described = tool.to_json()
    return {**described, "function": {**described["function"], "strict": True}}


def _first_call(message: Message, index: int) -> dict[str, Any] | None:
    """The first call in a message, with an id of its own if it has none."""
    if message.completion is None or not message.completion.calls:
        return None
    call = message.completion.calls[0]
    called = {"name": call.name or "none", "arguments": "{}" if call.fields is None else call.arguments}
    own_id = f"call{index:05}"  # nine letters and digits, which Mistral's templates require
    return {**json.loads(call.extra or "{}"), "id": call.id or own_id, "type": "function", "function": called}
