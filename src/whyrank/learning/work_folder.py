"""What a kill must not lose while several models are trained one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyrank.core.atomic import remove_folder
from whyrank.core.errors import UserError
from whyrank.core.kept import content_key, keep_json, kept_json
from whyrank.learning.optimisation import NotFinite


@dataclass(frozen=True)
class WorkFolder:
    """A folder with the results of the jobs that are finished, and the epochs of the one that runs."""

    path: Path

    def epochs(self, job: object) -> Path:
        """Where a job keeps its epochs."""
        return self.path / str(job)

    def result(self, job: object) -> dict[str, Any] | None:
        """What a finished job came to."""
        return kept_json(self._result(job), self._key, dict[str, Any])

    def keep(self, job: object, result: dict[str, Any]) -> None:
        """Says that a job is finished."""
        keep_json(self._result(job), self._key, result)

    @contextmanager
    def stopping(self, job: object, rates: str) -> Iterator[None]:
        """A loss that is no number ends the work with where it was, and which rates to lower."""
        try:
            yield
        except NotFinite as error:
            kept = any(self.epochs(job).glob("*"))
            lower = f"the last good epoch is kept there; try a lower {rates}, with another -o"
            todo = lower if kept else "nothing was learned yet: is the model it starts from whole?"
            where = self.epochs(job) if kept else None
            raise UserError(f"{error} of {job}", where=where, todo=todo) from error

    def forget(self) -> None:
        """Deletes it."""
        remove_folder(self.path)

    @property
    def _key(self) -> str:
        """The folder's own name tells the work."""
        return content_key(self.path.name)

    def _result(self, job: object) -> Path:
        return self.path / f"{job}.json"
