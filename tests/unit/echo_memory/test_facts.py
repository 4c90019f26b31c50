"""When two facts are one, when one takes the other's place, and when they have nothing to do with each other."""

import itertools

import pytest

from echo_core.memories import Fact
from echo_memory.facts import key_of, relation

#: (text, topic, value): wordings of one fact; the groups contradict each other where their names differ in a digit.
WORDINGS = {
    "home1": [
        ("I live in Lyon", "city of residence", "Lyon"),
        ("My home is in Lyon.", "where the user lives", "Lyon"),
        ("J'habite à Lyon", "ville de résidence", "Lyon"),
        ("Lyon is the town where I have my flat", "home town", "Lyon"),
        ("On vit à Lyon avec ma famille", "lieu de vie", "Lyon"),
    ],
    "home2": [
        ("I moved to Nice last week", "city of residence", "Nice"),
        ("J'habite maintenant à Nice", "ville", "Nice")],
    "editor1": [
        ("I prefer Vim over other editors", "preferred editor", "Vim"),
        ("My favourite text editor is Vim", "favourite text editor", "Vim"),
        ("J'utilise toujours Vim pour éditer", "éditeur préféré", "Vim"),
    ],
    "editor2": [("I now use Emacs instead", "preferred editor", "Emacs")],
    "allergy": [("I am allergic to peanuts", "allergy", "peanuts")],
    "thesis": [("The thesis is due on 12 June", "deadline of the thesis", "12 June")],
    "report": [("The report is due on 3 May", "deadline of the report", "3 May")],
    "cat": [("My cat is called Tom", "name of the cat", "Tom")],
    "dog": [("My dog is called Rex", "name of the dog", "Rex")],
}  # fmt: skip
CASES = [(name, Fact(text=t, topic=p, value=v)) for name, rows in WORDINGS.items() for t, p, v in rows]


@pytest.mark.parametrize(("old", "new"), list(itertools.combinations(CASES, 2)))
def test_wordings_are_one_fact_and_other_values_take_their_place(old: tuple[str, Fact], new: tuple[str, Fact]) -> None:
    same = old[0] == new[0]
    contradicts = old[0].rstrip("12") == new[0].rstrip("12")
    wanted = "same" if same else "replaces" if contradicts else "other"
    assert relation(key_of(new[1]), key_of(old[1])) == wanted


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("I live in Lyon.", "My home is in Lyon.", "same"),
        ("I live in Lyon.", "I moved to Nice.", "replaces"),
        ("I live in Lyon.", "I no longer live in Lyon.", "replaces"),
        ("J'habite à Lyon.", "Je n'habite plus à Lyon.", "replaces"),
        ("My cat is called Tom.", "My dog is called Rex.", "other"),
        ("I am allergic to peanuts.", "I am allergic to shellfish.", "other"),
        ("Never use emojis.", "Never use emojis!", "same"),
        ("Never use emojis.", "The build runs on GitLab.", "other"),
        ("", "I live in Lyon.", "other"),
    ],
)
def test_facts_without_a_topic_are_compared_by_their_words(old: str, new: str, wanted: str) -> None:
    assert relation(key_of(Fact(text=new)), key_of(Fact(text=old))) == wanted


def test_a_topic_of_its_own_is_exclusive_only_where_that_is_said() -> None:
    first, second = (Fact(text=f"The build uses {n}", topic="build tool", value=n) for n in ("Ninja", "Make"))
    assert relation(key_of(second), key_of(first)) == "other"
    only = Fact(text=second.text, topic=second.topic, value=second.value, exclusive=True)
    assert relation(key_of(only), key_of(first)) == "replaces"
