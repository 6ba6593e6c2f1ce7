"""Broken twins of the shared randomness: each lab secretly uses a string of its own for one purpose."""

from replical import SharedRandomness


class PrivateFor(SharedRandomness):
    """Shared, except that the words of one name come from a private string."""

    def __init__(self, seed, own_seed, name):
        super().__init__(seed)
        self._own, self._name = SharedRandomness(own_seed), name

    def words(self, *name, start=0, count):
        return (
            self._own.words(*name, start=start, count=count)
            if self._private(name)
            else super().words(*name, start=start, count=count)
        )

    def word(self, *name, index=0):
        return self._own.word(*name, index=index) if self._private(name) else super().word(*name, index=index)

    def ranks(self, *name, indices):
        return self._own.ranks(*name, indices=indices) if self._private(name) else super().ranks(*name, indices=indices)

    def _private(self, name):
        return name[0] == self._name
