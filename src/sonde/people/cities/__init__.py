"""The resident of guess_my_city: facts of 758 cities, how they are asked for, and the answers.

`sonde/data/resident.txt` declares the phrasings; `cities.json` and `cities_more.toml` have the facts. `atlas` loads the
facts, `known` evaluates attributes, `readers` reads slots and their claims, `hearing` reads a question, `guesses` finds
the proposed city, `facts` answers open questions, `resident` joins all of it.
"""
