#!/bin/sh
# Runs one fuzz target from its seeds, for AGENTCORE_FUZZ_SECONDS (60 if that is not set).
#
# usage: tests/fuzz/run.sh build/fuzz/tests/fuzz/fuzz_TARGET
# What it finds beyond the seeds is kept in build/fuzz/corpus/TARGET and used the next time; an input that shows a
# fault is written to build/fuzz/faults/, and running the target with that file shows it again.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
target=${program##*/fuzz_}
mkdir -p "build/fuzz/corpus/$target" build/fuzz/faults
seeds=tests/fuzz/corpus/$target
if [ "$target" = sim ]; then  # they are kept as scripts
  seeds=build/fuzz/seeds/sim
  mkdir -p "$seeds"
  "$program" --seeds "$seeds" tests/sim/corpus tests/sim/scenarios
fi
exec "$program" -max_total_time="${AGENTCORE_FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
  -artifact_prefix="build/fuzz/faults/$target-" "build/fuzz/corpus/$target" "$seeds"
