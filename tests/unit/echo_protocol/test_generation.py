"""Parameters of Open WebUI as each model family takes them."""

from typing import Any

import pytest

from echo_protocol import Catalogue, build_ca_generation_config, generation_settings

CATALOGUE = Catalogue.load()
EVERYTHING = {
    "temperature": 0.5, "top_p": "0.9", "top_k": 40, "seed": 7, "stop": ["a", "", "b", "c", "d", "e", "f"],
    "max_tokens": 100, "presence_penalty": 0.1, "frequency_penalty": 0.2, "stream": True, "model": "x",
}  # fmt: skip


def build(model_id: str, **params: Any) -> dict[str, Any]:
    return build_ca_generation_config(CATALOGUE.model(model_id), params)


def test_a_family_that_samples_gets_every_parameter() -> None:
    assert build("gemini-3.6-flash", **EVERYTHING) == {
        "temperature": 0.5, "topP": 0.9, "topK": 40, "seed": 7, "maxOutputTokens": 100,
        "stopSequences": ["a", "b", "c", "d", "e"], "thinkingConfig": {"includeThoughts": True},
    }  # fmt: skip


@pytest.mark.parametrize("model_id", ["gemini-3.8-flash", "gemini-4-argon"])
def test_a_family_that_refuses_sampling_gets_none_of_it(model_id: str) -> None:
    config = build(model_id, **EVERYTHING)
    assert config.keys() == {"seed", "maxOutputTokens", "stopSequences", "thinkingConfig"}


@pytest.mark.parametrize(
    ("model_id", "effort", "level"),
    [
        ("gemini-3.6-flash", "none", "MINIMAL"),
        ("gemini-3.6-flash", "minimal", "MINIMAL"),
        ("gemini-3.8-flash", "none", "LOW"),
        ("gemini-3.8-flash", "minimal", "LOW"),
        ("gemini-3.8-flash", "low", "LOW"),
        ("gemini-3.8-flash", "Medium", "MEDIUM"),
        ("gemini-3.8-flash", "high", "HIGH"),
        ("gemini-3.8-flash", "xhigh", "HIGH"),
        ("gemini-4-hydrogen", "xhigh", "XHIGH"),
        ("gemma-4-31b-it", "low", "MINIMAL"),
        ("gemma-4-31b-it", "medium", "HIGH"),
    ],
)
def test_an_effort_becomes_the_nearest_level(model_id: str, effort: str, level: str) -> None:
    assert build(model_id, reasoning_effort=effort)["thinkingConfig"] == {
        "includeThoughts": True, "thinkingLevel": level,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model_id", "params", "budget"),
    [
        ("gemini-2.5-flash", {"reasoning_effort": "none"}, 0),
        ("gemini-2.5-flash", {"reasoning_effort": "minimal"}, 1024),
        ("gemini-2.5-flash", {"reasoning_effort": "high"}, 24576),
        ("gemini-2.5-pro", {"reasoning_effort": "none"}, 128),
        ("gemini-2.5-pro", {"reasoning_effort": "max"}, 32768),
        ("gemini-2.5-pro", {"thinking_budget": -1}, -1),
        ("gemini-2.5-pro", {"thinking_budget": "99999"}, 32768),
        ("gemini-2.5-flash-lite", {"thinking_budget": 5}, 512),
        ("gemini-pro-agent", {"thinking_level": "LOW"}, 1024),
    ],
)
def test_a_budget_stays_within_the_models_range(model_id: str, params: dict[str, Any], budget: int) -> None:
    assert build(model_id, **params)["thinkingConfig"]["thinkingBudget"] == budget


@pytest.mark.parametrize(
    ("budget", "level"), [(0, "LOW"), (500, "LOW"), (8000, "MEDIUM"), (9000, "HIGH"), (10**9, "HIGH")]
)
def test_a_budget_for_a_level_family_becomes_a_level(budget: int, level: str) -> None:
    assert build("gemini-3.8-flash", thinking_budget=budget)["thinkingConfig"]["thinkingLevel"] == level


def test_level_and_budget_never_go_together() -> None:
    for model_id, model in CATALOGUE.models.items():
        config = build(model_id, thinking_budget=100, thinking_level="HIGH", reasoning_effort="low")
        sent = config.get("thinkingConfig", {}).keys() & {"thinkingLevel", "thinkingBudget"}
        assert len(sent) == (model.thinking.control != "none")


def test_a_model_whose_thinking_is_unknown_gets_no_thinking_config() -> None:
    assert build("gemini-2.0-flash", reasoning_effort="high") == {}


def test_thoughts_can_be_left_unasked() -> None:
    config = build_ca_generation_config(CATALOGUE.model("gemini-3.8-flash"), {}, include_thoughts=False)
    assert config == {"thinkingConfig": {"includeThoughts": False}}


def test_the_output_limit_of_the_model_holds() -> None:
    assert build("gemma-4-31b-it", max_completion_tokens=10**6)["maxOutputTokens"] == 32768
    assert "maxOutputTokens" not in build("gemma-4-31b-it", max_tokens=0)


@pytest.mark.parametrize("bad", [None, True, "x", [], float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_left_out(bad: Any) -> None:
    assert "temperature" not in build("gemini-3.6-flash", temperature=bad)


def test_a_response_format_asks_for_json() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    with_schema = build("gemini-2.0-flash", response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert with_schema == {"responseMimeType": "application/json", "responseJsonSchema": schema}
    assert build("gemini-2.0-flash", response_format={"type": "json_object"}) == {
        "responseMimeType": "application/json"
    }
    assert build("gemini-2.0-flash", response_format={"type": "text"}) == {}
    assert build("gemini-2.0-flash", response_format="json") == {}


def test_one_stop_may_be_a_string() -> None:
    assert build("gemini-2.0-flash", stop="END") == {"stopSequences": ["END"]}
    assert build("gemini-2.0-flash", stop="") == {}


def told(model_id: str, *, with_tools: bool = False, **params: Any) -> list[str]:
    settings = generation_settings(CATALOGUE.model(model_id), params, with_tools=with_tools)
    return [notice.render("en") for notice in settings.notices]


def test_numbers_out_of_range_are_moved_to_its_end() -> None:
    config = build("gemini-3.6-flash", temperature=9, top_p=-1, top_k=500, max_tokens=10**12, seed=2**40 + 3)
    assert (config["temperature"], config["topP"], config["topK"], config["seed"]) == (2.0, 0.0, 64, 3)
    assert config["maxOutputTokens"] == 65536


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"temperature": "warm"}, "temperature"),
        ({"reasoning_effort": "banana"}, "banana"),
        ({"thinking_level": "banana"}, "thinking_level"),
        ({"response_format": "yaml"}, "response_format"),
        ({"response_format": {"type": "xml"}}, "xml"),
        ({"media_resolution": "huge"}, "media_resolution"),
        ({"stop": list("abcdefg")}, "5 stop sequences"),
    ],
)
def test_what_cannot_be_taken_is_told_in_both_languages(params: dict[str, Any], says: str) -> None:
    [notice] = generation_settings(CATALOGUE.model("gemini-3.6-flash"), params).notices
    assert says in notice.render("en")
    assert notice.render("fr") != notice.render("en")


def test_parameters_that_are_fine_tell_nothing() -> None:
    assert told("gemini-3.8-flash", **{**EVERYTHING, "stop": ["x"], "reasoning_effort": "high", "n": 2}) == []


def test_an_unreadable_level_falls_back_to_the_effort() -> None:
    assert build("gemini-3.8-flash", thinking_level="banana", reasoning_effort="high")["thinkingConfig"] == {
        "includeThoughts": True, "thinkingLevel": "HIGH",
    }  # fmt: skip


def test_older_models_answer_in_json_only_without_tools() -> None:
    wanted = {"type": "json_object"}
    assert "responseMimeType" in build("gemini-2.5-flash", response_format=wanted)
    assert told("gemini-2.5-flash", with_tools=True, response_format=wanted) != []
    assert told("gemini-3.8-flash", with_tools=True, response_format=wanted) == []


def test_a_schema_is_put_into_the_words_that_gemini_knows() -> None:
    schema = {
        "$defs": {"a": {"type": "string"}},
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a", "title": "beside a reference"}},
        "not": {"required": ["y"]},
    }
    given = {"type": "json_schema", "json_schema": {"schema": schema}}
    sent = build("gemini-3.8-flash", response_format=given)["responseJsonSchema"]
    assert sent["properties"]["x"]["type"] == "string"
    assert "not" not in sent


def test_a_schema_beyond_all_bounds_is_told_and_json_stays() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep = {"type": "array", "items": deep}
    given = {"type": "json_schema", "json_schema": {"schema": deep}}
    settings = generation_settings(CATALOGUE.model("gemini-3.8-flash"), {"response_format": given})
    assert settings.config["responseMimeType"] == "application/json"
    assert "responseJsonSchema" not in settings.config
    assert len(settings.notices) == 1


def test_a_model_that_makes_images_is_asked_for_them_in_the_shape_wanted() -> None:
    config = build("gemini-3.1-flash-image", aspect_ratio="16 : 9", image_size="2k", temperature=1)
    assert config["responseModalities"] == ["TEXT", "IMAGE"]
    assert config["imageConfig"] == {"aspectRatio": "16:9", "imageSize": "2K"}
    assert "responseModalities" not in build("gemini-3.8-flash", aspect_ratio="16:9")


def test_the_resolution_of_media_is_taken_in_googles_and_in_short_words() -> None:
    for word in ("high", "MEDIA_RESOLUTION_HIGH"):
        assert build("gemini-3.8-flash", media_resolution=word)["mediaResolution"] == "MEDIA_RESOLUTION_HIGH"
    assert "mediaResolution" not in build("gemma-4-31b-it", media_resolution="low")
