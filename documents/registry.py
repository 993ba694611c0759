"""One file, one thing: find every registered class a package holds, by name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Generic, TypeVar

from documents.problem import DocumentError, Problem

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes keyed by their public name; the package's files are read on first use."""

    def __init__(self, package: str, noun: str) -> None:
        self._package = package
        self.noun = noun
        self._classes: dict[str, type[T]] = {}
        self._read = False

    def add(self, name: str, cls: type[T]) -> None:
        """Register a class. Two classes of one name are a programming fault."""
        if name in self._classes:
            raise ValueError(f"{self._package}: two classes are named {name!r}")
        self._classes[name] = cls

    def get(self, name: object, *, path: str = "") -> type[T]:
        """The class of that name; DocumentError lists the known ones."""
        known = self.all()
        if isinstance(name, str) and name in known:
            return known[name]
        raise DocumentError(
            [Problem(path, name, f"unknown {self.noun}; known: {', '.join(sorted(known))}")]
        )

    def all(self) -> dict[str, type[T]]:
        """Every registered class, by name, in order of name."""
        if not self._read:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__, f"{self._package}."):
                importlib.import_module(module.name)
            self._read = True
        return dict(sorted(self._classes.items()))
