"""Language model backends: one file each, found by name (`sonde.make("models:hf")`).

What backends share lies in packages: `chat` (templates, token ids, reasoning), `files` (where a model's files are),
`local` (the inference engine) and `remote` (clients of servers).
"""
