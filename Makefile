# GNU make 3.81 is enough. Every target sets up first; that is a no-op when nothing has changed.

BIN := .venv/bin
RUN_ARGS ?=
DEMO_ARGS ?= --players 3 --convention sochi --target 4
TEST_ARGS ?=

.PHONY: setup run demo check test lint bench simulate chaos restarts

setup:
	@./deploy/set-up/venv.sh

# exec: Ctrl-C and SIGTERM reach pulka itself, and make waits until it has stopped.
run: setup
	@exec $(BIN)/pulka up $(RUN_ARGS)

demo: setup
	@exec $(BIN)/pulka demo $(DEMO_ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python deploy/docs/sentences.py

# While one works: under a minute on two free cores. The tests that need no server and take no half second each.
check: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --max-worker-restart 0 -m "not servers and not slow" $(TEST_ARGS)

# Two workers; a file's tests share a worker, so its servers are started once.
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0 $(TEST_ARGS)

# Worlds of instances that race and fall, on simulated time: ARGS="--seeds 10000 --first 1".
simulate: setup
	@exec $(BIN)/python -m tests.simulation $(ARGS)

# Three NATS nodes under load and kill -9, twenty times, then all three at once; then while partitions grow. Some eight minutes.
chaos: setup
	@$(BIN)/python -m tests.chaos.cluster_kills $(ARGS)
	@exec $(BIN)/python -m tests.chaos.growing_kills

# Two instances restarted in turn while tables are played: ARGS="--tables 256 --rounds 10".
restarts: setup
	@exec $(BIN)/python -m tests.journeys.restarts $(ARGS)

bench: setup
	@exec $(BIN)/python deploy/benchmarks/bench.py
