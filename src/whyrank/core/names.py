"""Names of files out of names that come from outside: ids, axioms, terms, rankers."""

from __future__ import annotations

import hashlib
import re

#: Letters of a file's name that are kept; more, and its hash tells it from others.
LONGEST = 80
_OTHER = re.compile(r"[^A-Za-z0-9._+=,@-]+")


def plain_name(name: str) -> str:
    """A name that is one part of a path, whatever it was: no slash, no dot or dash in front, not too long.

    A plain name stays as it is; any other gets a hash at its end, so that two of them do not meet by chance.
    """
    plain = _OTHER.sub("_", name).lstrip(".-")[:LONGEST]
    if plain == name and plain:
        return plain
    return f"{plain or 'name'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
