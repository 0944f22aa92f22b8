r"""Small Python programs that rewrite files: `python3 - <<'E'` with `replace` and `write`.

An agent often edits a file by such a program. Its effect is known if it only reads texts, replaces
literal texts in them, and writes them back. Nothing is executed: the syntax tree of the program is
interpreted, and anything unusual makes the whole program unknown.

    >>> from vacr.attribution.shell.python_program import derive_python_writes
    >>> code = "p = 'a.py'\ns = open(p).read()\nopen(p, 'w').write(s.replace('1', '2'))\n"
    >>> [action] = derive_python_writes(code) or []
    >>> action.path, action.rewrite("x = 1\n")
    ('a.py', 'x = 2\n')
    >>> derive_python_writes("import app; app.run()") is None
    True
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacr.edits import FileRewrite, FileWrite

_MAX_CODE_LENGTH = 100_000
_MAX_TEXT_LENGTH = 1_000_000
_PYTHON_NAMES = frozenset(["python", "python3"])
_HARMLESS_MODULES = frozenset(["io", "json", "os", "pathlib", "re", "sys", "textwrap"])
# Calls that change nothing, for `print(s.count(old))` and `assert old in s`.
_HARMLESS_FUNCTIONS = frozenset(["len", "print", "repr", "str"])
_HARMLESS_METHODS = frozenset(
    ["count", "endswith", "find", "format", "index", "join", "splitlines", "startswith", "strip"]
)
_KNOWN_NAMES = _HARMLESS_FUNCTIONS | {"*", "open"}
_UTF8_NAMES = frozenset(["utf-8", "utf8", "utf_8"])


@dataclass(frozen=True, slots=True)
class _FileText:
    """The text of a file before the program, with replacements."""

    path: str
    edits: tuple[tuple[str, str, int], ...] = ()

    def rewrite(self, text: str) -> str | None:
        """Return the new text of the file; `None` for ends of lines that Python converts."""
        if "\r" in text:
            return None
        for old, new, count in self.edits:
            text = text.replace(old, new, count)
            if len(text) > _MAX_TEXT_LENGTH:
                return None
        return text


@dataclass(frozen=True, slots=True)
class _Path:
    """A value of `pathlib.Path`."""

    path: str


@dataclass(slots=True)
class _OpenFile:
    """A file that was opened for reading or writing."""

    path: str
    writes: bool
    is_used: bool = False
    """Whether the program has read or written it, so that the rest of it is another text."""


_Value = str | int | _FileText | _Path | _OpenFile | None
"""A value that the interpreter knows; `None` for the result of a call that returns nothing."""


class _UnknownProgramError(Exception):
    """The program does something else than to rewrite files in a known way."""


def get_python_code(words: Sequence[str | None], stdin: str | None) -> str | None:
    """Return the code that a command runs: `python3 -c CODE`, or `python3 -` with known input.

    Return `None` for other commands.
    """
    if not words or words[0] not in _PYTHON_NAMES:
        return None
    match words[1:]:
        case [] | ["-"]:
            return stdin
        case ["-c", code]:
            return code
    return None


def derive_python_writes(code: str) -> list[FileRewrite | FileWrite] | None:
    """Return the changes of files that a program makes if it succeeds.

    Return `None` if the program does anything that is not known, or changes no file.
    """
    if len(code) > _MAX_CODE_LENGTH:
        return None
    program = _Program()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # About escapes in its literals.
            tree = ast.parse(code)
        program.run(tree.body)
    except (_UnknownProgramError, SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    writes: list[FileRewrite | FileWrite] = []
    for path, text in program.written.items():
        if isinstance(text, str):
            writes.append(FileWrite(path, text, by_shell=True))
        elif text.path == path:
            writes.append(FileRewrite(path, text.rewrite))
        else:
            return None
    return writes or None


@dataclass(slots=True)
class _Program:
    """The variables of a program, and the files that it has written."""

    variables: dict[str, _Value] = field(default_factory=dict)
    written: dict[str, str | _FileText] = field(default_factory=dict)

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Interpret statements.

        Raises:
            _UnknownProgramError: the effect of one of them is not known.
        """
        for statement in statements:
            self._run_statement(statement)

    def _run_statement(self, statement: ast.stmt) -> None:
        """Interpret one statement."""
        match statement:
            case ast.Import(names=names):
                self._import([name.name for name in names], names)
            case ast.ImportFrom(module=module, names=names, level=0):
                self._import([module or ""], names)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.variables[name] = self._evaluate(value)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                self.variables[name] = self._add(self._get_variable(name), self._evaluate(value))
            case ast.Assert(test=test):
                _check_harmless(test)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call):
                _check_harmless(call)
            case ast.Expr(value=value):
                self._evaluate(value)
            case ast.With(items=items, body=body):
                for item in items:
                    self._enter(item)
                self.run(body)
            case ast.For(
                target=ast.Name(id=name), iter=ast.List() | ast.Tuple() as values, body=body
            ) if not statement.orelse:
                for value in values.elts:
                    self.variables[name] = self._evaluate(value)
                    self.run(body)
            case _:
                raise _UnknownProgramError

    def _import(self, modules: Sequence[str], names: Sequence[ast.alias]) -> None:
        """Accept the import of modules of the standard library that change nothing.

        The imported names must not replace the functions that the interpreter knows.
        """
        is_harmless = all(module in _HARMLESS_MODULES for module in modules)
        if not is_harmless or any(name.asname or name.name in _KNOWN_NAMES for name in names):
            raise _UnknownProgramError

    def _enter(self, item: ast.withitem) -> None:
        """Open the file of a `with` statement."""
        value = self._evaluate(item.context_expr)
        if not isinstance(value, _OpenFile) or not isinstance(item.optional_vars, ast.Name):
            raise _UnknownProgramError
        self.variables[item.optional_vars.id] = value

    def _get_variable(self, name: str) -> _Value:
        """Return the value of a variable."""
        if name not in self.variables:
            raise _UnknownProgramError
        return self.variables[name]

    def _evaluate(self, node: ast.expr) -> _Value:
        """Return the value of an expression, and open and write the files in it."""
        match node:
            case ast.Constant(value=str() | int() as value):
                return value
            case ast.Name(id=name):
                return self._get_variable(name)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._add(self._evaluate(left), self._evaluate(right))
            case ast.Call(func=ast.Name(id="open")):
                return self._open(node)
            case ast.Call(
                func=ast.Name(id="Path") | ast.Attribute(value=ast.Name(id="pathlib"), attr="Path"),
                args=[argument],
                keywords=[],
            ):
                return _Path(_check_path(self._evaluate(argument)))
            case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                return self._call_method(self._evaluate(owner), method, node)
        raise _UnknownProgramError

    def _add(self, first: _Value, second: _Value) -> str:
        """Return two texts joined."""
        if isinstance(first, str) and isinstance(second, str):
            return _check_length(first + second)
        raise _UnknownProgramError

    def _open(self, call: ast.Call) -> _OpenFile:
        """Return the file that `open` opens as text; opening it for writing empties it."""
        self._check_text_options(call)
        values = [self._evaluate(argument) for argument in call.args]
        values += [self._evaluate(key.value) for key in call.keywords if key.arg == "mode"]
        match values:
            case [path]:
                mode: _Value = "r"
            case [path, mode] if mode in ("r", "rt", "w", "wt"):
                pass
            case _:
                raise _UnknownProgramError
        name = path.path if isinstance(path, _Path) else _check_path(path)
        if mode in ("w", "wt"):
            self.written[name] = ""
        return _OpenFile(name, mode in ("w", "wt"))

    def _check_text_options(self, call: ast.Call) -> None:
        """Refuse options of a call that give the text another encoding, or other line ends."""
        for key in call.keywords:
            value = key.value.value if isinstance(key.value, ast.Constant) else ...
            is_known = (
                (key.arg == "encoding" and str(value).lower() in _UTF8_NAMES)
                or (key.arg == "newline" and value in (None, "", "\n"))
                or key.arg == "mode"
            )
            if not is_known:
                raise _UnknownProgramError

    def _call_method(self, owner: _Value, method: str, call: ast.Call) -> _Value:
        """Return the result of a method of a text, a path or an open file."""
        arguments = [self._evaluate(argument) for argument in call.args]
        match owner, method, arguments:
            case (str() | _FileText(), "replace", [str(), str(), *counts]) if not call.keywords:
                return _replace(owner, arguments, counts)
            case _OpenFile(path, False, False), "read", [] if not call.keywords:
                owner.is_used = True
                return self._read(path)
            case _OpenFile(path, True, False), "write", [str() | _FileText() as text]:
                owner.is_used = True
                self.written[path] = text
                return None
            case _OpenFile(), "close", []:
                return None
            case _Path(path), "read_text", []:
                self._check_text_options(call)
                return self._read(path)
            case _Path(path), "write_text", [str() | _FileText() as text]:
                self._check_text_options(call)
                self.written[path] = text
                return None
        raise _UnknownProgramError

    def _read(self, path: str) -> str | _FileText:
        """Return the text of a file as it is at this point of the program."""
        return self.written.get(path, _FileText(path))


def _replace(
    text: str | _FileText, arguments: Sequence[_Value], counts: Sequence[_Value]
) -> str | _FileText:
    """Return a text after `replace(old, new)` or `replace(old, new, count)`."""
    old, new = arguments[:2]
    count = counts[0] if counts else -1
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(count, int)):
        raise _UnknownProgramError
    if len(counts) > 1:
        raise _UnknownProgramError
    if isinstance(text, str):
        return _check_length(text.replace(old, new, count))
    return _FileText(text.path, (*text.edits, (old, new, count)))


def _check_length(text: str) -> str:
    """Return a text, unless it is too long."""
    if len(text) > _MAX_TEXT_LENGTH:
        raise _UnknownProgramError
    return text


def _check_path(value: _Value) -> str:
    """Return the path of a file, unless it is not a plain one."""
    if not isinstance(value, str) or not value or "\0" in value or value.startswith("~"):
        raise _UnknownProgramError
    return value


def _check_harmless(node: ast.expr) -> None:
    """Refuse an expression that may change something."""
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            raise _UnknownProgramError
        if isinstance(part, ast.Call):
            is_function = isinstance(part.func, ast.Name) and part.func.id in _HARMLESS_FUNCTIONS
            is_method = isinstance(part.func, ast.Attribute) and part.func.attr in _HARMLESS_METHODS
            if not is_function and not is_method:
                raise _UnknownProgramError
