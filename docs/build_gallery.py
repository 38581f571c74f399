"""Write the pictures of the environments (`docs/gallery/`) from golden playthroughs, drawn as the viewer draws them.

    python docs/build_gallery.py

`tests/docs/test_gallery.py` fails when they are out of date.
"""

from __future__ import annotations

import re
from pathlib import Path

import sonde
from sonde.core import Episode, playthrough
from sonde.core.registry import env_folder
from sonde.viewer.boards import FAMILIES, draw_board
from sonde.viewer.boards.chat import draw_chat
from sonde.viewer.templating import STYLE, read_asset

PICTURES = Path(__file__).parent / "gallery"


def pictures() -> dict[str, str]:
    """The pictures by the name of their environment, as files that stand for themselves."""
    return {name: _standing(_picture(name)) for name in sonde.names("envs")}


def _picture(name: str) -> str:
    folder = env_folder(name) / "golden"
    preset = sonde.make(name).spec.preset
    text = (folder / f"{name}.{preset}.0.txt").read_text("utf-8")
    ep: Episode = playthrough.read_playthrough(text).replay_episode()
    svg = draw_board(ep, reveal=True, name=name) if name in FAMILIES else None
    return svg or draw_chat(ep).to_svg(name)


def _standing(svg: str) -> str:
    """The picture with the colours of the light theme in it, as a page that shows it as an image has none for it."""
    css = read_asset(STYLE)
    colours = dict(re.findall(r"(--[a-z0-9]+): ([^;]+);", css[: css.index("@media")]))
    rules = re.findall(r"^(\.b-[^\n]+)$", css, re.MULTILINE)
    used = set(re.findall(r'class="([^"]*)"', svg)) - {"board"}
    names = {name for classes in used for name in classes.split()}
    styles = [rule for line in rules for rule in re.findall(r"\.b-[^{]+\{[^}]*\}", line)]
    kept = "".join(rule for rule in styles if rule[1:].split()[0] in names)
    for name, value in colours.items():
        kept = kept.replace(f"var({name})", value)
    opened, rest = svg.split(">", 1)
    return f'{opened} xmlns="http://www.w3.org/2000/svg"><style>text{{font-family:system-ui,sans-serif}}{kept}</style>{rest}\n'


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for name, svg in pictures().items():
        (PICTURES / f"{name}.svg").write_text(svg, "utf-8")
