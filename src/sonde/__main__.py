"""`python -m sonde` is the command `sonde`."""

from sonde.cli import main

main()
