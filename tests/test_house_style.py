#!/usr/bin/python3
# The sources keep their measures: lines of up to 110 characters, functions of up to 60 lines and 7 parameters,
# documents of up to 30,000 words (35,000 with the lab's) in such lines, a first line that says what the file is,
# a licence, no function of external linkage that nobody calls, no jump over a variable that its scope closes,
# no sentence of a comment that has a clause for a subject.
# test_house_style.py SOURCE_DIR
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

LINE, FUNCTION, PARAMETERS = 110, 60, 7
WORDS, ALL_WORDS = 30000, 35000  # of Markdown outside lab, and with it
KERNEL = 80  # lines of a function of a kernel: it keeps its state in registers, so its walk stays in one body
root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))


def read(tops, endings):
    found = {}
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(endings):
                    path = os.path.join(folder, name)
                    found[os.path.relpath(path, root)] = open(path, encoding="utf-8").read()
    return found


def functions(lines):
    """First line, header and number of lines of each function, whose braces stand at the margin."""
    for i, line in enumerate(lines):
        if line != "{" or i == 0:
            continue
        begin = i
        while begin > 1 and lines[begin - 1] and not re.search(r"^#|[;}]$|[*]/$", lines[begin - 1]) \
                and not lines[begin - 2].endswith("\\"):  # the end of a macro
            begin -= 1
        end = lines.index("}", i) if "}" in lines[i:] else i
        yield begin + 1, " ".join(lines[begin:i]), end - begin + 1


def parameters(header):
    depth, count = 0, 1
    for letter in header[header.find("(") + 1:header.rfind(")")]:
        depth += letter in "([{"
        depth -= letter in ")]}"
        count += letter == "," and depth == 0
    return count


failures = []
sources = read(["src", "cpu", "gpu", "include", "lab/simulate", "lab/bench", "lab/program"], (".c", ".h", ".cl"))
seen = 0
for path, text in sources.items():
    lines = text.split("\n")
    kernel = path.endswith(".cl")
    if not lines[0].startswith("/*"):
        failures.append("%s: its first line does not say what it is" % path)
    if not re.search(r"SPDX-License-Identifie[r]: Apache", text[:6000]):  # [r]: this line is no licence
        failures.append("%s: names no licence" % path)
    for number, line in enumerate(lines, 1):
        if len(line) > LINE:
            failures.append("%s:%d: %d characters, at most %d" % (path, number, len(line), LINE))
    for comment in re.findall(r"/\*.*?\*/|//[^\n]*", text, flags=re.S):
        for start in re.findall(r"(?:^/[/*]+|[.:;])\s+(?:\* +)?((?:What|Of|Whether) .{,40})", comment):
            failures.append("%s: \"%s\": begin the sentence with its subject" % (path, start))
    for number, header, length in functions(lines):
        seen += 1
        if length > (KERNEL if kernel else FUNCTION):
            failures.append("%s:%d: a function of %d lines" % (path, number, length))
        if not kernel and parameters(header) > PARAMETERS:  # a kernel's arguments are set one by one
            failures.append("%s:%d: a function of %d parameters" % (path, number, parameters(header)))
        body = lines[number - 1:number - 1 + length]
        jumps = [i for i, line in enumerate(body) if re.search(r"\bTRY\(|\bgoto ", line)]
        scopes = [i for i, line in enumerate(body) if re.match(r"    SDM_(OWNED|CLOSED_BY|QUIET|STAGE)", line)]
        if "done:" in body and jumps and scopes and jumps[0] < scopes[-1]:  # gcc does not say so
            failures.append("%s:%d: a jump over a variable that its scope closes" % (path, number))

words = {}
for path, text in {**sources, **read(["tests", "lab/tests", "examples", "python"], (".c", ".h", ".py"))}.items():
    for word in re.findall(r"\bs(?:dm|im)_\w+", re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)):
        words[word] = words.get(word, 0) + 1
for path, text in sources.items():
    if path.endswith(".h") and not path.startswith("include"):
        for name in re.findall(r"^(?!typedef)[A-Za-z_][\w \*]*?\b(s[di]m_\w+)\([^{]*?\);", text, flags=re.M):
            if words.get(name, 0) < 3 and not name.endswith(("_f32", "_f64")):  # declared, defined, called
                failures.append("%s: nobody calls %s()" % (path, name))

documents = read(["docs", "lab", "sampledata"], ".md")
documents.update({name: open(os.path.join(root, name), encoding="utf-8").read()
                  for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")})
count = {path: len(text.split()) for path, text in documents.items()}
outside = sum(n for path, n in count.items() if not path.startswith("lab"))
for what, have, most in (("outside lab", outside, WORDS), ("in all", sum(count.values()), ALL_WORDS)):
    if have > most:
        failures.append("%d words of Markdown %s, at most %d" % (have, what, most))
for path, text in documents.items():
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE and not line.startswith("|"):  # a row of a table cannot be broken
            failures.append("%s:%d: %d characters, at most %d" % (path, number, len(line), LINE))
        if re.search(r"(?:^|[.:] |^[-*\d.]+ )(?:What|Whether) ", line):
            failures.append("%s:%d: a sentence begins with What or Whether" % (path, number))

print("%d files, %d functions, %d words" % (len(sources), seen, sum(count.values())))
for failure in failures:
    print("FAILED: " + failure)
sys.exit(1 if failures else 0)
