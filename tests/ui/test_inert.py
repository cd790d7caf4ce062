"""Hostile pages, read by %webfetch in a real JupyterLab, stay text (security N1-N3, N5, N7)."""

from __future__ import annotations

import pytest

from jupyter_webresearch.kernel.cell_markdown import as_cell
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, link, literal
from jupyter_webresearch.models import Table
from tests.ui import hostile
from tests.ui.conftest import Desk

pytestmark = [pytest.mark.ui, pytest.mark.asyncio(loop_scope="module")]

# What no text of a page may become. MathJax's own elements are let be: a page may hold formulas.
ALIVE = """
(roots) => {
  const bad = [];
  const never = 'img,iframe,frame,form,svg,script,style,link,object,embed,input,button,video,audio,source,meta,base,' +
    'details,textarea,select,template,figure,canvas,h1,h2,h3,[id],[name],[srcdoc],[data-commandlinker-command],' +
    'mjx-container a,mjx-container [class*=jp-]';
  const classes = ['mathjax_ignore tex2jax_ignore', 'mathjax_process tex2jax_process', 'jp-toc-ignore'];
  const known = ['class', 'style', 'href', 'target', 'rel', 'align', 'start', 'data-jupyter-id'];
  const styles = ['overflow-x: auto', 'margin-bottom: 1em'];
  for (const root of roots) {
    for (const e of root.querySelectorAll('*')) {
      if (e.closest('mjx-container') && !e.matches(never)) continue;
      const href = e.getAttribute('href');
      const code = e.closest('code');
      if (e.matches(never)
        || [...e.attributes].some(a => !known.includes(a.name) && !code)
        || (href && !/^(https?:|mailto:|#)/i.test(href))
        || (e.className && !code && !classes.includes(e.className) && e.className !== 'jp-InternalAnchorLink'
            && !e.className.startsWith('jp-Rendered'))
        || (e.getAttribute('style') && !code && !styles.includes(e.getAttribute('style').replace(/;$/, ''))))
        bad.push(e.outerHTML.slice(0, 300));
    }
  }
  return bad;
}
"""
OUTPUTS = f"({ALIVE})(document.querySelectorAll('.jp-OutputArea-output'))"
# Wake whatever waits for the user.
TOUCH = """
() => {
  for (const e of document.querySelectorAll('.jp-OutputArea-output *'))
    for (const kind of ['mouseover', 'mouseenter', 'focus', 'load', 'error', 'toggle', 'begin'])
      e.dispatchEvent(new Event(kind, {bubbles: kind === 'mouseover'}));
}
"""


async def test_every_payload_stays_text(desk: Desk) -> None:
    paths = list(hostile.pages(desk.canary.url("")))
    cells = ["#md # The notebook", "%load_ext jupyter_webresearch"]
    cells += [f"page = %webfetch {desk.site.url(path)}\npage.show()" for path in paths]
    cells += ["%%webfetch\n" + "\n".join(desk.site.url(path) for path in paths)]
    await desk.open("hostile.ipynb", cells)
    await desk.run_by_hand(1)
    await desk.command("notebook:run-all-cells")
    kinds = await desk.page.evaluate(
        """() => [...window.jupyterapp.shell.currentWidget.content.model.cells].slice(2)
          .map(cell => cell.outputs.toJSON().filter(o => o.output_type !== 'display_data' || Object.keys(o.data).length)
            .map(o => o.output_type).join())"""
    )
    assert kinds == ["display_data"] * len(paths) + ["execute_result"]
    assert await desk.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.cells.get(2).trusted")

    await desk.page.evaluate(TOUCH)
    # A request or script that a payload starts is under way before this one, which is made last, has come back.
    await desk.page.evaluate("() => fetch(document.baseURI).then(() => new Promise(r => requestIdleCallback(r)))")
    assert await desk.page.evaluate("() => window.__ran ?? []") == []
    assert desk.canary.paths() == []
    assert desk.elsewhere() == []
    assert await desk.page.evaluate(OUTPUTS) == []


async def test_the_check_itself_sees_what_is_alive(desk: Desk) -> None:
    for payload in (hostile.MARKUP[2], "[x](javascript:1)", "# Heading", '<p class="jp-Button">x</p>', "![x](a.png)"):
        assert await render(desk, [payload]) != [], payload


async def test_what_the_page_says_is_still_to_be_read(desk: Desk) -> None:
    texts = [t for t in hostile.armed([*hostile.MARKUP, *hostile.MARKDOWN], "http://canary", "read") if "\n" not in t]
    rendered = await desk.page.evaluate(
        f"""async texts => {{
          const shown = [];
          for (const text of texts) shown.push((await ({RENDER})(text)).textContent.trim());
          return shown;
        }}""",
        [f"{OPEN}\n\n{literal(text)}\n\n{CLOSE}" for text in texts],
    )
    assert rendered == [" ".join(text.split()) for text in texts]


async def test_no_mixture_of_markup_comes_alive(desk: Desk) -> None:
    # Whatever stands in a text, and wherever it was cut: in the midst of code, everything inside may be markup.
    texts = hostile.mixtures(1000, seed=7)
    assert await render(desk, [f"{OPEN}\n\n{as_cell(text)}\n\n{CLOSE}" for text in texts]) == []
    lines = [" ".join(text.split()) for text in texts]
    assert (
        await render(
            desk, [f"{literal(line)} {link(line, line)} {link(line, 'https://e.org/' + line)}" for line in lines]
        )
        == []
    )
    tables = [Table((text, "b"), ((text, text),), text)._repr_mimebundle_() for text in texts]
    assert await render(desk, [table["text/markdown"] for table in tables]) == []
    assert await desk.page.evaluate("() => window.__ran ?? []") == []
    assert desk.elsewhere() == []


# Trusted Markdown through the notebook's own renderer, as an output is.
RENDER = """
async text => {
  const rendermime = window.jupyterapp.shell.currentWidget.content.rendermime;
  const model = rendermime.createModel({data: {'text/markdown': text}, trusted: true});
  const renderer = rendermime.createRenderer('text/markdown');
  document.body.appendChild(renderer.node);
  await renderer.renderModel(model);
  renderer.node.remove();
  return renderer.node;
}
"""


async def render(desk: Desk, texts: list[str]) -> list[object]:
    """Return what came alive of texts, each with its text."""
    found: list[object] = await desk.page.evaluate(
        f"""async texts => {{
          const found = [];
          for (const text of texts) {{
            const bad = ({ALIVE})([await ({RENDER})(text)]);
            if (bad.length) found.push([text, ...bad]);
          }}
          return found;
        }}""",
        texts,
    )
    return found
