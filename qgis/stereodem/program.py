# Command lines of the program -> its events, with progress and cancel.
# SPDX-License-Identifier: Apache-2.0
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


class Program:
    """The program stereodem."""

    STOP_S = 60  # it finishes what it is at, and keeps finished blocks

    def __init__(self, path=""):
        self.path = path or "stereodem"

    def _words(self, words):
        program = [self.path] if shutil.which(self.path) else shlex.split(self.path)  # "apptainer run stereodem.sif"
        if not program or not shutil.which(program[0]):
            raise ProgramError("The program %s was not found; install it, or name it in the settings: Processing, Providers, "
                               "stereodem." % self.path)
        hidden = {"creationflags": 0x08000000} if os.name == "nt" else {}  # no window for a console
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
            process.terminate()
        else:
            process.send_signal(signal.SIGINT)
        timer = threading.Timer(self.STOP_S, process.kill)
        timer.daemon = True
        timer.start()
