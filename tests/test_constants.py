#!/usr/bin/python3
# Each row of docs/constants.md names a constant with the value that its file defines.
# test_constants.py SOURCE_DIR
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))


def defined(name, text):
    """The value behind a #define, in an enum or of a static const; None without one."""
    found = re.search(r"#define\s+%s[ \t]+(.+)$" % name, text, flags=re.M) or re.search(r"\b%s\s*=\s*([^,;}\n]+)" % name, text)
    return re.sub(r"(?<=[\d.])f\b|\s*/\*.*$", "", found[1]).strip() if found else None


failures, rows = [], 0
for number, line in enumerate(open(os.path.join(root, "docs", "constants.md"), encoding="utf-8"), 1):
    row = re.match(r"\| `(\w+)` \| `([^`]*)` \| [^|]*\| `([^`]*)` \|", line)
    if row:
        rows += 1
        name, value, path = row.groups()
        path = os.path.join(root, path)
        here = defined(name, open(path, encoding="utf-8").read()) if os.path.exists(path) else None
        if here != value:
            failures.append("docs/constants.md:%d: %s is %s there, %s in %s" % (number, name, value, here, row[3]))
if rows < 100:
    failures.append("docs/constants.md has %d rows of the form | `NAME` | `VALUE` | unit | `FILE` | meaning |" % rows)

print("%d constants" % rows)
for failure in failures:
    print("FAILED: " + failure)
sys.exit(1 if failures else 0)
