#!/usr/bin/env python3
"""Timing figures of the acceptance lines, each the minimum of several runs.

    bench.py BIN_DIR MODEL.pt2 [--assert]

The model is llama.pt2 of OPREPLAY_CORPUS where that is set. --assert fails where a figure exceeds three times its bound (machines under test are shared).
"""

import os
import subprocess
import sys
import tempfile
import time

import long_model

RUNS = 7
CASES = 2000
NODES = 10000
MAX_MIB = 200


def seconds(command, runs=RUNS, expect=0, **options):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        best = min(best, time.perf_counter() - start)
        if done.returncode != expect:
            sys.exit(f"{command}: exit {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return best


def small_cases_spec(path):
    """2,000 distinct small calls of four kinds of operator."""
    with open(path, "w", encoding="utf-8") as out:
        out.write('opspec: 1\nop: aten.add.Tensor\n'
                  'schema: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"\n'
                  'calls:\n')
        for i in range(CASES):
            rows, columns = 1 + i % 50, 1 + i // 50
            out.write(f'  - args: {{self: "f32[{rows},{columns}]", other: "f32[{rows},{columns}]"}}\n')


def cases_per_second(program, folder):
    """From the records' own closing line: planning and start-up included, writing the ledger too."""
    spec = os.path.join(folder, "aten.add.Tensor.yaml")
    small_cases_spec(spec)
    best = 0.0
    for run in range(5):
        start = time.perf_counter()
        done = subprocess.run([program, "run", spec, "--device", "sim", "--vary", "none", "-q",
                               "-o", os.path.join(folder, f"run{run}")], capture_output=True)
        elapsed = time.perf_counter() - start
        if f"cases:{CASES} pass:{CASES} ".encode() not in done.stdout:
            sys.exit(f"not every case passed:\n{done.stdout.decode()}{done.stderr.decode()}")
        best = max(best, CASES / elapsed)
    return best


def peak_mib(command):
    """Peak memory of a child, measured by a child that has no other."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)")
    return int(subprocess.run([sys.executable, "-c", code, *command], capture_output=True,
                              check=True).stdout)


def main():
    bin_dir, model = sys.argv[1:3]
    corpus = os.environ.get("OPREPLAY_CORPUS")
    if corpus:
        model = os.path.join(corpus, "llama.pt2")
    check = "--assert" in sys.argv
    program = os.path.join(bin_dir, "opreplay")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="opreplay-bench-") as folder:
        long = os.path.join(folder, "long.pt2")
        nodes = long_model.write(model, long, NODES)
        rows = [
            ("opreplay --help", seconds([program, "--help"]), 0.020),
            (f"static capture of {os.path.basename(model)}, as a process",
             seconds([program, "capture", model, "-o", os.path.join(folder, "specs"), "-q"]), 0.100),
            (f"static capture of {nodes} nodes",
             seconds([program, "capture", long, "-o", os.path.join(folder, "long"), "-q"]), 1.0),
        ]
        for name, value, bound in rows:
            verdict = "ok" if value < bound else "over"
            print(f"{name}: {value * 1000:.1f} ms (bound {bound * 1000:.0f} ms: {verdict})")
            if check and value >= 3 * bound:
                failed += 1
        peak = peak_mib([program, "capture", long, "-o", os.path.join(folder, "long"), "-q"])
        print(f"its peak memory: {peak} MiB (bound {MAX_MIB} MiB: {'ok' if peak < MAX_MIB else 'over'})")
        failed += check and peak >= MAX_MIB
        rate = cases_per_second(program, folder)
        print(f"{CASES} small cases on the simulated device: {rate:.0f} cases/s, whole process")
    if failed:
        sys.exit(f"{failed} figures exceed three times their bound")


main()
