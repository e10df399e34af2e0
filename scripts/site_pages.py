"""Hooks of MkDocs: the version, pages that are made (options, changelog, the notebook), links that leave docs/."""
# SPDX-License-Identifier: Apache-2.0
import importlib.machinery
import importlib.util
import json
import os
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NOTEBOOK = "tutorials/python"  # .md is the tutorial, .ipynb the same for Jupyter


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def options_page(program):
    path = os.path.join(TOP, "scripts", "option_tables")
    loader = importlib.machinery.SourceFileLoader("option_tables", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("option_tables", loader))
    loader.exec_module(module)
    if not os.path.exists(program):
        raise PluginError("%s is not there: build the program first, its tables are a page of the site" % program)
    return "\n".join(module.markdown(program))


def notebook(text):
    """Cells of the tutorial: its code, and what stands between."""
    cells = []
    for number, part in enumerate(re.split(r"^```(?:python)?\n", text, flags=re.M)):
        if not part.strip():
            continue
        lines = part.strip("\n").splitlines(True)
        cells.append({"cell_type": "markdown", "metadata": {}, "source": lines} if number % 2 == 0 else
                     {"cell_type": "code", "metadata": {}, "source": lines, "outputs": [], "execution_count": None})
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 4}, indent=1)


def on_config(config):
    version = re.search(r'#define SDM_VERSION "([0-9.]+)"', read("include", "stereodem", "stereodem.h")).group(1)
    config.site_name = "stereodem " + version
    return config


def on_files(files, config):
    program = os.path.join(TOP, config.extra["program"])
    for name, text in (("options.md", options_page(program)), ("changelog.md", read("CHANGELOG.md")),
                       (NOTEBOOK + ".ipynb", notebook(read("docs", NOTEBOOK + ".md")))):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to other folders of the source become their names."""
    here = posixpath.dirname(page.file.src_uri)

    def rename(found):
        text, target = found.groups()
        path = posixpath.normpath(posixpath.join("docs", here, target.split("#")[0]))
        return found.group(0) if path.startswith("docs/") else "%s (`%s` of the source)" % (text, path)
    made = re.sub(r"\[([^\]]*)\]\((\.\./[^)\s]*)\)", rename, markdown)
    if page.file.src_uri == NOTEBOOK + ".md":
        made += "\n[The same as a notebook](python.ipynb)\n"
    return made
