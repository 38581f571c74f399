"""Somebody who lives in a city: what is known of 758 cities, what asks for it, and what they say.

The tables are in `envs/data`: `cities.json` and `cities_more.toml` are the facts, `city_sets.txt` what is true of whom,
`city_phrases.txt` how one asks for it. `atlas` reads the facts, `sets` what is true of whom, `knowing` puts both to the
room, `readers` reads names and amounts, `facts` answers open questions, `resident` is the whole conversation.
"""
