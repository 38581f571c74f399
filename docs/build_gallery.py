"""Write the pictures of the environments (`docs/gallery/`) from golden playthroughs, drawn as the viewer draws them.

    python docs/build_gallery.py

`tests/docs/test_gallery.py` fails when they are out of date.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import sonde
from sonde.core import Episode, playthrough
from sonde.core.registry import env_folder
from sonde.viewer.boards import FAMILIES, draw_board
from sonde.viewer.boards.chat import draw_chat
from sonde.viewer.templating import STYLE, read_asset

PICTURES = Path(__file__).parent / "gallery"
WRITTEN = runpy.run_path(str(Path(__file__).parent / "written.py"))


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
    """The picture with the rules and colours that it uses in it: a page that shows it as an image has none for it."""
    rules = re.findall(r"^(\.b-[^\n]+)$", read_asset(STYLE), re.MULTILINE)
    used = set(re.findall(r'class="([^"]*)"', svg)) - {"board"}
    names = {name for classes in used for name in classes.split()}
    styles = [rule for line in rules for rule in re.findall(r"\.b-[^{]+\{[^}]*\}", line)]
    kept = "".join(rule for rule in styles if rule[1:].split()[0] in names)
    opened, rest = svg.split(">", 1)
    style = f"{WRITTEN['colours'](kept + rest)}text{{font-family:system-ui,sans-serif}}{kept}"
    return f'{opened} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}\n'


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for name, svg in pictures().items():
        (PICTURES / f"{name}.svg").write_text(svg, "utf-8")
