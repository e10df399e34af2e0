#!/usr/bin/python3
# Kernels in plain C, preprocessed -> a C file that holds them, for each a function that calls it with a list of arguments, and
# a table of all.
# simulated_calls.py PREPROCESSED KERNELS OUT
# SPDX-License-Identifier: Apache-2.0
import re
import sys

preprocessed, kernels, out = sys.argv[1:]
text = open(preprocessed).read()
lines, table = [f'#include "{kernels}"'], []
for name, arguments in re.findall(r"static void SDM_SIMULATED\s+(\w+)\s*\(([^)]*)\)\s*\{", text):
    values = []
    for i, argument in enumerate(arguments.split(",")):
        kind = "pointer" if "*" in argument else argument.split()[0]
        if kind not in ("pointer", "int", "long", "float"):
            sys.exit(f"{name}: argument {argument.strip()} is of a kind that device.h does not have")
        values.append(f"sdm_sim_{kind}(a, {i})")
    lines.append(f"static void call_{name}(const SdmArg *a)\n{{\n    {name}({', '.join(values)});\n}}")
    table.append(f'    {{"{name}", {len(values)}, call_{name}}},')
lines += ["const SdmSimKernel SDM_SIMULATED_TABLE[] = {", *table, "    {NULL, 0, NULL}};"]
open(out, "w").write("\n".join(lines) + "\n")
