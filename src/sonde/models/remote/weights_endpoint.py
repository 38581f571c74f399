"""Publish weights to an inference server, and confirm that it still serves them.

`publish` makes the server load weights from a folder that it sees under the same path: an adapter, or all weights. The
server knows either by a name that holds their fingerprint, so two trainings never use one name for different weights.
Every completion names the version that sampled it: the adapter that was requested, or the whole weights that the server
reports; if they changed during a completion, the oldest. If a server's replies name no version, `confirm` asks it after
sampling whether it still holds what was published.

Source: ours, from the servers' own protocol files (vLLM 0.33.0, SGLang 0.5.23), run against vLLM 0.32.0.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

from sonde.core import EMPTY, CapabilityError, UserError, WorldError

from ..files.weights import fingerprint
from .client import Endpoint
from .openai_chat import ROOM, mapping


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
class WeightsEndpoint(Endpoint):
    """An endpoint whose server can be given other weights; `served` is what was published to it last."""

    served: Served = field(default_factory=Served, init=False, repr=False, compare=False)

    adapters: ClassVar[Adapters]
    says_weights: ClassVar[str]
    """What a server is started with to say which weights it holds."""

    @property
    @abstractmethod
    def where(self) -> str:
        """The address that ids are sent to."""

    @property
    def root(self) -> str:
        """The server's address, without the `/v1` of its OpenAI protocol, which may be left out."""
        return self.base_url.removesuffix("/v1")

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

    @abstractmethod
    async def held(self) -> str:
        """The version of the weights that the server says it holds, adapters apart; "" if it does not say."""

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

    # --- commands ----------------------------------------------------------------------------------------------------

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

    def _refusal(self, status: int, line: str, after: float | None, reply: bytes) -> UserError | WorldError:
        """A command that fails inside the server fails again, and what to change is another thing: a folder, a flag.
        One that a server does not have is not there."""
        if status == 500 and not self._is_for_tokens(status, line):
            return UserError(f"server: {line}")
        if status in (404, 405) and not self._is_for_tokens(status, line):
            return _NotThere(f"base_url: {line}")
        return super()._refusal(status, line, after, reply)

    def _is_for_tokens(self, status: int, line: str) -> bool:
        """Whether this is the reply to a request for tokens, rather than to a command."""
        return line.startswith(f"{status} from {urlsplit(self.where).path}:")


class _NotThere(UserError):
    """The server has no such command."""


def parsed(reply: bytes, *, any_text: bool = False) -> Mapping[str, Any]:
    """The JSON object in a reply; what is none is empty with `any_text`, and a `ValueError` without."""
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, Mapping) and not any_text:
        raise ValueError("not a JSON object")
    return mapping(data)


def _called(folder: Path, version: str) -> str:
    """How the server calls it: what is in it decides, so that nothing else is taken for it."""
    return f"{version}-{fingerprint(folder)}"


def _seen(folder: Path) -> Path:
    """Its path as another process finds it."""
    return folder.absolute()


def _short(request: int) -> int:
    return ROOM
