from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.core import redact

SHAPES = [
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJvd25lciJ9.c2lnbmF0dXJlLW9mLWl0",
    "sk-proj-abcdefghijklmnop1234",
    "sk_live_abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "github_pat_11ABCDEFG0abcdefghijkl_mnop",
    "xoxb-1234567890-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz12345",
    "Bearer abcdefgh.ijklmnop",
]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("my password is hunter3hunter3, and more", "my password is [redacted], and more"),
        ("the password for the db is Tr0ub4dor&3.", "the password for the db is [redacted]."),
        ("set the password to swordfish", "set the password to [redacted]"),
        ("use password hunter2hunter2 please", "use password [redacted] please"),
        ("change password to hunter2 and token to x9z8y7w", "change password to [redacted] and token to [redacted]"),
        ("the api key is 8f3kd93kd", "the api key is [redacted]"),
        ("the password is wrong", "the password is wrong"),
        ("the token limit is 4096", "the token limit is 4096"),
        ("read the file password reset2024.md", "read the file password reset2024.md"),
        ("find files with password in them", "find files with password in them"),
        ("the secret is out", "the secret is out"),
    ],
)
def test_what_people_call_a_secret_in_plain_words_is_hidden(said: str, left: str) -> None:
    assert redact.speech(said) == left
    assert redact.params({"prompt": said})["prompt"] == left


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize("around", ["{}", "see {} there", "a={}", '"{}"', "({})", "x\n{}\ny"])
def test_what_looks_like_a_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    assert secret.split()[-1] not in redact.text(around.format(secret))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=hunter2 and more", "password=[redacted] and more"),
        ("the password: hunter2", "the password: [redacted]"),
        ("PGPASSWORD=hunter2", "PGPASSWORD=[redacted]"),
        ("--api-key=hunter2 --x=1", "--api-key=[redacted] --x=1"),
        ("apiKey: 'hunter 2' x", "apiKey: [redacted] x"),
        ('{"password": "hunter2", "a": 1}', '{"password": [redacted], "a": 1}'),
        ('{"password": "hun\\"ter2", "a": 1}', '{"password": [redacted], "a": 1}'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": [redacted]}'),
        ('password="hunter2 cut in the midd', "password=[redacted]"),
        ("client_secret=hunter2&x=1", "client_secret=[redacted]&x=1"),
        ("postgres://anna:hunter2@host/db", "postgres://[redacted]@host/db"),
        ("redis://:hunter2@host", "redis://[redacted]@host"),
        ("Authorization: Basic aHVudGVyMg==", "Authorization: [redacted]"),
        ("Authorization: Bearer hunter2hunter2", "Authorization: [redacted]"),
        ("Cookie: a=hunter2; b=hunter2\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----.", "[redacted]."),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2", "[redacted]"),
    ],
)
def test_what_is_said_to_be_a_secret_is_hidden(text: str, left: str) -> None:
    assert redact.text(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        "the token is in the drawer",
        "basic information about tokens",
        "sk-8 skis",
        "https://host/path?x=1",
        "mail anna@example.org: hello",
        "10:30 = half past ten",
        "a secret meeting",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact.text(text) == text


def test_parameters_are_hidden_by_name_at_any_depth() -> None:
    given_ = {
        "password": "hunter2",
        "userPassword": {"old": "hunter2", "new": ["hunter2"]},
        "API_KEY": 12345,
        "list": [{"token": "hunter2", "n": 1}],
        "nested": {"authorization": "hunter2", "name": "anna"},
        "declared": "hunter2",
        "sk-proj-abcdefghijklmnop1234": 1,
        "name": "anna",
        "count": 3,
        "on": True,
        "none": None,
    }
    shown = redact.params(given_, {"declared"})
    assert "hunter2" not in json.dumps(shown)
    assert "12345" not in json.dumps(shown)
    assert "abcdefghijklmnop" not in json.dumps(shown)
    assert (shown["name"], shown["count"], shown["on"], shown["none"]) == ("anna", 3, True, None)
    assert shown["list"] == [{"token": redact.HIDDEN, "n": 1}]
    assert shown["nested"]["name"] == "anna"


def test_the_word_behind_an_option_that_names_a_secret_is_hidden() -> None:
    words = ["--api-key", "abc", "--verbose", "--token", "--quiet", "word", "--depth", "4"]
    shown = redact.params({"args": words})["args"]
    assert shown == ["--api-key", redact.HIDDEN, *words[2:]]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--pat", "abcdef"], ["--pat", redact.HIDDEN]),
        (["-key", "abcdef"], ["-key", redact.HIDDEN]),
        (["--key=abcdef"], [f"--key={redact.HIDDEN}"]),
        (["--token=ab"], [f"--token={redact.HIDDEN}"]),
        (["--key=2", "--key", "2,2", "--path=/srv/keys", "--author", "anna"],) * 2,
        (
            ["--url=https://x.example/?a=12345&sig_key=abcd"],
            [f"--url=https://x.example/?a=12345&sig_key={redact.HIDDEN}"],
        ),
    ],
)
def test_what_an_option_that_tells_of_a_secret_is_given_is_hidden(words: list[str], shown: list[str]) -> None:
    """As the name of a parameter `key` has many meanings, and a value of two letters is no secret."""
    assert redact.params({"args": words, "key": "abcdef"}) == {"args": shown, "key": "abcdef"}


@pytest.mark.parametrize("name", ["key", "pat", "api%5Fkey", "X-Signature"])
def test_the_part_of_an_address_that_tells_of_a_secret_is_hidden(name: str) -> None:
    shown = redact.text(f"GET https://x.example/mcp?page=1000&{name}=abcdef&x=12345#end")
    assert shown == f"GET https://x.example/mcp?page=1000&{name}={redact.HIDDEN}&x=12345#end"


def test_long_values_are_reduced_and_stay_told_apart() -> None:
    shown = redact.params({"a": "x" * 3_000, "b": "x" * 2_999 + "y", "c": list(range(3_000)), "d": "x" * 2_000})
    assert shown["a"].startswith("[3000 characters, sha256 ")
    assert shown["a"] != shown["b"]
    assert shown["c"] == "[3000 items]"
    assert shown["d"] == "x" * 2_000
    many = redact.params({f"k{number}": number for number in range(5_000)})
    assert (len(many), many["…"]) == (2_001, "[3000 more]")
    (key,) = redact.params({"k" * 1_000_000: 1})
    assert len(key) < 300


def test_the_secrets_of_a_call_are_found_in_every_spelling_of_a_sentence() -> None:
    secret = "it's \"quoted\"\nand 'odd' ☂ " + "x" * 100
    given_ = {"password": secret, "nested": {"token": [secret, 987654]}, "name": "anna"}
    for sentence in (
        f"cannot log in with {secret}",
        f"given {secret!r}",
        f"given {json.dumps(secret)}",
        f"given {json.dumps(secret, ensure_ascii=False)}",
        f"given {repr(secret)[:80]}… (127 characters)",
        "given 987654",
    ):
        shown = redact.text(sentence, redact.collect_secrets(given_))
        assert "quoted" not in shown
        assert "987654" not in shown
        assert "given" in shown or "cannot" in shown
    assert redact.text("anna", redact.collect_secrets(given_)) == "anna"


def test_secrets_that_are_known_beside_the_parameters_are_hidden_in_all_of_them() -> None:
    given = {"args": ["x", 'a "quoted" pass'], "n": 1, "input": 'it is "a \\"quoted\\" pass"'}
    hidden = redact.params(given, (), ['a "quoted" pass'])
    assert (hidden["args"], hidden["input"]) == (["x", redact.HIDDEN], f'it is "{redact.HIDDEN}"')
    assert redact.collect_secrets({"n": 1}, (), ["open sesame", "abc"]) == ["open sesame"]
    assert redact.params({"key": "open sesame"}, (), ["open sesame"]) == {"key": redact.HIDDEN}


def test_what_a_record_left_out_is_known_again_from_the_values() -> None:
    given = {
        "path": "a",
        "content": "pw open",
        "list": ["a", {"b": "open"}],
        "n": 1,
        "cut": ["x", "y"],
        "more": {"a": "b"},
    }
    recorded = {"path": "a", "content": "pw [redacted]", "list": ["a", {"b": "[redacted]"}], "n": 1, "cut": "[2 items]"}
    assert list(redact.find_redacted(given, recorded)) == ["pw open", "open", "x", "y", "b"]
    assert list(redact.find_redacted(given, given)) == []


def test_a_secret_of_few_letters_does_not_eat_every_word() -> None:
    assert redact.text("a cat sat", redact.collect_secrets({"password": "a"})) == "a cat sat"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=15,
    )
)
def test_anything_can_be_given_and_nothing_is_changed_in_place(value: Any) -> None:
    before = repr(value)
    redact.params({"value": value, "password": value})
    redact.collect_secrets({"value": value, "password": value})
    assert repr(value) == before


@pytest.mark.parametrize(
    "unit", ["eyJ-", "password", "password ", "token='", 'token="a', 'secret\\"', "secret: ", "bearer ", "sk-", "://a:"]
)
def test_text_made_to_be_slow_to_read_is_read_in_one_pass(unit: str) -> None:
    """A pattern that starts anew at every letter takes minutes for this; the test only ends in time if none does."""
    text = (unit * 300_000)[:300_000]
    assert len(redact.text(text)) <= 2 * len(text)


_FEW = st.text("ab…", max_size=30)


@given(_FEW, st.text("ab…", min_size=4, max_size=9))
def test_in_front_of_each_cut_the_longest_beginning_of_a_secret_is_hidden(words: str, secret: str) -> None:
    whole = words.replace(secret, redact.HIDDEN)
    expected, done = "", 0
    for end in [at for at, letter in enumerate(whole) if letter == "…"]:
        length = next((n for n in range(min(len(secret), end), 3, -1) if whole[:end].endswith(secret[:n])), 0)
        if length:
            expected += whole[done : max(done, end - length)] + redact.HIDDEN
            done = end
    assert redact.remove(words, [secret]) == expected + whole[done:]
