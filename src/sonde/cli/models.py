"""The commands `sonde models ...`: small models that run on a laptop, and hosts that have a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument

from sonde.models.remote.providers import load_providers

from . import tables
from .terminal import out


@dataclass(frozen=True, kw_only=True)
class FetchCommand:
    """Find or download a small model, check it and convert it, once."""

    name: Annotated[str, Argument(help="A name of `sonde models list`.")] = "smollm2"

    def run(self) -> None:
        from sonde.models.files.fetch import fetch_model

        from .progress import stage_printer
        from .terminal import stderr

        out.print(str(fetch_model(self.name, progress=stage_printer(stderr))), highlight=False, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class ListModelsCommand:
    """List the models that come with sonde or can be fetched, and the providers whose models have a short form."""

    def run(self) -> None:
        from sonde.models.files.fetch import KNOWN
        from sonde.models.files.shipped import SHIPPED

        rows = [(n, f"{w.title}, {w.size / 1e6:.0f} MB, {w.licence}, from {w.requirement}") for n, w in KNOWN.items()]
        rows += [(n, f"{m.title}, {m.size / 1e6:.1f} MB, {m.licence}, with sonde") for n, m in SHIPPED.items()]
        out.print(tables.NameTable("models", rows))
        out.print()
        hosts = [
            (f"{n}:NAME", f"{p.title}, {f'key in {p.api_key_env}' if p.api_key_env else 'no key'}")
            for n, p in load_providers().items()
        ]
        out.print(tables.NameTable("providers", hosts))
