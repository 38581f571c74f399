"""Whether somebody is asked for their key, code or skill: a topic of murder mysteries (`topics`).

What access is a matter of is part of a case. A question about the key, the code or the machine itself, or about
somebody else who had or worked it, is none of the person asked. Source: ours.
"""

from __future__ import annotations

from .wordings import wordings

_SAID = wordings("access")


_MEANS = {means: _SAID.test(means) for means in ("key", "code", "skill")}
_ENTRY, _NOT_OWN = _SAID.test("entry"), _SAID.test("not_own")


def access(asked: str, means: str) -> bool:
    """Whether the person asked, "you", is asked for the key, the code or the skill of a case.

    >>> access("did you have a key to the @l0 ?", "key"), access("did @v have a key to the @l0 ?", "key")
    (True, False)
    """
    entered = means != "skill" and _ENTRY(asked)
    return (entered or _MEANS[means](asked)) and not _NOT_OWN(asked)
