"""TREC's marked-up files: documents (`<DOC>`), classic topics (`<top>`) and XML topics (`<topic number=..>`).

None of them is reliable SGML or XML (entities without declarations, tags never closed), so blocks are cut by
their tags and read with a few patterns; a block at a time is all that is held.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from whyrank.collections.gather import document, query, some
from whyrank.collections.records import Document, Query
from whyrank.core.lines import Line, max_line, read_lines, too_long

#: Parts of a document that are about it, not in it.
METADATA = re.compile(r"<(DOCNO|DOCID|DOCOLDNO|DOCHDR|PARENT)\b[^>]*>.*?</\1>", re.S | re.I)
#: When a document marks its body as TEXT, only that and its headings are its text.
BODY = re.compile(r"<(TITLE|HEADLINE|HEAD|HL|TTL|TEXT)\b[^>]*>(.*?)</\1>", re.S | re.I)
DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.S | re.I)
NUM = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.I)
TITLE = re.compile(r"<title>([^<]*)", re.I)
NUMBER = re.compile(r"""<topic\b[^>]*\bnumber\s*=\s*["']([^"']*)["']""", re.I)
QUERY = re.compile(r"<(query|title)\b[^>]*>(.*?)</\1>", re.S | re.I)
TAG = re.compile(r"<[^<>]*>")


def documents(path: Path | str) -> Iterator[tuple[Line, Document]]:
    """Documents, streamed: `<DOC><DOCNO>id</DOCNO> ... </DOC>`, tags taken out, entities resolved."""
    for line, block in some(path, blocks(path, "DOC"), "<DOC>"):
        docno = DOCNO.search(block)
        if not docno:
            raise line.wrong("this <DOC> has no <DOCNO>...</DOCNO>")
        yield document(line, docno.group(1), _body(block))


def topics(path: Path | str) -> Iterator[tuple[Line, Query]]:
    """Queries, streamed, from either kind of topic; the query is the title or the `<query>`."""
    for line, block in some(path, blocks(path, "top|topic"), "<top> or <topic>"):
        number = NUMBER.search(block) or NUM.search(block)
        if not number:
            raise line.wrong("this topic has no number", 'write <num> 1, or <topic number="1">')
        yield query(line, number.group(1), _topic_text(block))


def blocks(path: Path | str, tag: str) -> Iterator[tuple[Line, str]]:
    """Each `<tag> ... </tag>` as written, with the line it begins on; what stands between them is passed over."""
    edge = re.compile(rf"<(?P<close>/?)(?:{tag})(?=[\s>])[^>]*>", re.I)
    begun: Line | None = None
    held: list[str] = []
    size, limit = 0, max_line()
    for line in read_lines(path):
        done = 0
        for match in edge.finditer(line.text):
            if bool(match["close"]) != bool(begun):
                raise (begun or line).wrong(f"{match.group()} does not follow", "close each block before the next")
            if begun:
                yield begun, "\n".join([*held, line.text[done : match.end()]])
            begun, held, done = None if begun else line, [], match.end() if begun else match.start()
        if begun:
            size = size + len(line.text) if held else 0
            held.append(line.text[done:])
            if size > limit:
                raise too_long("the block that begins here", begun.where)
    if begun:
        raise begun.wrong("the block that begins here is never closed", "is the file complete?")


def _body(block: str) -> str:
    parts = [match.group(2) for match in BODY.finditer(block)]
    marked = re.search(r"<TEXT\b", block, re.I) and any(part.strip() for part in parts)
    return _plain(" ".join(parts) if marked else METADATA.sub(" ", block))


def _topic_text(block: str) -> str:
    """The query or title, closed or not; an XML topic without either is all query."""
    closed, title = QUERY.search(block), TITLE.search(block)
    if closed or title:
        return _plain(closed.group(2) if closed else title.group(1) if title else "").removeprefix("Topic:")
    return "" if NUM.search(block) else _plain(block)


def _plain(marked_up: str) -> str:
    """Without tags, entities resolved, blanks squeezed."""
    return " ".join(html.unescape(TAG.sub(" ", marked_up)).split())
