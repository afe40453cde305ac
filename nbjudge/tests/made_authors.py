"""Invented students: each writes given answers in a way of their own, and some disguise another's.

Both work on Python's trees, of which `nbjudge similar` knows nothing.
"""

import ast
import random
from collections.abc import Mapping, Sequence

from nbjudge.similar.rarity import Work

LOOKS = "size = {}.shape[-1]|n = len({})|shape = {}.size()|{} = {}.float()|{} = {}.clone()|print({}.shape)"
LOOKS += "|device = {}.device|kind = {}.dtype|rank = {}.ndim|total = {}.numel()"
GUARDS = "assert {} is not None|if {} is None:\n    raise ValueError('bad input')|assert {}.ndim > 0"
METHODS = {"sum", "mean", "softmax", "transpose", "max", "exp", "cat", "stack"}
HOW_OFTEN = (0.05, 0.2, 0.5, 0.8, 0.95)
NUMBERS, OPERATORS = (0, 1, 2, 3), (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Author(ast.NodeTransformer):
    """A student, who has habits and follows each more or less often."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.habits = dict[str, float]()
        self.names = iter(range(1_000_000))

    def write(self, answer: str) -> str:
        """The answer in this student's own way."""
        return ast.unparse(ast.fix_missing_locations(self.visit(ast.parse(answer))))

    def mistake(self, answer: str) -> tuple[str, str]:
        """An answer with one thing changed, and what kind of change it is."""
        tree = ast.parse(answer)
        places = [each for each in ast.walk(tree) if isinstance(each, ast.BinOp)]
        places += [
            each for each in ast.walk(tree) if isinstance(each, ast.Constant) and type(each.value) is int
        ]
        place = self.chance.choice(places) if places else None
        if isinstance(place, ast.Constant):
            place.value = self.chance.choice([*NUMBERS, place.value * 2])
        elif isinstance(place, ast.BinOp):
            place.op = self.chance.choice(OPERATORS)()
        return f"another {type(place).__name__}", ast.unparse(tree)

    def does(self, habit: str) -> bool:
        often = self.habits.setdefault(habit, self.chance.choice(HOW_OFTEN))
        return self.chance.random() < often

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right, operator = ast.unparse(node.left), ast.unparse(node.right), node.op
        if isinstance(operator, ast.MatMult) and self.does("call"):
            forms = [f"torch.matmul({left}, {right})", f"({left}).matmul({right})"]
            return parsed(self.chance.choice(forms))
        if isinstance(operator, ast.Pow) and right == "0.5" and self.does("sqrt"):
            return parsed(f"math.sqrt({left})")
        if isinstance(operator, ast.Mult) and self.chance.random() < 0.4 and self.does("times"):
            return parsed(f"torch.mul({left}, {right})")
        if isinstance(operator, (ast.Add, ast.Mult)) and self.does("swap"):
            return ast.BinOp(node.right, operator, node.left)
        if isinstance(operator, ast.Div) and self.does("divide"):
            return parsed(f"({left}) * (1 / ({right}))")
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name) and function.id == "float" and self.does("infinity"):
            return parsed(self.chance.choice(["-torch.inf", "-1e9"]))
        if not isinstance(function, ast.Attribute):
            return node
        if (
            [keyword.arg for keyword in node.keywords] == ["dim"]
            and len(node.args) < 2
            and self.does("place")
        ):
            node.args.append(node.keywords.pop().value)
        for keyword in node.keywords:
            keyword.arg = "axis" if keyword.arg == "dim" and self.does("axis") else keyword.arg
        if (
            function.attr in METHODS
            and ast.unparse(function.value) not in ("torch", "F")
            and self.does("call")
        ):
            node.args.insert(0, function.value)
            node.func = parsed(f"torch.{function.attr}")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        of, index = node.value, ast.unparse(node.slice)
        if isinstance(of, ast.Attribute) and of.attr == "shape" and ":" not in index and self.does("size"):
            return parsed(f"{ast.unparse(of.value)}.size({index})")
        if index == "(..., None)" and self.does("unsqueeze"):
            return parsed(f"{ast.unparse(of)}.unsqueeze(-1)")
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        arguments = [each.arg for each in node.args.args if each.arg != "self"]
        documented = ast.get_docstring(node) is not None
        body = [part for statement in node.body[documented:] for part in self.parts(statement)]
        for habit, lines in (("look", LOOKS), ("guard", GUARDS)):
            if arguments and self.does(habit) and self.chance.random() < 0.6:
                line = self.chance.choice(lines.split("|"))
                body[:0] = ast.parse(line.replace("{}", self.chance.choice(arguments))).body
        node.body = [*node.body[:documented], *body]
        return node

    def parts(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement, perhaps with a part of it, or its result, under a name of its own first."""
        if not isinstance(statement, (ast.Assign, ast.Return)) or statement.value is None:
            return [statement]
        inner = list(ast.walk(statement.value))
        binds = any(isinstance(each, (ast.Lambda, ast.comprehension)) for each in inner)
        chosen = [each for each in inner[1:] if isinstance(each, (ast.BinOp, ast.Call)) and not binds]
        before: list[ast.stmt] = []
        if chosen and self.does("hoist"):
            part, name = self.chance.choice(chosen), f"part{next(self.names)}"
            before = [self.assigned(name, part)]
            statement = Replaced(part, name).visit(statement)
        if isinstance(statement, ast.Return) and self.does("result"):
            name = f"result{next(self.names)}"
            return [*before, self.assigned(name, statement.value), ast.Return(ast.Name(name))]
        return [*before, statement]

    def assigned(self, name: str, value: ast.expr) -> ast.stmt:
        typed = ": torch.Tensor" if self.does("typed") and self.chance.random() < 0.5 else ""
        return ast.parse(f"{name}{typed} = {ast.unparse(value)}").body[0]


class Replaced(ast.NodeTransformer):
    """Puts a name in the place of a part."""

    def __init__(self, part: ast.expr, name: str) -> None:
        self.part, self.name = part, name

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.Name(self.name) if node is self.part else self.generic_visit(node)


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def word(chance: random.Random) -> str:
    return "".join(chance.sample("aeioubdfgklmnrst", 5))


def disguised(answer: str, chance: random.Random) -> str:
    """The answer with other names, order and comments, and lines that do nothing."""
    tree = ast.parse(answer)
    bound = {
        each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    bound |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
    bound -= {each.arg for each in ast.walk(tree) if isinstance(each, ast.keyword)}
    names = {name: f"{word(chance)}_{at}" for at, name in enumerate(sorted(bound))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.FunctionDef):
            node.body = node.body[ast.get_docstring(node) is not None :] or [ast.Pass()]
            for _ in range(chance.randint(0, 2)):
                dead = chance.choice(["pass", "checked = None", f"unused = {chance.randint(2, 99)}"])
                node.body.insert(chance.randrange(len(node.body)), ast.parse(dead).body[0])
    for node in [tree, *(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))]:
        moved = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))]
        rest = [each for each in node.body if each not in moved]
        node.body = rest + chance.sample(moved, len(moved))
    lines = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    return "\n".join(line + ("  # " + word(chance)) * (chance.random() < 0.3) for line in lines)


def made_class(
    right: Mapping[str, Sequence[str]],
    count: int,
    seed: int,
    wrong: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> list[Work]:
    """Works of students who know nothing of each other.

    `right` has right answers by exercise, of which each student writes one in a way of their own. With
    `wrong`, which has named wrong ones, three of ten answers are wrong: a named mistake or one of their own.
    """
    chance, works = random.Random(seed), []
    for number in range(count):
        author = Author(random.Random(chance.random()))
        answers, mistakes = {}, {}
        for exercise, ways in right.items():
            name, answer = "", chance.choice(ways)
            listed = (wrong or {}).get(exercise, ())
            draw = chance.random() if wrong is not None else 1.0
            if draw < 0.15 and listed:
                name, answer = chance.choices(listed, [1 / (place + 1) for place in range(len(listed))])[0]
            answers[exercise] = author.write(answer)
            if 0.15 <= draw < 0.3:
                name, answers[exercise] = author.mistake(answers[exercise])
            mistakes |= {exercise: name} if name else {}
        works.append(Work(f"student {number}", answers, mistakes))
    return works


def with_copies(works: Sequence[Work], count: int, seed: int) -> list[Work]:
    """The works and disguised copies of some, `NAME's copy`, in any order."""
    chance = random.Random(seed)
    copies = [
        Work(
            f"{work.name}'s copy",
            {name: disguised(text, chance) for name, text in work.answers.items()},
            work.mistakes,
        )
        for work in chance.sample(list(works), count)
    ]
    return chance.sample([*works, *copies], len(works) + count)
