"""Damaged files, at random but seeded: what a reader must refuse in one line or read rightly.

    mutate = Random(7)
    damaged = mutated_json(path.read_bytes(), mutate)     # one value, or the whole text, made wrong
    path.write_bytes(damaged.content)                     # damaged.name says what was done, and where

A mutation of JSON changes one value at a random place (shallow places are likelier than deep ones) or the text
as a whole; a mutation of bytes knows nothing of the format. The same seed makes the same mutations.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

#: Deeper than any parser's stack allows, and than `store.json_file` reads.
TOO_DEEP = 5000
#: What stands in a JSON text for values that Python's encoder would not write so.
_RAW = "\x00raw%d\x00"


class Mutation(NamedTuple):
    """A damaged content, and in words what is wrong with it."""

    name: str
    content: bytes


class Raw(NamedTuple):
    """A piece of JSON text, written as it stands."""

    text: str


#: A place in a JSON value: keys and indices from the top.
Place = tuple[str | int, ...]

#: Name -> what stands in place of a value.
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "a string": "waterproof",
    "an empty string": "",
    "a number as a string": "12",
    "a number": 7,
    "zero": 0,
    "a fraction": 1.9,
    "a negative number": -3,
    "a huge number": 10**30,
    "a number of 5,000 digits": Raw("9" * 5000),
    "a float that overflows": Raw("1e999"),
    "NaN": Raw("NaN"),
    "Infinity": Raw("-Infinity"),
    "an empty list": [],
    "a list": [1, "two", None],
    "an empty object": {},
    "an object": {"a": {"b": [1]}},
    "a list of lists": [[["a"]]],
    "half a character": Raw('"\\ud800"'),
    "a string with NUL": "a\x00b",
    "a path out of the folder": "../../outside",
    "an absolute path": "/outside",
    "a string of 100,000 characters": "x" * 100_000,
    "nesting": Raw("[" * TOO_DEEP + "]" * TOO_DEEP),
    "nested objects": Raw('{"a":' * TOO_DEEP + "1" + "}" * TOO_DEEP),
}


def mutated_json(text: bytes, random: Random) -> Mutation:
    """The JSON text with one thing wrong: a value, a key, or the text itself."""
    ways: list[Callable[[bytes, Random], Mutation]] = [with_another_value] * 6
    ways += [without_a_key, with_a_key_twice, with_another_key, mutated_bytes, mutated_bytes]
    return random.choice(ways)(text, random)


def with_another_value(text: bytes, random: Random) -> Mutation:
    """One value exchanged for one of `VALUES`."""
    value = json.loads(text)
    place = random_place(value, random)
    name = random.choice(list(VALUES))
    return Mutation(f"{name} at {spelled(place)}", written(replaced(value, place, VALUES[name])))


def without_a_key(text: bytes, random: Random) -> Mutation:
    """One entry of an object or list deleted."""
    value = json.loads(text)
    place = random_place(value, random)
    if not place:
        return Mutation("an empty object", b"{}")
    holder = at(value, place[:-1])
    del holder[place[-1]]
    return Mutation(f"deleted {spelled(place)}", written(value))


def with_a_key_twice(text: bytes, random: Random) -> Mutation:
    """An object whose first key stands twice, with two values."""
    value = json.loads(text)
    inner = value[0] if isinstance(value, list) and value else value
    if not isinstance(inner, dict) or not inner:
        return Mutation("a key twice", b'{"a": 1, "a": 2}')
    key = random.choice(list(inner))
    first = json.dumps(key)
    body = written(inner).decode()
    twice = f"{{{first}: {random.choice(['1', 'null', '{}'])}, {body[1:]}"
    return Mutation(f"the key {first} twice", (f"[{twice}]" if inner is not value else twice).encode())


def with_another_key(text: bytes, random: Random) -> Mutation:
    """One key of an object renamed, so that the field is missing and an unknown one is there."""
    value = json.loads(text)
    place = random_place(value, random)
    if not place or not isinstance(place[-1], str):
        return Mutation("a list instead of the object", written([value]))
    holder = at(value, place[:-1])
    renamed = {(f"{key}x" if key == place[-1] else key): inner for key, inner in holder.items()}
    return Mutation(f"renamed {spelled(place)}", written(replaced(value, place[:-1], renamed)))


def mutated_bytes(content: bytes, random: Random) -> Mutation:
    """Any file with something wrong that does not need its format: cut, emptied, flipped, grown."""
    name = random.choice(list(BYTES))
    return Mutation(name, BYTES[name](content, random))


def _flipped(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randint(1, 20) if changed else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content))] if content else b""


def _hole(content: bytes, random: Random) -> bytes:
    start = random.randrange(len(content)) if content else 0
    return content[:start] + content[start + random.randint(1, 200) :]


#: Name -> what becomes of the bytes.
BYTES: dict[str, Callable[[bytes, Random], bytes]] = {
    "empty": lambda content, random: b"",
    "blanks": lambda content, random: b" \n\n ",
    "truncated": _cut,
    "cut short by one byte": lambda content, random: content[:-1],
    "bits flipped": _flipped,
    "a hole": _hole,
    "twice": lambda content, random: content + content,
    "NUL bytes after it": lambda content, random: content + b"\x00" * 64,
    "all NUL": lambda content, random: b"\x00" * min(len(content), 4096),
    "not UTF-8": lambda content, random: b"\xff\xfe\x00" + content,
    "a byte order mark": lambda content, random: b"\xef\xbb\xbf" + content,
    "a page of HTML": lambda content, random: b"<!DOCTYPE html><html><body>404</body></html>",
    "a pointer of Git LFS": lambda content, random: b"version https://git-lfs.github.com/spec/v1\nsize 3\n",
    "deep nesting": lambda content, random: b"[" * TOO_DEEP + b"]" * TOO_DEEP,
    "another JSON": lambda content, random: random.choice([b"null", b"[]", b"{}", b"7", b'"x"', b"NaN", b"true"]),
}


def random_place(value: Any, random: Random) -> Place:
    """Somewhere in the value: from the top down, stopping at random."""
    place: Place = ()
    while isinstance(value, dict | list) and value and (not place or random.random() < 0.6):
        key = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        place, value = (*place, key), value[key]
    return place


def at(value: Any, place: Place) -> Any:
    """What stands at the place."""
    for key in place:
        value = value[key]
    return value


def replaced(value: Any, place: Place, new: Any) -> Any:
    """The value with another one at the place; the original stays as it is."""
    if not place:
        return new
    value = copy.deepcopy(value)
    at(value, place[:-1])[place[-1]] = new
    return value


def spelled(place: Place) -> str:
    """`model.vocab[3]`; the top is `$`."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    return "".join(parts).removeprefix(".") or "$"


def written(value: Any) -> bytes:
    """The value as JSON text, with every `Raw` in it as it stands."""
    raws: list[Raw] = []

    def plain(one: Any) -> Any:
        if isinstance(one, Raw):
            raws.append(one)
            return _RAW % (len(raws) - 1)
        if isinstance(one, dict):
            return {key: plain(inner) for key, inner in one.items()}
        return [plain(inner) for inner in one] if isinstance(one, list) else one

    text = json.dumps(plain(value))
    for number, raw in enumerate(raws):
        text = text.replace(json.dumps(_RAW % number), raw.text)
    return text.encode()
