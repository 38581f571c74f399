"""API keys and secret headers: read from the environment, and masked in everything that an endpoint sends back.

Keys are read when a request is made. They appear in no configuration, representation, error or completion, even if the
endpoint repeats them, unchanged or encoded. In completions this holds for secrets of `SECRET` characters or more: a
shorter one ("EMPTY") is no secret, but may be a word of an answer.

A secret of `SECRET` characters or more is masked unchanged, as base64 (both alphabets, at any offset in the encoded
text), as hexadecimal, and with any of its characters escaped as in an address (`%73`), in JSON (`\\u0073`) or in HTML
(`&#115;`, `&#x73;`). A shorter one, such as `EMPTY` and `x` that local servers use, is masked unchanged only, if it
stands alone as a word of `WORD` characters or more.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from sonde.core import Completion, UserError, invalid
from sonde.core.tools import ToolCall

from .addresses import is_local

MASK = "***"
SECRET = 8
"""Length of the shortest secret, in characters."""
WORD = 4
"""Length of the shortest text that is masked at all; fewer characters reveal nothing."""
_ESCAPES = ("%", "\\", "&#")


def hide_secret(text: str, secret: str) -> str:
    """Replace every occurrence of the secret.

    >>> hide_secret("Bearer sk-12345678 is c2stMTIzNDU2Nzg= and sk%2D12345678", "sk-12345678")
    'Bearer *** is ***g= and ***'
    """
    if len(secret) < SECRET:
        return _hide_word(text, secret)
    for form in _encoded_forms(secret):
        if form in text:
            text = text.replace(form, MASK)
    return _escaped_pattern(secret).sub(MASK, text) if any(mark in text for mark in _ESCAPES) else text


def _hide_word(text: str, secret: str) -> str:
    """Replace a short secret if it stands alone.

    >>> hide_secret("key abcd of abcde", "abcd"), hide_secret("an example", "a")
    ('key *** of abcde', 'an example')
    """
    alone = rf"(?<!\w){re.escape(secret)}(?!\w)"
    return re.sub(alone, MASK, text) if len(secret) >= WORD else text


@lru_cache(maxsize=16)
def _encoded_forms(secret: str) -> tuple[str, ...]:
    """The forms of the secret that are fixed strings, the longest first."""
    hexed = secret.encode().hex()
    coded = [_base64_core(secret, before) for before in range(3)]
    websafe = [form.translate(str.maketrans("+/", "-_")) for form in coded]
    escaped = [form.replace("/", "\\/") for form in coded]
    return tuple(sorted({secret, hexed, hexed.upper(), *coded, *websafe, *escaped}, key=len, reverse=True))


def _base64_core(secret: str, before: int) -> str:
    """The base64 characters that encode nothing but the secret, behind `before` bytes (modulo 3)."""
    bits = 8 * (before + len(secret.encode()))
    return b64encode(b"\0" * before + secret.encode()).decode()[-(-8 * before // 6) : bits // 6]


@lru_cache(maxsize=16)
def _escaped_pattern(secret: str) -> re.Pattern[str]:
    return re.compile("".join(map(_character_pattern, secret)))


def _character_pattern(c: str) -> str:
    """A pattern for a character, unchanged or escaped."""
    n = ord(c)
    quoted = r"\\{0,4}" if c in '/"\\' else ""  # JSON may escape these, once or in another JSON
    return rf"(?:{quoted}{re.escape(c)}|%(?i:{n:02x})|\\{{1,4}}u(?i:{n:04x})|&#0{{0,4}}{n};|&#(?i:x0{{0,4}}{n:x});)"


# --- keys of a request ------------------------------------------------------------------------------------------------


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = {"content-type", "content-length", "accept-encoding", "transfer-encoding", "host", "connection"}


@dataclass(frozen=True)
class SecretHeaders:
    """The headers of a request, and the secret values in them."""

    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def hide_secrets(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self.secrets:
            text = hide_secret(text, secret)
        return text

    def hide_in(self, c: Completion) -> Completion:
        """The completion without the secrets, in case the endpoint repeated them."""
        long = SecretHeaders({}, tuple(secret for secret in self.secrets if len(secret) >= SECRET))
        if not long.secrets:
            return c
        said = {name: long.hide_secrets(getattr(c, name)) for name in ("text", "reasoning", "model", "weights")}
        return replace(c, **said, calls=tuple(ToolCall(*map(long.hide_secrets, call)) for call in c.calls))


def check_names(api_key_env: str, headers: Mapping[str, str]) -> None:
    """Raise for an invalid name of an environment variable or header."""
    if api_key_env and not _VARIABLE.fullmatch(api_key_env):
        raise UserError("api_key_env: not the name of an environment variable (the key itself never goes here)")
    for name, variable in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS:
            raise invalid("headers", name, "headers that sonde does not send itself")
        if name.lower() == "authorization" and api_key_env:
            raise UserError('headers: Authorization comes from api_key_env, allowed: with api_key_env=""')
        if not _VARIABLE.fullmatch(variable):
            raise UserError(f"headers: {name}: not the name of an environment variable (the value never goes here)")


def read_keys(api_key_env: str, headers: Mapping[str, str], base_url: str, proxy: str | None) -> SecretHeaders:
    """Read the keys from the environment. The key may be missing if the endpoint is on this machine or network."""
    key = (
        _read_value(api_key_env, "api_key_env", "[!-~]+", "a key (printable ASCII without spaces)")
        if api_key_env
        else ""
    )
    if api_key_env and not key and not is_local(urlsplit(base_url).hostname or ""):
        raise UserError(f'api_key_env: the environment variable {api_key_env} is not set (api_key_env="" sends no key)')
    own = {name: _read_value(variable, f"headers: {name}", "[ -~]+", "a header") for name, variable in headers.items()}
    if unset := next((name for name, value in own.items() if not value), None):
        raise UserError(f"headers: {unset}: the environment variable {headers[unset]} is not set")
    sent = {"Authorization": f"Bearer {key}"} if key else {}
    passwords = _proxy_passwords(proxy) if proxy else ()
    return SecretHeaders({**sent, **own}, tuple(secret for secret in (key, *own.values(), *passwords) if secret))


def _read_value(variable: str, field: str, pattern: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if value and not re.fullmatch(pattern, value):
        raise UserError(f"{field}: the value of {variable} is not {what}")
    return value


def _proxy_passwords(proxy: str) -> Iterable[str]:
    """The password in a proxy's address, decoded and as written."""
    password = urlsplit(proxy).password
    return () if not password else dict.fromkeys((password, unquote(password)))
