# Command lines of the program -> its events, with progress and cancel.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import glob
import importlib.util
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading


class ProgramError(Exception):
    """The program failed, or is not there; the text is its sentence."""


def find():
    """The program: on the path, in the archive of this plugin, in the Python package (a wheel), or in an archive or zip that was
    unpacked at a usual place; Windows unpacks it into a folder of its name."""
    name = "stereodem.exe" if os.name == "nt" else "stereodem"
    found = shutil.which(name)
    if found:
        return found
    spec = importlib.util.find_spec("stereodem")  # the module, not this plugin, whose folder has another name
    own = os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 5, "bin")  # share/qgis/python/plugins/NAME
    folders = [os.path.normpath(own)] + [os.path.join(place, "bin") for place in (spec.submodule_search_locations or [] if spec else [])]
    home = os.path.expanduser("~")
    tops = [home, os.path.join(home, ".local"), os.path.join(home, "Downloads"), "/opt"] + \
        [os.environ[v] for v in ("LOCALAPPDATA", "ProgramFiles") if v in os.environ]
    folders += [f for top in tops for deep in ("stereodem*", os.path.join("stereodem*", "stereodem*"))
                for f in sorted(glob.glob(os.path.join(glob.escape(top), deep)), reverse=True)]
    for folder in folders:
        for path in (os.path.join(folder, name), os.path.join(folder, "bin", name)):
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return name


class Program:
    """The program stereodem."""

    STOP_S = 60  # it finishes what it is at, and keeps finished blocks

    def __init__(self, path=""):
        self.path = path or find()

    def _words(self, words):
        try:
            program = [self.path] if shutil.which(self.path) else shlex.split(self.path)  # "apptainer run stereodem.sif"
        except ValueError:  # a quote in the name
            program = []
        if not program or not shutil.which(program[0]):
            raise ProgramError("The program %s was not found; install it, or name it in the settings: Processing, Providers, "
                               "stereodem." % self.path)
        hidden = {}
        if os.name == "nt":  # a group of its own, which alone gets the break of _stop(); no window where QGIS has no console
            hidden["creationflags"] = 0x00000200 | (0 if ctypes.windll.kernel32.GetConsoleWindow() else 0x08000000)
        return program + list(words), dict(hidden, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                               encoding="utf-8", errors="replace")

    def describe(self, command):
        """The command's table of options, as `stereodem COMMAND --help --log json` prints it."""
        words, how = self._words([command, "--help", "--log", "json"])
        done = subprocess.run(words, stderr=subprocess.DEVNULL, **how)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise ProgramError("%s is no stereodem of version 0.1 or newer: it does not describe its command %s." %
                               (self.path, command)) from None

    def run(self, words, on_event, is_cancelled):
        """Run a command.  on_event gets each event of its log; the result is the last one, the summary.  Raises
        ProgramError with the program's sentence."""
        words, how = self._words([words[0], "--log", "json"] + list(words[1:]))
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL, **how)
        lines = queue.Queue()

        def read():
            with process.stdout:
                for line in process.stdout:
                    lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        summary, sentence, asked = {}, "", False
        while True:
            if is_cancelled() and not asked:
                asked = True
                self._stop(process)
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                break
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "summary":
                summary = event
            elif event.get("event") == "error":
                sentence = event.get("message", "")
            else:
                on_event(event)
        if process.wait() != 0 or not summary:
            raise ProgramError(sentence or "%s ended with code %d." % (self.path, process.returncode))
        return summary

    def _stop(self, process):
        """Ask the program to stop; end it where it does not."""
        if os.name == "nt":
            attached = ctypes.windll.kernel32.AttachConsole(process.pid)  # the program's, where QGIS has none
            ctypes.windll.kernel32.GenerateConsoleCtrlEvent(1, process.pid)
            if attached:
                ctypes.windll.kernel32.FreeConsole()
        else:
            process.send_signal(signal.SIGINT)
        timer = threading.Timer(self.STOP_S, process.kill)
        timer.daemon = True
        timer.start()
