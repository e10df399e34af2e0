"""`stereodem` and `python -m stereodem`: the program, where it lies within the module or on the PATH."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import subprocess
import sys


def main() -> None:
    within = pathlib.Path(__file__).resolve().parent / "bin" / ("stereodem.exe" if os.name == "nt" else "stereodem")
    program = str(within) if within.exists() else shutil.which("stereodem")
    if program is None or os.path.samefile(program, sys.argv[0]):
        sys.exit("stereodem: the program is neither in %s nor on the PATH; install it, or name its folder in PATH" % within.parent)
    if os.name == "nt":  # which has no exec
        sys.exit(subprocess.call([program] + sys.argv[1:]))
    os.execv(program, ["stereodem"] + sys.argv[1:])


if __name__ == "__main__":
    main()
