"""Other libraries' environments in sonde: `SOURCE:NAME` is the class of `SOURCE.py` for the game `NAME`."""
