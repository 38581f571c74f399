"""Reads the ``.kb`` files: classes, attributes and topics of the knowledge base (format: README.md here)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

LISTS = ("yes", "no", "decide")
NUMBERS = ("size", "weight", "price", "born", "died", "start", "end")
FIELDS = ("nation", "job", "continent", "country")


@dataclass
class Class:
    """A kind of thing and what is true of everything below it."""

    name: str
    parents: tuple[str, ...]
    names: tuple[str, ...] = ()
    category: str = ""
    yes: set[str] = field(default_factory=set)
    no: set[str] = field(default_factory=set)
    decide: set[str] = field(default_factory=set)


@dataclass
class Topic:
    """Something to guess. `marks` are its own attributes: "+", "-" or "?"."""

    name: str
    classes: tuple[str, ...]
    marks: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    aka: tuple[str, ...] = ()
    frequent: bool = False
    hard: bool = False


@dataclass
class Book:
    """All files together. `declared` maps attributes declared in a file to their default."""

    classes: dict[str, Class] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)


class Bad(SystemExit):
    """A line that cannot be read."""


def read_books(paths: Iterable[Path]) -> Book:
    """The knowledge base in these files; classes may be used before they are declared."""
    book = Book()
    for path in paths:
        _read(book, path)
    for c in book.classes.values():
        _known(book, c.parents, f"class {c.name}")
    for t in book.topics.values():
        _known(book, t.classes, f"topic {t.name}")
    return book


def _known(book: Book, classes: Iterable[str], where: str) -> None:
    for name in classes:
        if name not in book.classes:
            raise Bad(f"{where}: no class {name!r}")


def _read(book: Book, path: Path) -> None:
    current: Class | None = None
    for n, raw in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = raw.split("#", 1)[0].strip() if not raw.lstrip().startswith("topic") else raw.strip()
        if not line:
            continue
        where = f"{path.name}:{n}"
        word, _, rest = line.partition(" ")
        if word == "class":
            current = _class(rest)
            if current.name in book.classes:
                raise Bad(f"{where}: class {current.name} comes twice")
            book.classes[current.name] = current
        elif word == "topic":
            topic = _topic(rest, where)
            if topic.name in book.topics:
                raise Bad(f"{where}: topic {topic.name} comes twice")
            book.topics[topic.name] = topic
        elif word == "attribute":
            name, _, meaning = rest.partition(":")
            book.declared[name.strip()] = "no" if "default=no" in meaning else "unknown"
        elif current is not None and word.rstrip(":") in (*LISTS, "names", "category"):
            _detail(current, word.rstrip(":"), rest)
        else:
            raise Bad(f"{where}: cannot read {line[:60]!r}")


def _class(rest: str) -> Class:
    name, _, above = rest.partition("<")
    return Class(name.strip(), tuple(filter(None, (p.strip() for p in above.split(",")))))


def _detail(current: Class, key: str, rest: str) -> None:
    if key == "names":
        current.names = tuple(p.strip() for p in rest.split(",") if p.strip())
    elif key == "category":
        current.category = rest.strip()
    else:
        getattr(current, key).update(rest.split())


def _topic(rest: str, where: str) -> Topic:
    head, *parts = (part.strip() for part in rest.split("|"))
    name, colon, classes = head.rpartition(" : ")
    if not colon:
        raise Bad(f"{where}: no class in {head!r}")
    topic = Topic(name.strip(), tuple(c.strip() for c in classes.split(",")))
    for part in parts:
        if part.startswith("aka:"):
            topic.aka = tuple(filter(None, (a.strip() for a in part[4:].split(";"))))
        else:
            _marks(topic, part.split(), where)
    return topic


def _marks(topic: Topic, marks: list[str], where: str) -> None:
    for mark in marks:
        key, equals, value = mark.partition("=")
        if equals and key in NUMBERS:
            topic.numbers[key] = int(value)
        elif equals:
            topic.lists[key] = tuple(value.split(","))
        elif mark in ("freq", "hard"):
            setattr(topic, "frequent" if mark == "freq" else "hard", True)
        else:
            sign = mark[0] if mark[0] in "-?" else "+"
            name = mark.lstrip("-?")
            if topic.marks.get(name, sign) != sign:
                raise Bad(f"{where}: {topic.name}: {name} is marked twice")
            topic.marks[name] = sign
