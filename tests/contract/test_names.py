"""Names that others build on exist from their release on and never vanish."""

import importlib
import importlib.util
from functools import reduce

import pytest

from echo_constants import ECHO_VERSION
from guards.names import LATER, NAMES, Name

PROMISED = [name for name in NAMES if name.since != LATER]
OPEN = [name for name in NAMES if name.since == LATER]


def label(name: Name) -> str:
    """How pytest shows a name."""
    return f"{name.lib}.{name.dotted}"


def resolve(name: Name) -> object:
    """Import the lib and walk to the name.

    Raises:
        ImportError, AttributeError: it is not there.
    """
    return reduce(getattr, name.dotted.split("."), importlib.import_module(name.lib))


def version(text: str) -> tuple[int, ...]:
    """A version that can be compared."""
    return tuple(int(part) for part in text.split("."))


@pytest.mark.parametrize("name", PROMISED, ids=label)
def test_promised_name_can_be_imported(name: Name) -> None:
    assert version(name.since) <= version(ECHO_VERSION)
    assert resolve(name) is not None


@pytest.mark.parametrize("name", OPEN, ids=label)
def test_open_name_is_promised_once_it_exists(name: Name) -> None:
    # Otherwise it could vanish again unnoticed: give it `since` in tests/guards/names.py.
    with pytest.raises((ImportError, AttributeError)):
        resolve(name)


def test_the_table_names_each_name_once() -> None:
    assert len({label(name) for name in NAMES}) == len(NAMES) == 29


def test_a_vanished_name_is_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve(Name("echo_constants", "MEMORY_IMPORTANCE_WEIGHTS.vanished", "0.1.0"))
