"""Rules shared by several environments: pure functions and data loaders, no protocol."""
