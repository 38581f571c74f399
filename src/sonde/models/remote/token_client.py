"""What engines share that are behind an endpoint, take token ids and give token ids back: vLLM, SGLang.

A conversation becomes ids here, by the model's own tokenizer (`chat`): what was sampled is fed back as it was, and what
comes back is trained on token for token. `score` is of the ids that `models:hf` would score, so beliefs can be elicited
from a server. What the server draws with is sent whole, penalties included: servers take what is not said from the
model's own generation settings, and then their log-probabilities are not those of the distribution drawn from.

Weights. `publish` gives the server others, from a folder that it sees under the same path: an adapter, or all weights;
the server calls either by a name that holds their fingerprint, so two trainings never mean different weights by one
name. Every completion names the version that sampled it: of adapters the one that was asked for, of whole weights the
one that the server says; where they changed on the way, the oldest. Servers whose replies name none are asked, after
what was sampled, whether they still hold what was published (`confirm`). `take_imprint` tells the weights of a server
that nothing was published to (`imprint`).

Text. A reply's own text has to be what its ids say here: by another model's tokenizer it is not, and the prompts would
be nonsense that nobody sees. Once enough of it was the same it is not compared any more.

Source: ours, from the servers' own protocol files (vLLM 0.33.0, SGLang 0.5.23), run against vLLM 0.32.0.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from abc import abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast
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
    Usage,
    UserError,
    WorldError,
    freeze,
)
from sonde.core.extras import need
from sonde.core.model import CAPABILITIES
from sonde.core.types import Json

from ..chat.chat import Chat, Scored
from ..files.hub import load_tokenizer, locate
from ..files.weights import fingerprint
from .client import Endpoint, all_of, check_extra
from .keys import Keys
from .openai_chat import ROOM, largest, mapping
from .prompt_logprobs import largest_echo
from .retry import TroubleWarning
from .served_weights import probe_of

_NO_MODEL = re.compile(r"model .{1,200} does not exist", re.IGNORECASE)
_NO_SUCH_REQUEST = {404, 405, 422, 501}
SEED_BITS = (1 << 63) - 1
"""Servers take seeds as signed 64-bit numbers."""


AGREED = 64
"""Sampled tokens whose text has to be the server's before it is not compared any more."""


class Sampled(NamedTuple):
    """What a server sampled. `limit`: the token limit ended it; `weights`: as the server calls them, "" if it does not
    say; `text`: as the server decodes it, cut before a stop word, None if it does not say."""

    ids: array[int]
    logprobs: array[float]
    limit: bool
    weights: str
    usage: Usage
    text: str | None = None


class Echoed(NamedTuple):
    """What a server says of a prompt: one log-probability per id, not a number where it says nothing."""

    logprobs: Sequence[float]
    usage: Usage


@dataclass(slots=True, eq=False)
class Served:
    """What was published last: the version, and how the server calls it, as the name of an adapter or as the version of
    all weights. `ours` has the version for every such name; `held` is what the server said of its whole weights right
    after, `named` whether its replies say it, `agreed` how many sampled tokens had the text that they have here."""

    version: str = ""
    adapter: str = ""
    whole: str = ""
    ours: dict[str, str] = field(default_factory=dict[str, str])
    held: str = ""
    named: bool = False
    agreed: int = 0


class Adapters(NamedTuple):
    """How a server loads adapters: what stands before the two paths, what its refusal says of an adapter that it has
    already, and what it has to be started with."""

    path: str
    known: str
    needs: str


@dataclass(frozen=True, kw_only=True)
class TokenEndpoint(Endpoint):
    """`tokenizer`: a folder or a hub name with the model's tokenizer and chat template; "" is `model`. `template` is as
    in `models:hf`. `extra` adds fields to what is sampled with. `imprint` is what the server's weights were known by
    when a run was begun (`models.imprint`); nobody gives it. For the rest see `Endpoint`."""

    tokenizer: str = ""
    template: Mapping[str, Json] = EMPTY
    extra: Mapping[str, Any] = EMPTY
    imprint: Mapping[str, Json] = field(default=EMPTY, metadata=HOW)
    served: Served = field(default_factory=Served, init=False, repr=False, compare=False)

    capabilities: ClassVar[Capabilities] = Capabilities(ids=True, logprobs=True, score=True)
    adapters: ClassVar[Adapters]
    taken: ClassVar[frozenset[str]]
    """Fields of a request that are sent anyway."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "template", freeze(self.template))
        object.__setattr__(self, "extra", freeze(self.extra))
        object.__setattr__(self, "imprint", freeze(self.imprint))
        super().__post_init__()

    def _check_request(self) -> None:
        check_extra(self.extra, self.taken)

    @cached_property
    def chat(self) -> Chat:
        """The tokenizer with its template, read when it is first needed."""
        need(f"models:{self.name}", "transformers")
        name = self.tokenizer or self.model
        try:
            tokenizer = load_tokenizer(name, locate(name))
        except UserError as e:
            raise UserError(f"tokenizer: {e}") from e
        return Chat(tokenizer, label=self.model, template=self.template)

    def speaking(self, tokenizer: Any, template: Mapping[str, Json]) -> Self:
        """The same server, with a tokenizer that is at hand already, and these arguments of its template."""
        made = replace(self, template=template)
        object.__setattr__(made, "chat", Chat(tokenizer, label=made.model, template=made.template))
        return made

    def _refusal(self, status: int, line: str, after: float | None, reply: bytes) -> UserError | WorldError:
        """A command that fails inside the server fails again, and what to change is another thing: a folder, a flag.
        One that a server does not have is not there."""
        if status == 500 and not self._is_for_tokens(status, line):
            return UserError(f"server: {line}")
        if status in (404, 405) and not self._is_for_tokens(status, line):
            return _NotThere(f"base_url: {line}")
        return super()._refusal(status, line, after, reply)

    def _wrong(self, status: int, line: str) -> UserError:
        error = super()._wrong(status, line)
        if status not in _NO_SUCH_REQUEST or _NO_MODEL.search(line):
            return error
        return UserError(f"{error}; models:http asks servers that take no token ids")

    def _is_for_tokens(self, status: int, line: str) -> bool:
        """Whether this is the reply to a request for tokens, rather than to a command."""
        return line.startswith(f"{status} from {urlsplit(self.where).path}:")

    @property
    def root(self) -> str:
        """The server's address, without the `/v1` of its OpenAI protocol, which may be left out."""
        return self.base_url.removesuffix("/v1")

    # --- completions -------------------------------------------------------------------------------------------------

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        chat, adapter, version = self.chat, self.served.adapter, self.served.version
        prompt = chat.prompt(messages)
        said = await self.stats.counting(self._sample(prompt.ids, sampling, adapter))
        self._check_text(said, sampling.stop)
        check_known(chat, said.ids)
        self.served.named = self.served.named or bool(said.weights)
        text, stopped = _text(chat, said.ids, sampling.stop)
        return Completion(
            text=text,
            ids=said.ids,
            logprobs=said.logprobs if self.measures(sampling) else array("f"),
            temperature=sampling.temperature,
            truncated=sampling.truncates,
            prompt_ids=prompt.ids[prompt.shared :],
            shared=prompt.shared,
            finish="length" if said.limit and not stopped else "stop",
            open_mark=prompt.open_mark,
            model=self.model,
            weights=version if adapter or not said.weights else self.served.ours.get(said.weights, said.weights),
            usage=said.usage,
        )

    def _check_text(self, said: Sampled, stop: Sequence[str]) -> None:
        """Raise `UserError` where the server reads these ids as another text. White space is left out, and what stands
        for half a character: engines decode token by token and put them at other places."""
        if said.text is None or self.served.agreed >= AGREED:
            return
        here, there = _visible(_text(self.chat, said.ids, stop)[0]), _visible(said.text)
        if not (here == there or (stop and here.startswith(there))):
            raise UserError(
                f"tokenizer: got {self.tokenizer or self.model!r}, by which the ids that the server sampled say "
                f"{here[:80]!r}; the server says {there[:80]!r}; allowed: the tokenizer of the model that is served"
            )
        self.served.agreed += len(said.ids)

    async def _sample(self, ids: array[int], sampling: Sampling, adapter: str) -> Sampled:
        def read(reply: bytes, keys: Keys) -> Sampled:
            return checked(self.read_sampled(parsed(reply), ids))

        return await self.ask(
            self.where,
            self.body(ids, sampling, adapter),
            read,
            most=lambda request: largest(request, sampling.max_new_tokens, 1),
            seed=sampling.seed,
        )

    # --- scores ------------------------------------------------------------------------------------------------------

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        return await all_of([self._score(probe, i) for i, probe in enumerate(probes)])

    async def _score(self, probe: Probe, seed: int) -> list[float]:
        return await self.score_ids(self.chat.scored(probe), seed=seed)

    async def score_ids(self, scored: Scored, *, seed: int = 0) -> list[float]:
        """The log-probabilities of the tokens at these places, as `score` has them. `seed` is for waits (`ask`)."""
        if not scored.places:
            return []

        def read(reply: bytes, keys: Keys) -> Echoed:
            found = self.read_echo(parsed(reply), scored.ids)
            if not all(math.isfinite(found.logprobs[i]) for i in scored.places):
                raise ValueError("log-probabilities of the prompt that are no numbers")
            return found

        body = self.echo_body(scored.ids, min(scored.places), self.served.adapter)
        found = await self.stats.counting(self.ask(self.where, body, read, most=largest_echo, seed=seed))
        return [float(found.logprobs[i]) for i in scored.places]

    # --- weights -----------------------------------------------------------------------------------------------------

    async def publish(self, folder: Path, version: str, *, adapter: bool) -> None:
        """Let the server play with the weights of this folder from now on, under this version: an adapter (of peft, for
        the model that is served), or a whole model. Calls in flight end with what they began with."""
        path, old = _seen(folder), self.served.adapter
        if adapter:
            await self.load_adapter(_called(folder, version), path)
        else:
            await self.load_weights(path, _called(folder, version))
        self.follow(folder, version, adapter=adapter)
        if old and old != self.served.adapter:
            await self.unload_adapter(old)
        self.served.held = await self.held()
        await self.confirm()

    def follow(self, folder: Path, version: str, *, adapter: bool) -> None:
        """Ask for what another process has published."""
        served, name = self.served, _called(folder, version)
        served.version, served.held = version, ""
        served.adapter, served.whole = (name, served.whole) if adapter else ("", name)
        served.ours[name] = version

    async def confirm(self, *, played: bool = False) -> None:
        """Raise `UserError` where the server no longer holds what was published last: another training uses it, or it
        was started anew. With `played`, after something was sampled, raise `CapabilityError` where it says nowhere what
        it holds."""
        served = self.served
        if not served.version:
            return
        now, wanted = await self.held(), served.held if served.adapter else served.whole
        if now and wanted and now != wanted:
            raise UserError(
                f"{self.model}: the server holds weights {now!r}, allowed: {wanted!r}, which were published to it; "
                "does another training use this server, or was it started anew?"
            )
        if played and not (now or served.adapter or served.named):
            raise CapabilityError(
                f"{self.model}: the server says nowhere which weights it holds, so another training that uses it would "
                f"not be noticed; {self.says_weights}"
            )

    async def take_imprint(self) -> Mapping[str, Json]:
        """What tells the server's weights from others (`models.imprint`), kept in `imprint` as well. A server that
        scores no prompts says less."""
        found: dict[str, Json] = {"version": await self.held()}
        try:
            found["logprobs"] = [round(x, 5) for x in await self.score_ids(probe_of(self.chat.tokenizer))]
        except CapabilityError as e:
            warnings.warn(f"{self.model}: other weights will not be noticed: {e}", TroubleWarning, stacklevel=2)
        object.__setattr__(self, "imprint", freeze(found))
        return self.imprint

    async def command(self, path: str, body: Mapping[str, Any], needs: str) -> Mapping[str, Any]:
        """What the server answers to a command; `needs` is how it is started so that it takes such commands."""
        try:
            return await self.ask(self.root + path, body, lambda reply, keys: parsed(reply, any_text=True), most=_short)
        except UserError as e:
            raise UserError(f"{e}; {needs}") from e

    async def inquire(self, path: str) -> Mapping[str, Any]:
        """What the server answers to a question; empty where it knows none of that name."""
        try:
            return await self.ask(self.root + path, None, lambda reply, key: parsed(reply, any_text=True), most=_short)
        except _NotThere:
            return EMPTY

    # --- of each server ----------------------------------------------------------------------------------------------

    says_weights: ClassVar[str]
    """What a server is started with to say which weights it holds."""

    @property
    @abstractmethod
    def where(self) -> str:
        """The address that ids are sent to."""

    @abstractmethod
    async def held(self) -> str:
        """The version of the weights that the server says it holds, adapters apart; "" if it does not say."""

    @abstractmethod
    def measures(self, sampling: Sampling) -> bool:
        """Whether the log-probabilities of what is drawn so are those that `Completion` promises: at the temperature of
        the draw, before anything is cut off."""

    @abstractmethod
    def body(self, ids: array[int], sampling: Sampling, adapter: str) -> dict[str, Any]:
        """The request for a completion of these ids, by this adapter ("": by the model itself)."""

    @abstractmethod
    def echo_body(self, ids: array[int], first: int, adapter: str) -> dict[str, Any]:
        """The request for the log-probabilities of these ids from the one at place `first` on."""

    @abstractmethod
    def read_sampled(self, reply: Mapping[str, Any], ids: array[int]) -> Sampled:
        """What a reply says. `ValueError` where it cannot be read, an error that says what to change where something
        is missing."""

    @abstractmethod
    def read_echo(self, reply: Mapping[str, Any], ids: array[int]) -> Echoed: ...

    async def load_adapter(self, name: str, folder: Path) -> None:
        """Make the server have the adapter of this folder under this name. One that it has already is no error: it is
        what its name says, and a run goes on, or an attempt is made again."""
        body = {"lora_name": name, "lora_path": str(folder)}
        try:
            await self.command(f"{self.adapters.path}/load_lora_adapter", body, self.adapters.needs)
        except UserError as e:
            if self.adapters.known not in str(e):
                raise

    async def unload_adapter(self, name: str) -> None:
        await self.command(f"{self.adapters.path}/unload_lora_adapter", {"lora_name": name}, self.adapters.needs)

    @abstractmethod
    async def load_weights(self, folder: Path, version: str) -> None:
        """Put the weights of this folder in place of those that are served, once nothing is under way."""


def parsed(reply: bytes, *, any_text: bool = False) -> Mapping[str, Any]:
    """The JSON object in a reply; what is none is empty with `any_text`, and a `ValueError` without."""
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, Mapping) and not any_text:
        raise ValueError("not a JSON object")
    return mapping(data)


def checked(said: Sampled) -> Sampled:
    """The same, if there is a finite log-probability for every id, and an id at all."""
    if not said.ids:
        raise ValueError("no tokens")
    if len(said.logprobs) != len(said.ids) or not all(map(math.isfinite, said.logprobs)):
        raise ValueError(f"{len(said.ids)} token ids with {len(said.logprobs)} log-probabilities, or some not finite")
    return said


def numbers(value: object, what: str) -> array[int]:
    """A list of token ids."""
    rows = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(x, int) and 0 <= x < 1 << 31 for x in rows):
        raise ValueError(f"{what} that are no token ids")
    return array("i", cast("list[int]", rows))


def lacking(capability: str, what: str, how: str) -> CapabilityError:
    """The error for a server whose reply lacks something."""
    return CapabilityError(f"{what}; {how}; backends with {capability}: {', '.join(CAPABILITIES[capability])}")


def check_known(chat: Chat, ids: array[int]) -> None:
    """Raise `WorldError` where a server sampled what the tokenizer has no token for: its vocabulary is padded, and the
    next prompt, which would hold these ids, would be refused."""
    if strange := sorted(set(ids) - chat.tokens):
        raise WorldError(
            f"token_ids: the server sampled {strange[:3]}, which are no tokens of {chat.label!r}'s tokenizer: the "
            "model's vocabulary is padded; a logit_bias of -100 in extra forbids them"
        )


class _NotThere(UserError):
    """The server has no such command."""


def _visible(text: str) -> str:
    return "".join(text.replace("\ufffd", "").split())


def _text(chat: Chat, ids: array[int], stop: Sequence[str]) -> tuple[str, bool]:
    """The text of sampled ids, as `models:hf` has it, and whether it was ended rather than cut."""
    ended = ids[-1] in chat.ends
    text = chat.decode(ids[:-1] if ended else ids)
    cut = min((at for word in stop if word and (at := text.find(word)) >= 0), default=-1)
    return (text if cut < 0 else text[:cut]), ended or cut >= 0


def _called(folder: Path, version: str) -> str:
    """How the server calls it: what is in it decides, so that nothing else is taken for it."""
    return f"{version}-{fingerprint(folder)}"


def _seen(folder: Path) -> Path:
    """Its path as another process finds it."""
    return folder.absolute()


def _short(request: int) -> int:
    return ROOM
