"""What holds for the repository as a whole: no class data in git, exceptions, figures, packages."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

import nbjudge.errors
from nbjudge import CourseError
from nbjudge.errors import NbgraderCommandError

ROOT = Path(__file__).resolve().parents[1]
GRADER = ROOT / "nbjudge/src/nbjudge"


# ---- what is in git: the course, and nothing of a class's ----


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split()


CLASS_DATA = ("submitted", "autograded", "feedback")
COURSE = ("source", "release", "solutions")


def test_nothing_is_in_git_that_gitignore_names():
    assert git("ls-files", "--cached", "--ignored", "--exclude-standard")[:5] == []


def test_a_classs_data_is_not_in_git():
    assert set(git("ls-files", *CLASS_DATA)) <= {f"{folder}/README.md" for folder in CLASS_DATA}
    private = [f"{folder}/ada/01_dot_product/dot_product.ipynb" for folder in CLASS_DATA]
    private += ["gradebook.db", "gradebook.db-journal", ".grading-key", "demo/gradebook.db"]
    private += ["extensions/ps1.json", ".seed-students.json", ".earlier-ids.json", ".student-change.json"]
    private += [".lti.json", "published/ps1.jsonl"]
    private += [".grading-lock", ".graded-solutions", "nbgrader.log", "reports/01_dot_product/students.csv"]
    assert git("check-ignore", "--no-index", *private) == private


def test_what_the_course_is_made_of_is_not_ignored():
    notebooks = [f"{folder}/01_dot_product/dot_product.ipynb" for folder in COURSE]
    readmes = [f"{folder}/README.md" for folder in (*CLASS_DATA, *COURSE)]
    assert git("check-ignore", "--no-index", *notebooks, *readmes, "checks/dot_product/softmax.py") == []


# ---- exceptions: public ones are in errors.py, and only the command line ends a process ----

every_package = pytest.mark.parametrize(
    "package", [GRADER, ROOT / "attention_lab"], ids=lambda package: package.name
)
# The command lines; the main functions of processes of their own, which end by it.
MAY_EXIT = {
    "cli.py",
    "__main__.py",
    "batch/cluster.py",
    "batch/worker_process.py",
    "sandbox/inside/fork_server.py",
}


def exits(file: Path) -> bool:
    """Return whether a file raises SystemExit or calls sys.exit or os._exit's like."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(raised, ast.Name) and raised.id == "SystemExit":
                return True
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit":
            return True
    return False


@every_package
def test_library_code_raises_and_only_commands_exit(package):
    found = {file.relative_to(package).as_posix() for file in package.rglob("*.py") if exits(file)}
    assert {name for name in found if name not in MAY_EXIT and Path(name).name != "__main__.py"} == set()


def test_public_exceptions_end_in_error():
    public = vars(nbjudge.errors).values()
    classes = [each for each in public if isinstance(each, type) and issubclass(each, BaseException)]
    assert classes and all(class_.__name__.endswith("Error") and class_.__doc__ for class_ in classes)
    assert all(issubclass(class_, CourseError | NbgraderCommandError) for class_ in classes)


def test_an_ending_error_is_no_exception():
    with pytest.raises(SystemExit, match="The disk is full"):
        try:
            raise nbjudge.errors.GradingStoppedError("The disk is full.")
        except Exception:
            pytest.fail("nbgrader would go on with the next submission")


# ---- figures in documents are those of the stored results of the benchmarks ----


def results(name):
    return json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text())


def text_of(document):
    """The document with all its spaces and line breaks as single spaces."""
    return " ".join((ROOT / document).read_text().split())


@pytest.mark.parametrize("document", ["README.md", "benchmarks/README.md"])
def test_the_class_is_that_of_the_last_run(document):
    """The seconds of each grader, and how many times stock's time ours is."""
    graders = {name: each["seconds"] for name, each in results("class")["graders"].items()}
    ours, stock, limit = round(graders["ours"]), graders["stock"], round(graders["limit"])
    text = text_of(document)
    if document == "README.md":
        assert f"took {ours} s, start included, and stock nbgrader {stock / 60:.0f} minutes" in text
        assert f"{stock / graders['ours']:.0f} times as long" in text
    else:
        assert f"| {stock:.0f} s |" in text and f"| {limit} s |" in text
        assert f"| {ours} s, {stock / graders['ours']:.1f} times" in text


def times_stock(graders, name="ours"):
    """The time that stock takes for a class, in times of another grader's."""
    return f"{graders['stock']['seconds'] / graders[name]['seconds']:.1f}"


def test_other_lessons_and_courses_are_of_the_last_run():
    """The row of all lessons, and both ways to grade another course."""
    text = text_of("benchmarks/README.md")
    lessons = results("lessons")["lessons"].values()
    assert f"| {' | '.join(times_stock(lesson) for lesson in lessons)} |" in text
    graders = results("other_course")["graders"]
    for name in ("ours", "plugged in"):
        assert re.search(rf"\b{times_stock(graders, name)} times", text), name


@pytest.mark.parametrize("document", ["README.md", "benchmarks/judges/README.md"])
def test_the_judges_are_those_of_the_last_run(document):
    """How many answers there are, and how many nbjudge judges rightly."""
    text, row = text_of(document), results("judges")["judges"]["nbjudge"]
    counts = {
        heading: (each["rightly"], each["judged"])
        for heading, each in row.items()
        if "accepted" in heading or "caught" in heading
    }
    assert all(rightly == judged for rightly, judged in counts.values()), counts
    for heading in ("right accepted", "mistakes caught", "mutations caught"):
        assert re.search(rf"\b{counts[heading][0]}\b", text), heading
    total = sum(counts[heading][1] for heading in ("right accepted", "mistakes caught", "mutations caught"))
    assert re.search(rf"\b{total} answers to (all )?49 exercises", text)


def test_the_table_of_packages_has_them_all():
    named = set(re.findall(r"`(\w+)/", text_of("nbjudge/docs/how-it-works.md").partition("## The rule")[0]))
    folders = {folder.name for folder in GRADER.iterdir() if (folder / "__init__.py").is_file()}
    assert folders <= named
