"""A program that speaks as much UCI as `users:stockfish` asks for: in every position it names the same lines."""

import sys
import time
from pathlib import Path

behaviour, log = sys.argv[1], Path(sys.argv[2]).open("a", encoding="utf-8")  # noqa: SIM115

LINES = """info string some remark
info depth 1 multipv 1 score cp 20 nodes 30 pv d2d4
info depth 2 multipv 1 score cp 40 nodes 90 pv e2e4 e7e5
info depth 2 multipv 2 score cp 30 nodes 90 pv d2d4 d7d5
info depth 2 multipv 3 score cp 20 lowerbound nodes 90 pv a2a3
info depth 2 multipv 3 score cp 10 nodes 90 pv g1f3
info depth 2 multipv 4 score mate -3 nodes 90 pv g2g4"""


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


for line in sys.stdin:
    print(line.rstrip("\n"), file=log, flush=True)
    word = line.split()[0]
    if word == "uci":
        if behaviour == "mute":
            time.sleep(600)
        options = [f"option name {name} type spin default 2 min 1 max 99" for name in ("Threads", "Hash", "MultiPV")]
        say("id name Double 1.0", "id author sonde", *options, "uciok")
    elif word == "isready":
        say("readyok")
    elif word == "go" and behaviour == "dies":
        sys.exit(3)
    elif word == "go" and behaviour == "hangs":
        time.sleep(600)
    elif word == "go" and behaviour == "bare":
        say("bestmove e2e4")
    elif word == "go":
        say("bestmove (none)" if behaviour == "none" else f"{LINES}\nbestmove e2e4 ponder e7e5")
    elif word == "quit":
        break
