"""The page for site owners says what is sent."""

from __future__ import annotations

import re
from pathlib import Path

from jupyter_webresearch import __version__
from jupyter_webresearch.config import BOT_PAGE, CONFIGURABLES, WebBudgets, WebFetch, settings_of
from jupyter_webresearch.net.headers import user_agent

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "bot.md").read_text("utf-8").split())


def test_the_user_agent_is_the_one_on_the_page() -> None:
    shown = re.sub(r"/[\d.]+ ", "/VERSION ", PAGE)  # a release is no reason to change the page
    sent = user_agent(WebFetch(contact="web-research@example.edu")).replace(f"/{__version__} ", "/VERSION ")
    assert f"User-Agent: {sent} " in shown
    assert BOT_PAGE.endswith("/bot.html")


def test_the_token_is_in_every_user_agent() -> None:
    for settings in (WebFetch(), WebFetch(agent_url=""), WebFetch(agent="Other_Bot-x", contact="(me)")):
        assert user_agent(settings).startswith(f"{settings.agent}/")


def test_robots_txt_names_the_token() -> None:
    assert set(re.findall(r"User-agent: (\S+)", PAGE)) == {WebFetch().agent}


def test_its_figures_are_the_defaults() -> None:
    fetch, budgets = WebFetch(), WebBudgets()
    assert f"no more than {budgets.site_per_minute} requests in a minute to one site" in PAGE
    assert f"no more than {fetch.batch_per_host} at once to one host" in PAGE
    assert f"a page at {fetch.max_body // 1024**2} MiB" in PAGE
    assert f"saves at {fetch.save_max // 1024**2} MiB" in PAGE
    assert (fetch.max_redirects, fetch.cache_seconds) == (5, 600)


def test_the_settings_that_it_names_exist() -> None:
    names = {f"{cls.__name__}.{name}" for cls in CONFIGURABLES for name in settings_of(cls)}
    named = set(re.findall(r"`(Web\w+\.\w+)", PAGE))
    assert len(named) > 5
    assert named <= names
