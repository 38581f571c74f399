"""`sonde prompts`: the package's texts, to write one's own from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from sonde._util.folders import write_atomically
from sonde.agents._shared.calls import ComposedAgent
from sonde.core import Env, UserError, find, invalid, names, unknown

from .terminal import out, print_written


@dataclass(frozen=True, kw_only=True)
class PromptsCommand:
    """Write the prompts of an environment, or of an agent made of several calls, as files to change.

    `-o env.prompts=FOLDER` and `-o seats.agent.prompts=FOLDER` play with them. Files and pieces that you delete are the
    package's.
    """

    name: Annotated[str, Argument(help="An environment or an agent, such as wordle or llm_psrl.")]
    to: Annotated[Path | None, Option("--out", help="A new or empty folder. Without it the texts are printed.")] = None

    def run(self) -> None:
        files = {f"{name}.md": _format_file(pieces) for name, pieces in find_prompts(self.name).items()}
        if self.to is None:
            out.print("\n".join(f"--- {name}\n\n{text}" for name, text in files.items()), markup=False, highlight=False)
            return
        if self.to.exists() and (not self.to.is_dir() or any(self.to.iterdir())):
            raise invalid("--out", str(self.to), "a new or an empty folder")
        self.to.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomically(self.to / name, text)
        print_written(*(self.to / name for name in files))


def find_prompts(name: str) -> Mapping[str, Mapping[str, str]]:
    """The package's texts of an environment or an agent, by file."""
    if ":" not in name and name not in (known := {*names("envs"), *names("agents")}):
        raise unknown("environment or agent", name, known, see="sonde list")
    cls = find(name if name in names("envs") or ":" in name else f"agents:{name}")
    texts = cls.package_prompts() if issubclass(cls, Env | ComposedAgent) else {}
    if not texts:
        raise UserError(
            f"{name}: has no prompts that can be replaced; allowed: environments of sonde (but text_nav, whose texts "
            "come in variants), and agents of several calls, such as llm_psrl"
        )
    return texts


def _format_file(pieces: Mapping[str, str]) -> str:
    return "\n".join(f"## {name}\n{text}\n" for name, text in pieces.items())
