"""Commands as dataclasses: the fields are the options, the docstring is the help text, `run` does the work.

typer reads functions, so `add_command` gives it one whose parameters are the fields. `tyro` reads dataclasses directly;
it was judged and not taken: a run's configuration is built by name from a registry at run time, so static types do not
know its parts, and commands could be neither grouped nor completed.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any, Protocol, get_type_hints

import typer
from typer.models import OptionInfo


class Command(Protocol):
    """A frozen keyword-only dataclass whose fields are annotated with `typer.Option` or `typer.Argument`."""

    def run(self) -> None: ...


def add_command(app: typer.Typer, name: str, command: type[Command], *, example: str) -> None:
    """Add a command to `app`, with an example below its help."""
    hints = get_type_hints(command, include_extras=True)

    def run_command(**given: Any) -> None:
        command(**given).run()

    run_command.__doc__, run_command.__annotations__ = (
        "\n\n".join(" ".join(paragraph.split()) for paragraph in (inspect.getdoc(command) or "").split("\n\n")),
        hints,
    )
    run_command.__dict__["__signature__"] = inspect.Signature(
        [
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=_field_default(f), annotation=hints[f.name]
            )
            for f in fields(command)  # type: ignore[arg-type]
        ]
    )
    app.command(name, epilog=f"Example: {example}")(run_command)


def _field_default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return inspect.Parameter.empty if field.default_factory is MISSING else field.default_factory()


def command_line(name: str, command: Command, *, without: Collection[str] = ()) -> str:
    """The shell command with everything in which `command` differs from the defaults, arguments first; fields named in
    `without` are left out."""
    hints = get_type_hints(type(command), include_extras=True)
    arguments: list[str] = []
    options: list[str] = []
    for field in fields(command):  # type: ignore[arg-type]
        value = getattr(command, field.name)
        if field.name in without or value == _field_default(field):
            continue
        (info,) = hints[field.name].__metadata__
        if isinstance(info, OptionInfo):
            options += _option_words(field.name, info, value)
        else:
            arguments += map(str, value if isinstance(value, list) else [value])
    return shlex.join(["sonde", name, *arguments, *options])


def _option_words(name: str, info: OptionInfo, value: Any) -> Iterator[str]:
    names = [word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str)]
    option, _, negative = (names or [f"--{name.replace('_', '-')}"])[0].partition("/")
    if isinstance(value, bool):
        yield option if value else negative or f"--no-{option.removeprefix('--')}"
        return
    for one in value if isinstance(value, list) else [value]:
        yield from (option, str(one))
