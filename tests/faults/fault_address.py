#!/usr/bin/python3
"""Addresses of the web in the place of files, for reading and for writing; names of outputs; a scene's name and time."""
# fault_address.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import base64
import glob
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import zipfile

import fault_base as base


class Server(http.server.SimpleHTTPRequestHandler):
    """The folder of the test, in parts as web servers of images give it."""

    protocol_version = "HTTP/1.1"
    ranges = True

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        path = self.path.lstrip("/").split("?")[0]
        if not (self.ranges and asked and os.path.isfile(path)):
            super().do_GET()
            return
        data = base.content(path)
        first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
        self.send_response(206 if first < len(data) else 416)
        part = data[first:last + 1]
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(self.sent(part))

    def sent(self, part):
        return part

    def log_message(self, *_):
        pass


class Whole(Server):
    ranges = False


class Breaking(Server):
    """Breaks off at each second range, after half of it; for good behind `end`."""

    count, end = 0, 1 << 40

    def sent(self, part):
        kind = type(self)
        kind.count += 1
        first = int(re.match(r"bytes=(\d+)", self.headers["Range"])[1])
        if kind.count % 2 and first < kind.end:
            return part
        self.close_connection = True
        return part[:len(part) // 2] if first < kind.end else b""


class Ending(Breaking):
    end = 300000


class Login(Server):
    """Asks for the token; tells who has none."""

    def do_HEAD(self):
        self.answer(super().do_HEAD)

    def do_GET(self):
        self.answer(super().do_GET)

    def answer(self, go_on):
        if self.headers.get("Authorization") in ("Bearer right", "Basic " + base64.b64encode(b"me:right").decode()):
            go_on()
            return
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Page(Server):
    """Answers whatever is asked for with the page of a login."""

    def do_GET(self):
        page = b"<!DOCTYPE html><html><body>Log in</body></html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page if self.command == "GET" else b"")

    do_HEAD = do_GET


def serve(kind):
    """Its address, and a server that stops with the test."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.handle_error = lambda *_: None  # who has read enough closes the line
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def reading(bench):
    web, whole = serve(Server), serve(Whole)
    bench.make("run", "-q", "pair/left.tif", "pair/right.tif", "-o", "disk.tif")
    done = bench.call("run", "-q", f"{web}/pair/left.tif", f"{web}/pair/right.tif", "-o", "web.tif")
    if "without that virtual file system" in done.stderr:
        print("SKIPPED: GDAL without curl")
        return
    bench.check("a pair from the web", done.returncode == 0 and base.content("web.tif") == base.content("disk.tif"), done.stderr)
    for words in (("info", f"{web}/scene.zip"), ("info", "scene.zip")):
        done = bench.call(*words, "--log", "json")
        bench.check(words[1], done.returncode == 0 and json.loads(done.stdout.split("\n")[-2])["sensor"] == "aster", done.stderr)
    bench.make("plan", "-q", f"{web}/pair/left.tif", f"{web}/pair/right.tif", "-o", "job")
    bench.make("tile", "-q", "job", "0")
    bench.make("merge", "-q", "job")
    bench.check("a job from the web", base.content("job/dem/left.tif") == base.content("disk.tif"))
    for name in ("web", "disk"):
        base.sweep(f"{name}.tif")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{free.getsockname()[1]}"
    bench.refuse("nothing there", 1, [f"run: {web}/absent.zip: nothing", "check the address"], f"{web}/absent.zip", "-o", "o.tif")
    bench.refuse("nobody there", 1, [f"run: {silent}/a.tif: nothing", "check the address"], f"{silent}/a.tif", f"{silent}/b.tif", "-o", "o.tif")
    store = {"AWS_NO_SIGN_REQUEST": "YES", "AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_S3_ENDPOINT": silent[7:]}
    bench.refuse("no bucket", 1, ["run: s3://nobody/a.tif: nothing"], "s3://nobody/a.tif", "-o", "o.tif", env=os.environ | store)
    store["AWS_S3_ENDPOINT"] = web[7:]
    done = bench.call("compare", "again.tif", "s3://scene/truth.tif", "-o", "page", env=os.environ | store)
    bench.check("a reference in a bucket", done.returncode == 0 and "coverage 100.00 %" in done.stdout, done.stderr)
    base.remove("page.html")
    bench.refuse("a server that gives files whole", 1, [f"run: {whole}/pair/", "Range"], f"{whole}/pair/left.tif", f"{whole}/pair/right.tif",
                 "-o", "o.tif")
    if sample(bench):
        shutil.copy(sample(bench), "scene.hdf")
        for scene, out in (("scene.hdf", "disk.tif"), (f"{web}/scene.hdf", "web.tif"), (f"{web}/scene.hdf?key=a/b", "signed.tif")):
            bench.make("run", "-q", scene, "-o", out)
        for name in ("web.tif", "signed.tif"):
            bench.check(f"HDF4 from the {name[:-4]} address", base.content(name) == base.content("disk.tif"))
        fetching(bench, web)


def fetching(bench, web):
    """HDF on servers that break off, ask for a login, answer with a page; no copy is left."""
    os.mkdir("temporary")
    os.environ["TMPDIR"] = os.path.abspath("temporary")
    broken, ending, login, page = (serve(kind) for kind in (Breaking, Ending, Login, Page))
    done = bench.call("run", "-v", f"{broken}/scene.hdf", "-o", "broken.tif")
    bench.check("a server that breaks off", done.returncode == 0 and base.content("broken.tif") == base.content("disk.tif") and
                "broke off after" in done.stderr, done.stderr[-600:])
    bench.refuse("breaks off for good", 1, [f"{ending}/scene.hdf", "breaks off after", "of 1438188 bytes"], f"{ending}/scene.hdf", "-o", "o.tif")
    bench.refuse("a login", 1, [f"{login}/scene.hdf", "asks for a login", ".netrc", "GDAL_HTTP_HEADER_FILE"], f"{login}/scene.hdf", "-o", "o.tif")
    base.put("header.txt", "Authorization: Bearer right\n")
    base.put(".netrc", "machine 127.0.0.1 login me password right\n")
    for words, variables in ((["--config", "GDAL_HTTP_HEADER_FILE=header.txt"], {}), ([], {"HOME": os.getcwd()})):
        done = bench.call("run", "-q", "--overwrite", f"{login}/scene.hdf", "-o", "login.tif", *words, env=os.environ | variables)
        bench.check(f"a login by {words or variables}", done.returncode == 0 and base.content("login.tif") == base.content("disk.tif"), done.stderr)
    bench.refuse("a page", 1, [f"{page}/scene.hdf", "web page"], f"{page}/scene.hdf", "-o", "o.tif")
    base.put("short.hdf", base.content("scene.hdf")[:100000])
    bench.refuse("cut short there", 1, [f"{web}/short.hdf: an HDF4 file"], f"{web}/short.hdf", "-o", "o.tif")
    base.put("list.txt", f"{web}/scene.hdf\n")
    bench.make("plan", "-q", "--list", "list.txt", "-o", "far")
    bench.make("tile", "-q", "far", "0")
    bench.make("merge", "-q", "far")
    made = [name for name in os.listdir("far/dem") if name.endswith("sim.tif") or name == "scene.tif"]
    bench.check("a list of addresses", made and base.content(f"far/dem/{made[0]}") == base.content("disk.tif"), str(made))
    bench.check("no copy is left", os.listdir("temporary") == [], str(os.listdir("temporary")))
    if os.geteuid():  # root writes anywhere
        os.chmod("temporary", 0o500)
        bench.refuse("no room for the copy", 1, ["TMPDIR"], f"{web}/scene.hdf", "-o", "o.tif")
        os.chmod("temporary", 0o700)
    del os.environ["TMPDIR"]
    for name in ("web", "disk", "broken", "login"):
        base.sweep(f"{name}.tif")


def writing(bench):
    for where in ("/vsimem/o.tif", "/vsis3/bucket/o.tif", "s3://bucket/o.tif", "https://host/o.tif"):
        words = [where.replace("/vsis3/", "s3://"), "not written to", "on a disk"]
        bench.refuse(f"run to {where}", 2, words, "scene.zip", "-o", where)
        bench.refuse(f"plan to {where}", 2, words, "scene.zip", "-o", where, command="plan")
        bench.refuse(f"stack to {where}", 2, words, "truth.tif", "again.tif", "-o", where, command="stack")
        bench.refuse(f"match to {where}", 2, words, "pair/left.tif", "pair/right.tif", "-o", where, command="match")
    for name in ("o", "o.png", "o.d/p", "-", ".tif"):
        bench.refuse(f"-o {name}", 2, [f"-o {name}", ".tif"], "scene.zip", "-o", name)
    for srs in ("EPSG:4326x", "EPSG:", "EPSG:32631 32632", "epsg:0x1", "ESRI:54009;"):
        bench.refuse(f"--t_srs {srs}", 2, [srs, "expected for example EPSG:32631"], "scene.zip", "-o", "o.tif", "--t_srs", srs)


def sample(bench):
    return next(iter(glob.glob(f"{bench.source}/sampledata/*.hdf")), None)


def identity(bench):
    """A link has the name and time of what it leads to; a time that is none is not believed."""
    if not sample(bench):
        print("SKIPPED: no HDF sample")
        return

    def told(name):
        found = json.loads(bench.call("info", name, "--log", "json").stdout.split("\n")[-2])
        return found["id"], found["time_utc"]

    os.symlink(sample(bench), "link.hdf")
    bench.check("a link", told("link.hdf") == ("AST_L1A_00401012001180005_sim", "2001-01-01T18:00:05Z"), str(told("link.hdf")))
    shutil.copy(sample(bench), "plain.hdf")
    bench.check("a copy", told("plain.hdf") == ("plain", ""), str(told("plain.hdf")))
    for digits, time in (("01012001180099", ""), ("01012001240000", ""), ("02302001180000", ""), ("02292000180000", "2000-02-29T18:00:00Z"),
                         ("02291900180000", ""), ("13012001180000", ""), ("12312016235960", "2016-12-31T23:59:60Z")):
        name = f"AST_L1A_004{digits}_x.hdf"
        os.rename("plain.hdf", name)
        bench.check(digits, told(name) == (name[:-4], time), str(told(name)))
        os.rename(name, "plain.hdf")
    for date, time in (("2012-02-30 10:11:12", ""), ("2012-02-29 10:11:12.345", "2012-02-29T10:11:12Z"), ("2012-02-29 10:11:99", ""),
                       ("yesterday", "")):
        with open("pair/left_view.vrt", "w", encoding="utf-8") as file:
            file.write(base.content("pair/plain.vrt").decode().replace(
                "<VRTRasterBand", f'<Metadata domain="IMAGERY"><MDI key="ACQUISITIONDATETIME">{date}</MDI></Metadata><VRTRasterBand', 1))
        done = bench.call("info", "pair/left_view.vrt", "pair/right.tif", "--log", "json")
        found = json.loads(done.stdout.split("\n")[-2]).get("time_utc", done.stderr)
        bench.check(date, found == time and ("which is not a time" in done.stdout + done.stderr) == (not time), done.stdout + done.stderr)


def address(bench):
    os.environ["no_proxy"] = "127.0.0.1"
    base.simulate(bench, "pair", "rpc", side=300)
    base.simulate(bench, "scene", "aster", "--lon", "7", "--lat", "45", side=240)
    for name in ("truth.tif", "again.tif"):
        shutil.copy("scene/truth.tif", name)
    with zipfile.ZipFile("scene.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(glob.glob("scene/AST_*")):
            archive.write(path, os.path.basename(path))
    subprocess.run(["gdal_translate", "-q", "-of", "VRT", "left.tif", "plain.vrt"], cwd="pair", check=True, stdout=subprocess.DEVNULL)
    reading(bench)
    writing(bench)
    identity(bench)


base.test(address)
