"""What the rule user of twenty questions may say: nothing is inferred that does not follow from what is known."""

from __future__ import annotations

from sonde.envs._shared.english.grammar import Grammar
from sonde.envs._shared.english.lexicon import Lexicon, parse_lines
from sonde.envs._shared.english.sentences import Subject, read_act
from sonde.envs.twenty_questions.answering import answer_message, frame_questions, name_article, question_wordings
from sonde.envs.twenty_questions.env import TwentyQuestions
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from sonde.envs.twenty_questions.regions import claim_within, load_regions
from sonde.envs.twenty_questions.room import declared_lines, message_sense, read_topic_message
from sonde.envs.twenty_questions.rules import claim_by_rules, load_rules
from sonde.envs.twenty_questions.world import SLOTS, TopicColumns
from tests.cases import each


def reply(topic: str, question: str) -> str:
    return answer_message(topic_knowledge().index[topic], question)


@each(
    "topic, question, answer",
    [
        ("World War II", "Did it happen in the United States?", "unknown"),
        ("World War II", "Did it happen in Europe?", "yes"),
        ("Sinking of the Titanic", "Did it happen in Europe?", "unknown"),
        ("French Revolution", "Did it happen in France?", "yes"),
        ("Vietnam War", "Did it take place in France?", "no"),
        ("Marie Curie", "Is it a mammal?", "yes"),
        ("Marie Curie", "Can it talk?", "yes"),
        ("hammer", "Can it talk?", "no"),
        ("hammer", "Can it fly?", "no"),
        ("dog", "Was it created in Japan?", "unknown"),
        ("rose", "Did it write novels?", "no"),
        ("dog", "Does it grow?", "yes"),
        ("dog", "Can you buy it at a supermarket?", "unknown"),
        ("teacher", "Is it a famous person?", "unknown"),
        ("Paris", "Is it a famous person?", "no"),
        ("Cleopatra", "Is she a king?", "no"),
        ("Cleopatra", "Is she a queen?", "yes"),
        ("dolphin", "Is it a mammal that lives in water?", "yes"),
        ("World War II", "Is it an event where many people died?", "yes"),
        ("Mount Everest", "Is it in northern Europe?", "no"),
        ("Paris", "Is it in northern Europe?", "unknown"),
        ("owl", "Is it from Europe?", "unknown"),
        ("notebook", "Do students bring it to school?", "yes"),
        ("love", "Is it something you own?", "unclear"),
        ("car", "Is it a machine?", "yes"),
        ("washing machine", "Is it machinery?", "yes"),
        ("computer", "Is it a machine?", "yes"),
        ("canoe", "Is it a machine?", "no"),
        ("bicycle", "Is it a machine?", "unknown"),
    ],
)
def test_by_hand(topic: str, question: str, answer: str) -> None:
    assert reply(topic, question) == answer


@each(
    "topic, question, answer",
    [
        ("Charles Darwin", "Did he write novels?", "no"),
        ("Charles Darwin", "Did he write poems?", "no"),
        ("Charles Darwin", "Did he write books?", "yes"),
        ("Jane Austen", "Did she write novels?", "yes"),
        ("Jane Austen", "Did she write plays?", "no"),
        ("William Shakespeare", "Did he write plays?", "yes"),
        ("Pablo Neruda", "Did he write poetry?", "yes"),
        ("Abraham Lincoln", "Is this person European?", "no"),
        ("Marie Curie", "Is this person from Europe?", "yes"),
        ("Marie Curie", "Did this person live in the 19th century?", "yes"),
        ("Marie Curie", "Did this person live in the 17th century?", "no"),
        ("France", "Is it a member of NATO?", "yes"),
        ("Switzerland", "Is it a member of NATO?", "no"),
        ("Egypt", "Is Islam the main religion?", "yes"),
        ("Italy", "Is Islam the main religion?", "no"),
        ("Japan", "Does its flag contain the color red?", "yes"),
        ("Greece", "Does its flag contain the color red?", "no"),
        ("Ghana", "Is it a former colony?", "yes"),
        ("Sweden", "Is it a former colony?", "no"),
        ("Russia", "Has it hosted the Olympics?", "yes"),
        ("astronaut", "Is it related to space?", "yes"),
        ("carrot", "Is it related to space?", "no"),
        ("politics", "Is it associated with politics?", "yes"),
        ("teaspoon", "Is it associated with politics?", "no"),
        ("Eiffel Tower", "Is it taller than 100 meters?", "yes"),
        ("Stonehenge", "Is it taller than 100 meters?", "no"),
    ],
)
def test_what_models_ask_is_answered_yes_and_no(topic: str, question: str, answer: str) -> None:
    """What was never answered, or by yes alone, and what a book made true of every writer."""
    assert reply(topic, question) == answer


def test_every_category_decides_a_question_of_its_own() -> None:
    """Attributes that rules decide for a whole category leave less than a fifth of it open."""
    knows = topic_knowledge()
    countries = sum(1 << i for i, category in enumerate(knows.category) if category == "a country")
    for name in ("country_red_flag", "developed_country", "democracy_country", "colony_once", "nuclear_country"):
        told = claim_by_rules(name)
        assert (countries & ~(told.yes | told.no)).bit_count() * 5 < countries.bit_count(), name


def test_rules_add_and_never_shadow() -> None:
    knows = topic_knowledge()
    for name in load_rules():
        told, (yes, no) = claim_by_rules(name), knows.known_topics(name)
        assert told.yes & yes == yes
        assert told.no & no == no
        assert not told.yes & told.no


def test_every_region_parts_people_whose_nation_is_known() -> None:
    """Nobody with a nation is unknown: "Is this person European?" is answered for all of them."""
    nations = topic_knowledge().lists["nation"].known_things & topic_knowledge().roots["person"]
    for name in (name for name, where in load_regions().items() if where.is_broad):
        there = claim_within(name)
        assert not nations & ~(there.yes | there.no), name


FRAMES = ("Is it {0}?", "Would you say it is {0}?", "Is the topic {0}?", "I wonder if it's {0}", "Is it something {0}?")


@each("adjective", ["alive", "edible", "expensive", "used in the kitchen", "made of wood"])
def test_wordings_of_one_question_do_not_differ_in_who_is_answered(adjective: str) -> None:
    assert len({message_sense(frame.format(adjective)) for frame in FRAMES}) == 1


def test_every_frame_of_a_declared_phrase_is_answered_for_the_same_topics() -> None:
    """Every twelfth phrase in all frames: hardly one differs ("Is this part of the leg?" is about "this part")."""
    every, alike = topic_knowledge().all, list[bool]()
    for frame, words in [rows[0] for rows in question_wordings().values()][::12]:
        first, *others = [read_topic_message(text).claim for text in frame_questions(frame, words)]
        assert first is not None, words
        same = ((claim.yes ^ first.yes) | (claim.no ^ first.no) if claim else every for claim in others)
        alike += [not mask & every for mask in same]
    assert len(alike) > 650
    assert sum(alike) >= 0.985 * len(alike)


@each(
    "same",
    [
        ("Is this person European?", "Is this person from Europe?", "Did this person come from Europe?"),
        ("Is it in Asia?", "Is it located in Asia?", "Is it found in Asia?"),
        ("Did this person write novels?", "Was this person a novelist?", "Is this person known for writing novels?"),
        ("Does it have wings?", "Is it something with wings?", "Has it got wings?", "Does this animal have wings?"),
        ("Do people eat it?", "Can you eat it?", "Is it eaten by people?", "Is it something that you eat?"),
        ("Was she born before 1900?", "Was this person born earlier than 1900?"),
        ("Is it bigger than a car?", "Is it larger than a car?", "Would you say it is bigger than a car?"),
    ],
)
def test_wordings_by_hand(same: tuple[str, ...]) -> None:
    asked = [read_topic_message(said).claim for said in same]
    assert all(claim is not None for claim in asked)
    every = topic_knowledge().all
    yes = {claim.yes & every for claim in asked if claim is not None}
    assert len(yes) == 1, [claim.text for claim in asked if claim is not None]


def test_a_kind_is_denied_only_where_no_sense_of_the_word_has_its_place() -> None:
    knows, i = topic_knowledge(), topic_knowledge().index
    never = knows.excluded_topics("hunter")
    assert not never >> i["dog"] & 1
    assert not never >> i["Marie Curie"] & 1
    assert knows.excluded_topics("reptile") >> i["hammer"] & 1
    assert not knows.excluded_topics("no word of WordNet")
    for kind in list(knows.kinds)[::97]:
        assert not knows.excluded_topics(kind) & knows.kinds[kind] & ~knows.topics_by_name.get(kind, 0)


def test_other_names_are_legal_and_win() -> None:
    env = TwentyQuestions(preset="paprika")
    name, topic = next((n, i) for n, i in topic_knowledge().aliases.items() if n[0].islower() and name_article(n))
    query = read_topic_message(env.say(name)).claim
    assert env.say(name).startswith("Is it a")
    assert query is not None
    assert query.goal >> topic & 1


def test_one_line_teaches_every_wording() -> None:
    """The example of docs/users.md."""
    line = parse_lines("snack: ob serve on (a stick|sticks); is on a stick; ob eat off a stick")
    taught = Grammar(Lexicon([*declared_lines(), *line], TopicColumns(), SLOTS), Subject(), lambda words, article: None)
    told, every = claim_by_rules("snack"), topic_knowledge().all
    for said in (
        "Do people serve it on a stick?",
        "Is it usually served on sticks?",
        "Is it something you eat off a stick?",
        "Would you say it is served on a stick?",
    ):
        claim = taught.read_sentence(read_act(said).words)
        assert claim is not None, said
        assert (claim.yes & every, claim.no & every) == (told.yes, told.no), said


@each(
    "said",
    [
        "I'm confident the topic is Marie Curie.",
        "I'm going to guess that it's Marie Curie.",
        "Could it be Marie Curie?",
        "I think the person you are thinking of is Marie Curie.",
        "Is the person Marie Curie (also known as Maria Skłodowska)?",
        "Is this person the scientist Marie Curie?",
        "Is it Marie Curie, the physicist?",
        "Is the topic Marie Curie, who won two Nobel Prizes?",
        "Based on your answers, I believe the topic is Marie Curie.",
        "Is Marie Curie the answer?",
    ],
)
def test_a_guess_is_what_a_message_names_in_any_frame(said: str) -> None:
    assert reply("Marie Curie", said) == "goal"
    assert reply("Albert Einstein", said) == "no"


@each("said",
    ["It isn't Marie Curie.", "Is it Marie Curie or Albert Einstein?", "Somebody said Marie Curie.",
     "Did this person know Marie Curie?", "Is it the painter Marie Curie?"],
)  # fmt: skip
def test_what_is_no_guess(said: str) -> None:
    assert reply("Marie Curie", said) != "goal"


LISTS = (
    # Lists of things are true of each of them and false of all others; a guess in a list is none.
    ("Is the fruit an apple, pear, or orange?", {"pear": "yes", "orange": "yes", "carrot": "no", "guitar": "no"}),
    ("Is it apple, pear or orange?", {"orange": "yes", "carrot": "no"}),
    ("Is it a lion or a tiger?", {"lion": "yes", "tiger": "yes", "dog": "no"}),
    ("Is it a dog, cat, horse, cow, pig, sheep, goat or chicken?", {"goat": "yes", "car": "no"}),
    ("Is it an animal, a plant or a vehicle?", {"dog": "yes", "rose": "yes", "car": "yes", "hammer": "no"}),
    # Examples behind a kind do not narrow it.
    ("Is it a type of plant, such as a tree, flower, grass or vegetable?", {"rose": "yes", "dog": "no"}),
    ("Is it a weapon like a sword, a gun or a bow?", {"sword": "yes", "rose": "no"}),
    ("Is it a drink - like coffee, tea, or juice?", {"tea": "yes", "car": "no"}),
    ("Is it a piece of furniture, e.g. a chair or table?", {"chair": "yes", "dog": "no"}),
    # What is of a kind is related to it; what is not may be, too.
    ("Is it related to a fruit or vegetable, like an apple, banana, or grape?", {"pear": "yes", "dog": "unknown"}),
    ("Is it related to a specific type of plant, such as a tree or flower?", {"rose": "yes", "car": "unknown"}),
    # What narrows a kind is no example, and a question that asks which has no answer.
    ("Is it an animal with a tail like a fish?", {"dog": "unknown", "car": "no"}),
    ("Does it have a tail like a fish?", {"dog": "unclear"}),
    ("Is it natural or man-made?", {"dog": "invalid", "hammer": "invalid"}),
)


def test_lists_and_examples() -> None:
    found = {question: {topic: reply(topic, question) for topic in told} for question, told in LISTS}
    assert found == dict(LISTS)


def test_a_fruit_is_no_colour() -> None:
    assert (reply("carrot", "Is it an orange?"), reply("orange", "Is it an orange?")) == ("no", "goal")
    assert reply("carrot", "Is it orange?") == "yes"
