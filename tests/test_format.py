#!/usr/bin/python3
# The code is as clang-format writes it by .clang-format; skipped where the program is absent.
# test_format.py SOURCE_DIR      to apply it: git ls-files src cpu include lab tests | grep -E '\.[ch]$' | grep -v /simd_ | xargs clang-format -i
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys

os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
version = subprocess.run(["clang-format", "--version"], stdout=subprocess.PIPE, text=True).stdout if shutil.which("clang-format") else ""
if " version 14." not in version:  # each version has its own taste
    print("SKIPPED: no clang-format 14")
    sys.exit(77)
files = [os.path.join(folder, name) for top in ("src", "cpu", "include", "lab", "tests") for folder, _, names in os.walk(top)
         for name in names if name.endswith((".c", ".h")) and not name.startswith("simd_")]  # these: one operation a line
done = subprocess.run(["clang-format", "--dry-run", "-Werror"] + sorted(files), stderr=subprocess.PIPE, text=True)
wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "[-Wclang-format-violations]" in line})
print("%d files, %d of them formatted otherwise" % (len(files), len(wrong)))
for path in wrong:
    print("FAILED: " + path)
sys.exit(1 if wrong else 0)
