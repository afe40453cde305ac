"""What the project says about installing itself is true, also in Colab, Kaggle and Binder."""

import ast
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from shared_hooks import pytest_runtest_setup

import attention_lab
import nbjudge
from attention_lab.maintain.build import stale
from attention_lab.maintain.hosts import (
    DOCUMENTS,
    buttons,
    install_lines,
    repository,
    stale_documents,
    update_install_lines,
    with_buttons,
)
from attention_lab.maintain.site.build_site import front_page
from attention_lab.maintain.site.pages import page_of
from attention_lab.students import STUDENT_MODULES
from nbjudge.course import Course, read_notebook

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = ROOT / "attention_lab"
# What students have; what `make site` needs besides, in a group of its own; and all else, the instructors'.
STUDENTS = sorted(
    file
    for name in STUDENT_MODULES
    for file in (*PACKAGE.glob(f"{name}.py"), *PACKAGE.glob(f"{name}/**/*.py"))
)
SITE = sorted(PACKAGE.glob("maintain/site/**/*.py"))
INSTRUCTORS = sorted(set(PACKAGE.rglob("*.py")) - set(STUDENTS) - set(SITE))
LESSONS = sorted(ROOT.glob("source/*/*.ipynb"))
OWN = {"attention_lab", "nbjudge", "checks", "tests", "routes"}
OWN |= {"gguf"}  # of `make language-model`, in a folder of its own
OWN |= {
    path.stem
    for folder in ("tests", "nbjudge/tests", "source", "benchmarks")
    for path in ROOT.glob(f"{folder}/**/*.py")
}
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
GRADER = tomllib.loads((ROOT / "nbjudge/pyproject.toml").read_text())["project"]
GRADERS = sorted(ROOT.glob("nbjudge/src/**/*.py"))
# Declared for what they do on the machine, not for an import of ours.
PROGRAMS = {"jupyterlab", "nbgrader", "ipykernel", "orjson"}
NAMED_ONLY = {"myst-nb", "furo", "sphinx-design"}  # Sphinx is told of these by name
# The grader imports them only where a lesson or its checks have: see `fork_server.py` and `values`.
LESSONS_OWN = {"matplotlib", "numpy", "pandas"}


def canonical(name: str) -> str:
    """A distribution's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*groups: str, project: dict = PROJECT) -> set[str]:
    """The base dependencies and those of the groups, without versions; with `nbjudge`, what that declares."""
    requirements = list(project["dependencies"])
    for group in groups:
        requirements += project["optional-dependencies"][group]
    for requirement in [each for each in requirements if each.startswith("nbjudge")]:
        extras = re.findall(r"\w+", requirement.partition("[")[2].partition("]")[0])
        requirements += declared(*extras, project=GRADER)
    return {canonical(re.match(r"[\w.-]+", requirement).group()) for requirement in requirements}


def imported(code: str) -> Iterator[str]:
    """Every module that the code imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def lesson_code(notebook: Path) -> str:
    """A lesson's code as students have it: without the hidden tests, without magics."""
    cells = json.loads(notebook.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code = re.sub(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", "", code, flags=re.DOTALL)
    return re.sub(r"^\s*[%!].*$", "", code, flags=re.MULTILINE)


@functools.cache
def distributions_of() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def needed(paths: Iterable[Path]) -> set[str]:
    """The distributions that the imports come from: neither Python's own nor the project's."""
    codes = (lesson_code(path) if path.suffix == ".ipynb" else path.read_text() for path in paths)
    modules = {name.partition(".")[0] for code in codes for name in imported(code)}
    foreign = modules - set(sys.stdlib_module_names) - OWN
    return {canonical(distributions_of().get(module, [module])[0]) for module in foreign}


LAB = [PACKAGE / "start/jupyter_lab.py", *PACKAGE.glob("start/practice/*.py")]
# Whose code it is, and the groups of dependencies that they install.
CODE = {
    "a student's package": ([file for file in STUDENTS if file not in LAB], ()),
    "a student's JupyterLab": (LAB, ("lab", "anki")),
    "a student's lessons": (LESSONS, ()),
    "an instructor's course": ([*INSTRUCTORS, *ROOT.glob("checks/**/*.py")], ("grading",)),
    "the site": (SITE, ("grading", "site")),
    "the tests": ([*ROOT.glob("tests/**/*.py"), *ROOT.glob("nbjudge/tests/**/*.py")], ("grading", "test")),
}


@pytest.mark.parametrize(("paths", "groups"), CODE.values(), ids=CODE)
def test_a_machine_gets_what_its_code_imports(paths, groups):
    assert needed(paths) <= declared(*groups)


def test_dependencies_are_what_is_imported():
    extras = ("grading", "torch", "cluster", "hub", "learner", "lti")
    used = needed(GRADERS)
    assert used - LESSONS_OWN <= declared(*extras, project=GRADER)
    assert declared("grading", "learner", "torch", project=GRADER) - PROGRAMS <= used
    assert declared("site") - declared() - NAMED_ONLY <= needed(SITE)


def test_students_need_no_grader_and_no_posix():
    """Nor JupyterLab: it would replace parts of the host's Jupyter, and each host has its own ipykernel."""
    assert not {"jupyterlab", "notebook", "nbgrader", "ipykernel", "jupyter-server"} & declared()
    lessons = [name for notebook in LESSONS for name in imported(lesson_code(notebook))]
    assert not [name for name in lessons if name.startswith("nbjudge")]
    own = {name.partition(".")[0] for path in STUDENTS for name in imported(path.read_text())}
    assert not own & POSIX_ONLY


@pytest.mark.integration
def test_what_a_kernel_imports_does_without_the_judge():
    """A kernel in the sandbox has the learner's half of the tutor, and nothing else of nbjudge."""
    files = [path for path in STUDENTS if path.name != "cli.py"]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    learners = Path(nbjudge.__file__).parent / "tutor" / "learner"
    modules += [f"nbjudge.tutor.learner.{path.stem}" for path in learners.glob("[a-z]*.py")]
    modules.remove("nbjudge.tutor.learner.transport")  # what there is with a tutor only
    others = {path.stem for path in Path(nbjudge.__file__).parent.iterdir()} - {"__init__", "tutor"}
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({[f'nbjudge.{name}' for name in others]}))\n"  # ImportErrors
        f"for name in {modules}: importlib.import_module(name.removesuffix('.__init__'))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_one_version_of_torch():
    files = ["constraints.txt", "pyproject.toml", "nbjudge/pyproject.toml", "Makefile", "environment.yml"]
    files += ["README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("nbjudge/docs/*.md")]
    pinned = re.compile(r"(?<!-)torch==(\d[\w.]*\w)")
    pins = {pin for file in files for pin in pinned.findall((ROOT / file).read_text())}
    assert pins == {metadata.version("torch").partition("+")[0]}
    # The Makefile looks for the one pin there.
    assert len(re.findall(r"^torch==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)) == 1


def test_constraints_are_of_required_packages():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pins.keys() <= declared()
    requirements = [*PROJECT["dependencies"], *GRADER["optional-dependencies"]["torch"]]
    assert not [line for line in requirements if "<" in line or "==" in line]
    assert all(Version(pin) in SpecifierSet(floor_of(name)) for name, pin in pins.items())


def floor_of(name: str) -> str:
    return next(line[len(name) :] for line in PROJECT["dependencies"] if re.match(rf"{name}\b", line))


def test_condas_environment_is_pyprojects():
    environment = (ROOT / "environment.yml").read_text()
    (python,) = re.findall(r"python=([\d.]+)", environment)
    assert f">={python}" == PROJECT["requires-python"]
    (extras,) = re.findall(r"^ +- -e \./nbjudge\[(.+)\]$", environment, flags=re.MULTILINE)
    assert set(extras.split(",")) <= set(GRADER["optional-dependencies"])
    (groups,) = re.findall(r"^ +- -e \.\[(.+)\]$", environment, flags=re.MULTILINE)
    assert set(groups.split(",")) <= set(PROJECT["optional-dependencies"])
    (nbval,) = re.findall(r"^ +- (nbval\S+)$", environment, flags=re.MULTILINE)
    assert nbval in PROJECT["optional-dependencies"]["test"]


def test_binder_installs_the_tested_versions():
    lines = (ROOT / ".binder/requirements.txt").read_text().splitlines()
    (constraints,) = [line.split()[1] for line in lines if line.startswith("-c")]
    assert (ROOT / ".binder" / constraints).is_file()
    assert [line for line in lines if line.startswith(".")] == ["./nbjudge", ".[lab]"]


@pytest.mark.long
@pytest.mark.integration
def test_the_environment_runs_nbval_on_a_lesson(tmp_path):
    """What environment.yml lists, installed by pip, has the six named packages and reproduces a lesson."""
    lines = re.findall(r"^ {6}- (.+)$", (ROOT / "environment.yml").read_text(), flags=re.MULTILINE)
    wanted = "\n".join(line.replace("-e ", "").replace("./", f"{ROOT}/") for line in lines)
    wanted = re.sub(r"^\.\[", f"{ROOT}[", wanted, flags=re.MULTILINE).replace(
        "constraints", f"{ROOT}/constraints"
    )
    (tmp_path / "wanted.txt").write_text(wanted)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", tmp_path / "wanted.txt"], check=True)
    for name in ("torch", "jupyterlab", "nbgrader", "nbval", "ipywidgets", "seaborn"):
        subprocess.run([python, "-c", f"import {name}"], check=True)
    shutil.copytree(ROOT / "solutions/02_scaling", tmp_path / "02_scaling")
    (settings := tmp_path / "pytest.ini").write_text("[pytest]\n")  # ours asks for further plugins
    run = subprocess.run(
        [python, "-m", "pytest", "-q", "-c", settings, "--rootdir", tmp_path, "--nbval"]
        + ["--nbval-sanitize-with", ROOT / "tests/nbval_sanitize.cfg", tmp_path / "02_scaling"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]


def readme_commands() -> list[str]:
    """The command lines in the README's fenced blocks, without prompts and comments."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```", readme, flags=re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).splitlines()
    return [re.sub(r"\s+#.*$", "", line.removeprefix("$ ")).strip() for line in lines]


def test_ci_runs_the_readmes_test_command():
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    commands = [line for line in run.read_text().splitlines() if line.startswith("make ")]
    assert commands == ["make test", "make test-integration"]
    assert commands[0] in readme_commands()


@pytest.fixture
def make(tmp_path):
    """Runs make in a folder that holds the Makefile, pyproject.toml and programs that we stand in for."""
    (tmp_path / "nbjudge").mkdir()
    for name in ("Makefile", "constraints.txt", "pyproject.toml", "nbjudge/pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    programs = tmp_path / "programs"
    found = shutil.which("make")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"

    def run(*arguments: str, extra: dict[str, str] | None = None, **scripts: str):
        for name, body in scripts.items():
            program(programs / {"nvidia_smi": "nvidia-smi"}.get(name, name.replace("_", ".")), body)
        env = environment | (extra or {})
        return subprocess.run([found, *arguments], cwd=tmp_path, env=env, capture_output=True, text=True)

    return run


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.integration
def test_a_machine_that_is_set_up_starts_at_once(make, tmp_path):
    program(tmp_path / ".venv/bin/attention-lab", 'echo "$@"')
    stamp = tmp_path / ".venv/.attention-lab-ready"
    stamp.touch()
    begin = time.perf_counter()
    done = make("demo", "STUDENTS=3")
    assert done.stdout == "demo --students 3\n"
    assert time.perf_counter() - begin < 2

    os.utime(stamp, (0, 0))  # older than pyproject.toml: what it asks for may have changed
    assert "pip install" in make("--dry-run", "demo").stdout


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.integration
def test_without_a_gpu_the_cpu_build_is_taken(make, tmp_path, answers):
    program(tmp_path / ".venv/bin/python", f"exit {int(not answers)}")
    program(tmp_path / ".venv/bin/pip", 'echo "pip $PIP_EXTRA_INDEX_URL $5"')
    program(tmp_path / ".venv/bin/attention-lab", "exit 0")
    done = make("lab", python3_11="exit 0", extra={"PIP_EXTRA_INDEX_URL": ""}, uname="echo Linux")
    assert done.returncode == 0, done.stderr
    torch = metadata.version("torch").partition("+")[0]
    index = "https://download.pytorch.org/whl/cpu"
    assert f"pip {index if answers else ''} torch=={torch}" in done.stdout
    assert (f"{index} does not answer" in done.stdout) is not answers


@pytest.mark.integration
def test_make_keeps_a_learners_torch(make, tmp_path):
    """In an environment that pip made, `make` asks for the torch that is there; its own it may replace."""
    program(tmp_path / ".venv/bin/python", 'case "$2" in *metadata*) echo 2.7.1+cu126;; esac')
    program(tmp_path / ".venv/bin/pip", 'echo "pip $5" "$(grep "^torch==" "$4")"')
    program(tmp_path / ".venv/bin/attention-lab", "exit 0")
    own = "torch==2.7.1+cu126"
    assert f"pip {own} {own}" in make("site", python3_11="exit 0").stdout
    os.utime(tmp_path / ".venv/.attention-lab-ready", (0, 0))
    pinned = f"torch=={metadata.version('torch').partition('+')[0]}"
    assert f"pip {pinned} {pinned}" in make("site", python3_11="exit 0").stdout


@pytest.mark.integration
def test_an_old_python_is_told_so_in_one_sentence(make):
    done = make("demo", python3="exit 1", python3_11="exit 1")
    assert done.returncode != 0
    assert done.stdout == "Attention Lab needs Python 3.11 or newer as python3.11 or python3.\n"


@pytest.mark.integration
@pytest.mark.parametrize("target", ["chromium", "bubblewrap", "postgresql", "r-base-core", "iproute2"])
def test_a_missing_program_stops_no_make_command(make, tmp_path, target):
    assert make(target, extra={"PATH": str(tmp_path)}).returncode == 0


def test_a_missing_program_fails_in_ci_only(monkeypatch):
    marker = pytest.mark.requires("a-program-that-does-not-exist").mark
    item = SimpleNamespace(iter_markers=lambda name: [marker], get_closest_marker=lambda name: None)
    for ci, outcome in (("", pytest.skip.Exception), ("true", pytest.fail.Exception)):
        monkeypatch.setenv("CI", ci)
        with pytest.raises(outcome, match="a-program-that-does-not-exist is not installed"):
            pytest_runtest_setup(item)


@pytest.mark.parametrize(
    "package, changelog", [(attention_lab, "CHANGELOG.md"), (nbjudge, "nbjudge/CHANGELOG.md")]
)
def test_the_changelog_begins_with_the_version(package, changelog):
    """The citation names the course's."""
    first = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / changelog).read_text(), re.MULTILINE)
    assert first is not None and first[1] == package.__version__
    assert f"\nversion: {attention_lab.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_repository_is_linked_when_set():
    """Its public address is in both projects and in the citation, or in none of them."""
    address = PROJECT.get("urls", {}).get("Repository")
    for project in (PROJECT, GRADER):
        urls = project.get("urls", {})
        assert set(urls) == ({"Repository", "Changelog"} if address else set())
        assert all(url.startswith(address) for url in urls.values())
    cited = re.findall(r"^repository-code: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == ([address] if address else [])


@pytest.mark.parametrize("folder, project", [(".", PROJECT), ("nbjudge", GRADER)])
def test_the_page_on_pypi_is_complete_and_stands_alone(folder, project):
    assert {"name", "description", "readme", "license", "authors", "keywords", "classifiers"} <= set(project)
    readme = (ROOT / folder / project["readme"]).read_text()
    assert not re.findall(r"\]\((?!https://)", readme), "a relative link leads nowhere on PyPI"
    minors = {line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line}
    tests = (ROOT / ".github/workflows/tests.yml").read_text()
    assert minors == set(re.findall(r'"(3\.\d+)"', tests))


# ---- one setting in pyproject.toml makes all links and install lines ----

NOTEBOOKS = list(Course(ROOT).assignments.values())
ADDRESS = "https://github.com/someone/attention-lab"
SERVICES = ("colab.research.google.com", "kaggle.com", "mybinder.org")
every_notebook = pytest.mark.parametrize("lesson", NOTEBOOKS, ids=lambda lesson: lesson.folder)


@pytest.fixture
def published(tmp_path):
    """The course with its address set, as someone leaves it who publishes it."""
    for name in ("source", "release", "solutions", "checks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").mkdir()
    for name in ("pyproject.toml", "nbgrader_config.py", *DOCUMENTS):
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "pyproject.toml").open("a") as file:
        file.write(f'\n[project.urls]\nRepository = "{ADDRESS}"\n')
    return Course(tmp_path)


def test_the_links_open_the_released_notebook():
    """Without a repository there are none."""
    for address in ("", "https://example.org/lab", "https://github.com/someone"):
        assert buttons(address, "02_scaling", "scaling") == {}
    assert buttons(ADDRESS, "02_scaling", "scaling") == {
        "Colab": "https://colab.research.google.com/github/someone/attention-lab/blob/main/release/02_scaling/scaling.ipynb",
        "Kaggle": "https://kaggle.com/kernels/welcome?src="
        "https://github.com/someone/attention-lab/blob/main/release/02_scaling/scaling.ipynb",
        "Binder": "https://mybinder.org/v2/gh/someone/attention-lab/main?labpath=release%2F02_scaling%2Fscaling.ipynb",
    }


def test_no_links_to_services_before_the_address():
    """The documents agree with the address."""
    assert stale_documents(ROOT) == {}
    if repository(ROOT):
        pytest.skip("the address is set")
    texts = [(ROOT / name).read_text() for name in DOCUMENTS]
    texts += [front_page(NOTEBOOKS), *(lesson.source_path.read_text() for lesson in NOTEBOOKS)]
    assert not [service for service in SERVICES for text in texts if service in text]
    for text in texts[: len(DOCUMENTS) + 1]:
        assert "To open a lesson in Colab, run `pip wheel" in text


def test_with_the_address_every_row_has_links(published):
    changed = {path.name: text for path, text in stale_documents(published.root).items()}
    assert set(changed) == {"README.md", "students.md"}
    rows = re.findall(r"^\| \d+\. .*$", changed["README.md"], re.MULTILINE)
    assert len(rows) == len(NOTEBOOKS) - 1
    for row in rows:
        assert row.count("|") == 4 and row.count("(https://colab") == row.count("(https://mybinder") == 1
        for path in re.findall(r"/blob/main/([^)]+)", row):
            assert (ROOT / path).is_file()
    assert all(ADDRESS in text and "pip wheel" not in text for text in changed.values())
    assert with_buttons(changed["README.md"], "") == (ROOT / "README.md").read_text()


def test_with_the_address_set_the_site_has_the_links(published):
    lesson = published.assignments["start_here"]
    above = page_of(lesson).notebook.cells[1].source
    assert above.count('<a class="open-in"') == 3 and all(service in above for service in SERVICES)
    first_page = front_page(list(published.assignments.values()))
    assert ADDRESS in first_page and "pip wheel" not in first_page


def test_the_address_changes_the_install_lines(published):
    lesson = published.assignments["scaling"]
    assert stale(lesson) == [f"{lesson.source_path} is not in canonical form."]
    notebook = read_notebook(lesson.source_path)
    update_install_lines(notebook, ADDRESS)
    (setup,) = [cell for cell in notebook.cells if cell.id == "setup"]
    assert setup.source.startswith(install_lines(ADDRESS))
    assert setup.source.count("find_spec(") == 1
    assert f"pip install -q git+{ADDRESS}#subdirectory=nbjudge" in setup.source


@every_notebook
def test_the_first_code_cell_installs_the_course(lesson, monkeypatch):
    first = next(cell for cell in read_notebook(lesson.source_path).cells if cell.cell_type == "code")
    lines = install_lines(repository(ROOT))
    assert first.source.startswith(lines)
    commands = []
    shell = type("Shell", (), {"system": staticmethod(commands.append)})
    exec(lines, {"get_ipython": lambda: shell})
    assert commands == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(lines, {"get_ipython": lambda: shell})
    assert {command.split()[0] for command in commands} == {"pip"}
