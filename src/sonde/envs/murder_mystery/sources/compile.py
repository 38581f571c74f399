"""Build ``data/cases.json`` from the hand-written files in this folder.

Run: ``python src/sonde/envs/murder_mystery/sources/compile.py``.

Source: all settings, sentences and names are our own; the idea of the game is PAPRIKA's (arXiv:2502.17543, appendix
B.4.4), which had a language model write its scenarios.

``names.toml``       given and family names, drawn independently of everything else
``traces.toml``      kinds of traces: what it looks like at the scene and about a person
``text.toml``        what the world says, by channel and value
``settings_N.toml``  places, roles, things, motives; ``split = "test"`` marks settings that no training case has

This script checks that every list is long enough and free of repetitions, and that every sentence can be filled in.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "data" / "cases.json"

SIZES = {
    "near": 2, "roles": 8, "places": 7, "weapons": 2, "means": 2, "traces": 3, "motives": 3, "items": 4, "hour": None,
    "id": None, "split": None, "occasion": None, "site": None, "scene": None, "at": None, "victim": None,
}  # fmt: skip
"""Fields of a setting, and the lengths of those that are lists."""

SLOTS = {
    "p", "g", "v", "w", "a", "b", "scene", "at", "near", "room", "place", "record", "ask", "t0", "t1", "t2", "thing",
    "weapon", "tool", "item", "items", "clause", "occasion", "site", "victim", "value", "where",
}  # fmt: skip
"""Names that sentences may contain in braces."""
KINDS = {"sheet", "camera", "door", "phone", "bystander"}
MEANS = {"key", "code", "skill"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the settings and sentences of the murder mysteries.")
    parser.add_argument("--out", type=Path, default=TARGET, help="file to write (default: %(default)s)")
    args = parser.parse_args()
    data = build_cases()
    args.out.write_text(dump(data), encoding="utf-8")
    print({split: sum(s["split"] == split for s in data["settings"]) for split in ("train", "test")})


def build_cases() -> dict[str, Any]:
    """All data, checked."""
    parts = {name: tomllib.loads((HERE / f"{name}.toml").read_text("utf-8")) for name in ("names", "traces", "text")}
    settings: list[dict[str, Any]] = []
    for path in sorted(HERE.glob("settings_*.toml")):
        rows = tomllib.loads(path.read_text("utf-8"))["setting"]
        settings += [{"split": "train", **row} for row in rows]
    for setting in settings:
        check_setting(setting, parts["traces"])
    check_distinct("settings", [s["id"] for s in settings])
    check_names(parts["names"])
    for where, text in sentences({**parts, "settings": settings}):
        check_sentence(where, text)
    return {**parts, "settings": settings}


def check_setting(setting: Mapping[str, Any], traces: Mapping[str, Any]) -> None:
    """Check that a setting has all fields, of the right lengths and kinds."""
    name = setting["id"]
    if set(setting) != set(SIZES):
        raise ValueError(f"{name}: fields {sorted(set(setting) ^ set(SIZES))} are missing or unknown")
    for field, size in SIZES.items():
        if size is not None and len(setting[field]) != size:
            raise ValueError(f"{name}: {field}: {len(setting[field])} entries, not {size}")
    check_distinct(name, [*setting["roles"], *(p[3] for p in setting["places"]), *(m[2] for m in setting["means"])])
    check_distinct(name, [setting["scene"], *(p[1] for p in setting["places"])])
    check_distinct(name, [*(w[1] for w in setting["weapons"]), *(i[0] for i in setting["items"])])
    late = [p[3] for p in setting["places"] if not p[3].startswith("the ")]
    late += [near for near in setting["near"] if "," in near]
    unknown = set(late) | {p[2] for p in setting["places"]} - KINDS | {m[0] for m in setting["means"]} - MEANS
    unknown |= {t[0] for t in setting["traces"]} - set(traces) | {setting["split"]} - {"train", "test"}
    if unknown or [w[0] for w in setting["weapons"]] != ["blow", "poison"] or not 0 <= setting["hour"] < 24:
        raise ValueError(f"{name}: {sorted(unknown) or 'weapons or hour'}")


def check_names(names: Mapping[str, list[str]]) -> None:
    check_distinct("names", [*names["given"], *names["family"]])
    if min(map(len, names.values())) < 60:
        raise ValueError("names: fewer than 60")


def check_distinct(where: str, entries: list[str]) -> None:
    twice = sorted({e for e in entries if entries.count(e) > 1})
    if twice:
        raise ValueError(f"{where}: more than once: {twice}")


def check_sentence(where: str, text: str) -> None:
    unknown = {field for _, field, _, _ in Formatter().parse(text) if field is not None} - SLOTS
    if unknown or "  " in text or text != text.strip():
        raise ValueError(f"{where}: {text!r}: unknown {sorted(unknown)} or spaces")


def sentences(node: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every string and its location."""
    if isinstance(node, str):
        yield where, node
    elif isinstance(node, Mapping | list):
        rows = node.items() if isinstance(node, Mapping) else enumerate(node)
        for key, value in rows:
            yield from sentences(value, f"{where}/{key}")


def dump(data: Mapping[str, Any]) -> str:
    """JSON with one line per setting, and per section of the rest."""
    lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in data.items() if k != "settings"]
    settings = ",\n".join(json.dumps(s, ensure_ascii=False) for s in data["settings"])
    return "{\n" + ",\n".join(lines) + f',\n"settings": [\n{settings}\n]\n}}\n'


if __name__ == "__main__":
    main()
