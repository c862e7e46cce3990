"""Phrases: none is missing, none holds the marker, every error is one short sentence fit to be spoken."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import gateway
from gateway import errors, resources
from gateway.phrases import ERROR_LIMIT, MARKER, TABLE, BadPhrases, Phrases, guard_marker, working

MARKER_LIKE = re.compile(r"still[ \t\r\n]+working", re.IGNORECASE)
ERRORS = sorted(key for key, shape in TABLE.items() if shape.limit is not None)
ENGLISH = resources.path("phrases/en.yaml")


@pytest.fixture(scope="module")
def phrases() -> Phrases:
    return Phrases.load("en")


def changed(tmp_path: Path, **changes: object) -> Path:
    """The English file with some keys changed; None takes one out."""
    found = {**yaml.safe_load(ENGLISH.read_text("utf-8")), **changes}
    path = tmp_path / "xx.yaml"
    path.write_text(yaml.safe_dump({key: text for key, text in found.items() if text is not None}), "utf-8")
    return path


def test_the_marker_is_exact_and_once_in_a_working_sentence() -> None:
    assert working() == "Still working."
    assert working("Reading a file.") == "Still working. Reading a file."
    assert working("still  WORKING on it").count(MARKER) == 1
    assert len(MARKER_LIKE.findall(working("still  WORKING on it"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Still working",
        "still working",
        "STILL  WORKING",
        "I am still\n working",
        "still\tWorking.",
        "Distill working",
    ],
)
def test_whatever_reads_like_the_marker_gets_a_no_break_space(text: str) -> None:
    guarded = guard_marker(text)
    assert not MARKER_LIKE.search(guarded)
    assert guarded.replace("\xa0", " ").split() == text.split()


@given(st.text(alphabet="stilworkng SLW\t\n\xa0.", max_size=60))
def test_no_text_passes_the_guard_with_the_marker(text: str) -> None:
    guarded = guard_marker(text)
    assert not MARKER_LIKE.search(guarded)
    assert guard_marker(guarded) == guarded


def test_a_value_cannot_smuggle_the_marker_in(phrases: Phrases) -> None:
    assert not MARKER_LIKE.search(phrases.say("missed", text="It is still working."))
    assert not MARKER_LIKE.search(phrases.say("option", number="still", label="working"))
    assert not MARKER_LIKE.search(phrases.either(["still", "working"]) + phrases.either(["still working"]))


def _calls() -> list[tuple[str, ast.Call]]:
    """Every call in the gateway's sources, with where it is."""
    root = Path(gateway.__file__).parent
    return [
        (f"{path.relative_to(root)}:{node.lineno}", node)
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    ]


def test_every_error_that_the_gateway_raises_has_a_sentence() -> None:
    names = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    codes = [(where, call.args[0].value) for where, call in _calls() if getattr(call.func, "id", "") in names]
    assert codes
    assert [(where, code) for where, code in codes if code not in TABLE] == []


def test_every_phrase_that_the_gateway_says_is_in_the_table() -> None:
    said = [
        (where, call.args[0].value) for where, call in _calls() if getattr(call.func, "attr", "") == "say"
    ]
    assert [(where, key) for where, key in said if key not in TABLE] == []


def test_ping_says_what_is_promised(phrases: Phrases) -> None:
    assert phrases.say("ping") == "Codriver is ready."


@pytest.mark.parametrize("key", ERRORS)
@pytest.mark.parametrize(
    "value", ["x", "payments api", "é" * 1000, "a b " * 500, "{0} </etc/passwd> \x00\n`rm`"]
)
def test_an_error_is_one_short_line_without_code(phrases: Phrases, key: str, value: str) -> None:
    for turn in range(phrases.wordings(key)):
        sentence = phrases.say(key, turn, **dict.fromkeys(TABLE[key].fields, value))
        assert 0 < len(sentence) <= ERROR_LIMIT
        assert sentence.isprintable()
        assert not re.search(r"[<>{}\[\]\\/|`_]", sentence)
        assert sentence[-1] in ".?"


@pytest.mark.parametrize("key", ERRORS)
def test_an_error_says_what_to_do(phrases: Phrases, key: str) -> None:
    sentence = phrases.say(key, **dict.fromkeys(TABLE[key].fields, "x"))
    assert len(re.findall(r"[.?](?: |$)", sentence)) >= 2, sentence


@pytest.mark.parametrize("key", sorted(TABLE))
def test_english_is_plain_text(key: str) -> None:
    wordings = yaml.safe_load(ENGLISH.read_text("utf-8"))[key]
    for text in wordings if isinstance(wordings, list) else [wordings]:
        assert text.isascii()
        assert not re.search(r"[<>\[\]\\/|`*#]", text)


def test_activities_differ_from_one_turn_to_the_next(phrases: Phrases) -> None:
    for key in (key for key in TABLE if key.startswith("working_") and "activity" not in TABLE[key].fields):
        values = dict.fromkeys(TABLE[key].fields, "x")
        assert phrases.say(key, 0, **values) != phrases.say(key, 1, **values), key


def test_a_long_value_is_cut_and_the_short_one_kept(phrases: Phrases) -> None:
    sentence = phrases.say("no_session", name="payments", candidates="word " * 100)
    assert "payments" in sentence
    assert "... Nothing was sent" in sentence


def test_braces_in_a_value_stay_as_they_are(phrases: Phrases) -> None:
    assert phrases.say("missed", text="{text} {0} {x.y}").endswith("{text} {0} {x.y}")


def test_names_and_numbers_are_put_into_words(phrases: Phrases) -> None:
    assert phrases.either(["a"]) == "a"
    assert phrases.either(["a", "b", "c"]) == "a, b or c"
    assert [phrases.number(count) for count in (0, 1, 12, 13, -1)] == ["no", "one", "twelve", "13", "-1"]


def test_wrong_key_or_field_is_a_fault_in_the_code(phrases: Phrases) -> None:
    for key, values in (("nope", {}), ("ping", {"x": 1}), ("bad_field", {"field": "wait"})):
        with pytest.raises(KeyError):
            phrases.say(key, **values)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ping": None}, "ping: is missing"),
        ({"pong": "x"}, "pong: there is no such phrase"),
        ({"ping": "Still working."}, "ping: holds the marker"),
        ({"ping": ["Fine.", "It is STILL \n working."]}, "ping: holds the marker"),
        ({"ping": ""}, "ping: expected text"),
        ({"ping": []}, "ping: has no wording"),
        ({"ping": 5}, "ping: expected text"),
        ({"ping": {"a": "b"}}, "ping: expected text"),
        ({"ping": "Ready {name}."}, "ping: must use the fields [], uses ['name']"),
        ({"missed": "It said."}, "missed: must use the fields ['text'], uses []"),
        ({"missed": ["It said {text}", "It said {txt}"]}, "missed: must use"),
        ({"missed": "It said {text"}, "missed: has a brace"),
        ({"missed": "It said {}"}, "missed: may use {field} only by its bare name"),
        ({"missed": "It said {text.__class__}"}, "missed: may use"),
        ({"missed": "It said {text[0]}"}, "missed: may use"),
        ({"missed": "It said {text!r}"}, "missed: may use"),
        ({"missed": "It said {text:>9}"}, "missed: may use"),
        ({"busy": "x" * 201}, "busy: is too long"),
        ({"ended": "{name} " + "x" * 171}, "ended: is too long"),
    ],
)
def test_a_file_with_a_fault_is_refused(tmp_path: Path, changes: dict[str, object], told: str) -> None:
    with pytest.raises(BadPhrases) as caught:
        Phrases.read(changed(tmp_path, **changes))
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadPhrases) as caught:
        Phrases.read(changed(tmp_path, ping=None, pong="x", busy=MARKER))
    assert len(str(caught.value).splitlines()) == 3


def test_a_repeated_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "xx.yaml"
    path.write_text(ENGLISH.read_text("utf-8") + '\nping: "Here."\n', "utf-8")
    with pytest.raises(BadPhrases, match="ping: expected each key once"):
        Phrases.read(path)


def test_an_unchanged_file_is_taken(tmp_path: Path) -> None:
    assert Phrases.read(changed(tmp_path)).language == "xx"


@pytest.mark.parametrize("language", ["", "xx", "../phrases/en", "en.yaml"])
def test_a_language_without_a_file_is_refused(language: str) -> None:
    with pytest.raises(BadPhrases):
        Phrases.load(language)


def test_an_unreadable_or_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("ping: {", "utf-8")
    for path in (tmp_path / "none.yaml", tmp_path, tmp_path / "broken.yaml"):
        with pytest.raises(BadPhrases):
            Phrases.read(path)
