#!/usr/bin/env python3
"""Mutated model and spec files: exit 3, a message that names the file, no crash, no hang, < 1 GiB.

    hostile.py OPREPLAY MODEL.pt2 SPEC.yaml [SEED]

Seeded mutations of one good model and one good spec: truncations, flipped and zeroed bytes, and JSON
or YAML values of the wrong type. A mutation that happens to leave the file valid may exit 0.
"""

import io
import os
import random
import resource
import subprocess
import sys
import tempfile
import zipfile

LIMIT = 1 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def zip_of(entries, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def model_mutations(good, rng):
    """(what, bytes, whether the file must be refused)"""
    size = len(good)
    for part in (0, 1, 4, 100, size // 3, size // 2, size - 1, size - 22, size - 200):
        yield f"cut to {part} bytes", good[:part], True
    for _ in range(6):
        at = rng.randrange(size - 4000, size)
        data = bytearray(good)
        for i in range(at, min(at + 8, size)):
            data[i] ^= rng.randrange(1, 256)
        yield f"directory bytes flipped at {at}", bytes(data), False
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    json_name = next(n for n, _ in entries if n.endswith("models/model.json"))
    text = dict(entries)[json_name].decode()

    def with_json(new):
        return zip_of([(n, new if n == json_name else d) for n, d in entries])

    yield "no JSON", with_json(b"not json"), True
    yield "empty JSON", with_json(b""), True
    yield "JSON cut", with_json(text[: len(text) // 2].encode()), True
    yield "nested JSON", with_json(b"[" * 1_000_000), True
    yield "a list for the graph", with_json(text.replace('"graph": {', '"graph": [{', 1)
                                            .encode() if '"graph": {' in text else b"[]"), True
    yield "nodes is a number", with_json(text.replace('"nodes": [', '"nodes": 7, "x": [', 1).encode()), True
    yield "sizes are strings", with_json(text.replace('"sizes": [{', '"sizes": [{"as_int": "x"}, {', 1)
                                         .encode()), True
    yield "a huge size", with_json(text.replace('"as_int": 2}', '"as_int": 4611686018427387904}', 1)
                                   .encode()), False
    yield "compressed", zip_of(entries, zipfile.ZIP_DEFLATED), True


def spec_mutations(good, rng):
    size = len(good)
    for part in (0, size // 4, size // 2, size - size // 8):
        yield f"cut to {part} bytes", good[:part], False
    for _ in range(6):
        data = bytearray(good)
        data[rng.randrange(size)] = rng.choice(b"{}[]:&*!%@`\x00\xff")
        yield "one byte replaced", bytes(data), False
    yield "a number for the version", good.replace(b"opspec: 1", b"opspec: [1]", 1), True
    yield "an unknown key", good.replace(b"opspec: 1", b"opspec: 1\ncolour: blue", 1), True
    yield "deep nesting", b"opspec: 1\nop: " + b"[" * 200_000, True
    yield "an alias bomb", (b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(9))), True


def main():
    program, model, spec = sys.argv[1:4]
    seed = int(os.environ.get("OPREPLAY_SEED", "2026"))
    rounds = 10 if os.environ.get("OPREPLAY_TIER") == "full" else 1
    print(f"OPREPLAY_SEED={seed}, {rounds} rounds")
    rng = random.Random(seed)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="opreplay-hostile-") as folder:
        specs = os.path.join(folder, "specs")
        for _ in range(rounds):
            for file, mutations, command in [
                    ("bad.pt2", model_mutations(open(model, "rb").read(), rng),
                     ["capture", "-o", specs]),
                    ("bad.yaml", spec_mutations(open(spec, "rb").read(), rng), ["spec", "check"])]:
                path = os.path.join(folder, file)
                for what, data, must_fail in mutations:
                    with open(path, "wb") as out:
                        out.write(data)
                    problem = run_on([program, *command, path], file, must_fail)
                    passed += not problem
                    failed += bool(problem)
                    if problem:
                        print(f"FAILED: {file}, {what}: {problem}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or passed < 20 else 0)


def run_on(command, file, must_fail):
    """What is wrong with how the command takes a broken file; empty if nothing is."""
    try:
        done = subprocess.run(command, timeout=20, capture_output=True, preexec_fn=limit_memory)
    except subprocess.TimeoutExpired:
        return "hangs"
    message = done.stderr.decode("utf-8", "replace")
    named = done.returncode == 0 or file in message
    if done.returncode in ((3,) if must_fail else (0, 3)) and named:
        return ""
    return f"exit {done.returncode}, stderr: {message[:300]}"


main()
