"""Publish weights to an inference server, and confirm that it still serves them.

`publish_weights` makes the server load weights from a folder that it sees under the same path: an adapter, or all
weights. The server knows either by a name that holds their fingerprint, so two trainings never use one name for
different weights. Every completion names the version that sampled it: the adapter that was requested, or the whole
weights that the server reports; if they changed during a completion, the oldest. If a server's replies name no
version, `confirm_weights` asks it after sampling whether it still holds what was published.

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

from ..files.weights import folder_fingerprint
from .client import Endpoint
from .openai_chat import ROOM, as_mapping


@dataclass(slots=True, eq=False)
class PublishedWeights:
    """What was published last: the version, and the server's name for it, as an adapter or as the version of all
    weights. `ours` maps every such name to its version. `held`: the version that the server reported for its
    whole weights right after; `named`: whether its replies report it; `agreed`: how many sampled tokens decoded to the
    server's text."""

    version: str = ""
    adapter: str = ""
    whole: str = ""
    ours: dict[str, str] = field(default_factory=dict[str, str])
    held: str = ""
    named: bool = False
    agreed: int = 0


class AdapterCommands(NamedTuple):
    """How a server loads adapters: the prefix of the two paths, how it says that it has an adapter already, and the
    flags that it must be started with."""

    path: str
    known: str
    needs: str


@dataclass(frozen=True, kw_only=True)
class WeightsEndpoint(Endpoint):
    """An endpoint whose server can load other weights; `served` is what was published to it last."""

    served: PublishedWeights = field(default_factory=PublishedWeights, init=False, repr=False, compare=False)

    adapters: ClassVar[AdapterCommands]
    says_weights: ClassVar[str]
    """The flags with which a server reports which weights it holds."""

    @property
    @abstractmethod
    def token_url(self) -> str:
        """The address for token ids."""

    @property
    def server_url(self) -> str:
        """The server's address without the `/v1` of its OpenAI protocol, which is optional."""
        return self.base_url.removesuffix("/v1")

    async def publish_weights(self, folder: Path, version: str, *, adapter: bool) -> None:
        """Make the server use the weights of this folder under this version from now on: an adapter (of peft, for the
        served model), or a whole model. Calls in flight finish with the weights they began with."""
        path, old = _absolute_path(folder), self.served.adapter
        if adapter:
            await self.load_adapter(_server_name(folder, version), path)
        else:
            await self.load_weights(path, _server_name(folder, version))
        self.follow_published(folder, version, adapter=adapter)
        if old and old != self.served.adapter:
            await self.unload_adapter(old)
        self.served.held = await self.held_version()
        await self.confirm_weights()

    def follow_published(self, folder: Path, version: str, *, adapter: bool) -> None:
        """Request the weights that another process has published."""
        served, name = self.served, _server_name(folder, version)
        served.version, served.held = version, ""
        served.adapter, served.whole = (name, served.whole) if adapter else ("", name)
        served.ours[name] = version

    async def confirm_weights(self, *, played: bool = False) -> None:
        """Raise `UserError` if the server no longer holds what was published last: another training uses it, or it was
        restarted. With `played`, after sampling, raise `CapabilityError` if it does not report anywhere what it
        holds."""
        served = self.served
        if not served.version:
            return
        now, wanted = await self.held_version(), served.held if served.adapter else served.whole
        if now and wanted and now != wanted:
            raise UserError(
                f"{self.model}: the server holds weights {now!r}, allowed: {wanted!r}, as published; "
                "does another training use this server, or was it restarted?"
            )
        if played and not (now or served.adapter or served.named):
            raise CapabilityError(
                f"{self.model}: the server does not report which weights it holds, so another training that uses it "
                f"would not be noticed; {self.says_weights}"
            )

    @abstractmethod
    async def held_version(self) -> str:
        """The version of the whole weights that the server reports; "" if it reports none."""

    async def load_adapter(self, name: str, folder: Path) -> None:
        """Make the server load the adapter of this folder under this name. If it has the adapter already, that is no
        error: the name identifies it, and a run is resumed or an attempt repeated."""
        body = {"lora_name": name, "lora_path": str(folder)}
        try:
            await self.send_command(f"{self.adapters.path}/load_lora_adapter", body, self.adapters.needs)
        except UserError as e:
            if self.adapters.known not in str(e):
                raise

    async def unload_adapter(self, name: str) -> None:
        await self.send_command(f"{self.adapters.path}/unload_lora_adapter", {"lora_name": name}, self.adapters.needs)

    @abstractmethod
    async def load_weights(self, folder: Path, version: str) -> None:
        """Replace the served weights by those of this folder, once no request is in progress."""

    # --- commands ----------------------------------------------------------------------------------------------------

    async def send_command(self, path: str, body: Mapping[str, Any], needs: str) -> Mapping[str, Any]:
        """Send a command and return the server's reply; `needs` says with which flags a server accepts it."""
        try:
            return await self._exchange_json(path, body)
        except UserError as e:
            raise UserError(f"{e}; {needs}") from e

    async def send_query(self, path: str) -> Mapping[str, Any]:
        """Ask the server a question; empty if it does not have this path."""
        try:
            return await self._exchange_json(path, None)
        except _MissingCommand:
            return EMPTY

    async def _exchange_json(self, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Send a request to the server itself and return the object in its reply; empty for any other reply."""
        url = self.server_url + path
        return await self.send_request(
            url, body, lambda reply, _: parse_object(reply, any_text=True), most=lambda _: ROOM
        )

    def _refusal_error(self, status: int, line: str, after: float | None, reply: bytes) -> UserError | WorldError:
        """A command that fails inside the server will fail again, and the cause is a folder or a flag, not the load. A
        missing path means a missing command."""
        if status == 500 and not self._is_for_tokens(status, line):
            return UserError(f"server: {line}")
        if status in (404, 405) and not self._is_for_tokens(status, line):
            return _MissingCommand(f"base_url: {line}")
        return super()._refusal_error(status, line, after, reply)

    def _is_for_tokens(self, status: int, line: str) -> bool:
        """Whether this is the reply to a request for tokens, rather than to a command."""
        return line.startswith(f"{status} from {urlsplit(self.token_url).path}:")


class _MissingCommand(UserError):
    """The server does not have this command."""


def parse_object(reply: bytes, *, any_text: bool = False) -> Mapping[str, Any]:
    """The JSON object in a reply. Anything else is empty with `any_text`, and a `ValueError` without."""
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, Mapping) and not any_text:
        raise ValueError("not a JSON object")
    return as_mapping(data)


def _server_name(folder: Path, version: str) -> str:
    """The server's name for these weights; it contains their fingerprint, so that it is unique."""
    return f"{version}-{folder_fingerprint(folder)}"


def _absolute_path(folder: Path) -> Path:
    """The folder's path as another process finds it."""
    return folder.absolute()
