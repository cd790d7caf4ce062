"""The doctor connects to what an operator configured, sends nothing over it, and shows no secret."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator

import pytest
import trustme

from jupyter_webresearch.config import Settings, WebClassifier, WebPolicy
from jupyter_webresearch.doctor import connection, examine, network, policy, workers
from jupyter_webresearch.doctor.finding import Finding
from tests.policy.budgets.redis_server import free_port

SECRET = "hunter2-Zq9"


class Listener:
    """Takes connections on loopback, and keeps what comes in over each until its end."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.callers: list[str] = []
        self.received: list[bytes] = []
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        while True:
            taken, caller = self._socket.accept()
            with taken:
                data = taken.makefile("rb").read()
            if data == b"end":
                return
            self.callers.append(caller[0])
            self.received.append(data)

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"end")
        self._thread.join()
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    running = Listener()
    yield running
    if running._thread.is_alive():
        running.close()


# Source addresses and authorities


def test_the_source_addresses_are_bound():
    assert network.source_addresses(Settings()).detail == "whichever this machine chooses"
    found = network.source_addresses(Settings(policy=WebPolicy(source_ipv4="127.0.0.1")))
    assert (found.state, found.detail) == ("ok", "127.0.0.1")
    found = network.source_addresses(Settings(policy=WebPolicy(source_ipv4="192.0.2.7")))
    assert found.state == "fail"
    assert "WebPolicy.source_ipv4" in found.detail
    assert "nothing starts" in found.mend


def test_the_bundle_of_authorities_is_read(tmp_path):
    bundle = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(bundle)
    found = network.certificates(Settings(policy=WebPolicy(ca_bundle=str(bundle))))
    assert found.state == "ok"
    assert found.detail.endswith(f", and those in {bundle}")
    bundle.write_text("no certificate")
    found = network.certificates(Settings(policy=WebPolicy(ca_bundle=str(bundle))))
    assert found.state == "fail"
    assert "WebPolicy.ca_bundle" in found.detail
    assert "fault of ours" not in found.mend


# The upstream proxy


def through(port, environ=None, **given):
    settings = Settings(policy=WebPolicy(upstream_proxy=f"http://127.0.0.1:{port}", **given))
    return network.upstream_proxy(settings, environ or {})


def test_without_a_proxy_connections_go_out_directly():
    environ = {"HTTPS_PROXY": f"http://me:{SECRET}@127.0.0.1:9"}
    found = network.upstream_proxy(Settings(), environ)
    assert (found.state, found.detail) == ("ok", "none, connections go out directly")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_proxy_is_connected_to_and_asked_for_nothing(listener, host):
    settings = Settings(policy=WebPolicy(upstream_proxy=f"http://{host}:{listener.port}", source_ipv4="127.0.0.1"))
    found = network.upstream_proxy(settings, {})
    assert (found.state, found.detail) == ("ok", f"{host}:{listener.port} takes connections")
    listener.close()
    assert listener.received == [b""]


@pytest.mark.skipif(sys.platform == "darwin", reason="127.0.0.2 is no address of a Mac")
def test_the_proxy_is_connected_to_from_the_source_address(listener):
    assert through(listener.port, source_ipv4="127.0.0.2").state == "ok"
    listener.close()
    assert listener.callers == ["127.0.0.2"]


def test_a_proxy_that_is_not_there():
    port = free_port()
    found = through(port)
    assert found.state == "fail"
    assert f"127.0.0.1:{port}: nothing there takes connections" in found.detail
    found = network.upstream_proxy(Settings(policy=WebPolicy(upstream_proxy="http://proxy.invalid:3128")), {})
    assert found.state == "fail"
    assert "proxy.invalid" in found.detail
    assert "no page is read" in found.mend


@pytest.mark.skipif(sys.platform != "linux", reason="other systems answer when too many wait to be taken")
def test_a_proxy_that_lets_nobody_in(monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    with socket.socket() as full, socket.socket() as first:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.connect(full.getsockname())  # while this one waits to be taken, what comes is dropped
        waiting = []
        for _ in range(3):
            more = socket.socket()
            more.setblocking(False)
            more.connect_ex(full.getsockname())
            waiting.append(more)
        try:
            found = through(full.getsockname()[1])
        finally:
            for more in waiting:
                more.close()
    assert found.state == "fail"
    assert "nothing there takes connections within 0.2 s" in found.detail


def test_the_proxys_credentials_are_read_and_not_told(listener, tmp_path):
    found = through(listener.port, {"PROXY": f"me:{SECRET}"}, upstream_proxy_credentials="env:PROXY")
    assert found.state == "ok"
    assert "its credentials can be read" in found.detail
    assert SECRET not in str(found)
    found = through(listener.port, upstream_proxy_credentials=f"file:{tmp_path}/absent")
    assert found.state == "fail"
    assert "its credentials: the secret can't be used" in found.detail
    assert "WebPolicy.upstream_proxy_credentials" in found.mend


def test_the_environments_proxy_where_it_is_trusted(listener):
    trusting = Settings(policy=WebPolicy(trust_env_proxy=True, upstream_proxy_resolves=True))
    environ = {"HTTPS_PROXY": f"http://me:{SECRET}@127.0.0.1:{listener.port}", "NO_PROXY": ".example.edu"}
    found = network.upstream_proxy(trusting, environ)
    assert found.state == "ok"
    assert f"127.0.0.1:{listener.port} takes connections" in found.detail
    assert "not used for example.edu (NO_PROXY)" in found.detail
    assert "it chooses the addresses" in found.detail
    assert SECRET not in str(found)
    found = network.proxies(trusting, environ)
    assert found.state == "ok"
    assert "HTTPS_PROXY is set and used" in found.detail


def test_a_trusted_proxy_of_the_environment_that_can_not_be_used():
    trusting = Settings(policy=WebPolicy(trust_env_proxy=True))
    found = network.upstream_proxy(trusting, {"HTTPS_PROXY": f"socks5://me:{SECRET}@proxy.example:1080"})
    assert found.state == "fail"
    assert "HTTPS_PROXY" in found.detail
    assert "nothing starts" in found.mend
    assert SECRET not in str(found)


def test_the_environments_proxies_beside_one_that_is_set():
    found = network.proxies(Settings(policy=WebPolicy(upstream_proxy="http://proxy.example:1")), {"https_proxy": "x"})
    assert found.state == "ok"
    assert "https_proxy is set and not used" in found.detail


# The classifier


def judging(url, environ=None, **given):
    return policy.classifier(Settings(classifier=WebClassifier(url=url, model="judge", **given)), environ or {})


def test_no_classifier():
    found = policy.classifier(Settings(), {})
    assert (found.state, found.detail) == ("ok", "off")


def test_the_classifier_is_connected_to_and_asked_nothing(listener):
    url = f"http://localhost:{listener.port}/v1"
    found = judging(url, {"KEY": SECRET}, key="env:KEY")
    assert (found.state, found.detail) == ("ok", f"judge at {url} takes connections")
    listener.close()
    assert listener.received == [b""]


def test_what_keeps_the_classifier_from_judging():
    url = f"http://127.0.0.1:{free_port()}/v1"
    found = policy.classifier(Settings(classifier=WebClassifier(url=url, key="env:KEY")), {"OTHER": SECRET})
    assert found.state == "warn"
    for fault in ("WebClassifier.model is not set", "its key: the secret can't be used", "nothing there takes"):
        assert fault in found.detail
    assert "GET and HEAD" in found.mend


def test_a_url_that_the_engine_does_not_take():
    found = judging("http://no_such..host/v1")
    assert found.state == "fail"
    assert "nothing starts" in found.mend


# All of it, by way of the settings


def test_the_checks_see_settings_and_environment(listener, monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(workers, "extraction_workers", lambda _settings: Finding("extraction workers", "ok", ""))
    environ = {
        "JUPYTER_WEBRESEARCH_WEBPOLICY_TRUST_ENV_PROXY": "true",
        "JUPYTER_WEBRESEARCH_WEBPOLICY_CREDENTIALS": '{"a.example": {"name": "a", "source": "env:A_KEY"}}',
        "JUPYTER_WEBRESEARCH_WEBCLASSIFIER_URL": f"http://127.0.0.1:{listener.port}/v1",
        "JUPYTER_WEBRESEARCH_WEBCLASSIFIER_MODEL": "judge",
        "JUPYTER_WEBRESEARCH_WEBCLASSIFIER_KEY": "env:MODEL_KEY",
        "HTTP_PROXY": f"http://me:{SECRET}@127.0.0.1:{listener.port}",
        "A_KEY": SECRET,
        "MODEL_KEY": SECRET,
    }
    found = {finding.name: finding for finding in examine(environ=environ)}
    told = ("proxies", "upstream proxy", "credentials", "classifier")
    assert {name: found[name].state for name in told} == dict.fromkeys(told, "ok")
    assert found["credentials"].detail == "a for a.example"
    assert SECRET not in str(found)
