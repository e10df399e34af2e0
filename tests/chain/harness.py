# What the chain tests share: run the program, simulate scenes, compare with truth, count failures.
# SPDX-License-Identifier: Apache-2.0
import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
# A test's first argument, or else that of the release build.
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(SOURCE, "build", "release", "stereodem"))
LAB = os.path.join(os.path.dirname(PROGRAM), "stereodem-lab")  # simulates
SHARED = os.path.join(SOURCE, "..", "shared")
SKIP = 77
failures = []
digests = {}
checks = 0
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # tests share the machine: threads that wait shall not spin


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(SKIP)


def tool(name):
    if not shutil.which(name):
        skip("no " + name)
    return name


def folder():
    """A scratch folder that goes when the test ends."""
    path = tempfile.mkdtemp(prefix="sdm_chain_")
    atexit.register(shutil.rmtree, path, True)
    return path


work = folder()


def at(*names):
    """A path in the test's folder."""
    return os.path.join(work, *names)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parsed(path):
    """Of JSON."""
    return json.loads(text_of(path))


def put_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def put_polygons(path, *features):
    """GeoJSON of (properties, kind of geometry, coordinates) each."""
    return put_text(path, json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": places}} for properties, kind, places in features]}))


def rpc_text(rpc):
    """A file _RPC.TXT of RPC metadata; some formats of images keep fewer digits."""
    return "".join("%s%s: %s\n" % (key, "_%d" % (i + 1) if key.endswith("_COEFF") else "", number) for key, value in rpc.items()
                   for i, number in enumerate(value.split() if key.endswith("_COEFF") else value.split()[:1]))


def call(words, quiet=False, **more):
    """Run a command; its exit code, output and errors."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", **more)
    if done.returncode and not quiet:
        print("  rc %d: %s\n  %s" % (done.returncode, " ".join(str(w) for w in words), done.stderr.strip()[-400:]))
    return done


def refused(code, said, *words):
    """The program ends with this exit code, a last line that holds these texts, and, with -q, no other; it leaves no file but a log."""
    listed = lambda: sorted(n for n in os.listdir(work) if not n.endswith(".log"))
    before, done = listed(), call([PROGRAM, *words], quiet=True)
    lines = done.stderr.strip().split("\n")
    good = done.returncode == code and (len(lines) == 1 or "-q" not in words) and listed() == before
    expect(good and all(s in lines[-1] for s in ([said] if isinstance(said, str) else said)), "%d, %s" % (done.returncode, lines[-1][-200:]))


def expect(good, what):
    """One check, printed with its figure."""
    global checks
    checks += 1
    print("%s %s" % ("ok  " if good else "FAIL", what), flush=True)
    if not good:
        failures.append(what)
    return good


def finish():
    print("%d checks, %d failed" % (checks, len(failures)))
    for what in failures:
        print("FAILED: " + what)
    sys.exit(1 if failures else 0)


def simulate(out, *options):
    """A simulated pair in folder `out`; stops the test when it cannot be made."""
    done = call([LAB, "simulate", "-o", out, "--quiet"] + list(options))
    if done.returncode:
        expect(False, "simulate %s" % " ".join(str(o) for o in options))
        finish()
    return out


def run(inputs, out, *options):
    """A DEM with cost and optimizer named; True when it was made."""
    words = [PROGRAM, "run"] + list(inputs) + ["-o", out, "--quiet", "--overwrite"]
    words += [] if "--optimizer" in options else ["--optimizer", "local"]
    words += [] if "--cost" in options else ["--cost", "zncc"]
    return call(words + list(options)).returncode == 0


def compare(dem, reference, *options):
    """Figures of a DEM against a reference, or None."""
    done = call([PROGRAM, "compare", dem, reference, "--json"] + list(options))
    return json.loads(done.stdout) if done.returncode == 0 else None


def figures(result):
    raw, aligned = result["raw"], result["aligned"]
    return "coverage %.2f %%, raw bias %.2f NMAD %.2f, aligned NMAD %.2f RMSE %.2f over30 %.3f %%" % (
        100 * result["coverage"], raw["median"], raw["nmad"], aligned["nmad"], aligned["rmse"], 100 * aligned["over30"])


def raw_pixels(path):
    """Bytes of all bands of a raster, band after band, with its size; through gdal_translate."""
    base = path + ".raw"
    done = call([tool("gdal_translate"), "-q", "-of", "ENVI", "-co", "INTERLEAVE=BSQ", path, base])
    if done.returncode:
        return None
    with open(base, "rb") as f:
        data = f.read()
    with open(os.path.splitext(base)[0] + ".hdr" if not os.path.exists(base + ".hdr") else base + ".hdr") as f:
        header = [l for l in f if l.split(" ")[0] in ("samples", "lines", "bands", "data")]
    for name in (base, base + ".hdr", base + ".aux.xml", os.path.splitext(base)[0] + ".hdr"):
        if os.path.exists(name):
            os.remove(name)
    return "".join(header).encode() + data


def digest(path):
    """Of raw_pixels(); a file with the bytes of an earlier one has its samples."""
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        same = hashlib.sha256(f.read()).hexdigest()
    if same not in digests:
        data = raw_pixels(path)
        digests[same] = hashlib.sha256(data).hexdigest() if data is not None else None
    return digests[same]


def companion(dem, suffix):
    return os.path.splitext(dem)[0] + suffix
