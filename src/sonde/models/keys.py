"""What an endpoint is sent and nobody else may see: its key, and headers of one's own.

Both are read from the environment when a request is made. They are in no configuration, representation, error or
completion, not even where the endpoint repeats them, as they are or encoded (`masking`). In completions that holds for
those of `masking.SECRET` characters or more: a shorter one ("EMPTY") is no secret, but may well be a word of an answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from sonde.core import Completion, UserError, invalid

from .address import is_local
from .masking import SECRET, hide

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = {"content-type", "content-length", "accept-encoding", "transfer-encoding", "host", "connection"}


@dataclass(frozen=True)
class Keys:
    """The headers of a request, and the values in them that are secret."""

    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def hide(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self.secrets:
            text = hide(text, secret)
        return text

    def hide_in(self, c: Completion) -> Completion:
        """The completion without the secrets, should the endpoint have repeated them."""
        long = [secret for secret in self.secrets if len(secret) >= SECRET]
        said = {name: getattr(c, name) for name in ("text", "reasoning", "model", "weights")}
        hidden = dict(said)
        for secret in long:
            hidden = {name: hide(text, secret) for name, text in hidden.items()}
        return c if hidden == said else replace(c, **hidden)


def check_names(api_key_env: str, headers: Mapping[str, str]) -> None:
    """Raise for what cannot be the name of an environment variable or of a header."""
    if api_key_env and not _VARIABLE.fullmatch(api_key_env):
        raise UserError("api_key_env: not the name of an environment variable (the key itself never goes here)")
    for name, variable in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS:
            raise invalid("headers", name, "names of headers that are not sent anyway")
        if name.lower() == "authorization" and api_key_env:
            raise UserError('headers: Authorization comes from api_key_env, allowed: with api_key_env=""')
        if not _VARIABLE.fullmatch(variable):
            raise UserError(f"headers: {name}: not the name of an environment variable (the value never goes here)")


def read_keys(api_key_env: str, headers: Mapping[str, str], base_url: str, proxy: str | None) -> Keys:
    """What the environment holds now. The key may be missing where the endpoint is on this machine or network."""
    key = _value(api_key_env, "api_key_env", "[!-~]+", "a key (printable ASCII without spaces)") if api_key_env else ""
    if api_key_env and not key and not is_local(urlsplit(base_url).hostname or ""):
        raise UserError(f'api_key_env: the environment variable {api_key_env} is not set (api_key_env="" sends no key)')
    own = {name: _value(variable, f"headers: {name}", "[ -~]+", "a header") for name, variable in headers.items()}
    if unset := next((name for name, value in own.items() if not value), None):
        raise UserError(f"headers: {unset}: the environment variable {headers[unset]} is not set")
    sent = {"Authorization": f"Bearer {key}"} if key else {}
    passwords = _passwords(proxy) if proxy else ()
    return Keys({**sent, **own}, tuple(secret for secret in (key, *own.values(), *passwords) if secret))


def _value(variable: str, field: str, pattern: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if value and not re.fullmatch(pattern, value):
        raise UserError(f"{field}: the value of {variable} is not {what}")
    return value


def _passwords(proxy: str) -> Iterable[str]:
    """The password in a proxy's address, as it is and as it is written there."""
    password = urlsplit(proxy).password
    return () if not password else dict.fromkeys((password, unquote(password)))
