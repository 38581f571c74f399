"""Where things are kept that were fetched or made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde._util.folders import cache_root, write_atomically, write_errors

from ..full_disk import files_of_at_most


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


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """What was there before stays, nothing half is left, and the error says which file."""
    file = tmp_path / "kept.json"
    for content, told in (("ü", "ü".encode()), (b"\xff", b"\xff")):
        write_atomically(file, content, durable=isinstance(content, str))
        assert file.read_bytes() == told
    with files_of_at_most(1000), pytest.raises(OSError, match="File too large") as caught:
        write_atomically(file, "x" * 2000)
    assert caught.value.filename == str(file)
    assert file.read_bytes() == b"\xff" and [*tmp_path.iterdir()] == [file]


def test_an_error_that_names_its_file_keeps_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, write_errors(tmp_path / "a"):
        (tmp_path / "b").read_bytes()
    assert caught.value.filename == str(tmp_path / "b")
    with pytest.raises(OSError, match="said") as other, write_errors(tmp_path / "a"):
        raise OSError("said")
    assert other.value.filename is None
