"""Every error that sonde raises on purpose.

Three kinds, by who must act: the caller (`UserError`), the author of an environment or policy (`ContractError`), or
nobody, because the outside world failed (`WorldError`, which a rollout stores in the trajectory).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LISTED, NEAREST = 30, 8
"""Maximum number of names that an error lists in full; beyond it, the number of nearest names shown."""


class SondeError(Exception):
    """Base class of all errors raised by sonde."""


class UserError(SondeError, ValueError):
    """An invalid argument, option or file; the message names the field, the value got and the values allowed."""


class UnknownName(UserError):
    """A name that no registry, split, preset or seat has; the message suggests the nearest one."""


class CapabilityError(UserError):
    """A model was asked for something it cannot do; the message names the backends that can."""


class UntrustedError(UserError):
    """Reading a foreign record would import code, or contact an address, that the record names."""


class ContractError(SondeError):
    """An environment or policy violates the protocol of `core`: a defect in code, never in a model's reply."""


class ReplayError(SondeError):
    """A recorded trajectory cannot be replayed on this environment, or replays differently."""


class StoreError(SondeError):
    """A run folder is damaged, locked by another writer, or written in a format that this version cannot read."""


class WorldError(SondeError):
    """The outside world failed (network, endpoint, malformed reply). Rollouts store it on the trajectory."""


class Unanswerable(WorldError):
    """A model cannot answer this conversation, so retrying is useless. In the agent's seat it ends the episode, and
    `Outcome.truncated` records why; `seat` names the seat, once known."""

    seat: str = ""


class ContextFull(Unanswerable):
    """The conversation does not fit into the model's context."""


class ContentRefused(Unanswerable):
    """The model's host refuses the conversation's content (a safety filter)."""


class Outage(WorldError):
    """An endpoint failed every attempt at a call, or never answered. Many in a row end a run."""


class Halted(SondeError):
    """A run stopped because the outside world keeps failing. Finished episodes are kept, and the run can be resumed."""


def invalid(field: str, got: object, allowed: object) -> UserError:
    """The error for an invalid value, in the library's standard form.

    >>> print(invalid("size", 9, "5 or 6"))
    size: got 9, allowed: 5 or 6
    """
    shown = repr(got)
    return UserError(f"{field}: got {shown if len(shown) <= 200 else shown[:200] + '...'}, allowed: {allowed}")


def unknown(field: str, got: object, names: Iterable[str], *, see: str = "") -> UnknownName:
    """The error for a name that is not among `names`, with the nearest one as a suggestion.

    Beyond `LISTED` names, the message holds only the nearest ones and `see`, the command that lists all of them.
    """
    known = sorted(names)
    return UnknownName(
        f"{field}: unknown name {got!r}{nearest_hint(str(got), known)}; known: {_list_names(str(got), known, see)}"
    )


def _list_names(got: str, known: Sequence[str], see: str) -> str:
    if len(known) <= LISTED:
        return ", ".join(known) or "none"
    nearest = difflib.get_close_matches(got, known, n=NEAREST, cutoff=0.0)
    return f"{', '.join(nearest)} and {len(known) - NEAREST} more{f', see `{see}`' if see else ''}"


def nearest_hint(got: str, names: Iterable[str]) -> str:
    """A suggestion of the nearest of some names, to append to an error; empty if none is near.

    >>> nearest_hint("smolm2", ["smollm2", "sonde-tiny-maze"])
    " (did you mean 'smollm2'?)"
    """
    found = difflib.get_close_matches(got, list(names), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
