"""Every error that sonde raises on purpose.

Three kinds, told apart by who has to act: the caller (`UserError`), the author of an environment or policy
(`ContractError`), or nobody, because the outside world failed (`WorldError`, which a rollout records as data).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LISTED, NEAREST = 30, 8
"""Up to so many known names an error lists them all; else so many of the nearest."""


class SondeError(Exception):
    """Base of all errors raised by sonde."""


class UserError(SondeError, ValueError):
    """An argument, option or file is wrong; the message names the field, the value got and the values allowed."""


class UnknownName(UserError):
    """A name that no registry, split, preset or seat carries; the message suggests the nearest one."""


class CapabilityError(UserError):
    """A model was asked for something it cannot do; the message names the backends that can."""


class ContractError(SondeError):
    """An environment or policy broke the protocol of `core`: a defect in code, never in what a model said."""


class ReplayError(SondeError):
    """A recorded trajectory cannot be replayed on this environment, or replays differently."""


class StoreError(SondeError):
    """A run folder is damaged, locked by another writer, or holds what this version cannot read."""


class WorldError(SondeError):
    """The outside world failed (network, endpoint, malformed reply). Rollouts keep it as data on the trajectory."""


class Unanswerable(WorldError):
    """A model cannot answer this conversation, however often it is asked. In the agent's seat it ends the episode, as
    `Outcome.truncated` says; `seat` is whose model it was, once that is known."""

    seat: str = ""


class ContextFull(Unanswerable):
    """The conversation does not fit into the model's context."""


class ContentRefused(Unanswerable):
    """The model's host refuses what the conversation says (a safety filter)."""


class Outage(WorldError):
    """The other side failed every attempt at a call, or never answered. Many in a row end a run."""


class Halted(SondeError):
    """A run was ended because the outside world keeps failing; what has finished is kept, and it can be continued."""


def invalid(field: str, got: object, allowed: object) -> UserError:
    """The house form of an error about a bad value.

    >>> print(invalid("size", 9, "5 or 6"))
    size: got 9, allowed: 5 or 6
    """
    shown = repr(got)
    return UserError(f"{field}: got {shown if len(shown) <= 200 else shown[:200] + '...'}, allowed: {allowed}")


def unknown(field: str, got: object, names: Iterable[str], *, see: str = "") -> UnknownName:
    """An error for a name that is not among `names`, with the nearest one as a suggestion.

    Of more names than `LISTED` only the nearest are told, and `see`, the command that lists all of them.
    """
    known = sorted(names)
    return UnknownName(f"{field}: unknown name {got!r}{near(str(got), known)}; known: {_listed(str(got), known, see)}")


def _listed(got: str, known: Sequence[str], see: str) -> str:
    if len(known) <= LISTED:
        return ", ".join(known) or "none"
    nearest = difflib.get_close_matches(got, known, n=NEAREST, cutoff=0.0)
    return f"{', '.join(nearest)} and {len(known) - NEAREST} more{f', see `{see}`' if see else ''}"


def near(got: str, names: Iterable[str]) -> str:
    """The nearest of some names as a hint to put behind an error; empty if none is near.

    >>> near("smolm2", ["smollm2", "sonde-tiny-maze"])
    " (did you mean 'smollm2'?)"
    """
    found = difflib.get_close_matches(got, list(names), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
