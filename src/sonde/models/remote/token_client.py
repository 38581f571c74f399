"""Base class for servers that take and return token ids: vLLM, SGLang.

The model's own tokenizer encodes the conversation here (`chat`): what was sampled goes back unchanged, and training
uses the returned ids token for token. `score` scores the same ids as `models:hf`, so beliefs can be elicited from a
server. Requests contain every sampling setting, penalties included: servers take missing ones from the model's own
generation settings, and then their log-probabilities are not those of the distribution that was sampled from.

Weights: `weights_endpoint` publishes others to the server; `take_imprint` identifies those of a server that nothing was
published to (`served_weights`).

Text: a reply's own text must equal what its ids decode to here. With another model's tokenizer it does not, and the
prompts would be nonsense that nobody sees. The comparison ends after enough tokens agreed.

Source: ours, from the servers' own protocol files (vLLM 0.33.0, SGLang 0.5.23), run against vLLM 0.32.0.
"""

from __future__ import annotations

import math
import re
import warnings
from abc import abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

from sonde._util.extras import require_extra
from sonde.core import (
    EMPTY,
    HOW,
    Capabilities,
    CapabilityError,
    Completion,
    Message,
    Probe,
    Sampling,
    Usage,
    UserError,
    WorldError,
    freeze,
)
from sonde.core.model import CAPABILITIES
from sonde.core.types import Json

from ..chat.chat import Chat, ScoredIds
from ..files.loading import load_tokenizer, locate_parts
from .client import check_extra, gather_all
from .keys import SecretHeaders
from .openai_chat import max_reply_bytes
from .prompt_logprobs import max_echo_bytes
from .retry import TroubleWarning
from .served_weights import make_weight_probe
from .weights_endpoint import WeightsEndpoint, parse_object

_NO_MODEL = re.compile(r"model .{1,200} does not exist", re.IGNORECASE)
_NO_SUCH_REQUEST = {404, 405, 422, 501}
SEED_BITS = (1 << 63) - 1
"""Servers take seeds as signed 64-bit numbers."""


AGREED = 64
"""Number of sampled tokens whose text must equal the server's before the comparison ends."""


class SampledTokens(NamedTuple):
    """What a server sampled. `limit`: the token limit ended it; `weights`: the server's name for its weights, "" if it
    gives none; `text`: as the server decodes it, cut before a stop word, None if it gives none."""

    ids: array[int]
    logprobs: array[float]
    limit: bool
    weights: str
    usage: Usage
    text: str | None = None


class EchoedPrompt(NamedTuple):
    """A server's log-probabilities of a prompt: one per id, NaN if it gives none."""

    logprobs: Sequence[float]
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class TokenEndpoint(WeightsEndpoint):
    """`tokenizer`: a folder or a hub name with the model's tokenizer and chat template; "" is `model`. `template` is as
    in `models:hf`. `extra` adds sampling fields. `imprint` identifies the server's weights at the start of a run
    (`served_weights`); users never set it. For the rest see `Endpoint`."""

    tokenizer: str = ""
    template: Mapping[str, Json] = EMPTY
    extra: Mapping[str, Any] = EMPTY
    imprint: Mapping[str, Json] = field(default=EMPTY, metadata=HOW)

    capabilities: ClassVar[Capabilities] = Capabilities(ids=True, logprobs=True, score=True, tools=True)
    taken: ClassVar[frozenset[str]]
    """Request fields that are sent anyway."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "template", freeze(self.template))
        object.__setattr__(self, "extra", freeze(self.extra))
        object.__setattr__(self, "imprint", freeze(self.imprint))
        super().__post_init__()

    def _check_request(self) -> None:
        check_extra(self.extra, self.taken)

    @cached_property
    def chat(self) -> Chat:
        """The tokenizer with its template, loaded when it is first needed."""
        require_extra(f"models:{self.name}", "transformers")
        name = self.tokenizer or self.model
        try:
            tokenizer = load_tokenizer(locate_parts(name))
        except UserError as e:
            raise UserError(f"tokenizer: {e}") from e
        return Chat(tokenizer, label=self.model, template=self.template)

    def with_tokenizer(self, tokenizer: Any, template: Mapping[str, Json]) -> Self:
        """The same server, with a tokenizer that is already loaded, and these template arguments."""
        made = replace(self, template=template)
        object.__setattr__(made, "chat", Chat(tokenizer, label=made.model, template=made.template))
        return made

    def _wrong_request_error(self, status: int, line: str) -> UserError:
        error = super()._wrong_request_error(status, line)
        if status not in _NO_SUCH_REQUEST or _NO_MODEL.search(line):
            return error
        return UserError(f"{error}; for a server without token ids use models:http")

    # --- completions -------------------------------------------------------------------------------------------------

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        chat, adapter, version = self.chat.with_tools(sampling.tools), self.served.adapter, self.served.version
        prompt = chat.encode_prompt(messages)
        reply = await self.stats.count_call(self._sample(prompt.ids, sampling, adapter))
        self._check_text(reply, sampling)
        check_ids_known(chat, reply.ids)
        self.served.named = self.served.named or bool(reply.weights)
        text, stopped = _decode_text(chat, reply.ids, sampling)
        cut = reply.limit and not stopped
        return Completion(
            text=text,
            ids=reply.ids,
            logprobs=reply.logprobs if self.gives_logprobs(sampling) else array("f"),
            temperature=sampling.temperature,
            truncated=sampling.is_truncating,
            prompt_ids=prompt.ids[prompt.shared :],
            shared=prompt.shared,
            finish="length" if cut else "stop",
            open_mark=prompt.open_mark,
            model=self.model,
            weights=version if adapter or not reply.weights else self.served.ours.get(reply.weights, reply.weights),
            usage=reply.usage,
            calls=chat.read_calls(text, prompt.open_mark, cut=cut),
        )

    def _check_text(self, sampled: SampledTokens, sampling: Sampling) -> None:
        """Raise `UserError` if the server decodes these ids to another text. White space and parts of characters are
        ignored: engines decode token by token and put them at other places."""
        if sampled.text is None or self.served.agreed >= AGREED:
            return
        here, there = _visible_text(_decode_text(self.chat, sampled.ids, sampling)[0]), _visible_text(sampled.text)
        if not (here == there or (sampling.stop and here.startswith(there))):
            raise UserError(
                f"tokenizer: got {self.tokenizer or self.model!r}, which decodes the server's sampled ids to "
                f"{here[:80]!r}; the server decodes them to {there[:80]!r}; allowed: the tokenizer of the served model"
            )
        self.served.agreed += len(sampled.ids)

    async def _sample(self, ids: array[int], sampling: Sampling, adapter: str) -> SampledTokens:
        def parse_sample(reply: bytes, keys: SecretHeaders) -> SampledTokens:
            return check_sampled(self.read_sampled(parse_object(reply), ids))

        return await self.send_request(
            self.token_url,
            self.request_body(ids, sampling, adapter),
            parse_sample,
            most=lambda request: max_reply_bytes(request, sampling.max_new_tokens, 1),
            seed=sampling.seed,
        )

    # --- scores ------------------------------------------------------------------------------------------------------

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        return await gather_all([self._score_probe(probe, i) for i, probe in enumerate(probes)])

    async def _score_probe(self, probe: Probe, seed: int) -> list[float]:
        return await self.score_ids(self.chat.encode_probe(probe), seed=seed)

    async def score_ids(self, scored: ScoredIds, *, seed: int = 0) -> list[float]:
        """The log-probabilities of the tokens at these positions, as in `score`. `seed` seeds the jitter of waits."""
        if not scored.places:
            return []

        def parse_echo(reply: bytes, keys: SecretHeaders) -> EchoedPrompt:
            echoed = self.read_echo(parse_object(reply), scored.ids)
            if not all(math.isfinite(echoed.logprobs[i]) for i in scored.places):
                raise ValueError("log-probabilities of the prompt are not finite")
            return echoed

        body = self.echo_body(scored.ids, min(scored.places), self.served.adapter)
        echoed = await self.stats.count_call(
            self.send_request(self.token_url, body, parse_echo, most=max_echo_bytes, seed=seed)
        )
        return [float(echoed.logprobs[i]) for i in scored.places]

    # --- weights -----------------------------------------------------------------------------------------------------

    async def take_imprint(self) -> Mapping[str, Json]:
        """Take the imprint that identifies the server's weights (`served_weights`), and store it in `imprint`. The
        imprint of a server that scores no prompts contains less."""
        imprint: dict[str, Json] = {"version": await self.held_version()}
        try:
            imprint["logprobs"] = [round(x, 5) for x in await self.score_ids(make_weight_probe(self.chat.tokenizer))]
        except CapabilityError as e:
            warnings.warn(
                f"{self.model}: a change of its weights will not be noticed: {e}", TroubleWarning, stacklevel=2
            )
        object.__setattr__(self, "imprint", freeze(imprint))
        return self.imprint

    # --- of each server ----------------------------------------------------------------------------------------------

    @abstractmethod
    def gives_logprobs(self, sampling: Sampling) -> bool:
        """Whether the log-probabilities of such sampling are those that `Completion` promises: at the temperature of
        sampling, before any truncation."""

    @abstractmethod
    def request_body(self, ids: array[int], sampling: Sampling, adapter: str) -> dict[str, Any]:
        """The request for a completion of these ids, by this adapter ("": by the model itself)."""

    @abstractmethod
    def echo_body(self, ids: array[int], first: int, adapter: str) -> dict[str, Any]:
        """The request for the log-probabilities of these ids from position `first` on."""

    @abstractmethod
    def read_sampled(self, reply: Mapping[str, Any], ids: array[int]) -> SampledTokens:
        """Parse a reply. Raises `ValueError` if it is unreadable, and an error that says what to change if something is
        missing."""

    @abstractmethod
    def read_echo(self, reply: Mapping[str, Any], ids: array[int]) -> EchoedPrompt: ...


def check_sampled(reply: SampledTokens) -> SampledTokens:
    """The reply, provided that it has at least one id and a finite log-probability for every id."""
    if not reply.ids:
        raise ValueError("no tokens")
    if len(reply.logprobs) != len(reply.ids) or not all(map(math.isfinite, reply.logprobs)):
        raise ValueError(f"{len(reply.ids)} token ids with {len(reply.logprobs)} log-probabilities, or non-finite ones")
    return reply


def read_ids(value: object, what: str) -> array[int]:
    """A list of token ids."""
    rows = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(x, int) and 0 <= x < 1 << 31 for x in rows):
        raise ValueError(f"{what} are not token ids")
    return array("i", cast("list[int]", rows))


def missing_error(capability: str, what: str, how: str) -> CapabilityError:
    """The error for a server whose reply lacks something."""
    return CapabilityError(f"{what}; {how}; backends with {capability}: {', '.join(CAPABILITIES[capability])}")


def check_ids_known(chat: Chat, ids: array[int]) -> None:
    """Raise `WorldError` if a server sampled ids that the tokenizer does not define: its vocabulary is padded, and the
    next prompt, which would hold these ids, would be refused."""
    if strange := sorted(set(ids) - chat.vocabulary_ids):
        raise WorldError(
            f"token_ids: the server sampled {strange[:3]}, which {chat.label!r}'s tokenizer does not define: the "
            "model's vocabulary is padded; a logit_bias of -100 in extra forbids them"
        )


def _visible_text(text: str) -> str:
    return "".join(text.replace("\ufffd", "").split())


def _decode_text(chat: Chat, ids: array[int], sampling: Sampling) -> tuple[str, bool]:
    """The text of sampled ids, as in `models:hf`, and whether it ended by itself."""
    ended = ids[-1] in chat.ends
    text = chat.decode_ids(ids[:-1] if ended else ids)
    cut = sampling.cut_at_stop(text)
    return (text if cut is None else cut), ended or cut is not None
