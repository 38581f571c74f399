"""Write the pictures of the environments (`docs/gallery/`) from golden playthroughs, drawn as the viewer draws them.

    python docs/build_gallery.py

`tests/docs/test_gallery.py` fails when they are out of date.
"""

from __future__ import annotations

from pathlib import Path

import sonde
from sonde.core import Episode, playthrough
from sonde.core.registry import env_folder
from sonde.viewer.boards import FAMILIES, draw_board
from sonde.viewer.boards.chat import draw_chat
from sonde.viewer.templating import embed_style

PICTURES = Path(__file__).parent / "gallery"


def pictures() -> dict[str, str]:
    """The pictures by the name of their environment, as files that stand for themselves."""
    return {name: embed_style(_picture(name), dark=True) for name in sonde.names("envs")}


def _picture(name: str) -> str:
    folder = env_folder(name) / "golden"
    preset = sonde.make(name).spec.preset
    text = (folder / f"{name}.{preset}.0.txt").read_text("utf-8")
    ep: Episode = playthrough.read_playthrough(text).replay_episode()
    svg = draw_board(ep, reveal=True, name=name) if name in FAMILIES else None
    return svg or draw_chat(ep).to_svg(name)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for name, svg in pictures().items():
        (PICTURES / f"{name}.svg").write_text(svg, "utf-8")
