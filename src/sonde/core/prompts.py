"""Prompts as settings: texts of one's own in place of those of the package, file by file and piece by piece.

A file is Markdown; a line `## name` begins the piece called `name`, a `str.format` template. An argument
`prompts=FOLDER` reads the files of a folder; what they hold becomes part of the configuration, so that it counts in the
fingerprint and a record can be replayed without the folder. Files and pieces that are not given are the package's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Formatter

from sonde._util.frozen import Frozen
from sonde._util.text_files import read_text

from .errors import UserError, invalid, unknown

Pieces = Frozen[str]
Prompts = Mapping[str, Mapping[str, str]]
"""Pieces by the name of their file, without `.md`."""
OPTIONAL: Mapping[str, bool] = Frozen(optional=True)
"""Field metadata of settings that a configuration leaves out where they have their default."""


def parse_pieces(text: str) -> dict[str, str]:
    """The pieces of a file, by name; what stands before the first is a comment."""
    parts = f"\n{text}".split("\n## ")
    return {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts[1:])}


def read_prompts(owner: str, given: str | Prompts, known: Prompts) -> Prompts:
    """The texts of a folder, or given as they are, checked against those that they replace (`known`). Raises
    `UserError` for a file or a piece that the package does not have, and for one without the same placeholders."""
    found = _read_folder(owner, given) if isinstance(given, str) else given
    for file, pieces in found.items():
        if file not in known:
            raise unknown(f"{owner}: prompts: file", f"{file}.md", [f"{name}.md" for name in known])
        for piece, text in pieces.items():
            if piece not in known[file]:
                raise unknown(f"{owner}: prompts: {file}.md: piece", piece, known[file])
            _check_placeholders(f"{owner}: prompts: {file}.md: {piece}", text, known[file][piece])
    return Frozen({file: Frozen(pieces) for file, pieces in found.items() if pieces})


def _read_folder(owner: str, folder: str) -> dict[str, dict[str, str]]:
    path = Path(folder)
    if not path.is_dir():
        raise invalid(f"{owner}: prompts", folder, "a folder with .md files; `sonde prompts` writes one")
    found: dict[str, dict[str, str]] = {}
    for file in sorted(path.glob("*.md")):
        try:
            found[file.stem] = parse_pieces(read_text(file))
        except UnicodeDecodeError as e:
            raise UserError(f"{owner}: prompts: {file}: not UTF-8 ({e})") from e
    if not found:
        raise invalid(f"{owner}: prompts", folder, "a folder with .md files; `sonde prompts` writes one")
    return found


def _check_placeholders(field: str, text: str, own: str) -> None:
    """Raise `UserError` unless a text has the placeholders of the package's own, and no others."""
    wanted = _placeholders(own)
    try:
        got = _placeholders(text)
    except ValueError as e:
        raise UserError(f"{field}: not a template ({e}); write {{{{ and }}}} for braces") from e
    if got != wanted:
        shown = [", ".join(f"{{{name}}}" for name in sorted(names)) or "no placeholders" for names in (got, wanted)]
        raise UserError(f"{field}: got {shown[0]}, allowed: {shown[1]}")


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def overlay_prompts(given: Prompts, known: Prompts) -> Mapping[str, Pieces]:
    """The files of which something is given, whole."""
    return {file: Frozen({**known[file], **pieces}) for file, pieces in given.items()}
