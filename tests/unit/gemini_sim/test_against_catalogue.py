"""What ECHO's catalogue says of a model and what the simulated server does agree: each is written down on its own."""

from itertools import combinations
from typing import Any

import pytest

from echo_protocol.catalogue import MODEL_NAMES, Catalogue
from echo_workers.gemini_sim.core.code_assist import internal_model
from echo_workers.gemini_sim.core.generation import check_generation
from echo_workers.gemini_sim.core.models import ServerModel, all_models, find_model

CATALOGUE = Catalogue.load()
SERVED = {model.id: model for model in all_models(with_retired=True)}
SHARED = [
    (model, SERVED[model.backend_id("ai_studio")])
    for model in CATALOGUE.models.values()
    if model.backend_id("ai_studio") in SERVED
]


def test_every_model_behind_a_name_is_served_and_not_retired() -> None:
    for name in MODEL_NAMES:
        studio = CATALOGUE.resolve(name, "ai_studio")
        assert find_model(studio.backend_id("ai_studio"), "v1", "generateContent", with_retired=False).id == studio.id
        assert internal_model(CATALOGUE.resolve(name, "code_assist").backend_id("code_assist"))


@pytest.mark.parametrize(("known", "served"), SHARED, ids=[model.id for model, _ in SHARED])
def test_limits_and_abilities_agree(known: Any, served: ServerModel) -> None:
    capabilities = known.capabilities
    assert (known.window_tokens, known.output_tokens) == (served.input_tokens, served.output_tokens)
    assert known.unified_window == served.unified_window
    assert known.validates_signatures == served.checks_signatures
    assert capabilities.continuation == (served.generation >= 4)
    assert capabilities.explicit_cache == ("createCachedContent" in served.methods)
    assert capabilities.implicit_cache_min_tokens >= served.cache_min_tokens  # ECHO may expect less of the cache


@pytest.mark.parametrize(("known", "served"), SHARED, ids=[model.id for model, _ in SHARED])
def test_the_server_takes_every_thinking_setting_that_the_catalogue_offers(known: Any, served: ServerModel) -> None:
    thinking = known.thinking
    if thinking.control == "level":
        settings = [{"thinkingLevel": value} for value in thinking.values]
    elif thinking.control == "budget":
        budgets = [thinking.min_budget_tokens, thinking.max_budget_tokens, -1, *([0] if thinking.can_disable else [])]
        settings = [{"thinkingBudget": value} for value in budgets]
    else:
        settings = [{}]
    for setting in settings:
        check_generation({"generationConfig": {"thinkingConfig": setting}}, served)


def test_chat_models_share_a_signature_scope_here_when_they_do_there() -> None:
    signing = [(known, served) for known, served in SHARED if served.checks_signatures and not served.image]
    assert len(signing) > 6
    for (known, served), (other_known, other_served) in combinations(signing, 2):
        together = known.signature_scope == other_known.signature_scope
        assert together == (served.signature_scope == other_served.signature_scope), (known.id, other_known.id)
