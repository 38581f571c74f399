"""Optional packages: the error for a missing one names the extra of sonde that installs it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.metadata import requires
from importlib.util import find_spec

from sonde.core.errors import UserError

DISTRIBUTION = "sonde-rl"
"""The name of the distribution; the import name is `sonde` (which another project owns on the package index)."""

_OPTIONAL = re.compile(r"""([\w.-]+)[^;]*;.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def require_extra(what: str, *packages: str) -> None:
    """Raise `UserError` if one of `packages` is not installed; `what` names the feature that needs them."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise missing_extra(what, *missing)


def missing_extra(what: str, *packages: str) -> UserError:
    """The error that names the extra which installs `packages`.

    >>> print(missing_extra("Parquet", "pyarrow"))
    Parquet needs pyarrow, which is not installed: pip install 'sonde-rl[parquet]'
    """
    wanted = ",".join(sorted({list_extras()[name] for name in packages if name in list_extras()}))
    target = f"'{DISTRIBUTION}[{wanted}]'" if wanted else " ".join(packages)
    verb = "is" if len(packages) == 1 else "are"
    return UserError(f"{what} needs {', '.join(packages)}, which {verb} not installed: pip install {target}")


@cache
def list_extras() -> dict[str, str]:
    """Every optional package and the smallest extra that installs it, from the metadata of the installed
    distribution."""
    matches = [match for line in requires(DISTRIBUTION) or () if (match := _OPTIONAL.fullmatch(line))]
    sizes = Counter(match[2] for match in matches)
    return {match[1]: match[2] for match in sorted(matches, key=lambda match: -sizes[match[2]])}
