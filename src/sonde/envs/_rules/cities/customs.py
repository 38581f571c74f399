"""Claims on language, money, the side of the road and religion (see `claims.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ..checks import plain
from .atlas import City, Country, Truth, atlas
from .claims import Claim
from .local import faith, spoken

# --- language, money, roads, religion --------------------------------------------------------------------------------


@cache
def _speech(name: str) -> str:
    """The plain name of a language in brackets' stead: "Chinese (Cantonese)" is both."""
    return plain(name)


_SAME = {
    "mandarin": "mandarin|chinese",
    "chinese": "mandarin|chinese cantonese",
    "cantonese": "chinese cantonese",
    "farsi": "persian",
    "tagalog": "filipino",
    "pilipino": "filipino",
    "bahasa indonesia": "indonesian",
    "bahasa": "indonesian|malay",
    "bangla": "bengali",
    "kiswahili": "swahili",
    "gaelic": "irish",
    "flemish": "dutch",
    "castilian": "spanish",
    "valencian": "catalan",
    "slovenian": "slovene",
    "burmese": "burmese",
    "creole": "creole|haitian creole",
    "te reo": "maori",
    "sotho": "sesotho|sotho",
    "setswana": "tswana|setswana",
    "serbo croatian": "serbian|croatian|bosnian|montenegrin",
    "bahasa malaysia": "malay",
    "brazilian portuguese": "portuguese",
    "mandarin chinese": "mandarin",
    "english language": "english",
    "modern hebrew": "hebrew",
    "hindustani": "hindi|urdu",
}


@cache
def languages() -> frozenset[str]:
    """Plain names of all languages, other names included."""
    named = {_speech(x) for land in atlas().countries.values() for x in land.languages}
    return frozenset(named | set(_SAME) | set(" ".join(_MORE_SPEECH.values()).split()))


_MORE_SPEECH = {
    "ES": "catalan basque galician",
    "IN": "bengali tamil urdu punjabi marathi telugu kannada gujarati malayalam kashmiri nepali sindhi",
    "LK": "tamil",
    "IL": "arabic russian",
    "US": "spanish hawaiian navajo",
    "PK": "punjabi sindhi pashto balochi kashmiri gujarati saraiki",
    "CN": "cantonese tibetan uyghur mongolian korean kazakh",
    "GB": "welsh gaelic irish",
    "FR": "catalan basque breton alsatian",
    "IE": "irish",
    "IT": "sardinian sicilian slovene",
    "ID": "javanese sundanese balinese malay",
    "PH": "cebuano tagalog",
    "NG": "yoruba hausa igbo",
    "ZA": "zulu xhosa afrikaans sesotho sotho tswana setswana",
    "NO": "sami",
    "SE": "sami finnish",
    "FI": "sami",
    "TR": "kurdish arabic",
    "IR": "azerbaijani kurdish arabic",
    "SY": "kurdish",
    "RU": "tatar chechen yakut",
    "NL": "frisian",
    "DE": "turkish sorbian frisian danish",
    "MM": "shan",
    "NP": "tamang tibetan maithili",
    "BT": "nepali",
    "SG": "cantonese hokkien",
    "MY": "tamil mandarin cantonese chinese hokkien",
    "PE": "quechua aymara",
    "GT": "maya",
    "MX": "maya nahuatl",
    "CA": "inuktitut",
    "GH": "twi hausa",
    "SN": "wolof",
    "UG": "luganda swahili",
    "ET": "oromo tigrinya somali",
}
"""What else many people of a country speak: of its cities it is not denied, and told only of those below."""


_OF_CITY = {
    name: frozenset(spoken.split())
    for names, spoken in (
        ("Zurich;Basel;Bern;Lucerne", "german"),
        ("Geneva;Lausanne;Liege", "french"),
        ("Lugano", "italian"),
        ("Antwerp;Ghent;Bruges;Leuven", "dutch"),
        ("Brussels", "french dutch"),
        ("Montreal", "french english"),
        ("Quebec City", "french"),
        ("Toronto;Vancouver;Calgary;Edmonton;Winnipeg;Halifax;Victoria;Saskatoon;Regina", "english"),
    )
    for name in names.split(";")
}
"""What is spoken in a city, where a country has languages by region."""

_BESIDES = {
    name: frozenset(spoken.split())
    for names, spoken in (
        ("Chennai;Madurai;Puducherry;Colombo", "tamil"),
        ("Kolkata", "bengali"),
        ("Hyderabad", "telugu urdu"),
        ("Bengaluru;Mysore", "kannada"),
        ("Mumbai;Pune;Nagpur", "marathi"),
        ("Ahmedabad;Surat", "gujarati"),
        ("Kochi;Thiruvananthapuram", "malayalam"),
        ("Amritsar;Chandigarh;Lahore;Faisalabad", "punjabi"),
        ("Srinagar", "kashmiri"),
        ("Peshawar;Quetta", "pashto"),
        ("Karachi", "sindhi"),
        ("Barcelona;Palma;Valencia", "catalan"),
        ("Bilbao;San Sebastian", "basque"),
        ("Santiago de Compostela", "galician"),
        ("Cardiff", "welsh"),
        ("Galway", "irish"),
        ("Guangzhou", "cantonese"),
        ("Lhasa", "tibetan"),
        ("Urumqi;Kashgar", "uyghur"),
        ("Hohhot", "mongolian"),
        ("Surabaya;Yogyakarta", "javanese"),
        ("Bandung", "sundanese"),
        ("Denpasar", "balinese"),
        ("Cebu City", "cebuano"),
        ("Manila;Quezon City", "tagalog"),
        ("Ibadan;Lagos", "yoruba"),
        ("Kano", "hausa"),
        ("Durban", "zulu"),
        ("Cape Town", "afrikaans xhosa"),
        ("Pretoria;Bloemfontein", "afrikaans"),
        ("Cusco", "quechua"),
        ("La Paz", "aymara"),
        ("Dakar", "wolof"),
        ("Kampala", "luganda"),
        ("Kumasi;Accra", "twi"),
        ("Tabriz", "azerbaijani"),
        ("Grozny", "chechen"),
        ("Kazan", "tatar"),
        ("Honolulu", "hawaiian"),
        (
            "Miami;Los Angeles;San Antonio;El Paso;New York City;San Diego;Houston;Phoenix;Dallas;Tucson;Albuquerque;"
            "Santa Fe;Austin;Fort Worth;Orlando;San Jose;Chicago;Las Vegas",
            "spanish",
        ),
        ("Haifa;Jerusalem;Nazareth", "arabic"),
        ("Kuala Lumpur;George Town;Ipoh", "tamil cantonese chinese mandarin"),
    )
    for name in names.split(";")
}
"""What many people of a city speak beside the languages told of their country."""

_EVERYDAY = {
    "IE": "english", "NZ": "english", "IL": "hebrew", "FI": "finnish", "PE": "spanish", "EC": "spanish", "IQ": "arabic",
    "DZ": "arabic", "MA": "arabic", "RW": "kinyarwanda", "TZ": "swahili", "LK": "sinhala", "CY": "greek",
    "GB": "english", "US": "english", "HK": "cantonese", "MO": "cantonese", "XK": "albanian", "MT": "maltese",
    "BY": "russian", "SO": "somali", "MG": "malagasy", "SE": "swedish", "NO": "norwegian", "TO": "tongan",
    "WS": "samoan",
    "MV": "dhivehi", "MK": "macedonian", "LS": "sesotho", "HT": "haitian creole", "SD": "arabic",
}  # fmt: skip
"""The first language of most people, in countries that have several."""


def _of_city(c: City, wanted: frozenset[str], sole: bool) -> Truth:
    own = _OF_CITY.get(c.name, frozenset())
    if sole:
        return bool(wanted & own) if len(own) == 1 else None
    return True if wanted & own else None


def language(name: str, sole: bool, official: bool, label: str) -> Claim:
    """Spoken (official, or `sole`: the main one). That a language is not spoken at all is claimed only where neither a
    neighbour nor a former ruler speaks it, since some will speak it there."""
    wanted = frozenset(_SAME.get(name, name).split("|"))
    world = name in ("english", "french", "russian", "hindi", "mandarin", "chinese", "arabic", "spanish")

    def of_land(land: Country) -> Truth:
        own = {_speech(x) for x in land.languages}
        if wanted & own:
            return _main(land, own, wanted) if sole and len(own) > 1 else True
        if name in _MORE_SPEECH.get(land.code, "").split():
            return None
        return False if sole or official or not (world or _near_speech(land, wanted)) else None

    truths = {code: of_land(land) for code, land in atlas().countries.items()}

    def truth(c: City) -> Truth:
        own = spoken(c)
        if own is None or (official and not sole):
            return at_large(c)
        return _spoken(wanted | {name}, own, sole, at_large(c))

    def at_large(c: City) -> Truth:
        if wanted & _BESIDES.get(c.name, frozenset()) and truths[c.land.code] is None:
            return None if sole or official else True
        by_region = c.land.code in ("CH", "BE", "CA") and not official
        return (
            _of_city(c, wanted, sole)
            if by_region and wanted & {_speech(x) for x in c.land.languages}
            else truths[c.land.code]
        )

    how = "the main language" if sole else "an official language" if official else "spoken"
    return Claim("language", truth, f"{label} [is|is not] {how} in my city")


def _spoken(wanted: frozenset[str], own: Sequence[str], sole: bool, said: Truth) -> Truth:
    """Of a city with languages of its own: the first may be the main one, none of them is denied."""
    told = [not wanted.isdisjoint((_speech(name), _SAME.get(_speech(name), ""))) for name in own]
    if not sole:
        return True if any(told) else said
    return said if told[0] or (said is False and not any(told)) else None


def _main(land: Country, own: set[str], wanted: frozenset[str]) -> Truth:
    """Whether one of several languages of a country is that of most of its people."""
    first = _EVERYDAY.get(land.code, "")
    return first in wanted if first in own else None


def _near_speech(land: Country, wanted: frozenset[str]) -> bool:
    names = set(land.neighbours)
    return any(x.name in names and wanted & set(map(_speech, x.languages)) for x in atlas().countries.values())


def currency(word: str, label: str) -> Claim:
    """The currency is the euro, or some kind of dollar, or the Danish krone."""
    wanted = set(plain(word).split())

    def truth(c: City) -> Truth:
        own = set(plain(c.land.currency).split())
        if len(wanted) == 1 and len(own) > 1 and next(iter(wanted)) in own and c.land.code not in ("ZW", "PA"):
            return True
        if wanted <= own:
            return True
        return None if "dollar" in wanted and c.land.code in ("ZW", "PA", "KH", "LB", "CU", "VE") else False

    return Claim("currency", truth, f"people in my city [pay|do not pay] with {label}")


def drives(side: str) -> Claim:
    return Claim(
        "drives_on", lambda c: c.land.drives == side, f"people in my country [drive|do not drive] on the {side}"
    )


_FAITHS = {
    "islam": "islam",
    "muslim": "islam",
    "muslims": "islam",
    "islamic": "islam",
    "christianity": "christian",
    "christian": "christian",
    "christians": "christian",
    "catholicism": "catholic",
    "catholic": "catholic",
    "catholics": "catholic",
    "roman catholic": "catholic",
    "roman catholicism": "catholic",
    "protestant": "protestant",
    "protestantism": "protestant",
    "protestants": "protestant",
    "orthodox": "orthodox",
    "orthodox christian": "orthodox",
    "eastern orthodox": "orthodox",
    "orthodox christianity": "orthodox",
    "buddhism": "buddhis",
    "buddhist": "buddhis",
    "buddhists": "buddhis",
    "hinduism": "hindu",
    "hindu": "hindu",
    "hindus": "hindu",
    "judaism": "judaism",
    "jewish": "judaism",
    "jews": "judaism",
    "shia islam": "shia",
    "shia": "shia",
    "shinto": "shinto",
    "taoism": "taois",
    "shintoism": "shinto",
    "sunni islam": "sunni",
    "sunni": "sunni",
    "sikhism": "sikh",
    "sikh": "sikh",
    "lutheran": "lutheran",
}

_FAITH_NAMES = {
    "islam": "Islam",
    "christian": "Christianity",
    "catholic": "Roman Catholicism",
    "protestant": "Protestantism",
    "orthodox": "Orthodox Christianity",
    "buddhis": "Buddhism",
    "hindu": "Hinduism",
    "judaism": "Judaism",
    "shia": "Shia Islam",
    "shinto": "Shinto",
    "taois": "Taoism",
    "sunni": "Sunni Islam",
    "sikh": "Sikhism",
    "lutheran": "Lutheranism",
}

FAITHS = frozenset(_FAITHS)

_BRANCHES = {
    "catholic": "christian",
    "protestant": "christian",
    "orthodox": "christian",
    "shia": "islam",
    "sunni": "islam",
    "lutheran": "christian",
}


def religion(word: str) -> Claim:
    """The main religion of the country. A branch is known where the file names it."""
    kind = _FAITHS[word]

    def truth(c: City) -> Truth:
        text = plain(c.land.religion or "")
        if not text:
            return None
        if text.startswith("no religion") or " and " in text or " with " in text:
            named = kind in text or _BRANCHES.get(kind, kind) in text
            return None if named or any(k in text and v == kind for k, v in _BRANCHES.items()) else False
        if kind in text:
            return True
        return (
            None
            if _BRANCHES.get(kind, "-") in text
            and not any(k in text for k in ("catholic", "orthodox", "shia", "protestant"))
            else False
        )

    return Claim("religion", truth, f"{_FAITH_NAMES[kind]} [is|is not] the main religion of my country")


def local_religion(word: str) -> Claim:
    """The main religion where one asks of the city: as in the country, unless the city is known to differ. Then what it
    has is told, and what only the country has is neither said nor denied."""
    kind, of_land = _FAITHS[word], religion(word)

    def truth(c: City) -> Truth:
        own, said = faith(c), of_land.truth(c)
        if own is None or (said is None and own == "?"):
            return said
        if own == kind:
            return True
        return False if said is False and own not in ("?", _BRANCHES.get(kind)) else None

    words = f"{_FAITH_NAMES[kind]} [is the main religion here|is not the main religion of my country]"
    return Claim("religion", truth, words)


def of_country(claim: Claim) -> Claim:
    """The claim as it is made of the whole country: of the main religion that is another one."""
    for word, kind in _FAITHS.items():
        if claim.words.startswith(f"{_FAITH_NAMES[kind]} [is the main religion here"):
            return religion(word)
    return claim


def told_faith(c: City) -> str | None:
    """What is told of the main religion of a city."""
    own = faith(c)
    if own not in (None, "?"):
        return f"The main religion here: {_FAITH_NAMES[own]}"
    return None if c.land.religion is None else f"The main religion of my country: {c.land.religion}"
