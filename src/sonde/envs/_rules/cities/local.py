"""What holds of a city but not of the whole of its country: its languages, its main religion, its kind of capital.

Ours. A city that is not named here is told of as its country is. Cities are named with the code of their country, since
some names are shared; what is doubtful of a city is left out, or held to be unknown ("?").
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from .atlas import City
from .replies import Asked, Query

_Places = Mapping[tuple[str, str], str]

_SPOKEN_ROWS = """\
IN Srinagar: Kashmiri, Urdu
IN Chennai; Madurai; Puducherry: Tamil, English
IN Kolkata: Bengali, Hindi, English
IN Hyderabad: Telugu, Urdu, English
IN Bengaluru; Mysore: Kannada, English
IN Mumbai; Pune; Nagpur: Marathi, Hindi, English
IN Ahmedabad; Surat: Gujarati, Hindi
IN Kochi; Thiruvananthapuram: Malayalam, English
IN Amritsar; Chandigarh: Punjabi, Hindi
PK Lahore; Faisalabad; Rawalpindi: Punjabi, Urdu
PK Peshawar; Quetta: Pashto, Urdu
PK Karachi: Urdu, Sindhi, English
ZA Bloemfontein: Sesotho, Afrikaans, English
ZA Cape Town: Afrikaans, Xhosa, English
ZA Pretoria: Afrikaans, Tswana, English
ZA Durban: Zulu, English
ZA Gqeberha: Xhosa, Afrikaans, English
ZA Johannesburg: Zulu, Sesotho, Afrikaans, English
ZA Kimberley: Afrikaans, Tswana, English
ES Barcelona; Palma; Valencia: Spanish, Catalan
ES Bilbao; San Sebastian: Spanish, Basque
ES Santiago de Compostela: Spanish, Galician
CH Zurich; Basel; Bern; Lucerne: German
CH Geneva; Lausanne: French
BE Antwerp; Ghent; Bruges: Dutch
BE Liege: French
BE Brussels: French, Dutch
CA Montreal: French, English
CA Quebec City: French
CA Toronto; Vancouver; Calgary; Edmonton; Winnipeg; Halifax; Victoria; Saskatoon; Regina: English
CA London; Hamilton; Saint John's; Niagara Falls; Banff; Whitehorse: English
PE Cusco: Spanish, Quechua
PE Iquitos; Nazca: Spanish
BO La Paz: Spanish, Aymara
BO Cochabamba; Sucre; Potosi: Spanish, Quechua
BO Santa Cruz de la Sierra: Spanish
CN Guangzhou: Cantonese, Mandarin
CN Lhasa: Tibetan, Mandarin
CN Urumqi: Mandarin, Uyghur
CN Kashgar: Uyghur, Mandarin
ID Surabaya; Yogyakarta: Javanese, Indonesian
ID Bandung: Sundanese, Indonesian
NG Lagos; Ibadan: Yoruba, English
NG Kano: Hausa, English
GH Kumasi: Twi, English
UG Kampala: Luganda, English, Swahili
IQ Erbil: Kurdish, Arabic
IQ Basra; Karbala; Najaf; Baghdad: Arabic
AF Kandahar: Pashto
AF Herat; Mazar-i-Sharif: Dari
IR Tabriz: Azerbaijani, Persian
RU Grozny: Chechen, Russian
RU Kazan: Russian, Tatar
US Miami; El Paso; San Antonio; Los Angeles: English, Spanish
IL Nazareth: Arabic, Hebrew
IL Jerusalem; Haifa: Hebrew, Arabic
"""


def _by_city(rows: str) -> _Places:
    """Code and name -> what a row says; a row is "CODE name; name: text"."""
    found: dict[tuple[str, str], str] = {}
    for row in rows.strip().splitlines():
        places, _, text = row.partition(": ")
        code, _, names = places.partition(" ")
        found |= {(code, name): text for name in names.split("; ")}
    return found


_SPOKEN = {place: tuple(text.split(", ")) for place, text in _by_city(_SPOKEN_ROWS).items()}

_FAITHS = _by_city(
    """
IN Srinagar: islam
IN Amritsar: sikh
RU Grozny: islam
IL Nazareth: islam
ID Denpasar: hindu
CN Kashgar: islam
CN Lhasa: buddhis
TZ Zanzibar: islam
NG Kano: islam
RU Kazan: ?
CN Urumqi: ?
MY Kuching; George Town; Ipoh: ?
MU Port Louis: ?
LK Colombo: ?
KE Mombasa: ?
"""
)

_CAPITALS = _by_city(
    """
ZA Bloemfontein: my city is one of the three capitals of its country, the judicial one
ZA Cape Town: my city is one of the three capitals of its country, the one in which parliament sits
ZA Pretoria: my city is one of the three capitals of its country, the executive one
BO Sucre: my city is the constitutional capital of its country, though the government sits in another city
"""
)

_CLOSEST = _by_city(
    """
CH Geneva: France
FR Strasbourg: Germany
FR Lille: Belgium
US San Diego; El Paso: Mexico
US Detroit; Buffalo; Seattle: Canada
US Miami: the Bahamas
MX Tijuana; Ciudad Juarez: the United States
CA Niagara Falls; Vancouver; Toronto; Montreal; Ottawa: the United States
DK Copenhagen: Sweden
FI Helsinki: Estonia
EE Tallinn: Finland
SK Bratislava: Austria
AT Vienna: Slovakia
AT Salzburg: Germany
IT Trieste: Slovenia
SG Singapore: Malaysia
IN Amritsar: Pakistan
PK Lahore: India
LA Vientiane: Thailand
TG Lome: Ghana
LS Maseru: South Africa
PY Asuncion: Argentina
UY Montevideo: Argentina
AR Buenos Aires: Uruguay
TD N'Djamena: Cameroon
ES San Sebastian; Bilbao: France
PT Lisbon; Porto: Spain
IE Dublin: the United Kingdom
"""
)


def closest(city: City) -> str | None:
    """The other country that is closest to a city, where one of them plainly is."""
    found = _CLOSEST.get((city.land.code, city.name))
    return None if found is None else f"The closest other country: {found}"


def spoken(city: City) -> Sequence[str] | None:
    """The languages of most people of a city, where they are not those of the whole country; the main one first."""
    return _SPOKEN.get((city.land.code, city.name))


def faith(city: City) -> str | None:
    """The main religion of a city where it is not that of the country, "?" where it may not be; else None."""
    return _FAITHS.get((city.land.code, city.name))


def rank(city: City) -> str | None:
    """What kind of capital a city is, where its country has more than one."""
    return _CAPITALS.get((city.land.code, city.name))


@dataclass(frozen=True)
class Ranked:
    """The question whether the city is the capital: of a country with several it is told which of them it is."""

    asked: Asked

    @property
    def topic(self) -> str:
        return self.asked.topic

    def value(self, city: City) -> Hashable:
        found = self.asked.value(city)
        return rank(city) or found if found is True else found

    def reply(self, value: Hashable) -> str:
        return f"Yes, {value}." if isinstance(value, str) else self.asked.reply(value)


def ranked(found: Query) -> Query:
    """The question whether it is the capital, which in some countries needs more than a yes."""
    if not isinstance(found, Asked) or found.how != "one" or found.negated:
        return found
    return Ranked(found) if found.claims[0].words.startswith("my city [is|is not] the capital of ") else found
