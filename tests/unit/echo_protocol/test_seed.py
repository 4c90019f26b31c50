import pytest

from echo_protocol import Catalogue, build_ca_generation_config

MODEL = Catalogue.load().model("gemini-3-flash-preview")


@pytest.mark.parametrize(("asked", "sent"), [(7, 7), (-3, -3), (2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (2**40, 0)])
def test_a_seed_always_fits_the_api_s_32_bits(asked: int, sent: int) -> None:
    assert build_ca_generation_config(MODEL, {"seed": asked}).get("seed") == sent
