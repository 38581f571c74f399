"""Model files: shipped, fetched or from the hub; their fingerprints; loading and saving."""
