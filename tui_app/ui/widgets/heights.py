"""Heights of many blocks, with fast sums: which block stands at line y, and where does block i begin."""

from collections.abc import Iterable


class HeightIndex:
    """A list of non-negative heights as a Fenwick tree (Fenwick 1994): every operation is O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for index in range(1, len(self._tree)):
            parent = index + (index & -index)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[index]
        self._total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """Sum of all heights, in lines."""
        return self._total

    def append(self, height: int) -> None:
        """Add a block at the end."""
        self._heights.append(height)
        self._total += height
        node = len(self._heights)
        value, step = height, 1
        while step < node & -node:
            value += self._tree[node - step]
            step <<= 1
        self._tree.append(value)

    def pop(self) -> int:
        """Remove the last block and return its height.

        Raises:
            IndexError: when there is none.
        """
        height = self._heights.pop()
        self._tree.pop()
        self._total -= height
        return height

    def set(self, index: int, height: int) -> int:
        """Change the height of a block.

        Returns:
            The difference to its former height.
        """
        delta = height - self._heights[index]
        if delta:
            self._heights[index] = height
            self._total += delta
            node = index + 1
            while node < len(self._tree):
                self._tree[node] += delta
                node += node & -node
        return delta

    def top(self, index: int) -> int:
        """Return the line on which block ``index`` begins: the sum of the heights before it."""
        total, node = 0, index
        while node > 0:
            total += self._tree[node]
            node -= node & -node
        return total

    def find(self, line: int) -> tuple[int, int]:
        """Find the block that covers a line; blocks without height are passed over.

        Args:
            line: Line from 0; lines outside are clamped.

        Returns:
            Index of the block and line inside it. With no line at all, the index is the number of blocks.
        """
        if self._total <= 0:
            return len(self._heights), 0
        left = min(max(line, 0), self._total - 1)
        node = 0
        step = 1 << len(self._heights).bit_length()
        while step:
            following = node + step
            if following < len(self._tree) and self._tree[following] <= left:
                node = following
                left -= self._tree[following]
            step >>= 1
        return node, left
