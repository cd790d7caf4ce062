"""No secret is left in what is written down or told, whatever form it has, and little else is lost."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from jupyter_webresearch.redaction import MAX_URL, redact_text, redact_url

SECRET = "s3cr3tValue"  # what no test may find again
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
RANDOM = "aB3dE5fG7hI9jK1lM3nO5pQ7"

KEPT = [
    "https://example.org/",
    "http://example.org:8080/a/b.html?q=tides&page=2&lang=en",
    "https://[2001:db8::1]:8443/",
    "https://medium.com/@someone/a-story",
    "https://cdn.example.org/npm/vue@3/dist",
    "https://example.org/a;v=1;w=2/b?x&y=&z",
    "https://example.org/?author=x&keyword=y&country_code=DE&design=z&monkey=1&sv=2020&keyboard=de",
    "https://example.org/?the-10-best-4k-monitors-of-2024-under-500-usd",
    "https://example.org/?q=machine+learning+for+time+series+forecasting",
    "https://doi.org/10.1038/s41586-021-03819-2",
    "https://example.org/commit/0123456789abcdef0123456789abcdef01234567",
    "https://example.org/tree/0123456789abcdef0123456789abcdef01234567/token/reader.py",
    "https://example.org/blog/reset-your-password/ten-ways-to-do-it-in-2024",
    "https://example.org/token/12/verify/me",
    "https://arxiv.org/abs/2301.12345v2",
    "https://en.wikipedia.org/w/index.php?title=Public-key_cryptography&oldid=1187654321&action=edit",
    "https://example.org/search?q=public+key+token&type=code",
    "https://web.archive.org/web/20200101000000/https://example.org/?q=a",
    "https://xn--bcher-kva.example/b%C3%BCcher?q=%E6%BD%AE",
    "example.org/a?b=c",
    "example.org:8080/a",
    "/a/b?c=d",
    "",
]


@pytest.mark.parametrize("url", KEPT)
def test_what_is_no_secret_stays(url: str) -> None:
    assert redact_url(url) == url


NAMES = """
    key api_key apiKey API-KEY x-api-key subscription-key token access_token accessToken id_token refresh_token
    secret client_secret sig signature X-Amz-Signature X-Amz-Credential X-Amz-Security-Token x-amz-date X-Goog-Signature
    password passwd pwd pass auth authorization oauth_token code session sessionid session_id PHPSESSID
    ASP.NET_SessionId connect.sid sid credential credentials jwt se sp AWSAccessKeyId GoogleAccessId hdnts
    user[token] tok%65n %2574oken to%E2%80%8Bken KEY Key-Pair-Id SAMLResponse otp csrftoken
    ｔｏｋｅｎ %EF%BD%94oken pw csrf xsrf appid APPID mdp kennwort passwort contraseña contrase%C3%B1a senha
"""


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/?{}={}",
        "https://example.org/?a=b&{}={}&c=d",
        "https://example.org/?a=b;{}={}",
        "https://example.org/p;{}={}",
        "https://example.org/p;a=b;{}={}/q?x=y",
        "example.org?{}={}",
    ],
)
def test_values_of_key_like_names_go(name: str, url: str) -> None:
    if "%E2%80%8B" in name:
        name = name.replace("%E2%80%8B", "\u200b")
    assert redact_url(url.format(name, SECRET)) == url.format(name.replace("\u200b", ""), "REDACTED")


@pytest.mark.parametrize(
    "value",
    [
        JWT,
        RANDOM,
        "0123456789abcdef" * 2,
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a1" * 18,
        "sk-proj-abcdefgh1234567890",
        "xoxb-123456789-abcdef",
        "AIza" + "Sy0_" * 9,
        f"https://example.net/?token={SECRET}",
        f"https://user:{SECRET}@example.net/",
        f'{{"password": "{SECRET}"}}',
        f"a=1&token={SECRET}",
    ],
)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_values_that_look_like_secrets_go(value: str, times: int) -> None:
    for _ in range(times):
        value = quote(value, safe="")
    for url in ("https://example.org/?q={}", "https://example.org/?q={}&a=b"):
        assert redact_url(url.format(value)) == url.format("REDACTED")
    assert redact_url(f"https://example.org/p;q={value}/r") == "https://example.org/p;q=REDACTED/r"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"https://user:{SECRET}@example.org/a", "https://example.org/a"),
        (f"https://{SECRET}@example.org:8080/a", "https://example.org:8080/a"),
        (f"https://user@{SECRET}@example.org/a", "https://example.org/a"),
        (f"https://user%3A{SECRET}%40example.org/a", "https://example.org/a"),
        (f"HTTPS:\\\\user:{SECRET}@example.org\\a", "HTTPS:\\\\example.org\\a"),
        (f"https:/user:{SECRET}@example.org/a", "https:/example.org/a"),
        (f"user:{SECRET}@example.org/a", "example.org/a"),
        (f"//user:{SECRET}@example.org/a", "//example.org/a"),
        (f"ht\ntps://us\x00er:{SECRET}@example.org/a", "ht%20tps://example.org/a"),
        (f"https://user:{SECRET}#x@example.org/", "https://user:REDACTED"),
        (f"https://user:p?{SECRET}@example.org/", "https://user:REDACTED"),
        (f"https://user:p/{SECRET}@example.org/", "https://user:REDACTED"),
        (f"https://example.org/a#access_token={SECRET}", "https://example.org/a"),
        (f"https://web.archive.org/web/2020/https://u:{SECRET}@h/b", "https://web.archive.org/web/2020/https://h/b"),
        (f"https://example.org/to?{JWT}", "https://example.org/to?REDACTED"),
        (f"https://example.org/verify/{JWT}/now", "https://example.org/verify/REDACTED/now"),
        (f"https://example.org/token={SECRET}/now", "https://example.org/REDACTED/now"),
        (f"https://example.org/%3Ftoken={SECRET}", "https://example.org/REDACTED"),
        (f"https://api.telegram.org/bot123456789:{'aB3' * 12}/getMe", "https://api.telegram.org/REDACTED/getMe"),
        (f"https://hooks.slack.com/services/T01234567/B01234567/{RANDOM}", "https://hooks.slack.com/services/REDACTED"),
        (f"https://discord.com/api/webhooks/123456789012345678/{'a_B' * 20}", "https://discord.com/api/webhooks/REDACTED"),
        (f"https://example.org/reset/{'0a' * 20}", "https://example.org/reset/REDACTED"),
        (f"https://example.org/verify-email/{RANDOM}/now", "https://example.org/verify-email/REDACTED/now"),
        (f"https://example.org/v1/api_key/{RANDOM}", "https://example.org/v1/api_key/REDACTED"),
        (f"https://example.org/%74oken/{RANDOM};v=1", "https://example.org/%74oken/REDACTED;v=1"),
        (f"data:text/html,{SECRET}", "data:REDACTED"),
        (f"javascript:{SECRET}", "javascript:REDACTED"),
        ("https://example.org/a b\nc", "https://example.org/a%20b%20c"),
        ("https://example.org/\x1b[31m\u202e\u200b", "https://example.org/[31m"),
    ],
)  # fmt: skip
def test_other_places_in_a_url(url: str, expected: str) -> None:
    assert redact_url(url) == expected


def test_a_url_is_bounded_after_it_was_redacted() -> None:
    for url in ("https://example.org/" + "a" * 5000, "https://" + "u" * 5000 + f":{SECRET}@example.org/" + "b" * 5000):
        redacted = redact_url(url)
        assert len(redacted) == MAX_URL
        assert redacted.startswith("https://example.org/")


TEXTS = [
    (f"see https://u:{SECRET}@example.org/a?token={SECRET} now", "see https://example.org/a?token=REDACTED now"),
    (f'<a href="https://example.org/?sig={SECRET}">x', '<a href="https://example.org/?sig=REDACTED">x'),
    (f"Authorization: Bearer {SECRET}\r\nHost: a", "Authorization: REDACTED Host: a"),
    (f"proxy-authorization=Digest a={SECRET}, b={SECRET}", "proxy-authorization=REDACTED"),
    (f'{{"Authorization": "token {SECRET}", "a": 1}}', '{"Authorization": "REDACTED", "a": 1}'),
    (f"curl -H 'Cookie: a={SECRET}; b={SECRET}' x", "curl -H 'Cookie: REDACTED' x"),
    (f"sent bearer {SECRET}.{SECRET} to", "sent bearer REDACTED to"),
    (f"sent Basic {base64.b64encode(b'user:' + SECRET.encode()).decode()} to", "sent Basic REDACTED to"),
    ("keys AKIAIOSFODNN7EXAMPLE and ASIAIOSFODNN7EXAMPLE.", "keys REDACTED and REDACTED."),
    (f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY----- b", "REDACTED b"),
    (f"a -----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n{SECRET}", "a REDACTED"),
    (f"password={SECRET} user=me", "password=REDACTED user=me"),
    (f"PASSWORD = '{SECRET} {SECRET}' ok", "PASSWORD = 'REDACTED' ok"),
    (f'"client_secret" : "{SECRET} and more', '"client_secret" : "REDACTED'),
    (f"{{'code': '{SECRET}', 'n': 1}}", "{'code': 'REDACTED', 'n': 1}"),
    (f"api key: {SECRET}, AWS_SECRET_ACCESS_KEY={SECRET}", "api key: REDACTED, AWS_SECRET_ACCESS_KEY=REDACTED"),
    (f"x=token={SECRET}", "x=token=REDACTED"),
    (f"the password: {SECRET}", "the password: REDACTED"),
    (f"{'a' * 500}_token={SECRET}", f"{'a' * 500}_token=REDACTED"),
    (f"jwt {JWT}.", "jwt REDACTED."),
    (f"pass\u200bword={SECRET}", "password=REDACTED"),
    ("a\x1b[31m\x00b\tc\u2028d\u202e", "a[31mb c d"),
    ("Basic information, and what Session: Monday 9 am means (code: 404)", None),
    ("Keyboards: a review. Author = someone; topic = design", None),
    ("It costs $5 - that's 10:30 o'clock; see [1].", None),
    ("潮汐表 ÄÖÜ", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_texts(text: str, expected: str | None) -> None:
    assert redact_text(text) == (text if expected is None else expected)


@pytest.mark.parametrize("text", [text for text, _ in TEXTS])
def test_what_is_redacted_stays_as_it_is(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)
    assert redact_url(redact_url(text)) == redact_url(text)


UNITS = (
    "a", "a.", "a=", "a:", "a@", "//", "//@", "://", ";", "&", "%25", "%2525", "\n", '"', "'", "0a", "eyJ", "sk-",
    "sk_a ", "AKIA", "bot0", "key ", "token='", '"a":"', 'a"   ', "?token=x", "https://a?x=", "https://u:p@",
    "-----BEGIN A", "-----BEGIN A-----", "-----END A", "bearer ", "basic ", "authorization:", "cookie\t\t\t\t",
    "/services/TAAAAAA", "0123456789abcdef",
)  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_length_alone(unit: str) -> None:
    """Time that grows with the square would not be enough by far."""
    text = unit * (2**16 // len(unit))
    redact_text(text)
    for before in ("", "https://example.org/", "https://example.org/?q=", "https://"):
        redact_url(before + text)


@pytest.mark.timeout(60)
def test_a_megabyte_of_everything() -> None:
    text = "".join(unit * (2**20 // len(UNITS) // len(unit)) for unit in UNITS)
    assert SECRET not in redact_text(text + f" password={SECRET}")
    assert SECRET not in redact_url(f"https://example.org/?q={text}&token={SECRET}")
