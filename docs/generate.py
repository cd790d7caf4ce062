"""Write three pages from the code, see PAGES: ``python docs/generate.py``, or ``--check`` to compare."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from traitlets import List
from traitlets.config import Configurable

from jupyter_webresearch.config import CONFIGURABLES, settings_of
from jupyter_webresearch.config_loading import Explained, explain
from jupyter_webresearch.errors import CODES, ErrorCode
from jupyter_webresearch.search.builtin import About
from jupyter_webresearch.search.providers import BUILTIN, builtin_class

FOLDER = Path(__file__).parent

SETTINGS = """\
# Settings

<!-- Written by docs/generate.py; change the code instead. -->

Every setting is a trait. It can be given

- on the command line: `jupyter webresearch fetch URL --WebFetch.timeout=10`; a list as
  `--WebPolicy.allowed_ports=443,8443`, as JSON, or by repeating the argument; a dictionary as JSON;
- in the environment: `JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT=10`; lists and dictionaries as above;
- in `jupyter_webresearch_config.py` or `jupyter_webresearch_config.json`, in any folder that `jupyter --paths` lists
  under config:

      c = get_config()
      c.WebFetch.timeout = 10

A Jupyter server takes the same arguments: `jupyter lab --WebFetch.timeout=10`. It hands those of `WebDisplay` and
`WebKernel` on to its kernels.

The command line wins over the environment, the environment over files, and among files the order is Jupyter's own.
`jupyter webresearch config` shows every value in force and where it comes from, `config --changed` only those that are
not the defaults.

Settings name four operations: fetch, search, image and browser. Which of them this version has, `jupyter webresearch
policy` says; what is set for the others is checked, and holds from the version on that brings them.

A setting that does not exist, a value of the wrong type or outside its range, and a file that can't be read or run stop
the start, and the message names them.

## Examples for JupyterLab

**Read a wiki inside the company** at `https://wiki.corp.example/`, whose address is 10.20.3.4. For one start:

    jupyter lab --WebPolicy.allow_private_networks=10.20.0.0/16

Several networks stand between commas. Everything else that is not public stays refused, and a site elsewhere can't
send a reader there by a redirect or by DNS unless that network is allowed, so name the smallest one that will do.

Names are looked up as they stand: the search list of this machine (resolv.conf) is not used, so `https://wiki/` is not
`wiki.corp.example`. Once a private network is allowed, names of the machine's hosts file are found too, `http://vm/`
for a line `10.20.3.5 vm`; the file, if it has at most 1 MiB, is read for that, because resolvers miss its names when
asked without the search list (glibc 2.36: `vm.` does not find `vm`). All addresses of such a name are judged as ever.

**Allow another port, and block a site, for every start.** In `~/.jupyter/jupyter_webresearch_config.py`:

    c = get_config()
    c.WebPolicy.allowed_ports.append(9000)
    c.WebPolicy.extra_blocked = ["*.tracker.example"]

The first line widens the default list by a port; `c.WebPolicy.allowed_ports = [443]` would narrow it to one. Servers
and kernels both read this file; a server that finds these settings in `jupyter_server_config.py`, which kernels do not
read, does not start.

**Be strict in a container or a scheduled run,** where the environment is what one can set:

    JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORTS=443
    JUPYTER_WEBRESEARCH_WEBKERNEL_LOCAL_MODE=deny

Now only port 443 is read, and a kernel reads nothing unless a Jupyter server with this extension does it. What a
notebook changes in its own environment widens nothing on Linux.

**What an operator's file does.** With this in `/etc/jupyter/jupyter_webresearch_config.py`:

    c = get_config()
    c.WebPolicy.allow_private_networks = ["10.20.0.0/16"]
    c.WebPolicy.allowed_ports = [443]

| a user gives `WebPolicy.allow_private_networks` | in force |
|---|---|
| nothing | `10.20.0.0/16` |
| `10.20.3.0/24` | `10.20.3.0/24` |
| `10.0.0.0/8` | `10.20.0.0/16` |
| `192.168.0.0/16` | nothing private |

and every user reads port 443 only. `jupyter webresearch config` names the file that narrowed a value.

## The operator's level

Files in `/etc/jupyter`, `/usr/local/etc/jupyter` and `etc/jupyter` of the Python environment are the operator's (on
Windows also those in `%PROGRAMDATA%\\jupyter`, if Jupyter is told to use it). For the settings marked **binding** each
such file narrows what users' files, the environment and the command line say, and nothing widens it. A notebook that
changes its kernel's environment sets none of them on Linux, where the environment of the start is kept.

| combined by | what remains |
|---|---|
| networks | the addresses that both name |
| intersection | the entries that both name |
| strictest | the stricter of the two |
| union | the entries of every level: each can only add |
| hosts, acting hosts | the hosts that both cover; an entry that can't be read covers nothing |
| all | on, if both say so |
| any | on, if either says so |
| least | the smaller number, 0 being no limit |
| lowest | the smaller number |
| operator | the operator's value; of several that of the most general folder, `/etc/jupyter` last of all |

An operator who gives an empty list allows nothing. To make an operator's file bind, its folder must not be writable by
users.

## Hosts that may be read, and acted on

`WebPolicy.ceiling` and `%webresearch allow` take

| entry | covers |
|---|---|
| `example.com` | that host |
| `*.example.com` | that host and every name below it |
| `93.184.216.34`, `[2606:4700::1111]` | that address, which must be public |
| `internet:unrestricted` | anywhere public |

Upper case, a dot at the end and non-ASCII letters are read as in URLs. Everything else covers nothing and is named,
with its reason, in the log, by `jupyter webresearch doctor` and by `%webresearch policy`: URLs, ports, user names,
paths, networks, addresses that are not public, a wildcard in another place, and wildcards below which anyone can have a
name, such as `*.com` and `*.co.uk`. A list of which nothing can be read is nowhere, as is `[]`.

A host is read when both lists cover it: the operator's ceiling, and what the session asks for. Where a session has
asked for nothing, `WebPolicy.ask` says what holds, and the notebook's metadata can narrow that:

    {"webresearch": {"allow": ["*.example.com"], "search": false, "task": "tide tables of Brest"}}

`%webresearch allow HOST...` replaces the metadata's list for the session. No entry opens an address that is not public:
that is `WebPolicy.allow_private_networks`.

To act, that is to send or change something, is more than to read: `WebPolicy.acting_ceiling` and
`%webresearch allow-actions HOST...` take exact host names only, each of which has to be readable as well.
"""

ERRORS = """\
# Errors

<!-- Written by docs/generate.py; change the code instead. -->

Magics, the Python API, the command line and REST end with the same codes. On the command line the code stands in the
one line on standard error, in REST in the body `{"message", "reason", "code"}`, in Python in `error.code`. Programs
should compare the code, never the message. No message holds an address that a name resolves to.

The message says more than this table, and what to do in the case at hand. "Worth a retry" means that the same request
can succeed later. That goes for every error that carries `retry_after`, in so many seconds: `over_budget` has it where
a window frees, and has none where a total is used up, which no waiting changes.

| code | what happened | what to do | HTTP status | governed by | worth a retry |
|---|---|---|---|---|---|
"""

SEARCH = """\
# Search

<!-- Written by docs/generate.py; change the code instead. -->

`%websearch QUERY` in a notebook and `jupyter webresearch search QUERY` on a command line put a question to one provider
or several. Without any key, Wikipedia, Crossref and arXiv are asked side by side, and DDGS where its package is
installed; what they find becomes one list.

    jupyter webresearch providers                # who can be asked, and what the others lack
    jupyter webresearch providers setup brave    # asks for a key, keeps it, and tries it

## Who is asked

1. Whoever the caller names: `--provider brave`, or several between commas.
2. Else the provider of `WebSearch.search_backend`, or else of `WebSearch.backend`.
3. Else the first of the table below that somebody has configured: with its key, with the address of an instance, or as
   a plugin that is there. A key that only widens a limit, as of OpenAlex, Semantic Scholar and PubMed, does not count.
4. Else those of `WebSearch.default_providers`, side by side.

Who can't find the kind of results that is wanted (web, news, papers, images) is passed over in 3 and 4. Whoever is
named, by the caller or by a setting, and is unknown, lacks something or can't do it, is an error that says what is
missing: nobody else is asked in that place.

Pages are read by our own engine, unless the caller or `WebSearch.extract_backend` (or else `WebSearch.backend`) names a
provider for it; `own` is our own engine again.

## Keys

A key comes from `WebSearch.keys`, else from the environment variable of the table, else from the file in which
`jupyter webresearch providers setup NAME` keeps it (`jupyter_webresearch_keys.json` in Jupyter's config directory,
readable for its user alone). `WebSearch.keys` holds no key but says where one is:

    c.WebSearch.keys = {"brave": "file:/run/secrets/brave", "TAVILY_API_KEY": "keyring:tavily/me"}

Keys go to their provider in headers, or in the request's body where it takes them in no other way. They stand in no
listing, error, journal or recording. Of several variables in a row of the table the first that is set counts.

A variable that names an address, such as `SEARXNG_URL`, is the operator's: that one address may be private. What a
notebook makes of it in its kernel's environment does not count on Linux.

## Time

A call takes at most `WebSearch.timeout` seconds, or those of `WebSearch.provider_timeouts` for its provider. Whoever is
not done by then is named with the reason; the others' results are there. The same question to the same provider is
answered from memory for `WebSearch.cache_seconds`.

## The providers

In the order in which they are chosen. [providers.md](providers.md) adds one of your own, [searxng.md](searxng.md) runs
a search server of your own.

| name | provider | key | where to get it | price | limits | finds | reads pages | deadline |
|---|---|---|---|---|---|---|---|---|
"""


SOMETIMES_RETRYABLE = ("over_budget", "robots")


def settings_page() -> str:
    """Return docs/settings.md."""
    defaults = explain(environ={}, config_path=[], operator_path=[])
    parts = [SETTINGS]
    for cls in CONFIGURABLES:
        parts.append(f"\n## {cls.__name__}\n\n{_summary(cls)}\n")
        parts += [_entry(setting) for setting in defaults if setting.cls is cls]
    return "".join(parts)


def errors_page() -> str:
    """Return docs/errors.md."""
    rows = [
        f"| `{row.code}` | {row.meaning} | {row.remedy} | {row.status} | {f'`{row.setting}`' if row.setting else ''} | "
        f"{_retry(row)} |\n"
        for row in CODES.values()
    ]
    return ERRORS + "".join(rows)


def search_page() -> str:
    """Return docs/search.md."""
    return SEARCH + "".join(_provider(builtin_class(name).about) for name in BUILTIN)


def _provider(about: About) -> str:
    keys = _variables(about.keys) + (" (not needed)" if about.keys and about.keyless else "")
    needs = [keys, *map(_variables, [(name,) for name in about.also_needs])]
    if not about.base_url and about.url_variables:
        needs = [_variables(about.url_variables)]
    elif about.url_variables:
        needs.append(f"{_variables(about.url_variables)} for another address")
    if about.options:
        needs.append("optional: " + ", ".join(f"`{name}`" for name in about.options))
    if about.package:
        needs.append(f"the package {about.package}: `pip install 'jupyter-webresearch[{about.package}]'`")
    cells = (
        f"`{about.name}`",
        about.display_name,
        "; ".join(filter(None, needs)) or "none",
        f"<{about.get_key}>" if about.get_key else "",
        about.price,
        about.limits,
        ", ".join(about.kinds),
        "yes" if about.extracts else "",
        f"{about.timeout:g} s",
    )
    return "| " + " | ".join(cells) + " |\n"


def _variables(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _retry(row: ErrorCode) -> str:
    if row.code in SOMETIMES_RETRYABLE:
        return "after `retry_after`, if it has one"
    return "yes" if row.retryable else ""


def _summary(cls: type[Configurable]) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _entry(setting: Explained) -> str:
    facts = setting.to_json()
    lines = [f"\n### {setting.name}\n\n{facts['help']}\n\n"]
    is_number = isinstance(setting.value, (int, float)) and not isinstance(setting.value, bool)
    unit = f" {facts['unit']}" if facts["unit"] and is_number else ""
    lines.append(f"- default: `{facts['value']!r}`{unit}{_in_mib(facts['unit'], setting.value)}\n")
    trait = settings_of(setting.cls)[setting.trait]
    if isinstance(trait, List) and facts["unit"]:
        lines.append(f"- a list, each entry: {facts['unit']}\n")
    if facts["allowed"]:
        lines.append(f"- allowed: {facts['allowed']}\n")
    if facts["narrows"]:
        lines.append(f"- **binding**, combined by: {facts['narrows']}\n")
    lines.append(f"- environment: `{setting.variable}`\n")
    return "".join(lines)


def _in_mib(unit: str, value: object) -> str:
    if unit != "bytes" or not isinstance(value, int):
        return ""
    mib = value / 1024**2
    return f" ({mib:g} MiB)" if mib >= 1 else f" ({mib * 1024:g} KiB)"


PAGES = {"settings.md": settings_page, "errors.md": errors_page, "search.md": search_page}


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` say which are out of date."""
    stale = 0
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is out of date: run python docs/generate.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
