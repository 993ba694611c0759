"""What can go wrong in using a limit. Errors of one's own client are never among them."""

from __future__ import annotations

from documents.problem import DocumentError, Problem


class LimitError(Exception):
    """Any error that headway.limits raises."""


class BadPolicy(LimitError):  # noqa: N818 - read as `except BadPolicy`
    """The policy can't be used; ``problems`` tells each fault with its path, value and remedy."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(problem) for problem in problems))

    @classmethod
    def of(cls, error: DocumentError) -> BadPolicy:
        """The same faults."""
        return cls(error.problems)


class Misuse(LimitError):  # noqa: N818
    """The library was called in a way that it can't work; the message says what to do."""


class SelfRefused(LimitError):  # noqa: N818
    """The policy's retry law refused a request before it was sent, to spare the engine."""
