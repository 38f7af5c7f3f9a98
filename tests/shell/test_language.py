"""What is and is not a text of the session shell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.shell.parser import MAX_PIPE_STAGES, MAX_SCRIPT_CHARACTERS, MAX_STAGES, ShellSyntaxError, parse_script
from doorward.shell.syntax import CommandSubstitution, Redirect, Stage, Text, Variable, Word, render
from doorward.shell.word_parser import MAX_DEPTH

WRITTEN = [
    ("ls", "ls"),
    ("  ls\t-l   src ", "ls -l src"),
    ("", ""),
    (" \n\t\n", ""),
    ("# only a comment", ""),
    ("ls # the rest is one", "ls"),
    ("echo a#b", "echo a#b"),
    ("ls\r\npwd\r\n", "ls\npwd"),
    ("a\n\n\nb", "a\nb"),
    ("a; b;", "a; b"),
    ("a;b\nc", "a; b\nc"),
    ("a|b|c", "a | b | c"),
    ("a &&b||c", "a && b || c"),
    ("a |\n\n b", "a | b"),
    ("a &&\n# a word in between\nb", "a && b"),
    ("ls \\\n -l", "ls -l"),
    ("l\\\ns", "ls"),
    ("echo 'a b'", "echo 'a b'"),
    ('echo "a b"', "echo 'a b'"),
    ("echo it\\'s", "echo it''\\'''s"),
    ('echo "it\'s"', "echo 'it'\\''s'"),
    ("echo ''", "echo ''"),
    ('echo ""', "echo ''"),
    ("echo a''b", "echo a''b"),
    ("echo a\\ b", "echo a' 'b"),
    ('echo "a\\nb \\" \\\\ \\$x"', "echo 'a\\nb \" \\ $x'"),
    ('echo "a\\\nb"', "echo 'ab'"),
    ("echo 'a\nb'", "echo 'a\nb'"),
    ("echo $HOME", "echo ${HOME}"),
    ("echo ${HOME}s", "echo ${HOME}s"),
    ("echo ${X:-a b}", "echo ${X:-a' 'b}"),
    ('echo "${X:-a b}"', "echo \"${X:-a' 'b}\""),
    ("echo ${X:-$Y}", "echo ${X:-${Y}}"),
    ("echo ${X:-}", "echo ${X:-}"),
    ("echo $?", "echo ${?}"),
    ('echo "a $X b"', "echo 'a '\"${X}\"' b'"),
    ("echo $ $% a$", "echo '$' '$'% a'$'"),
    ("echo $(ls | wc -l)", "echo $(ls | wc -l)"),
    ('echo "$(echo "a")"', "echo \"$(echo 'a')\""),
    ("echo $(echo $(pwd))", "echo $(echo $(pwd))"),
    ("echo $()", "echo $()"),
    ("ls > out", "ls > out"),
    ("ls>out", "ls > out"),
    ("> out", "> out"),
    (">out ls", "ls > out"),
    ("ls >> a 2> b", "ls >> a 2> b"),
    ("ls 2>> b < c", "ls 2>> b < c"),
    ("ls 1>a", "ls > a"),
    ("ls 2>&1 | x", "ls 2>&1 | x"),
    ("ls >&2", "ls 1>&2"),
    ("ls &> all", "ls &> all"),
    ("ls &>>all", "ls &>> all"),
    ("cat <<< 'a b'", "cat <<< 'a b'"),
    ("echo a2>b", "echo a2 > b"),
    ("echo 2 >b", "echo 2 > b"),
    ("A=1", "A=1"),
    ("A=", "A="),
    ("A=1 B='x y'", "A=1 B='x y'"),
    ("echo A=1", "echo A=1"),
    ("1A=2", "1A=2"),
    ("echo *.py [ab]? **/x ~/y", "echo *.py [ab]? **/x ~/y"),
    ("echo {} {x} stash@{0}", "echo {} {x} stash@{0}"),
    ("echo '{a,b}'", "echo '{a,b}'"),
    ("'if' x", "'if' x"),
    ("echo if for", "echo if for"),
    (
        'data/list --filter={"a": "b c", "n": [1, 2]} --limit=5',
        'data/list --filter=\'{"a": "b c", "n": [1, 2]}\' --limit=5',
    ),
    ("x --names=[\"a b\", 'c']", None),
    ("x --a={b", "x --a={b"),
    ("echo é 日本 \u00a0x", "echo é 日本 \u00a0x"),
    ("a\rb", "a'\r'b"),
]
"""A text, and how it is written again; None where only that it is read matters."""

FAULTS = [
    ("echo 'x", "Line 1, column 6: ' is opened here and never closed"),
    ('echo "x', 'Line 1, column 6: " is opened here and never closed'),
    ('echo "x\\', '" is opened here and never closed'),
    ("echo $(ls", "Line 1, column 6: $( is opened here and never closed"),
    ("echo ${x", "Line 1, column 6: ${ is opened here and never closed"),
    ("echo ${x:-y", "${ is opened here and never closed"),
    ("echo ${", "${ is opened here and never closed"),
    ("echo \\", "a character is missing after the last backslash"),
    ("a|", "Line 1, column 3: a command is missing after |"),
    ("a | # x", "a command is missing after |"),
    ("a &&", "a command is missing after &&"),
    ("a ||\n\n", "a command is missing after ||"),
    ("|b", "Line 1, column 1: a command is missing before '|'"),
    ("&&", "a command is missing before '&&'"),
    ("|| a", "a command is missing before '||'"),
    (";", "a command is missing before ';'"),
    ("ls\n; a", "Line 2, column 1: a command is missing before ';'"),
    ("a ;; b", "a command is missing between two ; signs"),
    ("a; ; b", "a command is missing between two ; signs"),
    ("a | | b", "a command is missing between | and '|'"),
    ("a && || b", "a command is missing between && and '|'"),
    ("a | ; b", "a command is missing between | and ';'"),
    ("a & b", "Line 1, column 3: & is not supported: there are no background commands"),
    ("sleep 5 &", "& is not supported: there are no background commands"),
    ("a &&& b", "& is not supported: there are no background commands"),
    ("a |& b", "|& is not supported; write 2>&1 |"),
    ("(a; b)", "( ) is not supported"),
    ("echo (a)", "( ) is not supported"),
    ("echo a)", "there is no ( for this )"),
    (")", "there is no ( for this )"),
    ("$(a))", "there is no ( for this )"),
    ("echo `ls`", "backquotes are not supported; write $(command)"),
    ('echo "`ls`"', "backquotes are not supported"),
    ("echo $((1 + 2))", "the shell has no arithmetic"),
    ("echo $1", "$1 is not supported; valid: $NAME"),
    ("echo $@ x", "$@ is not supported"),
    ("echo $#", "$# is not supported"),
    ("echo $$", "$$ is not supported"),
    ("echo $!", "$! is not supported"),
    ("echo $'a'", "$' is not supported"),
    ("echo ${1}", "not a valid variable"),
    ("echo ${x%y}", "not a valid variable"),
    ("echo ${#x}", "not a valid variable"),
    ("echo ${}", "not a valid variable"),
    ("echo {a,b}", "Line 1, column 6: brace expansion is not supported"),
    ("mkdir -p x/{1..3}", "brace expansion is not supported"),
    ("ls >", "a file is missing after >"),
    ("ls > | x", "a file is missing after >"),
    ("ls >> ;", "a file is missing after >>"),
    ("cat <", "a file is missing after <"),
    ("cat <<<", "a text is missing after <<<"),
    ("cat << EOF\nx\nEOF", "<< is not supported; valid: < file, <<< text"),
    ("ls >| x", ">| is not supported"),
    ("ls <> x", "<> is not supported"),
    ("ls 3> x", "3> is not supported"),
    ("ls 2< x", "2< is not supported"),
    ("diff <(a) b", "<( is not supported"),
    ("ls >& x", "only 2>&1 and 1>&2 join streams"),
    ("ls 2>&3", "only 2>&1 and 1>&2 join streams"),
    ("ls 2>&1x", "only 2>&1 and 1>&2 join streams"),
    ("A=1 ls", "variables cannot be set for one command; write A="),
    ("A=1 > x", "variables cannot be set for one command"),
    ("if true; then ls; fi", "if is not supported: this shell has no loops"),
    ("for x in a b; do ls; done", "for is not supported"),
    ("while true; do ls; done", "while is not supported"),
    ("ls; done", "Line 1, column 5: done is not supported"),
    ("case x in esac", "case is not supported"),
    ("function f", "function is not supported"),
    ("f() { ls; }", "( ) is not supported"),
    ("{ ls; }", "{ is not supported"),
    ("[[ a == b ]]", "[[ is not supported"),
    ("! ls", "! is not supported"),
    ("echo a\0b", "Line 1, column 7: NUL bytes are not allowed"),
    (
        "echo " + "x" * MAX_SCRIPT_CHARACTERS,
        f"a script has at most {MAX_SCRIPT_CHARACTERS} characters; given {MAX_SCRIPT_CHARACTERS + 5}",
    ),
    ("x" * 1_000_000, f"a script has at most {MAX_SCRIPT_CHARACTERS} characters; given 1000000"),
    ("a" + "|a" * MAX_PIPE_STAGES, f"a pipe has at most {MAX_PIPE_STAGES} commands"),
    ("a;" * (MAX_STAGES + 1), f"a script has at most {MAX_STAGES} commands"),
    ("a $(" * (MAX_DEPTH + 1), f"can be nested at most {MAX_DEPTH} levels deep"),
    ("${a:-" * (MAX_DEPTH + 1), f"can be nested at most {MAX_DEPTH} levels deep"),
    ("$(" * 30_000, "deep"),
    ("a|" * 30_000, f"a pipe has at most {MAX_PIPE_STAGES} commands"),
]

LONG = [
    "--a=[" * 13_000,
    "\\a" * 32_000,
    "{," * 32_000,
    "={" * 32_000,
    "'" * 65_534,
    "x --" + "a" * 30_000 + "=[" * 15_000,
]
LONG += [
    "a " * 32_000,
    "$a" * 32_000,
    "\r" * 65_000,
    "\\\n" * 30_000,
    "echo {" + "," * 60_000,
    "[" * 65_000,
    '"$a"' * 16_000,
]


@pytest.mark.parametrize(("text", "again"), WRITTEN)
def test_a_text_is_read_and_written_again_as_the_same(text: str, again: str | None) -> None:
    script = parse_script(text)
    assert again is None or render(script) == again
    assert parse_script(render(script)) == script


@pytest.mark.parametrize(("text", "said"), FAULTS, ids=lambda one: one[:20])
def test_a_text_that_is_none_is_told_what_is_wrong_and_where(text: str, said: str) -> None:
    with pytest.raises(ShellSyntaxError) as fault:
        parse_script(text)
    assert said in fault.value.message
    assert fault.value.message.startswith(f"Line {fault.value.line}, column {fault.value.column}: ")
    assert len(fault.value.message) < 400


@pytest.mark.parametrize("text", ["echo 'x", 'echo "x', "a |", "a &&", "a ||", "echo $(ls", "echo ${x:-", "a \\"])
def test_what_more_text_could_finish_is_told_apart(text: str) -> None:
    with pytest.raises(ShellSyntaxError) as fault:
        parse_script(text)
    assert fault.value.is_incomplete


@pytest.mark.parametrize("text", ["|b", "a ;; b", "a & b", "if x", "ls > | x", "a )"])
def test_what_no_text_could_finish_is_told_apart(text: str) -> None:
    with pytest.raises(ShellSyntaxError) as fault:
        parse_script(text)
    assert not fault.value.is_incomplete


@pytest.mark.parametrize("text", LONG, ids=lambda one: one[:8])
def test_long_texts_are_read_once(text: str) -> None:
    """Each of these would take hours if some part of the text were read again for every other part."""
    script = parse_script(text)
    assert parse_script(render(script)) == script if len(render(script)) <= MAX_SCRIPT_CHARACTERS else script.lines


def test_the_parts_of_a_line_are_known() -> None:
    (line,) = parse_script('grep -v "$X" a*b $(ls) 2>&1 > out').lines
    (stage,) = line.chains[0].first.stages
    assert stage == Stage(
        words=(
            Word((Text("grep", quoted=False),)),
            Word((Text("-v", quoted=False),)),
            Word((Variable("X", None, quoted=True),)),
            Word((Text("a*b", quoted=False),)),
            Word((CommandSubstitution(parse_script("ls"), quoted=False),)),
        ),
        redirects=(Redirect("2>&1", None), Redirect(">", Word((Text("out", quoted=False),)))),
    )


_pieces = st.sampled_from(
    [
        *"abz019 \t\n'\"\\$|&;<>(){}[]*?~#=:-!`@/,.%\r\0é",
        "&&",
        "||",
        "$(",
        "${",
        ":-",
        "2>&1",
        "<<<",
        "&>",
        "--a=",
        "if ",
    ]
)


@given(st.lists(_pieces, max_size=40).map("".join))
@settings(max_examples=400, deadline=None)
def test_every_text_is_a_script_or_a_fault_and_a_script_is_written_as_itself(text: str) -> None:
    try:
        script = parse_script(text)
    except ShellSyntaxError:
        return
    assert parse_script(render(script)) == script
