"""The layers of the package: each imports only what stands above it, and light stays light."""

import ast
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import whyrank

ROOT = Path(whyrank.__file__).parent
#: From the top; a package imports only packages above it.
ORDER = [
    "core", "text", "collections", "evaluation", "encoders", "rankers", "axioms", "plots", "pages", "engines",
    "audit", "interventions", "circuits", "edits", "explain", "learning", "papers", "web", "cli",
]  # fmt: skip


def layer(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """All modules of whyrank that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found |= {f"whyrank.{name.name}" for name in node.names} if node.module == "whyrank" else {node.module}
    return {module for module in found if module.startswith("whyrank.")}


def test_a_package_imports_only_packages_above_it():
    files = [path for path in ROOT.rglob("*.py") if path.parent != ROOT]
    assert files
    for path in files:
        mine = path.relative_to(ROOT).parts[0]
        assert mine in ORDER, f"{mine} has no place in the order"
        for module in imports(path):
            if layer(module) != "__version__":
                assert ORDER.index(layer(module)) <= ORDER.index(mine), (
                    f"{path.relative_to(ROOT)} imports {module}"
                )


#: Files with options of other programs (pip), and CSS.
OTHER_PROGRAMS = ("core/packages.py", "core/pip_archive.py", "pages/stylesheet.py")
#: An option, but not one of a whole command line, which a message may suggest (`whyrank pairs --axiom ...`).
OPTION = re.compile(r"(?<![\w-])--[a-z]")


def texts(path: Path) -> set[str]:
    """The texts of a file that are not its docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    documented = [
        one for one in nodes if isinstance(one, ast.Module | ast.ClassDef | ast.FunctionDef) and one.body
    ]
    docstrings = {id(one.body[0].value) for one in documented if isinstance(one.body[0], ast.Expr)}
    constants = [one for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return {one.value for one in constants if id(one) not in docstrings}


def test_only_the_command_line_speaks_of_its_options():
    commands = {"eval --calibrate", "edit --experiment"}  # names of commands, in manifests
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("cli/") and name not in OTHER_PROGRAMS:
            found = {text for text in texts(path) if OPTION.search(text) and "whyrank " not in text}
            assert found <= commands, f"{name}: {found - commands}"


def test_importing_whyrank_and_asking_for_help_imports_nothing_heavy():
    heavy = "{'torch', 'transformers', 'numpy', 'pandas', 'matplotlib', 'scipy', 'bm25s'} & set(sys.modules)"
    for work in ("import whyrank", "from whyrank.cli.app import app"):
        code = f"import sys; {work}; heavy = {heavy}; print(heavy); sys.exit(bool(heavy))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_can_be_had():
    for name in whyrank.__all__:
        assert getattr(whyrank, name) is not None


def test_a_verb_that_is_a_package_documents_the_verb():
    from whyrank.audit.api import audit

    assert (
        inspect.getdoc(whyrank.audit) == inspect.getdoc(audit)
        and repr(whyrank.audit) == "<function whyrank.audit>"
    )
    assert inspect.getdoc(audit).splitlines()[0] in pydoc.render_doc(whyrank.audit)
    assert importlib.import_module("whyrank.audit.report") is sys.modules["whyrank.audit.report"]
    assert repr(whyrank.explain) == "<function whyrank.explain>" and whyrank.explain.__doc__


def test_verbs_stay_verbs_when_the_package_of_their_name_is_imported():
    code = "import whyrank, inspect; from whyrank.audit.api import audit; from whyrank.explain import words; "
    code += "assert callable(whyrank.audit) and callable(whyrank.explain) and whyrank.explain.words is words; "
    code += "assert inspect.signature(whyrank.audit) == inspect.signature(audit)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
