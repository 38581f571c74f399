"""The command line: `sonde list | show | play | rollout | eval | rescore | compare | report | models | compact`.

Results go to standard output, progress to standard error. A mistake of the user is one line on standard error and exit
status 2; interrupting keeps what was finished and exits with 130.
"""

from __future__ import annotations

import sys

from sonde.core import SondeError


def main() -> None:
    """Entry point of the `sonde` command."""
    from .app import app

    try:
        app(standalone_mode=False)
    except SondeError as e:
        _fail(str(e), 2)
    except KeyboardInterrupt:
        _fail("interrupted; what was finished is kept, the same command continues", 130)
    except BrokenPipeError:
        sys.stderr.close()
    except Exception as e:
        _usage(e)


def _usage(error: Exception) -> None:
    """Typer's own complaints (unknown options, missing arguments) in the house form; anything else is a defect."""
    shown = getattr(error, "format_message", None)
    if shown is None:
        raise error
    _fail(str(shown()), 2)


def _fail(message: str, status: int) -> None:
    print(f"sonde: {message}", file=sys.stderr)
    raise SystemExit(status)
