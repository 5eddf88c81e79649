"""Damaged text files: lines and fields, JSON lines, TOML."""

from __future__ import annotations

import gzip
import json
from random import Random

from tests.mutate import TOO_DEEP, Mutation, mutated_bytes, mutated_json

#: What may stand in place of a field.
FIELDS = {
    "an empty field": "", "a blank": " ", "a word": "waterproof", "a number": "7", "zero": "0",
    "a negative number": "-3", "a fraction": "1.9", "a huge number": "1e999", "a big integer": "9" * 40,
    "a number of 5,000 digits": "9" * 5000, "NaN": "nan", "infinity": "-inf", "an underscore": "1_000",
    "another script's digit": "\uff11", "hexadecimal": "0x10", "NUL": "a\x00b", "a byte order mark": "\ufeffd1",
    "a path out of the folder": "../../outside", "a long word": "x" * 50_000, "a tag": "<script>alert(1)</script>",
    "a formula": "=1+1", "a non-breaking blank": "a\u00a0b", "a line separator": "a\u2028b",
    "a quote": '"', "a tab": "a\tb",
    "an unknown id": "nobody", "an emoji": "\U0001f600", "a right-to-left mark": "\u202e",
}  # fmt: skip
#: TOML values.
TOML_VALUES = [
    '""', '"waterproof"', '"12"', "0", "-3", "1.9", "1e999", "nan", "-inf", "9" * 30, "9" * 5000, "true", "[]",
    '[1, "two", 3.5]', "[[1]]", "{}", "{a = 1}", "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "'''x'''",
    '"\\u0000"', '"' + "x" * 50_000 + '"', "[" * TOO_DEEP + "]" * TOO_DEEP, "0x10", "1_000", '"../../outside"',
]  # fmt: skip


def mutated_lines(content: bytes, random: Random) -> Mutation:
    """A text file with one line wrong, or one of its fields, or the bytes."""
    if random.random() < 0.25 or not _is_text(content):
        return mutated_bytes(content, random)
    lines = content.decode("utf-8").split("\n")
    place = random.randrange(max(1, len(lines) - 1))
    name, new = _line(lines, place, random)
    return Mutation(f"{name} in line {place + 1}", "\n".join([*lines[:place], *new, *lines[place + 1 :]]).encode())


def _is_text(content: bytes) -> bool:
    try:
        return bool(content.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _line(lines: list[str], place: int, random: Random) -> tuple[str, list[str]]:
    line = lines[place]
    separator = "\t" if "\t" in line else " "
    fields = line.split(separator)
    at = random.randrange(len(fields))
    ways: list[tuple[str, list[str]]] = [
        ("deleted", []), ("twice", [line, line]), ("another line", [line, random.choice(lines)]),
        ("a field less", [separator.join(fields[:at] + fields[at + 1 :])]),
        ("a field more", [separator.join([*fields[:at], "x", *fields[at:]])]),
        ("fields in another order", [separator.join(reversed(fields))]),
        ("another separator", [line.replace(separator, ",")]), ("a carriage return", [line + "\r"]),
        ("upper case", [line.upper()]), ("half of it", [line[: len(line) // 2]]), ("a comment", ["# " + line]),
    ]  # fmt: skip
    if random.random() < 0.5:
        return random.choice(ways)
    name = random.choice(list(FIELDS))
    return name, [separator.join([*fields[:at], FIELDS[name], *fields[at + 1 :]])]


def mutated_json_lines(content: bytes, random: Random) -> Mutation:
    """One object wrong, or the lines, or the bytes."""
    if random.random() < 0.3:
        return mutated_lines(content, random)
    lines = content.decode("utf-8").splitlines()
    place = random.randrange(len(lines))
    name, new = mutated_json(lines[place].encode(), random)
    rows = [line.encode() for line in lines]
    rows[place] = new
    return Mutation(f"{name} in line {place + 1}", b"\n".join(rows) + b"\n")


def mutated_toml(content: bytes, random: Random) -> Mutation:
    """One value or name wrong, or the bytes."""
    if random.random() < 0.2:
        return mutated_bytes(content, random)
    lines = content.decode("utf-8").splitlines()
    place = random.randrange(len(lines))
    name, _, value = lines[place].partition(" = ")
    new = random.choice(TOML_VALUES)
    ways = [f"{name} = {new}"] * 6
    ways += [f"{name}x = {value}", f"{lines[place]}\n{lines[place]}"]
    ways += [f"[{name}]", f"{name} =", f"{name}.a = {value}"]
    lines[place] = random.choice(ways)
    return Mutation(f"{lines[place][:60]!r}", ("\n".join(lines) + "\n").encode())


def mutated_gzip(content: bytes, random: Random) -> Mutation:
    """The packed bytes damaged, or what is packed in them."""
    if random.random() < 0.5:
        return mutated_bytes(content, random)
    name, new = mutated_lines(gzip.decompress(content), random)
    return Mutation(f"{name}, packed", gzip.compress(new, mtime=0))


def mutated_file(name: str, content: bytes, random: Random) -> Mutation:
    """By what the file's name ends in."""
    if name.endswith((".json", ".metadata")):
        return _json_or_bytes(content, random)
    if name.endswith(".jsonl"):
        return mutated_json_lines(content, random)
    if name.endswith(".toml"):
        return mutated_toml(content, random)
    if name.endswith(".gz"):
        return mutated_gzip(content, random)
    if name.endswith(".safetensors") and random.random() < 0.5:
        return _header(content, random)
    if name.endswith((".safetensors", ".parquet", ".pt", ".npz", ".bin")):
        return mutated_bytes(content, random)
    return mutated_lines(content, random)


def _json_or_bytes(content: bytes, random: Random) -> Mutation:
    """Some files of ours are called .json and have a line before the JSON."""
    try:
        json.loads(content)
    except ValueError:
        return mutated_bytes(content, random)
    return mutated_json(content, random)


def _header(content: bytes, random: Random) -> Mutation:
    """Weights whose JSON header is damaged; its length stands in the first eight bytes."""
    size = int.from_bytes(content[:8], "little")
    name, header = mutated_json(content[8 : 8 + size], random)
    return Mutation(f"{name} in the header", len(header).to_bytes(8, "little") + header + content[8 + size :])
