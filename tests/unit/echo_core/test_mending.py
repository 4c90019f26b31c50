"""What of a broken-off answer stands, and how the rest is joined to it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from echo_core.mending import MIN_OVERLAP_CHARS, Rejoiner, standing, unsigned
from echo_protocol import Part, check_turn_shape, join_contents, parse_contents, part_from_wire

SAID = st.text("abcde \n", min_size=MIN_OVERLAP_CHARS, max_size=60)
FRESH = st.text("UVWXYZ \n", max_size=40).filter(lambda text: text[:1] not in (" ", "\n"))


def rejoined(said: str, pieces: list[str]) -> str:
    rejoiner = Rejoiner(said)
    return "".join([*(rejoiner.feed(piece) for piece in pieces), rejoiner.end()])


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in pairwise(edges)]


@given(SAID, FRESH, st.lists(st.integers(0, 99), max_size=6))
def test_what_is_new_comes_through_unchanged(said: str, fresh: str, places: list[int]) -> None:
    assert rejoined(said, cut(fresh, places)) == fresh


@given(SAID, FRESH, st.integers(MIN_OVERLAP_CHARS, 60), st.lists(st.integers(0, 99), max_size=6))
def test_a_repeated_end_is_taken_out_however_it_arrives(said: str, fresh: str, overlap: int, places: list[int]) -> None:
    repeated = said[-overlap:]
    assert rejoined(said, cut(repeated + fresh, places)) == fresh


@given(SAID, st.text("abcdeUVW \n", max_size=60), st.lists(st.integers(0, 99), max_size=6))
def test_nothing_is_ever_made_up_or_moved(said: str, text: str, places: list[int]) -> None:
    assert text.endswith(rejoined(said, cut(text, places)))


def test_a_short_overlap_is_chance() -> None:
    assert rejoined("It is a list:\n- ", ["- ", "one"]) == "- one"


def parts(*wires: dict[str, object]) -> list[Part]:
    return [part_from_wire(wire) for wire in wires]


TEXT = {"text": "Let me look."}
CALL = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"}
ASKED = {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}, "thoughtSignature": "c2ln"}
TOLD = {"toolResponse": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}, "thoughtSignature": "c2ln"}
CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}


def test_steps_that_were_not_done_do_not_stand() -> None:
    for undone in (CALL, ASKED, CODE):
        assert [part.wire for part in standing(parts(TEXT, undone))] == [TEXT]
    for done in ([ASKED, TOLD], [CODE, RESULT]):
        assert [part.wire for part in standing(parts(*done, TEXT))] == [*done, TEXT]


def test_thoughts_never_stand() -> None:
    assert standing(parts({"text": "hm", "thought": True})) == ()


def test_another_family_gets_the_sentinel_in_the_current_turn_only() -> None:
    hops = [
        b'{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"c2ln"}]}',
        b'{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}',
    ]
    older, current = unsigned(hops), unsigned(hops, current=True, signs=True)
    assert b"thoughtSignature" not in b"".join(older)
    assert b"skip_thought_signature_validator" in current[0]
    assert not check_turn_shape(parse_contents(join_contents([b'{"role":"user","parts":[{"text":"x"}]}', *current])))
