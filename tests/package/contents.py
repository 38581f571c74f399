"""What a wheel holds: the packages with all of their data, and nothing else.

    python tests/package/contents.py dist/sonde_rl-VERSION-py3-none-any.whl
"""

from __future__ import annotations

import re
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
PACKAGES = ("sonde", "sonde_verifiers")
LEFT_OUT = ("sources", "__pycache__")
"""Folders of the source tree that no wheel has: programs that make data, and byte code."""


def expected_files() -> set[str]:
    """Every file of the packages, by its path in a wheel."""
    paths = (path for package in PACKAGES for path in (SOURCE / package).rglob("*") if path.is_file())
    found = (path.relative_to(SOURCE) for path in paths)
    return {path.as_posix() for path in found if not set(path.parts) & {*LEFT_OUT}}


def find_mistakes(wheel: Path) -> list[str]:
    """What is missing, what is too much, and what is wrong in the metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.partition("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(f"{info}/METADATA"))
        commands = archive.read(f"{info}/entry_points.txt").decode()
    held, wanted = {name for name in names if not name.startswith(info)}, expected_files()
    links = re.findall(r"\]\((?!https?://|#)([^)]+)\)", str(metadata.get_payload()))
    return [
        *(f"missing: {name}" for name in sorted(wanted - held)),
        *(f"too much: {name}" for name in sorted(held - wanted)),
        *(f"README: link {link} leads nowhere on a package index" for link in links),
        *(["not typed: no sonde/py.typed"] if "sonde/py.typed" not in held else []),
        *(["no command sonde"] if "sonde = sonde.cli:main" not in commands else []),
        *([f"name {metadata['Name']}"] if metadata["Name"] != "sonde-rl" else []),
        *(f"no licence {name}" for name in ("LICENSE", "NOTICE") if f"{info}/licenses/{name}" not in names),
    ]


if __name__ == "__main__":
    mistakes = find_mistakes(Path(sys.argv[1]))
    print("\n".join(mistakes) or f"{Path(sys.argv[1]).name}: {len(expected_files())} files, all of them right")
    raise SystemExit(bool(mistakes))
