"""What was read once is only given again while nobody has written it since."""

from echo_core.settled_prefix import SettledPrefix
from echo_state_manager._cache import ShadowCache
from store_kit import shadow

ONE, OTHER = shadow("m1", "one"), shadow("m2", "other")


def cache_with(limit_bytes: int = 10_000) -> ShadowCache:
    cache = ShadowCache(limit_bytes)
    cache.advance([("", 5)])
    cache.add([ONE, OTHER], cache.drops)
    return cache


def test_a_written_message_is_dropped_and_the_newest_revision_remembered() -> None:
    cache = cache_with()
    cache.advance([("m1", 7), ("m9", 6)])
    assert cache.revision == 7
    assert cache.lookup(["m1", "m2", "m3"]) == ({"m2": OTHER}, ["m1", "m3"])


def test_what_was_read_before_somebody_else_saw_a_write_is_not_kept() -> None:
    cache = ShadowCache()
    reading_began = cache.drops
    cache.advance([("m1", 6)])
    cache.add([ONE], reading_began)
    assert cache.lookup(["m1"]) == ({}, ["m1"])


def test_nothing_is_kept_beyond_the_limit() -> None:
    size_bytes = len(ONE.contents_json) + len(ONE.overlay_json) + len(ONE.visible_text)
    cache = cache_with(size_bytes)
    assert cache.lookup(["m1", "m2"]) == ({"m1": ONE}, ["m2"])
    cache.advance([("m1", 8)])
    cache.add([ONE], cache.drops)
    assert cache.lookup(["m1"]) == ({"m1": ONE}, [])


def test_clearing_forgets_the_revision_too() -> None:
    cache = cache_with()
    reading_began = cache.drops
    cache.clear()
    cache.add([ONE], reading_began)
    assert (cache.revision, cache.lookup(["m1"])) == (0, ({}, ["m1"]))


def test_a_deletion_drops_everything_and_keeps_the_newest_revision() -> None:
    cache = cache_with()
    cache.advance([("m9", 9), ("", 8)])
    assert (cache.revision, cache.lookup(["m1", "m2"])) == (9, ({}, ["m1", "m2"]))


def prefix_of(size_bytes: int) -> SettledPrefix:
    return SettledPrefix(ids=[""], marks=[""], shadows=[ONE], pieces=[b"x" * size_bytes], last_roles=["model"])


def test_a_beginning_is_kept_where_it_fits_beside_the_shadows() -> None:
    cache = cache_with()
    held_bytes = cache.held_bytes
    kept = prefix_of(10_000 - held_bytes)
    cache.keep_prefix(kept)
    assert (cache.prefix, cache.held_bytes) == (kept, 10_000)
    cache.keep_prefix(prefix_of(10_001 - held_bytes))
    assert (cache.prefix, cache.held_bytes) == (None, held_bytes)


def test_a_kept_beginning_leaves_no_more_room_than_there_is_and_goes_with_the_rest() -> None:
    cache = cache_with()
    cache.keep_prefix(prefix_of(10_000 - cache.held_bytes))
    cache.add([shadow("m3", "third")], cache.drops)
    assert cache.lookup(["m3"]) == ({}, ["m3"])
    cache.advance([("", 9)])
    assert (cache.prefix, cache.held_bytes) == (None, 0)
