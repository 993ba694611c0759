"""What is wrong with a document, told so that its author can mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: where it is, what stands there, what is wrong and what would be right.

    ``path`` is dotted from the document's root (``spec.concurrency.limit``); empty means the whole.
    """

    path: str
    value: object
    message: str

    def __str__(self) -> str:
        where = self.path or "document"
        shown = repr(self.value)
        if len(shown) > 80:
            shown = f"{shown[:77]}…"
        return f"{where}: {self.message} (got {shown})"

    def below(self, prefix: str) -> Problem:
        """The same fault, seen from a document that holds this one at ``prefix``."""
        return Problem(f"{prefix}.{self.path}" if self.path else prefix, self.value, self.message)


class DocumentError(ValueError):
    """A document that can't be used; carries every problem found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))

    def below(self, prefix: str) -> DocumentError:
        """The same faults, seen from an enclosing document."""
        return DocumentError(problem.below(prefix) for problem in self.problems)
