"""Addresses of endpoints: accepted forms, which hosts are local, and which proxy to use.

Proxies come from the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case, as Python's
`urllib` reads them). This machine is reached directly whatever they say, unless a proxy is requested for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from sonde.core import UserError, invalid

_PATHS = ("/chat/completions", "/completions")
"""Paths that users copy with an address although they are added here."""
_SECRET = re.compile("key|token|secret|passw|sig|auth|cred", re.IGNORECASE)


def read_base_url(url: str) -> str:
    """The address up to but not including the path of a request. Raises `UserError` if it is invalid.

    >>> read_base_url("http://localhost:8000/v1/chat/completions/")
    'http://localhost:8000/v1'
    """
    allowed = (
        "http(s)://host[:port]/path without user, password or query; the key comes from `api_key_env`, the rest of a "
        "query goes into `query`"
    )
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("base_url", url, allowed)
    if set(url) & set("@?#"):  # what follows may be a key, so the value is not shown
        raise UserError(f"base_url: holds a user, password or query, allowed: {allowed}")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise invalid("base_url", url, allowed)
    bare = url.rstrip("/")
    return next((bare.removesuffix(path).rstrip("/") for path in _PATHS if bare.endswith(path)), bare)


def check_query(query: Mapping[str, str]) -> None:
    """Raise for a query that may hold a key: the query is part of the configuration, and keys never are."""
    if secret := next((name for name in query if _SECRET.search(name)), None):
        raise UserError(f"query: {secret!r} may be a secret, allowed: `headers`, which names environment variables")


def names_version(url: str) -> bool:
    """Whether a part of the path names a version, as `/v1` does.

    >>> names_version("http://localhost:8000"), names_version("https://host/v1beta/openai")
    (False, True)
    """
    return any(re.fullmatch(r"v\d+\w*", part) for part in urlsplit(url).path.split("/"))


def is_local(host: str) -> bool:
    """Whether the host is this machine or on its network: a private address, or a name without a public domain."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))


def is_loopback(host: str) -> bool:
    """Whether the host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxy_for(url: str, wanted: bool | None) -> str | None:
    """The environment's proxy for this address, None for none. `wanted`: False never uses one, True also for this
    machine. Raises `UserError` for a proxy that uses another protocol than HTTP."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if wanted is False or (wanted is None and is_loopback(host)):
        return None
    known = getproxies()
    proxy = known.get(parts.scheme) or known.get("all")
    if not proxy or (not is_loopback(host) and proxy_bypass(parts.netloc)):
        return None
    address = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(address).scheme not in ("http", "https"):  # the value may hold a password, so it is not shown
        raise UserError(
            f"proxy: got a {urlsplit(address).scheme} proxy from the environment, allowed: http, https; or proxy=false"
        )
    return address
