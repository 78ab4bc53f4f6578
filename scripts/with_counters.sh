#!/bin/sh
# rustc with counters at every edge and the operands of comparisons, for libFuzzer: by the pass that
# clang uses too, which the stable toolchain has.
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
