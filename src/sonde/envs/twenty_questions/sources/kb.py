"""Reads the ``.kb`` files: classes, attributes and topics of the knowledge base (format: README.md here)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

LISTS = ("yes", "no", "decide", "open")
NUMBERS = ("size", "weight", "price", "born", "died", "start", "end")
DEFAULTS = ("no", "unknown", "own", "near")
FIELDS = ("nation", "job", "continent", "country")


@dataclass
class Class:
    """A kind of thing and what is true of everything below it, false of it, or not known."""

    name: str
    parents: tuple[str, ...]
    names: tuple[str, ...] = ()
    category: str = ""
    yes: set[str] = field(default_factory=set)
    no: set[str] = field(default_factory=set)
    decide: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)


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
    meanings: dict[str, str] = field(default_factory=dict)


class Bad(SystemExit):
    """A line that cannot be read."""


def read_books(paths: Iterable[Path], draft: bool = False) -> Book:
    """The knowledge base in these files; classes may be used before they are declared.

    A draft leaves out, with a message, what cannot be read or has no class.
    """
    book = Book()
    for path in paths:
        _read(book, path, draft)
    if draft:
        _leave_out(book)
    for c in book.classes.values():
        _known(book, c.parents, f"class {c.name}")
    for t in book.topics.values():
        _known(book, t.classes, f"topic {t.name}")
    return book


def _leave_out(book: Book) -> None:
    for c in book.classes.values():
        c.parents = tuple(p for p in c.parents if p in book.classes)
    for name, t in list(book.topics.items()):
        t.classes = tuple(c for c in t.classes if c in book.classes)
        if not t.classes:
            sys.stderr.write(f"left out: {name}\n")
            del book.topics[name]


def _known(book: Book, classes: Iterable[str], where: str) -> None:
    for name in classes:
        if name not in book.classes:
            raise Bad(f"{where}: no class {name!r}")


def _read(book: Book, path: Path, draft: bool) -> None:
    current: Class | None = None
    for n, raw in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = raw.split("#", 1)[0].strip() if not raw.lstrip().startswith("topic") else raw.strip()
        if not line:
            continue
        try:
            current = _line(book, line, f"{path.name}:{n}", current)
        except Bad as e:
            if not draft:
                raise
            sys.stderr.write(f"{e}\n")


def _line(book: Book, line: str, where: str, current: Class | None) -> Class | None:
    """Takes one line in; the class that following lines describe."""
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
        _declared(book, rest)
    elif word == "no_by_default":
        book.declared |= dict.fromkeys(rest.split(), "no")
    elif current is not None and word.rstrip(":") in (*LISTS, "names", "category"):
        _detail(current, word.rstrip(":"), rest)
    else:
        raise Bad(f"{where}: cannot read {line[:60]!r}")
    return current


def _declared(book: Book, rest: str) -> None:
    name, _, meaning = rest.partition(":")
    words, _, default = meaning.partition("|")
    mode = default.partition("default=")[2].strip() or "unknown"
    if mode not in DEFAULTS:
        raise Bad(f"attribute {name.strip()}: default={mode}, not one of {DEFAULTS}")
    book.declared[name.strip()] = mode
    book.meanings[name.strip()] = words.strip()


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
            topic.aka = tuple(filter(None, (a.strip() for a in _names(part[4:]))))
        else:
            _marks(topic, part.split(), where)
    return topic


def _names(text: str) -> list[str]:
    """Other names, parted by semicolons; where there are none, by commas before small letters or capitals alone."""
    return text.split(";") if ";" in text else re.split(r",\s+(?=[a-z]|[A-Z]+(?:,|$))", text)


def _marks(topic: Topic, marks: list[str], where: str) -> None:
    for mark in marks:
        key, equals, value = mark.partition("=")
        if equals and key in NUMBERS:
            if not value.lstrip("-").isdecimal():
                raise Bad(f"{where}: {topic.name}: {mark!r} is no whole number")
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
