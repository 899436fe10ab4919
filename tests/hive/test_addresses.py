"""The properties that say where metastores are and how to speak to them."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore.settings import (
    Address,
    MetastoreSettings,
    Principal,
    Tls,
    User,
)

GOOD = {
    "thrift://a:9083": (Address("a"),),
    "thrift://a": (Address("a"),),
    "a:10000": (Address("a", 10000),),
    "thrift://a:1, thrift://b:2,thrift://a:1": (Address("a", 1), Address("b", 2)),
    "thrift://[::1]:9083": (Address("::1"),),
}
BAD = {
    "uri": ["", " , ", "http://a:9083", "thrift://", "thrift://a:b", "thrift://a:0", "a/b", "a?b"],
    "ugi": ["", ":group"],
    "client.pool-size": ["0", "-1", "many", ""],
    "client.connect-timeout": ["0", "soon"],
    "client.read-timeout": ["0", "inf"],
    "tls": ["yes"],
    "tls.ssl_ca_cert": [""],
    "kerberos.principal": ["", "/host@REALM"],
}
PRINCIPALS = {
    "hive": Principal("hive"),
    "hive/_HOST@EXAMPLE.ORG": Principal("hive", None, "EXAMPLE.ORG"),
    "hive/a.example.org": Principal("hive", "a.example.org"),
}


@pytest.mark.parametrize(("text", "found"), GOOD.items())
def test_addresses_are_read(text: str, found: tuple[Address, ...]) -> None:
    assert MetastoreSettings.from_properties({"uri": text}).uris == found


def test_addresses_are_written_as_they_are_read() -> None:
    for address in (Address("a"), Address("::1", 1)):
        assert MetastoreSettings.from_properties({"uri": str(address)}).uris == (address,)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in BAD for text in BAD[name]])
def test_what_cannot_be_read_is_refused_with_the_name_of_the_property(name: str, text: str) -> None:
    with pytest.raises(errors.InvalidInputError, match=name):
        MetastoreSettings.from_properties({name: text})


@pytest.mark.parametrize(("text", "found"), PRINCIPALS.items())
def test_principals_are_read(text: str, found: Principal) -> None:
    assert MetastoreSettings.from_properties({"kerberos.principal": text}).kerberos == found


def test_users_are_read_with_their_groups() -> None:
    assert MetastoreSettings.from_properties({"ugi": "ann:a,b"}).user == User("ann", ("a", "b"))
    assert MetastoreSettings.from_properties({"ugi": "ann"}).user == User("ann")


def test_what_is_said_of_tls_asks_for_it() -> None:
    assert MetastoreSettings.from_properties({}).tls is None
    assert MetastoreSettings.from_properties({"tls": "false"}).tls is None
    assert MetastoreSettings.from_properties({"tls": "true"}).tls == Tls()
    said = {"tls.ssl_ca_cert": "x", "tls.assert_hostname": "false"}
    assert MetastoreSettings.from_properties(said).tls == Tls(ca_cert="x", assert_hostname=False)
    with pytest.raises(errors.InvalidInputError, match="contradicts"):
        MetastoreSettings.from_properties({"tls": "false", "tls.cert_file": "x"})
