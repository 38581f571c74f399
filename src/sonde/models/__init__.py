"""Language model backends: one file each, found by name (`sonde.make("models:hf")`). What they share is in packages."""
