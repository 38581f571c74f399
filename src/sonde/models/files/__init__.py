"""Model files: shipped with sonde, fetched, in a folder or on the hub; their fingerprints; loading and saving."""
