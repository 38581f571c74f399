"""`sonde mcp`: serve an environment to a client of the Model Context Protocol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from sonde.core import build, run_sync

from . import options as opt
from .players import make_environment, model_seats


@dataclass(frozen=True, kw_only=True)
class McpCommand:
    """Serve an environment to a client of the Model Context Protocol.

    The client starts this command, which talks over standard input and output: it goes into the client's list of
    servers, with its options.
    """

    env: opt.EnvArg = "twenty_questions"
    preset: opt.PresetOpt = None
    split: opt.SplitOpt = None
    user: opt.UserOpt = None
    judge: opt.JudgeOpt = None
    user_url: opt.UserUrlOpt = None
    out: Annotated[Path | None, Option("--out", help="Append finished games to this run folder.")] = None

    def run(self) -> None:
        from sonde.interop.outward.mcp import make_server, serve_stdio

        seats = model_seats(self.user, self.judge, self.user_url, None, None)
        env = make_environment(self.env, self.preset, **({"judge": "seat"} if self.judge else {}))
        policies = {seat: build(config) for seat, config in seats.items()}
        run_sync(serve_stdio(make_server(env, policies, split=self.split or "test", out=self.out)))
