"""Packages that are called like the verb of their name: `whyrank.audit(...)`, and `whyrank.audit.report` as well.

Python puts a package that is imported into its parent under its name, over a function of that name; so the package
itself has to be what can be called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import Signature, getdoc, signature
from types import ModuleType
from typing import Any


def callable_package(package: str, function: str) -> None:
    """Lets a package be called as the function that `module:name` names, which is imported when it is called."""
    module, name = function.split(":")

    def verb() -> Any:
        return getattr(import_module(module), name)

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return verb()(*arguments, **options)

        @property
        def __signature__(self) -> Signature:
            return signature(verb())

        @property
        def __doc__(self) -> str | None:  # type: ignore[override]
            return getdoc(verb())

        def __repr__(self) -> str:
            return f"<function {package}>"

    sys.modules[package].__class__ = CallablePackage
