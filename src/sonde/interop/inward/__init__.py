"""Other libraries' environments in sonde. The file name is the registry: `SOURCE:NAME` is the class of `SOURCE.py` for
the game `NAME`."""
