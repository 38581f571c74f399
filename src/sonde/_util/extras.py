"""Optional packages: where one is missing, the error names the extra of sonde that brings it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.metadata import requires
from importlib.util import find_spec

from sonde.core.errors import UserError

DISTRIBUTION = "sonde-rl"
"""What is installed; what is imported is `sonde` (another project has that name on the package index)."""

_OPTIONAL = re.compile(r"""([\w.-]+)[^;]*;.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def need(what: str, *packages: str) -> None:
    """Raise `UserError` if one of `packages` is not installed; `what` is what cannot be done without them."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise lacking(what, *missing)


def lacking(what: str, *packages: str) -> UserError:
    """The error that says which extra brings `packages`.

    >>> print(lacking("Parquet", "pyarrow"))
    Parquet needs pyarrow, which is not installed: pip install 'sonde-rl[parquet]'
    """
    wanted = ",".join(sorted({extras()[name] for name in packages if name in extras()}))
    target = f"'{DISTRIBUTION}[{wanted}]'" if wanted else " ".join(packages)
    verb = "is" if len(packages) == 1 else "are"
    return UserError(f"{what} needs {', '.join(packages)}, which {verb} not installed: pip install {target}")


@cache
def extras() -> dict[str, str]:
    """Every optional package and the smallest extra that brings it, as the installed distribution says."""
    matches = [match for line in requires(DISTRIBUTION) or () if (match := _OPTIONAL.fullmatch(line))]
    sizes = Counter(match[2] for match in matches)
    return {match[1]: match[2] for match in sorted(matches, key=lambda match: -sizes[match[2]])}
