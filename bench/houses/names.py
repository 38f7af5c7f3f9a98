"""Names of people, places and things, drawn from a seed."""

from __future__ import annotations

import random


def _words(text: str) -> list[str]:
    return text.split()


_FIRST = _words(
    "Mara Tom Ines Jonas Petra Olaf Nadia Bruno Celia Dario Edith Felix Greta Hanno Irma Jasper Katrin Lars Mirela "
    "Nils Odile Pablo Quentin Rosa Stefan Tilda Ulrich Vera Wanda Xaver Yara Zoltan Amina Basil Clara Dunja Emil "
    "Fatima Goran Helga Igor Judith Kofi Leila Milos Noor Oscar Paula Ravi Selma Tariq Ursula Viktor Wilma Yusuf "
    "Zelda Anton Beatrix Cosmo Delia Elio Frieda Gustav Hilde Ivo Jolanda Klaus Lotte Magnus Nora Otto Pia Ralf Sonja "
    "Theo Uma"
)
_BEGINNINGS = _words(
    "Lind Thorn Ash Brad Carl Dun Ells Farn Green Hart Ing Kel Lock Mar Nor Oak Pem Rad Stan Tre Ul Van Wex Yar Berg "
    "Hol Stein Wald Kron Roth Falk Grim Sand Birk Eken Vest"
)
_ENDINGS = _words("ford well bury qvist mann berg gren son ley worth wick stad ner holm dahl field er ing sen brook")
_CITIES = _words(
    "Aarhus Bremen Cork Dijon Essen Faro Ghent Huelva Izmir Jena Krakow Leeds Malmo Namur Odense Parma Riga Siena "
    "Tartu Utrecht Varna Wels Ypres Zadar Bergamo Coimbra Delft Exeter Fulda Girona"
)
_ADJECTIVES = _words(
    "Silent Crooked Golden Hidden Broken Distant Frozen Hollow Patient Restless Scarlet Sunken Wandering Burning Quiet "
    "Northern Second Paper Glass Winter Bitter Velvet Copper Last"
)
_NOUNS = _words(
    "Harbour Garden Lantern River Mountain Letter Orchard Mirror Bridge Compass Island Winter Clock Forest Candle "
    "Shadow Meadow Tower Voyage Archive Kingdom Lighthouse Feather Station"
)
_HOSTS = _words(
    "atlas birch cedar delta ember falcon gamma heron iris juniper kestrel lotus maple nova onyx pluto quartz raven "
    "slate tundra umbra vega willow zephyr"
)
_COURSES = _words("Yoga Judo Ballet Rowing Chess Pottery Salsa Fencing Archery Pilates Karate Choir Boxing Spinning")
_GRADES = _words("Basics Advanced Evening Weekend Juniors Masters Intensive Seniors")
_METALS = _words("Brass Steel Rubber Copper Nylon Chrome Carbon Zinc Teflon Bronze")
_PARTS = _words("Bearing Gasket Spindle Flange Bolt Pulley Washer Valve Bracket Coupling Piston Sprocket")
_TOOLS = _words("Lathe Mill Press Grinder Welder Drill Saw Planer Router Plasma")
KEYWORDS = _words(
    "dehumidifier turnstile skylight boiler projector elevator awning fountain parquet gutter staircase thermostat "
    "chandelier drainpipe fireplace handrail letterbox mezzanine radiator scaffold"
)


class Names:
    """Draws names that do not repeat within one house."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._firsts = chance.sample(_FIRST, len(_FIRST))
        lasts = [a + b for a in _BEGINNINGS for b in _ENDINGS if a[-1] != b[0]]
        self._lasts = chance.sample(lasts, len(lasts))
        self._titles = self._pairs(_ADJECTIVES, _NOUNS, "The {} {}")
        self._made: dict[str, list[str]] = {
            "title": self._titles,
            "host": self._hosts(),
            "course": self._pairs(_COURSES, _GRADES, "{} {}"),
            "part": self._pairs(_METALS, _PARTS, "{} {}"),
            "tool": [f"{tool} {chance.choice('ABCDEFGHKM')}{number}" for tool, number in self._numbered(_TOOLS)],
            "rack": [f"{letter}{chance.randrange(1, 10)}" for letter in chance.sample("ABCDEFGHJKLM", 12)],
        }
        self.cities = chance.sample(_CITIES, 5)

    def person(self, first: str = "") -> str:
        if not self._firsts:
            self._firsts = self._chance.sample(_FIRST, len(_FIRST))
        return f"{first or self._firsts.pop()} {self._lasts.pop()}"

    def draw(self, kind: str) -> str:
        return self._made[kind].pop()

    def phone(self) -> str:
        return (
            f"0{self._chance.randrange(20, 90)} {self._chance.randrange(100, 999)} {self._chance.randrange(1000, 9999)}"
        )

    def _pairs(self, left: list[str], right: list[str], form: str) -> list[str]:
        """Every left word at most twice and every right word at most thrice, so that names tell things apart."""
        pairs = [(a, b) for a in left for b in right if a != b]
        self._chance.shuffle(pairs)
        used: dict[str, int] = {}
        found = []
        for a, b in pairs:
            if used.get(a, 0) < 2 and used.get(b, 0) < 3:
                used[a], used[b] = used.get(a, 0) + 1, used.get(b, 0) + 1
                found.append(form.format(a, b))
        return found

    def _hosts(self) -> list[str]:
        place = self._chance.choice(("", "", "-ber", "-east", ".lan"))
        return [f"{name}-{number:02}{place}" for name, number in self._numbered(_HOSTS)]

    def _numbered(self, words: list[str]) -> list[tuple[str, int]]:
        return [(word, self._chance.randrange(1, 40)) for word in self._chance.sample(words, len(words))]
