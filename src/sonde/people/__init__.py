"""The English reader of the simulated users: language, and what it means in a conversation.

Ours. Rule users (twenty questions, cities, ...) share one reader of English. A conversation *declares* what it knows
and how one asks for it; it has no parser of its own. Below `users` and `envs`, above nothing but `core`.

    language/   letters (accents, look-alikes), words (tokens, sentences, inflection, slips), lists (english.txt),
                numbers, times, acts (which sentence asks, and what), clauses (subject, negation), naming (which names
                count, which are guesses, and whether the secret is named), speech (an adviser's sentences: questions,
                instructions, diagnoses)
    meaning/    claims (three-valued logic on bit masks, columns of knowledge), lexicon (declared phrasings), joins
                (and, or), nouns and grammar (predicates), room (a message in, a claim out), spotting (phrasings within
                a sentence), bags (the one topic that a text names)
    cities/, service/   the residents of guess_my_city, the customers of customer_service

How a conversation is declared
------------------------------
1. A data file in `sonde/data` with a line per meaning and its phrasings (`meaning/lexicon.py` has the format):

       # meaning: phrasings
       coastal: at on the coast; at by the sea; has a (beach|harbour); is a (port|seaside) (city|town)
       capital / seat: is the capital [city] [of its country]
       [europe] old: is (old|ancient); does go back to (Roman|ancient) times
       people <amount>: has <amount> (people|inhabitants); has a population of <amount>; do <amount> people live there
       founded <time>: was founded <time>; is from <time>; does date <time>
       country <place>: at in <place>; is in <place>; adj <place>

2. A class with what is known: `attribute(name)` gives the claim of an attribute as bit masks (bit i: the i-th thing
   that may be hidden), `column(name, value)` that of a column with the value of a slot, `home(mask)` the things of the
   same sorts. `meaning/claims.py` has numbers and lists. Every thing of a sort has a value or an explicit unknown.

3. A thin module that makes the room once:

>>> from sonde.people.language.clauses import Subject
>>> from sonde.people.language.numbers import interval
>>> from sonde.people.meaning.claims import Claim
>>> from sonde.people.meaning.claims import Numbers
>>> from sonde.people.meaning.grammar import Grammar
>>> from sonde.people.meaning.lexicon import Lexicon, lines
>>> from sonde.people.meaning.room import Room
>>> NAMES = {"oslo": 0b001, "bern": 0b010, "rome": 0b100}
>>> class Towns:
...     coastal, people = Claim("coastal", 0b001, 0b110), Numbers({0: (700, 700), 1: (130, 130), 2: (2800, 2800)})
...     def attribute(self, name):
...         return getattr(self, name, None)
...     def column(self, name, value):
...         return getattr(self, name).within(value, name)
...     def home(self, yes):
...         return 0b111
>>> def naming(words, article):
...     goal = NAMES.get(" ".join(words), 0)
...     return Claim(words[0], 0, 0b111 & ~goal, goal, 1, words[0]) if goal else None
>>> declared = lines("coastal: at on the coast; at by the sea\\npeople <amount>: has <amount> thousand inhabitants")
>>> lexicon = Lexicon(declared, Towns(), {"amount": interval})
>>> room = Room(Grammar(lexicon, Subject(you=True), naming))
>>> [room.read(said).claim[1:4] for said in ("Are you by the sea?", "I'd say it's not located on the coast.")]
[(1, 6, 0), (6, 1, 0)]
>>> room.read("Great! Does your city have more than 500 thousand inhabitants?").claim[:3]
('people 500..inf', 5, 2)
>>> room.read("My guess is Rome").claim.goal, room.read("What is its name?").kind, room.read("Is it glorpish?").kind
(4, 'open', 'unclear')

`claim.yes`, `claim.no` and `claim.goal` say for every thing at once what the true reply is; whoever answers looks at
its own bit, and a filter at all of them. Open questions ("in which country ...?") are `kind == "open"`: a
conversation that answers them reads `heard(said).words` (`language/acts.py`) against its own declared patterns.
"""
