"""The command line: `sonde list | show | play | rollout | eval | rescore | compare | train | paprika | ...`.

Results go to standard output, progress to standard error. A user error is one line on standard error and exit status 2.
An interrupt keeps the finished work and exits with 130. A run that ended because its endpoint keeps failing, or in
which every episode ended in an error, exits with 1.
"""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn, TextIO

import typer

from sonde._util.escaping import make_visible
from sonde._util.extras import list_extras, missing_extra
from sonde.core import Halted, SondeError

FAILED = 1
INTERRUPTED = 130
CONTINUING = {
    **dict.fromkeys(("dataset", "elicit", "eval", "paprika", "rollout"), "the same command"),
    "train": "the same command with --resume",
}
"""Commands that keep what they finished before an interrupt, and what continues each."""


def main() -> None:
    """Entry point of the `sonde` command."""
    warnings.showwarning = _print_warning
    try:
        from .app import app
        from .terminal import replace_unshowable

        replace_unshowable(sys.stdin, sys.stdout, sys.stderr)
        status = app(standalone_mode=False)
    except Halted as e:
        _exit_with_message(str(e), FAILED)
    except SondeError as e:
        _exit_with_message(str(e), 2)
    except OSError as e:
        _exit_with_message(": ".join(str(part) for part in (e.filename, e.strerror or e) if part), 2)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except ModuleNotFoundError as e:
        if e.name not in list_extras():
            raise
        _exit_with_message(str(missing_extra("this command", e.name)), 2)
    except Exception as e:
        _report_usage_error(e)
    if status == INTERRUPTED:  # some versions of typer return this status, others raise
        again = CONTINUING.get("".join(sys.argv[1:2]))
        kept = f"; what was finished is kept, {again} continues" if again else ""
        _exit_with_message(f"interrupted{kept}", INTERRUPTED)
    raise SystemExit(status if isinstance(status, int) else 0)


def _print_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int,
    file: TextIO | None = None, line: str | None = None,
) -> None:  # fmt: skip
    """Print a warning of sonde as one line, above any progress bar, and any other warning in Python's form."""
    if category.__module__.startswith("sonde."):
        text = f"sonde: {' '.join(str(message).split())}"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    print(text, file=file or sys.stderr)


def _report_usage_error(error: Exception) -> NoReturn:
    """Report typer's own errors (unknown options, missing arguments) in the house form; raise anything else again."""
    shown = getattr(error, "format_message", None)
    if shown is None:
        raise error
    text, context = str(shown()), getattr(error, "ctx", None)
    if (refused := getattr(error.__cause__, "errors", None)) is not None:  # newer typer leaves out what it got
        text += f", got {refused()[0]['input']!r}"
    known = getattr(context and context.command, "list_commands", None)
    if known is not None and text.startswith("No such command"):
        text += f" Allowed: {', '.join(known(context))}."
    _exit_with_message(text, 2)


def _exit_with_message(message: str, status: int) -> NoReturn:
    """Print one line and exit; print nothing where the message is empty, as after `sonde` alone, which prints its
    help."""
    if message:
        print(f"sonde: {make_visible(' '.join(message.split()))}", file=sys.stderr)
    raise SystemExit(status)
