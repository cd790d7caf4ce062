"""After warming up nothing is read from disk any more: workers run where no file can be opened."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from jupyter_webresearch.extraction.charset_labels import CODECS
from jupyter_webresearch.extraction.document import STAGES, Limits, extract_document, warm_up

warm_up()
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
words = "Ordinary words of a page, Größe, 29. Februar 2024. "
pages = [
    f"<nav>{'<a href=/>Home</a>' * 30}</nav><p>{words}</p>", f"<article><h1>T</h1><p>{words * 40}</p></article>",
    f"<article><p>{words * 9}</p><table><tr><th>a<th>b<tr><td>1<td>2</table><pre>x</pre><math><mi>x</mi></math>",
    f"<div class=comments>{words * 9}</div><p>on March 3, 2021</p>", "<meta name=date content='3 May 2020'>" + words,
    f"<a href='https://bücher.example/ü'>{words}</a>" * 9, "<table>" + "<tr><td>x<td>y" * 900, "",
]
for page in pages:
    for codec in ("utf-8", "cp1252", "cp1250"):
        for stage in STAGES:
            extract_document(
                page.encode(codec, "ignore"), url="https://e.example/2020/05/06/x", content_type="text/html",
                stage=stage, limits=Limits(),
            )
for name in CODECS:
    extract_document(b"<p>x", url="https://e.example/", content_type="text/html", charset_label=name, limits=Limits())
print(opened)
"""


def test_nothing_is_opened():
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "[]"
