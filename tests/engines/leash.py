"""Runs a command, and kills it with all that it has started once nobody holds the other end of standard input.

python leash.py COMMAND ...

A server starts processes of its own, and whoever started the server may be killed before it can stop them.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress


def main() -> int:
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        kill()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    code = child.wait()
    kill()  # what it started may outlive it
    return code


if __name__ == "__main__":
    sys.exit(main())
