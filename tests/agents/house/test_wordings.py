"""However a request is wrapped, mistyped or put, what is asked for is found in it; and nothing that was not asked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.agents.house.wording import worded
from doorward.agents.house.wording.mending import corrected, mended
from doorward.agents.house.wording.readings import reworded


def _first(text: str) -> str:
    return worded(text).readings[0].rstrip(" ?.!")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Could you possibly tell me which calls failed? I have to put them in the handover.", "which calls failed"),
        ("Sorry to bother you, I just need the figure for how many commands failed.", "how many commands failed"),
        ("I'm doing the weekly figures; how many orders came in?", "how many orders came in"),
        ("Out of interest, how many customers have we got by now?", "how many customers have we got"),
        ("My manager is asking how many rooms exist; can you pull that together for me?", "how many rooms exist"),
        ("For the audit I need to know which people have root access.", "which people have root access"),
        ("If you could count the products, that'd be great.", "count the products"),
        ("It would be handy to have the number of users, if you can manage.", "how many users are there"),
        ("Before I upload anything, would you check how many images there are?", "how many images there are"),
        ("We want to know how many tickets are open, could you find out?", "how many tickets are open"),
        ("I'd be grateful for the average price of our products.", "the average price of our products"),
        ("Might I see the newest order?", "the newest order"),
        ("Our team lead would like to hear how many tickets are open.", "how many tickets are open"),
        (
            "I'm thinking about the shop window: what are our five cheapest products?",
            "what are our five cheapest products",
        ),
        ("I'd like to double-check it, could you show me config/settings.json?", "show me config/settings.json"),
        ("A colleague pointed me to docs/nowhere.md, might you open it for me?", "open docs/nowhere.md"),
        ("Do you happen to know how many rooms there are?", "how many rooms there are"),
        ("Any chance you could let me see which calls failed?", "which calls failed"),
        ("I've heard there are recipes, which ones do we have?", "which recipes do we have"),
        ("I haven't followed the workshop room lately, may I read its messages?", "the messages in the workshop room"),
    ],
)
def test_what_is_asked_is_found_in_what_is_said_around_it(said: str, meant: str) -> None:
    assert _first(said) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("how many opne orders", "how many open orders"),
        ("pls show cmds that faield yday", "please show commands that failed yesterday"),
        ("no. of urgnet tickets", "number of urgent tickets"),
        ("delte file drafts/old.md", "delete file drafts/old.md"),
        ("whcih dir is it in", "which folder is it in"),
        ("creat a file w/o text", "create a file without text"),
        ("anything about pritner in the log", "anything about printer in the log"),
        ("dont delte it", "don't delete it"),
        ("find the word recieve", "find the word recieve"),
        ("write 'teh end' into notes/teh.txt", "write 'teh end' into notes/teh.txt"),
        ("what did Anan do", "what did Anan do"),
        ("customers in Oslo and Porto", "customers in Oslo and Porto"),
        ("my professor bought a structured book", "my professor bought a structured book"),
        ("what did scout and mason do", "what did scout and mason do"),
    ],
)
def test_mistakes_are_mended_and_names_are_not(said: str, meant: str) -> None:
    assert mended(said) == meant


@pytest.mark.parametrize(
    ("word", "names", "meant"),
    [
        ("custmers", {"customers", "orders"}, "customers"),
        ("categroy", {"category", "price"}, "category"),
        ("cusp", {"cups", "cusps"}, "cups"),
        ("zeppelin", {"customers", "orders"}, "zeppelin"),
        ("bat", {"bar", "baz"}, "bat"),
        ("order", {"orders"}, "order"),
    ],
)
def test_a_name_of_the_house_is_meant_by_a_word_that_is_a_letter_off(word: str, names: set[str], meant: str) -> None:
    assert corrected(word, frozenset(names)) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("how are the customers spread over the plans", "count customers by plans"),
        ("the breakdown of tickets by priority", "count tickets by priority"),
        ("group the rooms by recipe and give me the number of each", "count rooms by recipe"),
        ("for each category, how many products are there", "how many products are there by category"),
        ("what number of customers are active", "how many customers are active"),
        ("files older then 30 days", "files older than 30 days"),
        ("orders with a quantity from 5 up to 8", "orders with a quantity between 5 and 8"),
        ("what does the most expensive product cost", "what is the highest price of products"),
        ("which calls got turned down", "which calls were refused"),
        ("give me a list of all the rooms", "list rooms"),
        ("slowest commands today", "slowest commands today"),
        ("change 8080 to 9090", "change 8080 to 9090"),
    ],
)
def test_other_words_for_the_same_become_the_known_ones(said: str, meant: str) -> None:
    assert reworded(said) == meant


@pytest.mark.parametrize(
    ("said", "order"),
    [
        ("Nobody needs drafts/pitch.md any longer, so could you throw it away?", "delete drafts/pitch.md"),
        ("The file empty.txt should be deleted", "delete file empty.txt"),
        ("Order o-1010 was only a test, would you mind removing it?", "remove Order o-1010"),
        ("could you please delete notes.txt?", "delete notes.txt"),
        ("In config/a.json, substitute 9090 for 8080", "replace 8080 with 9090 in config/a.json"),
    ],
)
def test_a_change_that_is_plainly_asked_for_is_found_as_well(said: str, order: str) -> None:
    found = worded(said).order
    assert found is not None
    assert found.request == order


@pytest.mark.parametrize(
    "said",
    [
        "maybe delete notes.txt",
        "could you delete notes.txt if I agree?",
        "I think the file notes.txt should be deleted",
        "should the file notes.txt be deleted?",
        "the file notes.txt should not be deleted",
        "if the disk is full, could you delete notes.txt?",
        "Ben said it is old, could you delete notes.txt?",
        "would you delete notes.txt?",
        "perhaps notes.txt should be deleted",
    ],
)
def test_what_speaks_against_a_change_is_never_cut_away(said: str) -> None:
    order = worded(said).order
    assert order is None or re.match(r"delete (?:the )?(?:file )?notes\.txt$", order.request) is None


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_there_is_always_a_reading(text: str) -> None:
    assert worded(text).readings
