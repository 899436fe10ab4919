"""Settings: every property, the names it goes by, and what is refused."""

from __future__ import annotations

import pytest

from lanceyard.errors import InvalidInputError
from lanceyard.settings import (
    PARSERS,
    REFERENCE_PROPERTIES,
    STORAGE_ALIASES,
    DirectorySettings,
    Durability,
)

VALUES: dict[str, tuple[str, object]] = {
    "root": ("/data", "/data"),
    "manifest_enabled": ("False", False),
    "dir_listing_enabled": ("FALSE", False),
    "bare_directories": ("false", False),
    "durability": ("os", Durability.OS),
    "window": ("2.5", 2.5),
    "table_version_management": ("true", True),
    "catalog_history": ("60", 60.0),
    "drop_retention": ("86400", 86_400.0),
    "as_of": ("release", "release"),
    "unsafe_store": ("true", True),
}
BAD_VALUES = [
    ("root", ""),
    ("manifest_enabled", "yes"),
    ("dir_listing_enabled", ""),
    ("bare_directories", "1"),
    ("durability", "maybe"),
    ("window", "soon"),
    ("window", "-1"),
    ("window", "inf"),
    ("window", "nan"),
    ("table_version_management", "on"),
    ("catalog_history", "0"),
    ("drop_retention", "week"),
    ("as_of", ""),
    ("unsafe_store", "maybe"),
]
NEAREST = [
    ("rooot", "root"),
    ("manifest_enable", "manifest_enabled"),
    ("dir.manifest_enable", "manifest_enabled"),
    ("directory_listing_enabled", "dir_listing_enabled"),
    ("durable", "durability"),
    ("windows", "window"),
]


def read(**properties: str) -> DirectorySettings:
    return DirectorySettings.from_properties(properties)


def test_every_property_is_tried_below() -> None:
    assert VALUES.keys() == PARSERS.keys()


def test_without_properties_a_catalog_is_compatible_durable_and_here() -> None:
    assert read() == DirectorySettings(
        root=".", manifest_enabled=True, dir_listing_enabled=True, durability=Durability.FSYNC
    )


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("prefix", ["", "dir."])
def test_a_property_is_read_under_its_name_and_that_of_document_002(name: str, prefix: str) -> None:
    text, value = VALUES[name]
    assert getattr(read(**{prefix + name: text}), name) == value


def test_the_path_of_document_002_is_the_root() -> None:
    assert read(**{"dir.path": "/data"}).root == "/data"


@pytest.mark.parametrize(("name", "text"), BAD_VALUES)
def test_a_value_that_cannot_be_read_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        read(**{name: text})


@pytest.mark.parametrize(("given", "meant"), NEAREST)
def test_an_unknown_property_is_refused_with_the_nearest_one(given: str, meant: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{given!r}: did you mean {meant!r}"):
        read(**{given: "true"})


def test_a_property_like_no_other_is_refused_with_all_that_are_valid() -> None:
    with pytest.raises(InvalidInputError, match=r"bare_directories, .*window, storage"):
        read(zzz="1")


@pytest.mark.parametrize("name", sorted(REFERENCE_PROPERTIES))
def test_a_property_of_the_reference_is_ignored_with_a_warning(name: str) -> None:
    with pytest.warns(UserWarning, match=name):
        assert read(**{name: "true"}) == DirectorySettings()


@pytest.mark.parametrize("name", ["credential_vendor.enabled", "dynamic_context_provider.x"])
def test_a_family_of_properties_of_the_reference_is_ignored_with_a_warning(name: str) -> None:
    with pytest.warns(UserWarning, match=name):
        assert read(**{name: "true"}) == DirectorySettings()


def test_storage_options_go_by_the_names_of_lance() -> None:
    assert read(**{"storage.region": "eu", "dir.storage.KEY": "k"}).storage == {
        "region": "eu",
        "key": "k",
    }


@pytest.mark.parametrize(("alias", "name"), STORAGE_ALIASES.items())
def test_storage_options_go_by_the_names_of_opendal_too(alias: str, name: str) -> None:
    assert read(**{f"storage.{alias}": "x"}).storage == {name: "x"}


def test_an_alias_and_its_name_must_agree() -> None:
    with pytest.raises(InvalidInputError, match="twice"):
        read(**{"storage.credential": "a", "storage.google_service_account_key": "b"})


def test_one_property_given_twice_alike_is_no_contradiction() -> None:
    assert read(**{"root": "/a", "dir.path": "/a"}).root == "/a"


@pytest.mark.parametrize(
    "contradiction",
    [
        {"manifest_enabled": "false", "dir_listing_enabled": "false"},
        {"bare_directories": "true"},
        {"root": "/a", "dir.path": "/b"},
    ],
    ids=["neither", "bare", "two-roots"],
)
def test_properties_that_contradict_each_other_are_refused(contradiction: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError):
        read(**contradiction)
