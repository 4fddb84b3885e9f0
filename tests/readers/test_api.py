"""docs/api.md has the docstrings of all that is public in the Python package.

UPDATE=1 writes the page. Modules are read, not imported: some need packages that are not here.
"""
import ast
import os
import re
import textwrap
import unittest

import tool

PACKAGE = os.path.join(tool.ROOT, "python/bload")
PAGE = os.path.join(tool.ROOT, "docs/api.md")
MODULES = ("__init__", "torch", "jax", "transformers", "contracts", "datasets", "energon")
SECTION = re.compile(r"([A-Z][A-Za-z ]+)\n-{3,}$", re.M)
HEAD = """# The Python package

Made of the docstrings by `UPDATE=1 tests/readers/run -k api`; a test compares it. [python.md](python.md) explains the package by examples.
`python3 -m bload.parquet`, `bload.arrays`, `bload.lerobot`, `bload.chat`, `bload.multimodal` and `bload.launch` are commands; `--help` describes
them.
"""


def parsed(path):
    return ast.parse(tool.text(path))


def definition(module, name):
    """The node of a name that a module defines or imports from bload._core; None: it is neither."""
    for node in parsed(module).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and node.level and name in [one.name for one in node.names]:
            folder = PACKAGE if node.level == 1 and "_core" not in module or node.level == 2 else os.path.dirname(module)
            return definition(os.path.join(folder, *node.module.split(".")) + ".py", name)
    return None


def public_names(module):
    """__all__ of a module or, without it, the classes and functions that it defines."""
    tree = parsed(module)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and is_public(node)]


def doc_of(node):
    """The docstring without the indentation of the code, which ast also takes from examples."""
    raw = ast.get_docstring(node, clean=False) or ""
    margin = "" if isinstance(node, ast.Module) else " " * (node.col_offset + 4)
    return "\n".join(line[len(margin):] if line.startswith(margin) else line.lstrip() for line in raw.split("\n")).strip() if margin else raw.strip()


def is_public(node):
    return isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_") and bool(ast.get_docstring(node))


def is_property(node):
    return any(getattr(one, "id", "") == "property" for one in node.decorator_list)


def signature(node, name):
    """How a function or class is called. The classes of the module bload itself are made by bload.open."""
    function = node
    if isinstance(node, ast.ClassDef):
        own = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        if not own or name.count(".") == 1:
            return f"class {name}"
        function = own[0]
    arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(function.args))
    returns = f" -> {ast.unparse(function.returns)}" if function.returns and function is node else ""
    return f"{'class ' if function is not node else ''}{name}({arguments}){returns}"


def markdown(doc):
    """numpydoc as Markdown: sections become bold, their entries a list, indented text code."""
    out, entries = [], False
    for part in re.split(r"\n{2,}", SECTION.sub(lambda match: f"\n\n\x00{match[1]}\n\n", doc)):
        part = part.strip("\n")
        if not part:
            continue
        if part.startswith("\x00"):
            entries = part[1:].strip() != "Notes"
            out.append(f"**{part[1:].strip()}**")
        elif part.startswith("    "):
            out.append("```\n" + textwrap.dedent(part) + "\n```")
        elif entries:
            items = re.split(r"\n(?=\S)", part)
            out.append("\n".join("- `" + items_of[0] + "`" + (": " + " ".join(line.strip() for line in items_of[1:]) if items_of[1:] else "")
                                 for items_of in (item.split("\n") for item in items)))
        else:
            text, code = [], []
            for line in part.split("\n"):
                (code if line.startswith("    ") else text).append(line)
            out.append("\n".join(text).replace("*", "\\*").replace("<", "\\<"))
            if code:
                out.append("```\n" + textwrap.dedent("\n".join(code)) + "\n```")
    return "\n\n".join(out)


def describe(node, name, level):
    """A heading, the call and the docstring; then the same of the methods."""
    lines = [f"{'#' * level} {name.rsplit('.', 1)[-1] if level > 3 else name}"]
    if not (isinstance(node, ast.FunctionDef) and is_property(node)):
        lines.append("```python\n" + "\n".join(textwrap.wrap(signature(node, name), 150, subsequent_indent="    ", break_on_hyphens=False)) + "\n```")
    elif node.returns:
        lines.append(f"Property: `{ast.unparse(node.returns)}`")
    lines.append(markdown(doc_of(node)))
    if isinstance(node, ast.ClassDef):
        for one in node.body:
            if is_public(one) and isinstance(one, ast.FunctionDef):
                lines.append(describe(one, f"{name}.{one.name}", level + 1))
    return "\n\n".join(line for line in lines if line)


class Api(unittest.TestCase):
    def test_the_page_has_every_public_name(self):
        page = HEAD
        for module in MODULES:
            path, title = os.path.join(PACKAGE, module + ".py"), "bload" + ("" if module == "__init__" else "." + module)
            page += f"\n## {title}\n\n{markdown(doc_of(parsed(path)))}\n"
            for name in public_names(path):
                node = definition(path, name)
                if node is not None:  # else a name of a type
                    self.assertTrue(ast.get_docstring(node), f"{title}.{name} has no docstring")
                    page += f"\n{describe(node, title + '.' + name, 3)}\n"
        if os.environ.get("UPDATE"):
            tool.write(PAGE, page)
        self.assertEqual(tool.text(PAGE), page, "docs/api.md is not of this package: UPDATE=1 tests/readers/run -k api")
