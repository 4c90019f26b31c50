"""The catalogue knows the shipped models, learns live ones, warns, and refuses nobody."""

import datetime as dt

import pytest

from echo_protocol import MODEL_NAMES, Backend, Catalogue, UnknownModelName

TODAY = dt.date(2026, 11, 30)
CATALOGUE = Catalogue.load()
BACKENDS: tuple[Backend, ...] = ("ai_studio", "code_assist")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_abstract_name_has_a_model_that_stays_for_a_while(name: str, backend: Backend) -> None:
    model = CATALOGUE.resolve(name, backend)
    assert model.known
    assert backend in model.backends
    assert model.capabilities.tools
    assert model.retires_on is None or model.retires_on - TODAY > dt.timedelta(days=31)
    assert CATALOGUE.resolve(name.removeprefix("MODEL_"), backend) == model


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_six_models_read_each_others_signatures(backend: Backend) -> None:
    assert len({CATALOGUE.resolve(name, backend).signature_scope for name in MODEL_NAMES}) == 1


def test_every_candidate_and_every_model_is_well_formed() -> None:
    for names in CATALOGUE.names.values():
        assert {model_id for ids in names.values() for model_id in ids} <= CATALOGUE.models.keys()
    for model in CATALOGUE.models.values():
        assert model.backends
        assert 0 < model.output_tokens <= model.window_tokens
        thinking = model.thinking
        if thinking.control == "level":
            assert thinking.default in thinking.values
        elif thinking.control == "budget":
            assert 0 <= thinking.min_budget_tokens < thinking.max_budget_tokens


def test_models_are_found_by_any_of_their_ids() -> None:
    model = CATALOGUE.model("gemini-3.8-flash")
    assert CATALOGUE.model("models/gemini-3.8-flash") == model
    assert CATALOGUE.resolve("gemini-3.8-flash", "ai_studio") == model
    assert CATALOGUE.model("gemini-pro-agent").backend_id("code_assist") == "gemini-pro-agent"


@pytest.mark.parametrize(
    ("model_id", "control", "validates"),
    [
        ("gemini-5-xenon", "level", True),
        ("gemini-flash-latest", "none", True),
        ("gemini-2.5-something", "budget", False),
        ("gemini-2.0-flash", "none", False),
        ("claude-sonnet-4-6", "none", False),
        ("", "none", False),
    ],
)
def test_an_unknown_model_gets_a_careful_guess(model_id: str, control: str, validates: bool) -> None:
    model = CATALOGUE.model(model_id)
    assert not model.known
    assert (model.thinking.control, model.validates_signatures) == (control, validates)
    assert model.window_tokens < CATALOGUE.model("gemini-3.8-flash").window_tokens
    assert model.backend_id("ai_studio") == model_id


def test_a_live_list_refines_limits_and_adds_models() -> None:
    live = CATALOGUE.refine(
        [
            {"name": "models/gemini-3.8-flash", "inputTokenLimit": 2_000_000, "outputTokenLimit": 70_000},
            {"name": "models/gemini-5-xenon", "displayName": "Xenon", "inputTokenLimit": 500, "thinking": False},
            {"name": "gemini-3.7-flash-high", "maxTokens": 1000, "maxOutputTokens": 10},
            {},
        ]
    )
    assert live.model("gemini-3.8-flash").window_tokens == 2_000_000
    assert live.model("gemini-3.8-flash").name == "Gemini 3.8 Flash"
    xenon = live.model("gemini-5-xenon")
    assert (xenon.name, xenon.window_tokens, xenon.thinking.control) == ("Xenon", 500, "none")
    assert live.model("gemini-3.7-flash-high").output_tokens == 10
    assert CATALOGUE.model("gemini-3.8-flash").window_tokens == 1_048_576


def test_a_name_falls_to_the_first_candidate_that_is_live() -> None:
    only_old = CATALOGUE.refine([{"name": "models/gemini-3.7-flash"}, {"name": "models/gemini-3.1-pro-preview"}])
    assert only_old.resolve("MODEL_FLASH", "ai_studio").id == "gemini-3.7-flash"
    assert only_old.resolve("MODEL_PRO", "ai_studio").id == "gemini-3.1-pro-preview"
    nothing = CATALOGUE.refine([{"name": "models/other"}])
    assert nothing.resolve("MODEL_FLASH", "ai_studio") == CATALOGUE.resolve("MODEL_FLASH", "ai_studio")


def test_a_name_without_candidates_says_which() -> None:
    bare = Catalogue.from_json('{"as_of": "2026-01-01", "names": {}, "models": []}')
    with pytest.raises(UnknownModelName) as caught:
        bare.resolve("MODEL_PRO", "ai_studio")
    assert "MODEL_PRO" in caught.value.user_message("en")
    assert "ai_studio" in caught.value.user_message("fr")


def test_the_catalogue_warns_when_it_is_old_or_a_model_goes() -> None:
    assert not CATALOGUE.is_stale(TODAY)
    assert CATALOGUE.is_stale(TODAY + dt.timedelta(days=121))
    warned = CATALOGUE.warnings(dt.date(2027, 4, 20))
    assert any("gemini-3.1-flash-lite" in warning.en and "2027-05-07" in warning.fr for warning in warned)


def test_the_price_follows_size_and_date() -> None:
    pro = CATALOGUE.model("gemini-3.1-pro-preview")
    small, large = pro.price(200_000, TODAY), pro.price(200_001, TODAY)
    assert small is not None
    assert large is not None
    assert (small.input_usd, large.input_usd) == (2, 4)
    argon = CATALOGUE.model("gemini-4-argon")
    before, after = argon.price(10, TODAY), argon.price(10, TODAY + dt.timedelta(days=1))
    assert before is not None
    assert after is not None
    assert (before.output_usd, after.output_usd) == (10, 20)
    assert CATALOGUE.model("gemini-pro-agent").price(10, TODAY) is None
    assert pro.price(10, TODAY, tier="moon") is None
