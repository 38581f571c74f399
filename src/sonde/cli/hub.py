"""`sonde hub`: runs, datasets and models on a hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

RepoArg = Annotated[str, Argument(help="The repository, user/name.")]
RevisionOpt = Annotated[str | None, Option("--revision", help="A branch, tag or commit.", show_default="main")]


@dataclass(frozen=True, kw_only=True)
class PushCommand:
    """Upload a run, a dataset or a trained model to a hub.

    Client, token and address are those of huggingface_hub: `hf auth login`, or HF_TOKEN and HF_ENDPOINT.
    """

    folder: Annotated[Path, Argument(help="The folder.")]
    repo: RepoArg
    public: Annotated[bool, Option("--public", help="Create a public repository. Default: a private one.")] = False
    revision: RevisionOpt = None

    def run(self) -> None:
        from sonde.datasets.hub import push_folder

        typer.echo(f"pushed: {push_folder(self.folder, self.repo, private=not self.public, revision=self.revision)}")


@dataclass(frozen=True, kw_only=True)
class PullCommand:
    """Download a run, a dataset or a model from a hub into a new folder."""

    repo: RepoArg
    out: Annotated[Path, Option("--out", help="The new folder.")]
    model: Annotated[bool, Option("--model", help="The repository holds a model. Default: data.")] = False
    revision: RevisionOpt = None

    def run(self) -> None:
        from sonde.datasets.hub import pull_folder

        kind = "model" if self.model else "dataset"
        typer.echo(f"written: {pull_folder(self.repo, self.out, kind=kind, revision=self.revision)}")
