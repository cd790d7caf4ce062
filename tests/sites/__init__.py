"""Web sites on loopback that behave and misbehave: real sockets, real TLS, exact bytes.

    async with Site() as site:              # on the test's own loop
        site.url("/article")                # http://127.0.0.1:PORT/article
        site.url("/article", host="www.example.org")    # the same page for tests that inject resolver and dialler

    with Site() as site: ...                # on a thread of its own, for synchronous tests and other processes

    authority = Authority()                 # trustme; authority.client is the ssl.SSLContext that trusts it
    async with Site(tls=authority.server("www.example.org")) as site: ...

    site.serve("/page.html", b"...", "text/html; charset=utf-8", headers={"X-A": "b"})    # a page of the test's own
    site.serve_folder("/data", folder)      # files as they lie there; type by suffix
    site.seen                               # every request, in order: method, target, headers, body
    site.connections                        # every TCP connection, also those without a request
    site.peers                              # the address that each of them came from
    await site.arrived("/gate"); site.release()     # /gate answers only then: order without sleeping

`tests.sites.network` has the stub resolver and the dialler that lead public names here.

    site.robots = "/rules?then=hang"        # /robots.txt answers as that scenario; 404 without

Scenarios, with their parameters in the query and the defaults shown:

Pages (`pages.py`)
    /                      an article, as /article
    /article?words=600&title=An+article    HTML with headings, a list, a table, links, code
    /echo                  the request as JSON: method, target, headers (list of pairs), body (Latin-1)
    /json /csv /tsv /xml /markdown /plain /xhtml /feed      a small document of that type
    /typed?type=&body=     `body` under that Content-Type; without `type` none is sent
    /charset?codec=gbk&header=&meta=       HTML of Chinese, Japanese, Korean or Cyrillic text in that codec
    /big?size=11000000&type=text/html&chunked=0    text of exactly that many bytes, made while sending
    /attachment?name=data.bin&size=1000    bytes with Content-Disposition
    /set-cookie?to=/echo   sets cookies and redirects
    /refresh?to=/echo      a page with a Refresh header and <meta http-equiv=refresh>
    /gate                  answers as /article once released

Statuses and redirects (`statuses.py`)
    /status?code=404&type=text/html&body=...        that status
    /redirect?to=/echo&code=302            Location verbatim (Latin-1); repeat `to` for several Locations
    /chain?n=3&code=302                    n redirects, then /article
    /loop?code=302 /grow                   to itself; to itself with an ever longer query
    /redirect-bomb?to=/echo                a redirect whose body is a 64 MiB gzip bomb
    /retry?after=1&code=429&times=1&key=a  that code with Retry-After (absent if empty) `times` times, then /article

Robots (`robots.py`)
    /robots.txt            as the scenario that `site.robots` names
    /rules?text=...&then=end&gate=&type=text/plain      a robots.txt, chunked, by default one that forbids /private to
                           all; then end, hang, drip (bytes), flood (without end), reset; with `gate` once released

Encodings (`encodings.py`)
    /encoded?with=gzip&label=&size=5000&damage=    text under content encodings (comma separated, applied in order;
                           gzip, deflate, raw-deflate, br); `label` overrides the header; damage is truncate, flip,
                           garbage (trailing), plain (not encoded at all), empty
    /bomb?with=gzip&size=268435456         zeros that many bytes long once decoded; 4 layers at most
    /members?count=10000&size=1            a gzip body of that many members
    /empty-blocks?count=20000000           gzip within gzip that decodes to nothing, at great length
    /encodings?count=5000                  Content-Encoding: gzip, gzip, ...
    /drip-bomb?with=gzip&interval=0.05     a bomb that arrives slowly

Broken or hostile on the wire (`wire.py`)
    /drip-body?interval=0.3&count=         one byte at a time, for ever without count
    /drip-head?interval=0.3                the same for the head
    /hints?count=                          103 Early Hints, for ever without count, then /plain
    /headers?count=4000&size=10            that many header fields
    /chunks?size=1&count=&type=text/html   chunked body, for ever without count
    /chunk-extension?size=300000           a chunk with an extension that long
    /trailers?count=20000                  trailer fields
    /length?announced=1000&sent=100&type=text/html  a Content-Length that lies
    /lengths?value=5&value=6               Content-Length fields as given
    /cl-te                                 Content-Length and Transfer-Encoding
    /raw?hex=                              exactly these bytes, then close
    /reset?after=1000&type=text/html       RST in the middle of a body
    /hang /close                           never answers; closes without an answer
    /silence?after=100&type=text/html      sends that much and then nothing
    /announced?size=10737418240&type=application/octet-stream    announces much, sends a little, then nothing
    /multipart /events                     x-mixed-replace and event-stream without end
    /204-with-body                         a 204 that sends a body
"""

from __future__ import annotations

from tests.sites.certificates import Authority
from tests.sites.site import Exchange, SeenRequest, Site

__all__ = ["Authority", "Exchange", "SeenRequest", "Site"]
