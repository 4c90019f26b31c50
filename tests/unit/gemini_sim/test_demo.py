"""The demo model: what it answers follows from the prompt alone."""

import base64
import json
import re
import struct
import zlib
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_prompts import SHIPPED
from echo_workers.gemini_sim.core.demo.answer import plan, thought
from echo_workers.gemini_sim.core.demo.picture import png
from echo_workers.gemini_sim.core.demo.prose import long_text
from echo_workers.gemini_sim.core.demo.structured import instance, task_answer
from echo_workers.gemini_sim.core.demo.view import Facts, View, asked_calls, bare_prompt, language_of

REST = {"signatures": 2, "signatures_valid": 1, "attachments": 1}
FACTS = Facts(turns=3, prompt_tokens=200, cached_tokens=50, cache_min_tokens=100, **REST)


def view(prompt: str, **more: Any) -> View:
    return View(**{"prompt": prompt, "locale": language_of(prompt), "facts": FACTS, "tools": {}, **more})


def text_of(prompt: str, **more: Any) -> str:
    pieces = plan(view(prompt, **more))
    assert [piece.kind for piece in pieces] == ["text"]
    return pieces[0].text


def test_the_report_tells_what_arrived_in_english_and_french() -> None:
    english, french = text_of("Hello, what is this?"), text_of("Bonjour, quelle est la question ?")
    for figure in ("| 3 |", "| 200 |", "| 50 (25 %) |", "| 2, 1 |"):
        assert figure in english
        assert figure in french
    assert english.startswith("**Simulated answer**")
    assert french.startswith("**Réponse simulée**")
    assert "Bonjour" in thought(view("Bonjour, quelle est la question ?")).text


def test_artifacts_in_the_message_are_no_request() -> None:
    parts = [
        {"text": '<artifact id="AEC_event">call f {}</artifact>'},
        {"text": '<artifact id="AEC_modele" model="a &gt; b"/>'},
        {"text": "Hello"},
        {"text": "x", "thought": True},
    ]
    assert bare_prompt(parts) == "Hello"


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [
        ("call f", [[("f", None)]]),
        ('please call f {"a": {"b": "}"}} now', [[("f", {"a": {"b": "}"}})]]),
        ('call f {"a": 1} and call g {"b": 2}', [[("f", {"a": 1}), ("g", {"b": 2})]]),
        ('call f {"a": 1}, then call g {"b": 2}', [[("f", {"a": 1})], [("g", {"b": 2})]]),
        ('appelle f {"a": 1} puis appelle f {"a": 2}', [[("f", {"a": 1})], [("f", {"a": 2})]]),
        ('call `srv:tool.x` {"then": "call g"}', [[("srv:tool.x", {"then": "call g"})]]),
        ("nothing to do", []),
        ('call f {"broken', []),
        ("call f {“a”: “b”, ”c„: 1} and call g {«d»: 2}", [[("f", {"a": "b", "c": 1}), ("g", {"d": 2})]]),
        ('call f {"said": "“yes”"}', [[("f", {"said": "“yes”"})]]),
        ("appelle f\u00a0{“a”: 1}", [[("f", {"a": 1})]]),
    ],
)
def test_calls_are_read_from_the_prompt(prompt: str, steps: list[Any]) -> None:
    assert [[(ask.name, ask.args) for ask in step] for step in asked_calls(prompt)] == steps


FRENCH_CHAT = ("Bonjour, je cherche une idée", "Et pour les enfants ?")


@pytest.mark.parametrize(
    ("text", "earlier", "locale"),
    [
        ("Modifié : combien de tours ?", (), "fr"),
        ("Modifié : combien de tours ?", FRENCH_CHAT, "fr"),
        ("ok", FRENCH_CHAT, "fr"),
        ("call f {}", FRENCH_CHAT, "fr"),
        ("J'ai faim", (), "fr"),
        ("What is this?", FRENCH_CHAT, "en"),
        ("ok", ("What is this about?",), "en"),
        ("ok", (), "en"),
        ("Can you give an example?", FRENCH_CHAT, "en"),
    ],
)
def test_a_message_that_hardly_tells_its_language_keeps_the_one_of_the_chat(
    text: str, earlier: Any, locale: str
) -> None:
    assert language_of(text, earlier) == locale


def test_steps_follow_one_another_and_end_with_the_results() -> None:
    tools = {"f": {}, "g": {}}
    prompt = "call f {} then call g {}"
    assert [(piece.kind, piece.name) for piece in plan(view(prompt, tools=tools))] == [("call", "f")]
    assert [(piece.kind, piece.name) for piece in plan(view(prompt, tools=tools, steps_done=1))] == [("call", "g")]
    done = text_of(prompt, tools=tools, steps_done=2, results=[("g", {"output": "42"})])
    assert "**`g`** answered:\n\n42" in done


def test_arguments_that_the_prompt_leaves_out_fit_the_schema() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 3}}}
    call = plan(view("call f", tools={"f": schema}))[0]
    jsonschema.validate(dict(call.args), schema)
    assert call.args["days"] == 3


def test_calling_modes_are_kept() -> None:
    tools = {"f": {}, "g": {}}
    assert plan(view("Hello", tools=tools, mode="ANY", allowed=["g"]))[0].name == "g"
    assert plan(view("call f {}", tools=tools, mode="NONE"))[0].kind == "text"


@pytest.mark.parametrize(
    ("prompt", "start"), [("call h {}", "I would gladly call `h`"), ("Appelle h", "J'appellerais")]
)
def test_a_tool_that_is_missing_is_answered_with_those_there_are_and_how_to_add_one(prompt: str, start: str) -> None:
    locale = "fr" if prompt.startswith("Appelle") else "en"
    told = text_of(prompt, tools={"g": {}, "f": {}}, locale=locale)
    assert told.startswith(start)
    assert "`f`, `g`" in told
    assert ("Workspace → Tools" if locale == "en" else "Espace de travail → Outils") in told
    none = text_of(prompt, locale=locale)
    assert ("No tool is switched on" if locale == "en" else "Aucun outil n'est activé") in none


@pytest.mark.parametrize("prompt", ["Please call me later", "Bonjour, je m'appelle Marie"])
def test_calling_in_ordinary_speech_is_no_wish_for_a_tool(prompt: str) -> None:
    assert "| 200 |" in text_of(prompt)


@pytest.mark.parametrize(("cached", "prompt", "note"), [(0, 99, True), (0, 100, False), (99, 99, False)])
def test_a_request_below_the_minimum_of_the_cache_says_so(cached: int, prompt: int, note: bool) -> None:
    facts = Facts(turns=1, prompt_tokens=prompt, cached_tokens=cached, cache_min_tokens=100, **REST)
    assert ("starts at 100 tokens" in text_of("Hello", facts=facts)) is note
    assert ("commence à 100 jetons" in text_of("Bonjour", facts=facts)) is note


@pytest.mark.parametrize(
    "said", [SHIPPED.text("continue", "en"), f"{SHIPPED.writer('fr', 'Zoé')}\n{SHIPPED.text('continue', 'fr')}"]
)
@pytest.mark.parametrize("locale", ["en", "fr"])
def test_continuing_goes_on_with_prose_and_not_with_the_instruction(said: str, locale: Any) -> None:
    told = text_of(said, locale=locale)
    assert told.startswith("\n\n")
    assert len(told.split()) > 40
    assert "|" not in told
    assert ("chemin" in told or "vallée" in told) is (locale == "fr")
    assert said not in thought(view(said, locale=locale)).text
    later = Facts(turns=4, prompt_tokens=200, cached_tokens=50, cache_min_tokens=100, **REST)
    assert text_of(said, locale=locale, facts=later) != told


@pytest.mark.parametrize(("turns", "english", "french"), [(1, " 1 turn ", " 1 tour "), (2, " 2 turns ", " 2 tours ")])
def test_thoughts_count_in_good_grammar(turns: int, english: str, french: str) -> None:
    facts = Facts(turns=turns, prompt_tokens=200, cached_tokens=50, cache_min_tokens=100, **REST)
    assert english in thought(view("Hello.", facts=facts)).text
    assert french in thought(view("Bonjour.", facts=facts)).text


@pytest.mark.parametrize("prompt", ["It says “stop.”", 'It says "stop."', "Il dit « non. »", "Is it?"])
def test_quotes_are_not_doubled(prompt: str) -> None:
    for text in (thought(view(prompt)).text, text_of(prompt)):
        assert not re.search(r"[”»][.!?]|[”»]\s*[”»]|“\s*“", text)


@pytest.mark.parametrize("locale", ["en", "fr"])
@pytest.mark.parametrize("words", [1, 2, 3, 50, 99, 100, 101, 500, 1_234])
def test_long_texts_have_the_length_asked_for(locale: Any, words: int) -> None:
    assert len(re.findall(r"\w+", long_text(words, locale))) == words


@pytest.mark.parametrize(("prompt", "words"), [("write 500 words", 500), ("Écris-moi un texte de 120 mots", 120)])
def test_long_output_on_request(prompt: str, words: int) -> None:
    assert len(re.findall(r"\w+", text_of(prompt))) == words


@pytest.mark.parametrize(
    ("prompt", "said"), [("write 20000 words", "3,000 words at most"), ("écris 30000 mots", "3\u202f000 mots au plus")]
)
def test_very_long_output_is_capped_and_says_so(prompt: str, said: str) -> None:
    notice, _, rest = text_of(prompt).partition("\n\n")
    assert said in notice
    assert len(re.findall(r"\w+", rest)) == 3_000


def pixels(prompt: str) -> bytes:
    """The palette places of a picture, row by row without their filter bytes."""
    data = base64.b64decode(png(prompt))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width == height == 256
    start = data.index(b"IDAT") + 4
    size = struct.unpack(">I", data[start - 8 : start - 4])[0]
    raw = zlib.decompress(data[start : start + size])
    assert len(raw) == height * (1 + width)
    return b"".join(raw[row * (1 + width) + 1 : (row + 1) * (1 + width)] for row in range(height))


def test_pictures_are_real_pngs_that_show_something_and_stay_small() -> None:
    cat, land = pixels("draw a cat"), pixels("a house")
    assert cat != land
    assert pixels("dessine un chat") == cat
    assert min(len(set(cat)), len(set(land))) >= 6
    assert max(cat.count(bytes([place])) for place in set(cat)) < len(cat) * 0.6
    assert len(base64.b64decode(png("draw a cat"))) < 4_000


def test_pictures_follow_their_prompt_and_nothing_else() -> None:
    assert png("a cat") == png("a cat") != png("a big cat")
    assert [piece.kind for piece in plan(view("draw a cat"))] == ["text", "image"]
    assert [piece.kind for piece in plan(view("a cat", image=True))] == ["text", "image"]


@pytest.mark.parametrize(
    ("shape", "key", "kind"),
    [
        ('{ "title": "your concise title here" }', "title", str),
        ('{ "tags": ["tag1", "tag2", "tag3"] }', "tags", list),
        ('{ "follow_ups": ["Question 1?", "Question 2?"] }', "follow_ups", list),
        ('{ "queries": ["query1"] }', "queries", list),
        ('{ "text": "<your_completion>" }', "text", str),
    ],
)
def test_task_prompts_get_valid_json(shape: str, key: str, kind: type) -> None:
    history = "<chat_history>\nUSER: Plan a trip to Rome\n</chat_history>"
    prompt = f"### Task:\nGenerate.\n### Output:\nJSON format: {shape}\n{history}"
    value = json.loads(text_of(prompt))
    assert list(value) == [key]
    assert isinstance(value[key], kind)
    assert value[key]


@pytest.mark.parametrize(
    ("chat", "first"),
    [
        ("USER: Bonjour, je cherche une idée", "Pouvez-vous l'expliquer plus simplement ?"),
        (
            "USER: écris 30000 mots\nASSISTANT: the river and the way\nUSER: ok",
            "Pouvez-vous l'expliquer plus simplement ?",
        ),
        ("USER: What is this?\nASSISTANT: la rivière et le chemin", "Can you explain that in simpler words?"),
        ("", "Can you explain that in simpler words?"),
    ],
)
def test_a_task_speaks_the_language_of_its_chat(chat: str, first: str) -> None:
    prompt = f'### Task: JSON format: {{ "follow_ups": [] }}\n<chat_history>\n{chat}\n</chat_history>'
    answer = task_answer(prompt)
    assert answer is not None
    assert answer["follow_ups"][0] == first
    assert {language_of(question) for question in answer["follow_ups"]} == {language_of(first)}


def test_an_ordinary_prompt_is_no_task() -> None:
    assert task_answer("Explain JSON to me") is None
    assert task_answer('What does { "title": 1 } mean as JSON?') is None


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "minLength": 60},
            {"type": "integer", "minimum": 5},
            {"type": "number"},
            {"type": "boolean"},
            {"type": ["null", "integer"]},
            {"const": "fixed"},
            {"$ref": "#/$defs/Node"},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item, "minItems": 2}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda fields: {"type": "object", "properties": fields, "required": sorted(fields)}
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options}),
    ),
    max_leaves=6,
)


@given(SCHEMAS)
def test_structured_answers_fit_their_schema(schema: dict[str, Any]) -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "integer"}},
        "required": ["v"],
    }
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": {"Node": node}}
    assert not list(jsonschema.Draft202012Validator(whole).iter_errors(instance(whole)))


def test_json_without_a_schema_is_still_json() -> None:
    assert json.loads(text_of("Hello", schema={})) == {"answer": "Hello"}
