"""A collection as the options of a command say it is to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyrank.cli.caller import terminal

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection


def opened(
    collection: str,
    id_field: str | None,
    title_field: str | None,
    text_field: str | None,
    strip_html: bool,
    language: str,
) -> Collection:
    """Opens it; what is read of its files is printed."""
    from whyrank.collections.fields import Fields
    from whyrank.collections.opening import collection_of
    from whyrank.collections.reading import Reading

    reading = Reading(Fields(id_field, title_field, text_field), strip_html, language)
    return collection_of(collection, terminal(), reading)
