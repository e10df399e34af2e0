"""What the fault tests share: scenes to damage, a run of the program, and what must hold after a failure.

A fault test calls `refuse` once per case: the program must end with the exit code named, with one sentence on standard
error that holds the words named, and must leave the folder of the output as it found it.
Needs Python's standard library and GDAL's command-line tools; without them the tests are skipped (exit 77).
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

COMPANIONS = (".html", ".png", ".json", ".stac.json", ".qml", "_qa.qml", "_reason.vrt", "_qa.tif", "_ortho.tif", ".tif")
SECONDS = 120  # no case takes longer, whatever else the machine does


class Bench:
    """A folder of its own, the program, and the failures counted so far."""

    def __init__(self):
        self.program = os.path.abspath(sys.argv[1])
        self.lab = os.path.join(os.path.dirname(self.program), "stereodem-lab")
        self.source = os.path.abspath(sys.argv[2])
        self.library = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else "none"
        for tool in ("gdal_translate", "gdalinfo"):
            if not shutil.which(tool):
                print(f"SKIPPED: no {tool}")
                sys.exit(77)
        self.folder = tempfile.mkdtemp(prefix="stereodem_fault_")
        os.chdir(self.folder)
        os.environ["OMP_WAIT_POLICY"] = "passive"  # tests share the machine with others
        self.failed = self.passed = 0

    def close(self):
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)

    def fault(self, name, why):
        self.failed += 1
        print(f"FAILED: {name}: {why}", flush=True)

    def call(self, *words, **keys):
        """Run the program; returns the finished process (text)."""
        keys.setdefault("timeout", SECONDS)
        program = self.lab if words[0] == "simulate" else self.program
        return subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False, **keys)

    def make(self, *words):
        """A step that must succeed."""
        done = self.call(*words)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {done.stderr}")

    def make_with(self, variables, *words):
        """The same with environment variables."""
        done = self.call(*words, env=os.environ | variables)
        if done.returncode != 0:
            sys.exit(f"{variables} {' '.join(words)}: {done.stderr}")

    def refuse(self, name, code, words, *arguments, command="run", also=(), **keys):
        """One bad case.  words: all must be in the sentence.  also: texts of which one must be in it."""
        before = snapshot(".")
        try:
            done = self.call(command, "--quiet", *arguments, **keys)
        except subprocess.TimeoutExpired:
            self.fault(name, f"still at work after {keys.get('timeout', SECONDS)} s")
            return
        why = judge(done, code, words, also)
        after = snapshot(".")
        if after != before:
            left = sorted(p for p in set(before) | set(after) if before.get(p) != after.get(p))
            why = why or f"files changed or left behind: {left[:6]}"
            for path in left:
                remove(path) if path not in before else None
        if why:
            self.fault(name, why)
        else:
            self.passed += 1
            print(f"{name}: {done.stderr.strip()}", flush=True)

    def refuse_rows(self, code, command, rows):
        """A bad case per row: its name | words of the sentence, with ; between them | arguments as for a shell."""
        for row in rows.strip().split("\n"):
            name, words, arguments = (part.strip() for part in row.split(" | "))
            self.refuse(name, code, words.split("; "), *shlex.split(arguments), command=command)

    def refused(self, name, words, *call, code=1, **keys):
        """A call whose last sentence has the words, and which may say more and leave files."""
        done = self.call(*call, **keys)
        last = [line for line in done.stderr.split("\n") if line][-1:]
        good = done.returncode == code and last and all(word in last[0] for word in words)
        self.check(name, good, f"exit code {done.returncode}, expected {code} and {words}: {done.stderr[-600:]}")
        if good:
            print(f"{name}: {last[0]}", flush=True)

    def ran(self, name, output, want, *words, **keys):
        """A run of the scene ends well, with these bytes.  The finished process, or None."""
        done = self.call("run", "scene", "-o", output, "--overwrite", *words, **keys)
        good = self.check(name, done.returncode == 0, done.stderr[-300:])
        return done if good and self.check(name + ": bytes", bytes_of(output) == want, "other bytes than the processor's") else None

    def ran_or_told(self, name, output, want, *words, **keys):
        """A run of the scene ends with these bytes, or at once with a sentence."""
        done = self.call("run", "scene", "-o", output, "--overwrite", "--quiet", *words, **keys)
        why = None if done.returncode == 0 and bytes_of(output) == want else judge(done, 1, [], ())
        self.check(name, why is None, why)

    def start(self, *words):
        """The program at work."""
        return subprocess.Popen([self.program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def check(self, name, good, why=""):
        """A law that is not a refusal."""
        if good:
            self.passed += 1
        else:
            self.fault(name, why)
        return good


def test(*parts):
    """Run the parts one after the other in one folder; ends the process."""
    bench = Bench()
    try:
        for part in parts:
            part(bench)
    finally:
        bench.close()
    print(f"{bench.passed} cases passed, {bench.failed} failed")
    sys.exit(1 if bench.failed or not bench.passed else 0)


def judge(done, code, words, also):
    """What is wrong with a refusal; None when nothing is."""
    lines = [line for line in done.stderr.split("\n") if line]
    if done.returncode != code:
        return f"exit code {done.returncode}, expected {code}: {done.stderr[-400:]}"
    if len(lines) != 1 or not lines[0].startswith(("stereodem ", "stereodem: ", "stereodem-lab ")):
        return f"expected one sentence, found: {done.stderr[-600:]}"
    if len(lines[0]) > 900:
        return f"a sentence of {len(lines[0])} characters: {lines[0][:300]}..."
    if re.search(r"(?<![\w'.])-?(nan|inf)(?![\w'.])", lines[0]):
        return f"a number that is none: {lines[0]}"
    if re.search(r"/vsi(curl/|s3/|gs/|az/)", lines[0]) and not any("/vsi" in word for word in words):
        return f"GDAL's name of an address: {lines[0]}"
    missing = [word for word in words if word not in lines[0]]
    if missing or (also and not any(word in lines[0] for word in also)):
        return f"nothing of {missing or also} in: {lines[0]}"
    return None


def snapshot(folder):
    """Every path below but logs, which failures leave, too: its size and time stamp; folders by name alone."""
    seen = {}
    for root, folders, files in os.walk(folder):
        for name in folders:
            seen[os.path.join(root, name)] = None
        for name in [n for n in files if not n.endswith(".log")]:
            path = os.path.join(root, name)
            at = os.lstat(path)
            seen[path] = (at.st_size, at.st_mtime_ns)
    return seen


def place():
    """Where numbers of processes count: machine, name space, boot, as leases name it; None where that cannot be told."""
    if not os.path.exists("/proc/self/ns/pid"):
        return None
    boot = "/proc/sys/kernel/random/boot_id"
    return f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')}/{content(boot).decode().strip() if os.path.exists(boot) else ''}"


def read_plan(job):
    return json.loads(content(f"{job}/plan.json"))


def unit(job, number, end):
    """A file of a job: of the unit with this number in the plan."""
    scene = max((s for s in read_plan(job)["scenes"] if s["unit_count"] and s["first_unit"] <= number),
                key=lambda s: s["first_unit"])
    return f"{job}/unit_{scene['key']}_{number - scene['first_unit']:06d}.{end}"


def scene(job, number, end):
    """A file of a job: of a scene."""
    return f"{job}/scene_{read_plan(job)['scenes'][number]['key']}.{end}"


def product(job, number):
    """The record of a scene's products."""
    return f"{job}/product_{read_plan(job)['scenes'][number]['key']}.sdm"


def check_merged(bench, name, dem, true):
    """DEM and QA raster are run's to the byte, and nothing is left half-written beside them."""
    same = [content(dem[:-4] + end) == content(true[:-4] + end) for end in (".tif", "_qa.tif")]
    left = [p for p in os.listdir(os.path.dirname(dem)) if ".part" in p]
    bench.check(name, all(same) and not left, f"DEM and QA same: {same}, left {left}")


def state_of(bench, job):
    return json.loads(bench.call("status", job, "--log", "json").stdout.split("\n")[-2])


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)


def products(output):
    stem = output[: -len(".tif")]
    return [stem + ending for ending in COMPANIONS]


def sweep(output):
    """Remove the products, the job folder and what was written aside."""
    folder = os.path.dirname(output) or "."
    base = os.path.basename(output)
    for path in products(output) + [output[:-4] + ".log"]:
        remove(path)
    for name in os.listdir(folder):
        if name.startswith(base + "."):
            remove(os.path.join(folder, name))


def aside(output):
    """What stands beside the output that is none of its products."""
    folder = os.path.dirname(output) or "."
    base = os.path.basename(output)
    return sorted(name for name in os.listdir(folder) if name.startswith(base + "."))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def bytes_of(output):
    """Of a DEM and the rasters beside it."""
    return [content(output[:-4] + ending) for ending in (".tif", "_qa.tif", "_ortho.tif")]


def need_exact_opencl(bench):
    """The test is skipped where OpenCL's first device does not give the processor's bytes."""
    listed = json.loads(bench.call("devices", "--log", "json").stdout.splitlines()[-1])
    able = [d for d in listed["devices"] if d["device"] == "opencl:0" and d["can_run"] and d["rounds_as_processor"]]
    if bench.library == "none" or not able:
        print("SKIPPED: no OpenCL device that rounds as the processor does, or nothing to preload")
        bench.close()
        sys.exit(77)


def put(path, data):
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def change(path, kind):
    """Damage a file in one of several ways."""
    data = bytearray(content(path))
    middle = len(data) // 2
    if kind == "cut":
        data = data[:middle]
    elif kind == "empty":
        data = bytearray()
    elif kind == "zeroed":
        data[middle:middle + 4096] = bytes(4096)
    elif kind == "all zero":
        data = bytearray(len(data))
    elif kind == "one bit":
        data[middle] ^= 1
    elif kind == "longer":
        data += b"more"
    put(path, bytes(data))


# ---- small TIFFs, written and read without a library ----

TYPES = {"uint8": (1, 1, 1), "uint16": (2, 2, 1), "int16": (2, 2, 2), "float32": (4, 4, 3)}  # bytes, struct size, sample format


def write_tiff(path, width, height, kind, samples, rpc=None):
    """One strip, one band, little endian.  samples: bytes.  rpc: 92 doubles of the tag RPCCoefficient, or None."""
    size, _, sample_format = TYPES[kind]
    tags = [(256, 4, width), (257, 4, height), (258, 3, 8 * size), (259, 3, 1), (262, 3, 1), (277, 3, 1),
            (278, 4, height), (279, 4, len(samples)), (339, 3, sample_format)]
    count = len(tags) + 1 + (1 if rpc else 0)
    data_at = 8 + 2 + 12 * count + 4
    rpc_at = data_at
    strip_at = data_at + (8 * 92 if rpc else 0)
    tags.append((273, 4, strip_at))
    out = struct.pack("<2sHIH", b"II", 42, 8, count)
    entries = [struct.pack("<HHII", tag, kind_code, 1, value) for tag, kind_code, value in sorted(tags)]
    if rpc:
        entries.append(struct.pack("<HHII", 50844, 12, 92, rpc_at))
    out += b"".join(entries) + struct.pack("<I", 0)
    if rpc:
        out += struct.pack("<92d", *rpc)
    put(path, out + samples)


def read_rpc(path):
    """The 92 doubles of the tag, from GDAL's metadata."""
    shown = subprocess.run(["gdalinfo", "-json", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    rpc = json.loads(shown.stdout)["metadata"]["RPC"]
    out = [float(rpc.get("ERR_BIAS", -1)), float(rpc.get("ERR_RAND", -1))]
    for part in ("OFF", "SCALE"):
        out += [float(rpc[f"{name}_{part}"]) for name in ("LINE", "SAMP", "LAT", "LONG", "HEIGHT")]
    for name in ("LINE_NUM", "LINE_DEN", "SAMP_NUM", "SAMP_DEN"):
        out += [float(value) for value in rpc[f"{name}_COEFF"].split()]
    return out


def read_raster(path, kind):
    """(width, height, bytes) of the only band as `kind`."""
    name = {"uint8": "Byte", "uint16": "UInt16", "float32": "Float32"}[kind]
    subprocess.run(["gdal_translate", "-q", "-of", "ENVI", "-ot", name, path, "read.img"], check=True)
    header = content("read.hdr").decode()
    size = {line.split("=")[0].strip(): line.split("=")[1].strip() for line in header.split("\n") if "=" in line}
    data = content("read.img")
    for leftover in ("read.img", "read.hdr", "read.img.aux.xml"):
        remove(leftover)
    return int(size["samples"]), int(size["lines"]), data


def mirrored(width, height, size, data):
    """Columns in the opposite order."""
    rows = []
    for y in range(height):
        row = data[y * width * size:(y + 1) * width * size]
        rows.append(b"".join(row[x * size:(x + 1) * size] for x in range(width - 1, -1, -1)))
    return b"".join(rows)


def simulate(bench, folder, layout, *more, side=400):
    """A small scene, the same every time."""
    bench.make("simulate", "--quiet", "-o", folder, "--layout", layout, "--width", str(side), "--height", str(side),
               "--seed", "5", *more)
