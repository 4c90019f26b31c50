from string import Formatter

from echo_constants import Bilingual, EchoError, UpstreamError, error_classes, locale_of


def test_every_imported_error_speaks_both_languages() -> None:
    # By class, without an instance: which classes are imported, and what they ask for, depends on the tests before.
    for cls in error_classes():
        if cls.audience == "model":
            continue
        assert cls.message.en != cls.message.fr, cls
        for text in (cls.message, cls.remedy):
            assert _fields(text.en) == _fields(text.fr), cls


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def test_the_detail_is_for_the_log_only() -> None:
    error = UpstreamError("socket 7 reset by 10.0.0.1")
    assert "10.0.0.1" in str(error)
    assert "10.0.0.1" not in error.user_message("en")


def test_open_webui_language_tags_choose_the_language() -> None:
    assert locale_of("fr-CA") == locale_of("fr_FR") == "fr"
    assert locale_of("en-US") == locale_of("de-DE") == locale_of(None) == "en"


def test_fields_fill_the_text() -> None:
    assert Bilingual(en="{n} files", fr="{n} fichiers").render("fr", n=3) == "3 fichiers"
    assert issubclass(UpstreamError, EchoError)
