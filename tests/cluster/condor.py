#!/usr/bin/python3
"""Stands in for condor_submit_dag where there is no HTCondor: reads the DAG and its submit files as the manual says, refuses
words that HTCondor does not know, runs every process, and fails a node as DAGMan does: one bad process removes the rest."""
# condor.py [-force] FILE.dag
# SPDX-License-Identifier: Apache-2.0
import os
import random
import re
import shlex
import subprocess
import sys

# condor_submit(1): the commands of submit files; "DAGMan workflows": those of DAG files.
COMMANDS = """accounting_group arguments batch_name concurrency_limits container_image docker_image environment error executable
getenv hold initialdir input job_lease_duration job_max_vacate_time keep_claim_idle kill_sig leave_in_queue log max_idle
max_materialize max_retries next_job_start_delay nice_user notification notify_user on_exit_hold on_exit_remove output
periodic_hold periodic_release periodic_remove priority rank remove_kill_sig request_cpus request_disk request_gpus
request_memory requirements retry_until should_transfer_files stream_error stream_output success_exit_code
transfer_executable transfer_input_files transfer_output_files universe want_graceful_removal when_to_transfer_output""".split()
DAG_COMMANDS = """ABORT-DAG-ON CATEGORY CONFIG CONNECT DATA DONE DOT ENV FINAL INCLUDE JOB JOBSTATE_LOG MAXJOBS NODE_STATUS_FILE
PARENT PIN_IN PIN_OUT PRE_SKIP PRIORITY PROVISIONER REJECT RETRY SAVE_POINT_FILE SCRIPT SERVICE SET_JOB_ATTR SPLICE SUBDAG
SUBMIT-DESCRIPTION VARS""".split()
# Macros with a meaning of their own; names of VARS must keep off them (compared without case).
OWN = "cluster clusterid process procid node step item itemindex row job retry dag_status failed_count dagmanjobid queue".split()


def refuse(why):
    sys.exit(f"condor.py: {why}")


def read_vars(words):
    out = {}
    for word in words:
        name, equal, value = word.partition("=")
        if not equal or not re.fullmatch(r"\w+", name) or name.lower() in OWN or name.lower().startswith("queue"):
            refuse(f"VARS: bad macro {word}")
        out[name.lower()] = value
    return out


def read_dag(path):
    """Nodes by name: submit file, macros, retries; the final node's name."""
    nodes, final = {}, None
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        word, *rest = shlex.split(line)
        if word not in DAG_COMMANDS:
            refuse(f"{path}: no DAG command {word}")
        if word in ("JOB", "FINAL"):
            nodes[rest[0]] = {"sub": rest[1], "vars": {}, "retry": 0, "after": []}
            final = rest[0] if word == "FINAL" else final
        elif word == "VARS":
            nodes[rest[0]]["vars"].update(read_vars(rest[1:]))
        elif word == "RETRY":
            nodes[rest[0]]["retry"] = int(rest[1])
        elif word == "PARENT":
            at = rest.index("CHILD")
            for child in rest[at + 1:]:
                nodes[child]["after"] += rest[:at]
        else:
            refuse(f"{word} is not read here")
    if final and (nodes[final]["after"] or any(final in n["after"] for n in nodes.values())):
        refuse("a final node has neither parents nor children")
    return nodes, final


def expand(text, macros):
    def value(match):
        name = match.group(1).lower()
        return macros[name] if name in macros else refuse(f"$({match.group(1)}) is not defined in: {text}")
    return re.sub(r"\$\((\w+)\)", value, text)


def read_submit(path):
    """Commands by name, and what stands behind queue."""
    commands, count = {}, None
    with open(path, encoding="utf-8") as file:
        for line in (line.strip() for line in file):
            if not line or line.startswith("#"):
                continue
            if line.split()[0].lower() == "queue":
                count = line[5:].strip() or "1"
                continue
            name, equal, value = (part.strip() for part in line.partition("="))
            if not equal or (name.lower() not in COMMANDS and not name.startswith("+")):
                refuse(f"{path}: no submit command: {line}")
            commands[name.lower()] = value
    if count is None or "executable" not in commands or commands.get("universe") != "vanilla":
        refuse(f"{path}: queue, executable and universe = vanilla are needed")
    return commands, count


def arguments_of(text):
    """The new syntax: all in double quotes, single quotes around what holds blanks."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        refuse(f"arguments without double quotes: {text}")
    return shlex.split(text[1:-1].replace('""', '"'))


def run_process(commands, macros):
    text = {name: expand(value, macros) for name, value in commands.items()}
    if not text["executable"].startswith("/") or not os.access(text["executable"], os.X_OK):
        refuse(f"executable {text['executable']}: a full name of a program is needed")
    for name in ("log", "output", "error"):
        if not text[name].startswith("/"):
            refuse(f"{name} {text[name]}: processes start in folders of their own")
    with open(text["output"], "wb") as out, open(text["error"], "wb") as err:
        # getenv is not set: a process sees nothing of the submitter's environment
        return subprocess.run([text["executable"], *arguments_of(text["arguments"])], stdout=out, stderr=err, cwd="/",
                              env={"PATH": "/usr/bin:/bin", "OMP_WAIT_POLICY": "passive"}, check=False).returncode


def run_node(name, node):
    commands, count = read_submit(node["sub"])
    total = int(expand(count, node["vars"]))
    for _ in range(node["retry"] + 1):
        order = list(range(total))
        random.Random(1).shuffle(order)
        for process in order:
            code = run_process(commands, node["vars"] | {"cluster": "1", "process": str(process)})
            if code != 0:
                print(f"node {name}: process {process} ended with {code}: all others are removed")
                break
        else:
            return True
    return False


def main():
    words = [word for word in sys.argv[1:] if word != "-force"]
    if len(words) != 1:
        refuse(f"expected one DAG file, found {words}")
    nodes, final = read_dag(words[0])
    state = {}
    while any(name not in state for name in nodes if name != final):
        for name, node in nodes.items():
            if name != final and name not in state and all(parent in state for parent in node["after"]):
                state[name] = all(state[parent] for parent in node["after"]) and run_node(name, node)
    good = run_node(final, nodes[final]) if final else all(state.values())
    print(f"DAG {'done' if good else 'failed'}: {state}")
    return 0  # condor_submit_dag returns when the DAG is queued


sys.exit(main())
