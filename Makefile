# make demo         traces across four services in the browser, without anything but Python; ARGS=--once: in the terminal
# make test         what a change has to pass first, in two minutes; CHANGED=main: the suites of what differs from main;
#                   ARGS="tests/record -k spans": pytest's own arguments
# .ci/run           the gate: that, the other loops, processes, a real OAP, the page, style; ten minutes
# make nightly      the rest, in shards; SHARD=faults: one of them
# make test-all     all of these
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
FAULTS = PYTHONPATH=tests $(BIN)/python tests/faults/matrix_page.py
PARALLEL = -n 3 --dist worksteal
# where it is set, every process of the tests compiles all that it imports
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-gate nightly inject test-inject native test-native test-native-asan test-same-bytes test-all test-page test-oldest ways fuzz soak world compare pipeline cost profile check docs generate libraries clean

demo: $(VENV)/.demo
	$(BIN)/python docs/example/demo.py $(ARGS)

test: $(VENV)/.test
	$(BIN)/python -m pytest $(or $(ARGS),$(PARALLEL) --tier=test $(if $(CHANGED),$(shell $(BIN)/python tests/suites.py $(CHANGED))))

# Python alone records in the tests, whatever is installed, unless they are about the accelerator.
test test-gate test-page nightly: export SW_AGENT_NATIVE ?= off

# what can break without `make test` noticing: the other loops, processes, a real OAP
test-gate: $(VENV)/.dev
	$(BIN)/python -m pytest $(or $(ARGS),$(PARALLEL) --tier=gate)

# all that takes its time, in shards: tests/nightly.py; make nightly SHARD="faults page"
nightly: $(VENV)/.bridge
	$(BIN)/python tests/nightly.py $(SHARD)

test-all:
	.ci/run
	$(MAKE) --no-print-directory nightly

# a process of its own: see pyproject.toml
test-page: $(VENV)/.dev
	$(BIN)/python -m pytest tests/page $(ARGS)

# the accelerator, compiled into the environment
native: $(VENV)/.native

# The suites of all that the accelerator does, with it.
CALLS = asyncpg.py call.py httpx.py outside.py sqlite3.py
SUITES_OF_NATIVE = $(addprefix tests/,asgi wsgi record logs pipeline profile runtime wire native $(addprefix instrument/test_,$(CALLS)))
test-native: export SW_AGENT_NATIVE = auto
test-native: export SWAGENT_TESTS_NATIVE = required
test-native: $(VENV)/.native
	$(BIN)/python -m pytest $(PARALLEL) $(SUITES_OF_NATIVE) $(ARGS)

# The same on a build that stops at the first wrong access or undefined operation; the interpreter itself is as always.
ASAN = .cache/native-asan
SUITES_OF_ASAN = $(addprefix tests/,asgi wsgi logs native pipeline/test_request_encoder.py record/test_spans.py)
test-native-asan: $(VENV)/.dev
	rm -rf $(ASAN)
	mkdir -p $(ASAN)
	cp -r swagent/native $(ASAN)/sources
	rm -rf $(ASAN)/sources/build
	CFLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -DSWAGENT_NO_POOLS" \
		LDFLAGS="-fsanitize=address,undefined" \
		$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target $(ASAN)/built $(ASAN)/sources
	LD_PRELOAD="$$(cc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
		SW_AGENT_NATIVE=auto SWAGENT_TESTS_NATIVE=required \
		SWAGENT_TESTS_ASAN=$(abspath $(ASAN)/built) PYTHONPATH=$(abspath $(ASAN)/built) \
		$(BIN)/python -m pytest -p no:cacheprovider $(PARALLEL) $(or $(ARGS),--tier=test $(SUITES_OF_ASAN))

# random requests by both implementations, compared byte by byte; make test-same-bytes ARGS="--count 1000000 --seed 7"
test-same-bytes: $(VENV)/.native
	PYTHONPATH=tests $(BIN)/python -m native.run $(ARGS)

# the accelerator's sdist, and a wheel for each Python at hand, each of them tried; make wheels ARGS="--only 3.12"
.PHONY: wheels
wheels:
	$(PYTHON) tests/wheels.py $(ARGS)

# what a release uploads, in dist/, built twice and compared: sdists, wheels, a bill of materials, checksums;
# make release ARGS="--tag v0.1.0"
.PHONY: release
release: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m release.run $(ARGS)

# the folder that brings the agent by PYTHONPATH alone, with all that it needs: dist/inject; ARGS="--target /opt/swagent"
inject: $(VENV)/.dev
	$(BIN)/python tests/injection/run.py $(ARGS)

# ten applications with other pins than the agent's, bare and with that folder; make test-inject ARGS="--only protobuf"
test-inject: $(VENV)/.dev
	$(BIN)/python tests/injection/applications.py $(ARGS)

# CPython's own tests, bare and under `swagent run`; make foreign ARGS="--only test_threading --native off auto"
.PHONY: foreign
foreign: $(VENV)/.dev
	$(BIN)/python tests/foreign.py $(ARGS)

# the instrumentations with the oldest version of each library; make test-oldest ARGS="--only redis"
test-oldest: $(VENV)/.dev
	$(BIN)/python tests/instrument/versions.py $(ARGS)

# every way to start a program, bare and with the agent, and the list of them in docs/run.md, in a quarter of an hour at
# most; make ways ARGS="--only gunicorn celery"
ways: $(VENV)/.dev
	$(BIN)/python tests/ways/run.py $(ARGS)
	$(BIN)/python tests/ways/page.py

# new inputs for the parsers, for a minute each, from a seed that is printed; make fuzz ARGS="sw8 --seconds 1800 --seed 7"
fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz.run $(ARGS)

# random faults under load; make soak ARGS="--minutes 30 --seed 7"
soak: $(VENV)/.dev
	$(BIN)/python -m stress soak $(ARGS)

# the agent in a simulated world: faults from a seed, on a virtual clock; make world ARGS="--seeds 10000"
world: export SW_AGENT_NATIVE = off
world: $(VENV)/.dev
	$(BIN)/python -m stress world $(ARGS)

# which tests notice changes of the sources, in hours; make mutants ARGS="--tier test=--tier=test --first 20"
.PHONY: mutants
mutants: $(VENV)/.mutants
	$(BIN)/python tests/mutants/run.py $(ARGS)

# what agents cost and deliver, side by side; needs wrk; make compare ARGS="--rounds 5 --seconds 10"
compare: $(VENV)/.dev
	$(BIN)/python -m stress compare $(ARGS)

# segments per second from record to acknowledgement, over each transport and loop; make pipeline ARGS="--rounds 3"
pipeline: $(VENV)/.dev
	$(BIN)/python -m stress pipeline $(ARGS)

# instructions a request, bare and with the agent, by part; needs valgrind and gcc; make cost ARGS="--cases trivial"
cost: $(VENV)/.dev
	$(BIN)/python -m stress cost $(ARGS)

# a flame graph of the application under load; needs wrk; make profile ARGS="--handler await"
profile: $(VENV)/.dev
	$(BIN)/python -m stress profile $(ARGS)

# what CI runs beside the tests
check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python proto_gen/generate.py --check
	$(BIN)/python tests/page/vendored.py --check
	$(BIN)/python tests/javascript/api_types.py --check tests/javascript/types/api.d.ts
	$(BIN)/python tests/javascript/check.py
	$(BIN)/python tests/startup/tables.py --check swagent/startup/tables.py
	$(BIN)/swagent config --markdown | diff - docs/options.md
	$(FAULTS) --check docs/faults.md
	$(BIN)/python tests/instrument/libraries.py --check docs/libraries.md
	$(BIN)/python tests/instrument/library_pages.py --check
	$(BIN)/python tests/ways/page.py --check docs/run.md
	$(BIN)/python tests/licences/run.py --check
	$(MAKE) --no-print-directory check-pins

# the docs as a site in site/, with search and the public API; whatever is amiss fails
.PHONY: docs
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

generate: $(VENV)/.dev
	$(BIN)/python proto_gen/generate.py
	mkdir -p .cache && $(BIN)/python tests/startup/tables.py > .cache/tables.py && mv .cache/tables.py swagent/startup/tables.py
	$(BIN)/swagent config --markdown > docs/options.md
	$(BIN)/python tests/javascript/api_types.py > tests/javascript/types/api.d.ts
	mkdir -p .cache && $(FAULTS) > .cache/faults.md && mv .cache/faults.md docs/faults.md
	$(BIN)/python tests/instrument/libraries.py > .cache/libraries.md && mv .cache/libraries.md docs/libraries.md
	$(BIN)/python tests/instrument/library_pages.py
	$(BIN)/python tests/licences/run.py

# docs/libraries.md and docs/libraries/ from the tests of the instrumentations, which see anew what each of them collects
libraries: $(VENV)/.dev
	$(BIN)/python tests/instrument/libraries.py --record
	mkdir -p .cache
	$(BIN)/python tests/instrument/libraries.py > .cache/libraries.md && mv .cache/libraries.md docs/libraries.md
	$(BIN)/python tests/instrument/library_pages.py

# renew tests/pins.txt, the versions of all packages of the environments; make update ARGS="--upgrade-package ruff"
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --python $(BIN)/python --no-annotate \
	--custom-compile-command "make update" --extra dev --extra docs --extra test-bridge --extra mutants --group tools pyproject.toml
.PHONY: update check-pins
update: $(BIN)/uv
	$(COMPILE) --output-file tests/pins.txt $(or $(ARGS),--upgrade) > /dev/null

# whether they are what pyproject.toml asks for; a newer version in the index is no difference
check-pins: $(BIN)/uv
	mkdir -p .cache && cp tests/pins.txt .cache/pins.txt
	$(COMPILE) --output-file .cache/pins.txt > /dev/null
	diff tests/pins.txt .cache/pins.txt

clean:
	rm -rf $(VENV) dist build site

# The environments have these versions; PINS= VENV=.venv-newest makes one with the newest.
PINS = tests/pins.txt
# uv takes a fraction of pip's time. pip installs where uv is not to be had or fails; UV= asks for pip.
UV = uv
PIP = $(BIN)/pip install --quiet --disable-pip-version-check
ENVIRONMENTS = $(addprefix $(VENV)/.,demo test dev bridge docs mutants)

# Of pip's variables the old versions know the first alone, and hold to it when they build, too.
$(ENVIRONMENTS) $(VENV)/.native $(BIN)/uv test-native-asan: export PIP_CONSTRAINT = $(PINS)
$(ENVIRONMENTS) $(VENV)/.native $(BIN)/uv test-native-asan: export PIP_BUILD_CONSTRAINT = $(PINS)
$(ENVIRONMENTS): export UV_CONSTRAINT = $(PINS)
$(ENVIRONMENTS): export UV_BUILD_CONSTRAINT = $(PINS)

$(VENV)/.demo: EXTRAS = demo
# what `make test` needs, and no tools
$(VENV)/.test: EXTRAS = test,test-libraries
$(VENV)/.dev: EXTRAS = dev
# what only the slow tests of OpenTelemetry's bridge need
$(VENV)/.bridge: EXTRAS = dev,test-bridge
$(VENV)/.bridge: $(VENV)/.dev
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.mutants: EXTRAS = mutants
$(VENV)/.mutants: $(VENV)/.dev

# uv knows the certificates of the machine by its option. It compiles: else the first processes of the tests all would.
$(ENVIRONMENTS): pyproject.toml $(PINS)
	$(PYTHON) -m venv $(VENV)
	{ [ "$(UV)" ] && $(PIP) --only-binary=:all: $(UV) && $(BIN)/uv pip install --quiet --python $(BIN)/python \
		--system-certs --compile-bytecode -e '.[$(EXTRAS)]'; } || $(PIP) -e '.[$(EXTRAS)]'
	touch $@

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(PIP) uv

$(VENV)/.native: $(VENV)/.dev swagent/native/pyproject.toml $(wildcard swagent/native/src/*) $(wildcard swagent/native/swagent_native/*.py*)
	$(PIP) --no-deps -e swagent/native
	touch $@
