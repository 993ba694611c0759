"""Which blocks hold which tokens: a tree of runs of blocks, and the queue of idle ones.

As vLLM keeps them: a block stays findable after its last user left, until somebody else needs the
memory. Idle blocks go in the order in which they became idle, a request's last block before its
first, so what many prompts begin with goes last. Runs stand for their blocks one by one: all that
is counted is counted in blocks, and a run is cut where two requests part.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from simulator.core.content import Key

_MOST_OWED = 65_536


class Node:
    """A run of blocks under its parent. ``refs`` counts the sequences that use all of it."""

    __slots__ = ("blocks", "children", "key", "parent", "refs")

    def __init__(self, key: Key | None, blocks: int, parent: Node | None, refs: int) -> None:
        self.key = key
        """None for blocks that hold nothing findable."""
        self.blocks = blocks
        self.parent = parent
        self.refs = refs
        self.children: dict[Key, Node] = {}


class PrefixTree:
    """Finds, shares and forgets. ``idle`` counts the blocks that nobody uses."""

    def __init__(self, block_size: int) -> None:
        self.root = Node(None, 0, None, 1)
        self.block_size = block_size
        self.idle = 0
        self._cached = 0
        self._evicted = 0
        self._owed = 0
        self._queue: OrderedDict[Node, None] = OrderedDict()

    @property
    def cached(self) -> int:
        """Idle blocks that could still be found."""
        self._settle()
        return self._cached

    @property
    def evicted(self) -> int:
        """Findable blocks that were given to somebody else, ever."""
        self._settle()
        return self._evicted

    def match(self, blocks: Iterable[tuple[Key, int]]) -> tuple[list[Node], int]:
        """The longest path that holds the first of these blocks, and how many it holds.

        The last node may hold more than is matched; nothing is changed.
        """
        self._settle()
        node, found, path = self.root, 0, list[Node]()
        size = self.block_size
        if not node.children:
            return path, 0
        for (origin, first), run in blocks:
            left, offset = run, first
            while left:
                child = node.children.get((origin, offset))
                if child is None:
                    return path, found
                path.append(child)
                shared = min(left, child.blocks)
                found += shared
                if shared < child.blocks:
                    return path, found
                left -= shared
                offset += shared * size
                node = child
        return path, found

    def acquire(self, path: list[Node], blocks: int) -> Node:
        """Use the first ``blocks`` blocks of a path that ``match`` gave; the deepest node."""
        for node in path:
            if blocks < node.blocks:
                node = self._split(node, blocks)  # noqa: PLW2901 - the part of it that is used
            if node.refs == 0:
                del self._queue[node]
                self.idle -= node.blocks
                self._cached -= node.blocks
            node.refs += 1
            blocks -= node.blocks
        return node if path else self.root

    def insert(self, leaf: Node, blocks: Iterable[tuple[Key, int]]) -> tuple[Node, int]:
        """Make a sequence's own blocks findable below its leaf.

        The new leaf, and how many of the blocks somebody had there already: the sequence uses
        those from now on, so as many of its own are over.
        """
        known, size = 0, self.block_size
        for (origin, first), run in blocks:
            left, offset = run, first
            while left:
                if (origin, offset) in leaf.children:
                    self._settle()
                child = leaf.children.get((origin, offset))
                if child is None:
                    child = Node((origin, offset), left, leaf, 1)
                    leaf.children[origin, offset] = child
                    leaf = child
                    break
                shared = min(left, child.blocks)
                leaf = self.acquire([child], shared)
                known += shared
                left -= shared
                offset += shared * size
        return leaf, known

    def release(self, leaf: Node) -> int:
        """One user of the leaf and of all above it is gone; how many blocks fell idle."""
        fallen = 0
        node: Node | None = leaf
        while node is not None and node is not self.root:
            node.refs -= 1
            if node.refs == 0:
                self._queue[node] = None
                fallen += node.blocks
            node = node.parent
        self.idle += fallen
        self._cached += fallen
        return fallen

    def discard(self, blocks: int) -> None:
        """Blocks that hold nothing findable fall idle."""
        last = next(reversed(self._queue), None)
        if last is not None and last.key is None:
            last.blocks += blocks
        else:
            self._queue[Node(None, blocks, None, 0)] = None
        self.idle += blocks

    def evict(self, blocks: int) -> None:
        """Give so many idle blocks to somebody else, the longest idle first.

        Which they are is settled when it next matters: nobody looks while all are decoding.
        """
        self.idle -= blocks
        self._owed += blocks
        if self._owed > _MOST_OWED:
            self._settle()

    def _settle(self) -> None:
        queue, blocks = self._queue, self._owed
        self._owed = 0
        while blocks:
            node = next(iter(queue))
            gone = min(blocks, node.blocks)
            blocks -= gone
            node.blocks -= gone
            if node.key is not None:
                self._evicted += gone
                self._cached -= gone
            if not node.blocks:
                del queue[node]
                if node.key is not None and node.parent is not None:
                    del node.parent.children[node.key]

    def forget(self) -> None:
        """Nothing idle can be found any more."""
        self._settle()
        for node in self._queue:
            if node.key is not None and node.parent is not None:
                del node.parent.children[node.key]
        self._queue.clear()
        idle, self.idle, self._cached = self.idle, 0, 0
        if idle:
            self.discard(idle)

    def _split(self, node: Node, blocks: int) -> Node:
        """Cut a run after so many blocks; the upper part, whose users are those of the lower."""
        key, parent = node.key, node.parent
        assert key is not None  # noqa: S101 - what holds nothing findable is in no path
        assert parent is not None  # noqa: S101
        upper = Node(key, blocks, parent, node.refs)
        parent.children[key] = upper
        node.key = (key[0], key[1] + blocks * self.block_size)
        node.parent = upper
        node.blocks -= blocks
        upper.children[node.key] = node
        if node.refs == 0:  # in the queue the lower part stays where it was, before the upper
            self._queue[upper] = None
        return upper
