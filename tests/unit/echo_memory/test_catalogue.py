import pytest

from echo_memory import PACKAGED_MODEL, SERVICE_MODEL, find_model, known_models


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("harrier-oss-v1-0.6b", SERVICE_MODEL),
        ("microsoft/harrier-oss-v1-0.6b", SERVICE_MODEL),
        ("Harrier-OSS-v1-0.6B-F16.gguf", SERVICE_MODEL),
        ("BAAI/bge-m3", "bge-m3"),
        ("bge-large", None),
        ("", None),
    ],
)
def test_names_of_services_lead_to_the_catalogue(name: str, wanted: str | None) -> None:
    found = find_model(name)
    assert (found and found.name) == wanted


def test_the_catalogue_is_sound() -> None:
    models = known_models()
    assert models[PACKAGED_MODEL].dimension == 384
    assert models[SERVICE_MODEL].dimension == 1024
    for model in models.values():
        assert 0 <= model.relevance_floor < 1
        assert model.max_tokens >= 512
