#!/usr/bin/env python3
"""Runs the command-line tests of one .test file.

    run_cli.py BIN_DIR FILE.test [NAME]

A file holds blocks; each runs in an empty folder of its own, with BIN_DIR first on PATH:

    == what the block shows
    file faults.yaml
    | simdevice: 1
    $ opreplay run 'aten.relu(f32[4])' --device sim
    exit 0
    stdout pass:1
    stderr! error

MODELS names the folder of the models the build exports. `file NAME` writes the `|` lines that follow. `$` runs a shell command; the lines after it say what it
must do: `exit N` (default 0), `stdout TEXT` and `stderr TEXT` (TEXT is part of it, in this order),
`stdout! TEXT` (is not part of it), `stdout= ` (is empty). A block may hold several commands.
"""

import os
import re
import subprocess
import sys
import tempfile


class Command:
    def __init__(self, line, text):
        self.line, self.text, self.exit, self.checks = line, text, 0, []


def parse(path):
    blocks, block = [], None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("== "):
            block = (line[3:], [], {})
            blocks.append(block)
        elif not line or line.startswith("#"):
            continue
        elif block is None:
            sys.exit(f"{path}:{number}: expected '== name' first")
        elif line.startswith("file "):
            block[2][line[5:]] = []
        elif line.startswith("|"):
            list(block[2].values())[-1].append(line[2:])
        elif line.startswith("$ "):
            block[1].append(Command(number, line[2:]))
        elif line.startswith("exit "):
            block[1][-1].exit = int(line[5:])
        elif re.match(r"(stdout|stderr)(!|=| )", line):
            stream, kind, text = line[:6], line[6], line[7:].lstrip() if line[6] != " " else line[7:]
            block[1][-1].checks.append((number, stream, kind, text))
        else:
            sys.exit(f"{path}:{number}: not understood: {line}")
    return blocks


def run_command(command, folder, environment):
    done = subprocess.run(["bash", "-c", command.text], cwd=folder, env=environment,
                          capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
    output = {"stdout": done.stdout.decode("utf-8", "replace"),
              "stderr": done.stderr.decode("utf-8", "replace")}
    problems = []
    if done.returncode != command.exit:
        problems.append(f"line {command.line}: exit code {done.returncode}, expected {command.exit}")
    position = {"stdout": 0, "stderr": 0}
    for number, stream, kind, text in command.checks:
        if kind == " ":
            at = output[stream].find(text, position[stream])
            if at < 0:
                problems.append(f"line {number}: {stream} lacks (in this order): {text}")
            else:
                position[stream] = at + len(text)
        elif kind == "!" and text in output[stream]:
            problems.append(f"line {number}: {stream} has: {text}")
        elif kind == "=" and output[stream] != text:
            problems.append(f"line {number}: {stream} is not exactly: {text!r}")
    if problems:
        problems.append(f"$ {command.text}\n-- stdout\n{output['stdout']}\n-- stderr\n{output['stderr']}")
    return problems


def main():
    bin_dir, path = sys.argv[1], sys.argv[2]
    only = sys.argv[3] if len(sys.argv) > 3 else None
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPREPLAY_")}
    environment["PATH"] = os.path.abspath(bin_dir) + ":" + environment["PATH"]
    environment["LC_ALL"] = "C.UTF-8"
    environment["MODELS"] = os.path.abspath(os.path.join(bin_dir, "..", "models"))
    failed = ran = 0
    for name, commands, files in parse(path):
        if only and only not in name:
            continue
        ran += 1
        with tempfile.TemporaryDirectory(prefix="opreplay-cli-") as folder:
            for file, lines in files.items():
                with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                    out.write("\n".join(lines) + "\n")
            problems = []
            for command in commands:
                problems += run_command(command, folder, environment)
        if problems:
            failed += 1
            print(f"FAILED: {name}\n  " + "\n  ".join(problems))
    if ran == 0:
        sys.exit("no block ran")
    print(f"{ran - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
