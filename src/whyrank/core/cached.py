"""Folders of the cache: made once, checked whenever they are used, and made anew by `whyrank get` when damaged.

    wordnet = CachedFolder("wordnet", cache_folder("wordnet-3.0"), unpack)
    wordnet.use()          # sizes and times are compared; damage is an error that says what to run
    wordnet.get()          # every byte is compared; what is damaged is made anew

Nothing that lies there is changed by `use`: it may be somebody's deliberate edit.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whyrank.core.atomic import PARTIAL, as_open_as, disk_errors, make_once, remove_folder, sync_folder
from whyrank.core.checksums import changed_file, damage, has_checksums, write_checksums
from whyrank.core.errors import UserError
from whyrank.core.lock import Lock

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CachedFolder:
    """One folder: the name that `whyrank get` takes, where it is, and what makes it."""

    name: str
    path: Path
    make: Callable[[Path], None]

    def use(self) -> Path:
        """The folder, made if it is not there; refused when its files are not as they were written."""
        if not self.path.is_dir():
            return make_once(self.path, self._make_and_list)
        if not has_checksums(self.path):
            self._compare_with_new()
        elif wrong := damage(self.path):
            raise UserError(
                f"{self.name} is damaged ({wrong})",
                where=self.path,
                todo=f"run 'whyrank get {self.name}', which makes this folder anew",
            )
        return self.path

    def get(self) -> Path:
        """The folder, made if it is not there, and made anew when any byte of it has changed."""
        if not self.path.is_dir():
            return make_once(self.path, self._make_and_list)
        with self._locked():
            wrong = damage(self.path, full=True)
            if wrong is None:
                return self.path
            _log.info("%s is damaged (%s): making it anew", self.name, wrong)
            with self._new_folder() as new:
                old = self._partial()
                self.path.rename(old)
                new.rename(self.path)
                remove_folder(old)
        return self.path

    def here(self) -> str:
        """For lists: yes, no, or damaged."""
        if not self.path.is_dir():
            return "no"
        return "damaged" if has_checksums(self.path) and damage(self.path) else "yes"

    def _compare_with_new(self) -> None:
        """A folder that does not list its files, as earlier versions made them, does so once it is found whole."""
        with self._locked():
            if has_checksums(self.path):  # another process was first
                return
            _log.info("%s was cached by an earlier version, without checksums: checking it, once", self.name)
            wrong = self._difference_from_new()
            if wrong:
                raise UserError(
                    f"{self.name} was cached by an earlier version and is not what is made now ({wrong})",
                    where=self.path,
                    todo=f"run 'whyrank get {self.name}', which makes this folder anew",
                )
            write_checksums(self.path)

    def _difference_from_new(self) -> str | None:
        try:
            with self._new_folder() as new:
                return changed_file(self.path, new)
        except UserError as error:
            what = f"{self.name} was cached by an earlier version, without checksums, and cannot be checked now"
            raise UserError(f"{what}: {error.what}", where=self.path, todo=error.todo) from error

    def _make_and_list(self, folder: Path) -> None:
        self.make(folder)
        as_open_as(folder)
        write_checksums(folder)

    @contextmanager
    def _new_folder(self) -> Iterator[Path]:
        """The folder as it is made now, beside the old one; deleted at the end unless it was moved."""
        new = self._partial()
        new.mkdir()
        try:
            self._make_and_list(new)
            sync_folder(new)
            yield new
        finally:
            remove_folder(new)

    def _partial(self) -> Path:
        return self.path.parent / f".{self.path.name}{PARTIAL}{secrets.token_hex(6)}"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock that `make_once` takes, and nothing left of processes that were killed."""
        with disk_errors(self.path), Lock(self.path.parent / f".{self.path.name}.lock").acquire(wait=True):
            for left in self.path.parent.glob(f".{self.path.name}{PARTIAL}*"):
                remove_folder(left)
            yield
