"""Where a ranker's weights are: a folder, our cache, the local hub cache, the hub, then the registry mirrors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from whyrank.core.errors import UserError, nearest
from whyrank.rankers.catalogue import CATALOGUE, Entry, find_entry
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import OWN_FILE, read_own_file
from whyrank.rankers.hub import cached_snapshot, download_snapshot, repair_snapshot
from whyrank.rankers.mirrors import mirrored
from whyrank.rankers.ranker import Source
from whyrank.rankers.weights import stored_precision

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def find_checkpoint(name: str) -> Checkpoint:
    """The checkpoint that `name` means; raises UserError with what can be done when there is none."""
    path = Path(name).expanduser()
    if path.is_dir():
        return _described(name, path.resolve(), "folder", find_entry(name))
    if name.startswith((".", "/", "~")):
        raise UserError("no such folder", where=name, todo="give a checkpoint's folder, a hub id or a short name")
    entry = find_entry(name)
    if entry is None and not _HUB_ID.fullmatch(name):
        raise UserError(f"unknown ranker '{name}'", todo=nearest(name, [*CATALOGUE, "bm25"]))
    hub_id = entry.hub_id if entry else name
    if snapshot := cached_snapshot(hub_id):
        return _described(name, snapshot, f"local hub cache ({hub_id})", entry)
    if entry and mirrored(entry).path.is_dir():
        return _described(name, mirrored(entry).use(), "", entry)
    try:
        return _described(name, download_snapshot(hub_id), f"hub ({hub_id})", entry)
    except UserError as not_from_hub:
        if entry is None or entry.mirror is None:
            raise _nowhere(name, hub_id, not_from_hub) from not_from_hub
    return _described(name, mirrored(entry).use(), "", entry)


def fetch_checkpoint(name: str) -> Checkpoint:
    """The same for `whyrank get`: what is cached is read whole, and fetched anew where it is damaged."""
    entry = find_entry(name)
    if entry and mirrored(entry).path.is_dir():
        mirrored(entry).get()
    hub_id = entry.hub_id if entry else name
    if not Path(name).expanduser().is_dir() and (snapshot := cached_snapshot(hub_id)):
        repair_snapshot(hub_id, snapshot)
    return find_checkpoint(name)


def here(entry: Entry) -> str:
    """Whether the entry is on this machine already: yes, no, or damaged."""
    return "yes" if cached_snapshot(entry.hub_id) else mirrored(entry).here()


@dataclass(frozen=True)
class KnownRanker:
    """A ranker that has a short name."""

    name: str
    family: str
    what: str
    hub_id: str
    source: str
    here: str


def known_rankers() -> list[KnownRanker]:
    """All rankers with a short name, and whether each is on this machine."""
    bm25 = KnownRanker("bm25", "lexical", "counts words in your collection", "", "built in", "yes")
    others = [
        KnownRanker(
            one.name, one.kind, one.about, one.hub_id, "hub, Python index" if one.mirror else "hub", here(one)
        )
        for one in CATALOGUE.values()
    ]
    return [bm25, *others]


def _described(name: str, folder: Path, place: str, entry: Entry | None) -> Checkpoint:
    """A checkpoint of ours says itself what it is; for others the catalogue may know more than the files."""
    if (folder / OWN_FILE).exists():
        own = read_own_file(folder)
        source = Source(place if own.source is None else own.source, own.precision or stored_precision(folder))
        return Checkpoint(name, folder, source, {"kind": own.kind, **own.settings})
    settings = {"kind": entry.kind, **entry.settings} if entry else {}
    return Checkpoint(name, folder, Source(place, stored_precision(folder)), settings)


def _nowhere(name: str, hub_id: str, reason: UserError) -> UserError:
    mirrored = [entry.name for entry in CATALOGUE.values() if entry.mirror]
    return UserError(
        reason.what,
        todo=reason.todo
        or f"copy the model's folder here and give its path, or fetch it where there is a network with "
        f"'hf download {hub_id}' and bring the hub cache along; without the hub there are {', '.join(mirrored)}",
    )
