"""The draw: which mutants are tried. A seed and the same sources give the same ones.

The operators are cosmic-ray's, a choice of them: one that stands for its kind, since ten ways to replace a `+` would
fill the draw with `+`. What cannot matter is left out: annotations, types that are values, `assert`, what asks for the
version of Python, and what only the accelerator runs.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

FOLDERS = {
    "swagent/record": "**/*.py",
    "swagent/request": "**/*.py",
    "swagent/pipeline": "**/*.py",
    "swagent/runtime": "**/*.py",
    "transports": "**/*.py",
    "swagent/asgi": "**/*.py",
    "swagent/instrument": "*.py",  # the mechanism, not the libraries
    "swagent/config": "**/*.py",
}
LEAST = 20  # mutants of each folder
_ACCELERATED = "swagent/asgi/accelerated.py"
_BINARY = (
    "Add_Sub", "Sub_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_Mul", "Pow_Mul", "RShift_LShift",
    "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitAnd",
)  # fmt: skip
_COMPARISONS = ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Is_IsNot", "IsNot_Is")
_OPERATORS = (
    *(f"ReplaceBinaryOperator_{each}" for each in _BINARY),
    *(f"ReplaceComparisonOperator_{each}" for each in _COMPARISONS),
    *(f"ReplaceUnaryOperator_Delete_{each}" for each in ("Not", "USub", "Invert")),
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer", "RemoveDecorator",
    "ZeroIterationForLoop",
)  # fmt: skip
_TYPES = frozenset({"bool", "bytes", "dict", "float", "int", "list", "object", "str", "tuple", "type"})
_OF_TYPES = frozenset({"overload", "override", "final", "abstractmethod", "runtime_checkable"})


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    :ivar occurrence: which of the places in the file that the operator can change
    """

    path: str
    operator: str
    occurrence: int
    line: int

    def source(self, original: str) -> str:
        """Return the file's text with the change; the text itself if there is no such place."""
        return mutate_code(original, OperatorProvider()[self.operator](), self.occurrence) or original


def draw(root: Path, count: int, seed: int) -> list[Mutant]:
    """Draw mutants, from each folder in proportion to its places, and `LEAST` at least."""
    places = {each: list(_places_of_folder(root, each, pattern)) for each, pattern in FOLDERS.items()}
    total = sum(map(len, places.values()))
    shares = {each: max(LEAST, round(count * len(found) / total)) for each, found in places.items()}
    while (over := sum(shares.values()) - count) != 0:
        shares[max(shares, key=lambda each: shares[each])] -= 1 if over > 0 else -1
    chance = random.Random(seed)
    drawn: list[Mutant] = []
    for folder, found in places.items():
        chance.shuffle(found)
        changing = (each for each in found if _changes(each, (root / each.path).read_text(encoding="utf-8")))
        drawn += islice(changing, shares[folder])
    chance.shuffle(drawn)  # each folder has its share of the first ones, too
    return drawn


def _places_of_folder(root: Path, folder: str, pattern: str) -> Iterator[Mutant]:
    for path in sorted((root / folder).glob(pattern)):
        name = path.relative_to(root).as_posix()
        if name != _ACCELERATED:
            yield from places(name, path.read_text(encoding="utf-8"))


def places(path: str, source: str) -> Iterator[Mutant]:
    """Yield what could be changed in a file."""
    left_out = list(_left_out(ast.parse(source)))
    nodes = list(ast_nodes(get_ast(source)))
    for name in _OPERATORS:
        operator = OperatorProvider()[name]()
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, start in enumerate(starts):
            if name == "NumberReplacer" and occurrence // 2 % 2 != occurrence % 2:
                continue  # a number is one more and one less: one of both, in turn
            if not any(first <= start < last for first, last in left_out):
                yield Mutant(path, name, occurrence, start[0])


def _changes(mutant: Mutant, original: str) -> bool:
    """Whether the change is valid Python, and another program."""
    try:
        return ast.dump(ast.parse(mutant.source(original))) != ast.dump(ast.parse(original))
    except (SyntaxError, AttributeError):  # cosmic-ray finds no name in `except a.B`
        return False


def _left_out(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(tree):
        for each in _without_effect(node):
            # a decorator begins with its @
            yield (each.lineno, each.col_offset - 1), (each.end_lineno or 0, each.end_col_offset or 0)


def _without_effect(node: ast.AST) -> Sequence[ast.expr | ast.stmt]:
    match node:
        case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
            return [annotation]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            marks = [each for each in node.decorator_list if isinstance(each, ast.Name) and each.id in _OF_TYPES]
            return [*marks, *([node.returns] if node.returns else [])]
        case ast.Call(func=ast.Name("dataclass")):
            return [each.value for each in node.keywords]
        case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Assert():
            return [node]
        case ast.If() if ast.unparse(node.test).removeprefix("self._") == "native is not None":
            return node.body
        case ast.Compare() if "version_info" in ast.unparse(node):
            return [node]
        case ast.BinOp(op=ast.BitOr()) if _is_type(node.left) or _is_type(node.right):
            return [node]
        case _:
            return []


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Constant(None):
            return True
        case ast.Name(name) | ast.Subscript(value=ast.Name(name)):
            return name in _TYPES or (name[:1].isupper() and not name.isupper())
        case _:
            return False
