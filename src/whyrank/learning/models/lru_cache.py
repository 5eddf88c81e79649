"""What was made of a text, kept for the next time it is asked for, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """Values by key of at most `room` in all, by `size`; what was not asked for the longest goes first."""

    def __init__(self, room: int, size: Callable[[V], int]) -> None:
        self.room, self.size, self.taken = room, size, 0
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made where it is not kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        value = self._kept[key] = make()
        self.taken += self.size(value)
        while self.taken > self.room:
            _, old = self._kept.popitem(last=False)
            self.taken -= self.size(old)
        return value

    def forget(self) -> None:
        """Everything, where what was made would be made otherwise now."""
        self._kept.clear()
        self.taken = 0
