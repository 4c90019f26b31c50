"""Whatever figures a chat has, its charts are well-formed and stay inside their frame."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from echo_core.figures import TurnFigures
from echo_visuals import chat_charts, draw
from echo_visuals.charts import HEIGHT, WIDTH, nice_top

COUNTS = st.integers(min_value=0, max_value=10**12)
ANSWERS = st.lists(
    st.builds(
        TurnFigures,
        message_id=st.just("m"),
        at_s=COUNTS,
        model_id=st.just("m"),
        level=st.just("PRO"),
        cause=st.just("chat"),
        input_tokens=COUNTS,
        cached_tokens=COUNTS,
        output_tokens=COUNTS,
        usd=st.none() | st.floats(min_value=0, max_value=1e9),
    ),
    max_size=120,
)


@given(ANSWERS, st.sampled_from(["en", "fr"]))
def test_shapes_stay_inside_the_frame(answers: list[TurnFigures], locale: str) -> None:
    for chart in chat_charts(answers, "fr" if locale == "fr" else "en"):
        root = ElementTree.fromstring(draw(chart))
        for shape in root.iter():
            if shape.tag.endswith("rect"):
                x, y = float(shape.get("x", -1)), float(shape.get("y", -1))
                assert 0 <= x <= x + float(shape.get("width", 0)) <= WIDTH
                assert 0 <= y <= y + float(shape.get("height", 0)) <= HEIGHT
            if shape.tag.endswith("circle"):
                assert 0 <= float(shape.get("cx", -1)) <= WIDTH
                assert 0 <= float(shape.get("cy", -1)) <= HEIGHT
        assert len(chart.table()) == len(chart.labels)


@given(st.floats(min_value=1e-12, max_value=1e15))
def test_an_axis_ends_at_or_above_the_highest_value_but_not_far(value: float) -> None:
    assert value * (1 - 1e-6) <= nice_top(value) <= value * 2.51
