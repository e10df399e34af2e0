#!/usr/bin/python3
# Includes point downwards: a file may include its own folder's headers and those of folders below it, and no files
# include, or call, each other in a circle.  A header declares functions of its own folder and of those below.
# test_includes.py SOURCE_DIR
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

# From the bottom up.  cpu holds kernels, gpu the back end of a device.
ORDER = ["include", "core", "cpu", "geo", "input", "geometry", "matching", "gpu", "pointing", "scene", "product", "job",
         "coreg", "views", "rectified", "api", "cli", "lab/simulate", "lab/bench", "lab/program"]
JUDGE, ITS_OWN = "lab/simulate", ("include", "core", "lab/simulate")  # shares no geometry with the chain that it judges
root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))


def sources():
    for top in ("src", "cpu", "gpu", "include", "lab"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")) and not folder.endswith(("tests", "measure")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def layer(path):
    parts = path.split("/")
    return {"src": parts[1], "lab": "/".join(parts[:2])}.get(parts[0], parts[0])


def resolve(included, path):
    for base in (os.path.dirname(path), "src", "include", "cpu", "lab", "."):
        found = os.path.normpath(os.path.join(base, included))
        if os.path.exists(os.path.join(root, found)):
            return found
    return None


def circles(edges):
    """Strongly connected sets of more than one file (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for after in sorted(edges.get(node, ())):
            if after not in index:
                visit(after)
                low[node] = min(low[node], low[after])
            elif after in stack:
                low[node] = min(low[node], index[after])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def strip(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


files = list(sources())
text = {path: open(os.path.join(root, path), encoding="utf-8").read() for path in files}
failures = []
includes = {}
for path in files:
    for included in re.findall(r'^\s*#\s*include "([^"]+)"', text[path], flags=re.M):
        target = resolve(included, path)
        if target is None:
            continue  # made by the build
        includes.setdefault(path, set()).add(target)
        here, there = layer(path), layer(target)
        if ORDER.index(there) > ORDER.index(here):
            failures.append("%s includes %s: %s lies above %s" % (path, target, there, here))
        elif here == JUDGE and there not in ITS_OWN:
            failures.append("%s includes %s: %s takes core alone" % (path, target, here))
for group in circles(includes):
    failures.append("headers include each other: " + " ".join(group))

# Which file defines a function of external linkage, and which files call it.  Names that several files define (one
# body for several instruction sets) are left out.
defined = {}
for path in files:
    if path.endswith(".c"):
        for name in re.findall(r"^(?!static\b)[A-Za-z_][\w \*]*?\b(sdm_\w+|sim_\w+)\([^;{]*\)\s*\{", strip(text[path]), flags=re.M):
            defined.setdefault(name, set()).add(path)
owner = {name: paths.copy().pop() for name, paths in defined.items() if len(paths) == 1}
calls = {}
for path in files:
    if path.endswith(".c"):
        for name in set(re.findall(r"\b((?:sdm|sim)_\w+)\b", strip(text[path]))):
            if name in owner and owner[name] != path:
                calls.setdefault(path, set()).add(owner[name])
                here, there = layer(path), layer(owner[name])
                if ORDER.index(there) > ORDER.index(here):
                    failures.append("%s calls %s of %s" % (path, name, owner[name]))
    elif layer(path) != "include":  # the public header stands for the library
        for name in set(re.findall(r"\b((?:sdm|sim)_\w+)\s*\([^;{]*\)[^;{]*;", strip(text[path]))):
            if name in owner and ORDER.index(layer(owner[name])) > ORDER.index(layer(path)):
                failures.append("%s declares %s of %s" % (path, name, owner[name]))
for group in circles(calls):
    failures.append("files call each other: " + " ".join(group))
for name in sorted({os.path.basename(p) for p in files if p.endswith(".c")}):
    places = [p for p in files if os.path.basename(p) == name]
    if len(places) > 1:
        failures.append("two files of one name: " + " ".join(places))

print("%d files, %d includes, %d calls between files" % (len(files), sum(map(len, includes.values())), sum(map(len, calls.values()))))
for failure in failures:
    print("FAILED: " + failure)
sys.exit(1 if failures else 0)
