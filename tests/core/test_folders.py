"""Where things are kept that were fetched or made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.core.folders import cache_root


@pytest.mark.parametrize(
    ("sonde", "xdg", "expected"),
    [
        ("/own/place", "/xdg", "/own/place"),
        ("", "/xdg", "/xdg/sonde"),
        ("", "relative/is/ignored", "/home/me/.cache/sonde"),
        ("", "", "/home/me/.cache/sonde"),
        ("~/mine", "/xdg", "/home/me/mine"),
    ],
)
def test_cache_root(monkeypatch: pytest.MonkeyPatch, sonde: str, xdg: str, expected: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("SONDE_CACHE", sonde)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_root() == Path(expected)
