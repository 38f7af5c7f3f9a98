"""What a request holds: sizes, paths, patterns, kinds of files, and whole requests.

Each row is a request and what is found in it, at three in the afternoon of Monday, 16 November 2026, in Berlin.
"""

from __future__ import annotations

import pytest
from reading_shown import found

_SIZES = r"""
files larger than 1 MB => size gt 1000000
files over 500k => size gt 500000
bigger than 10 megabytes => size gt 10000000
at least 2 GiB => size gte 2147483648
under 100 bytes => size lt 100
smaller than a megabyte => size lt 1000000
files of exactly 5 kB => size eq 5000
10 MB or more => size gte 10000000
between 1 and 5 MB => size gte 1000000; size lte 5000000
between 10 kB and 2 MB => size gte 10000; size lte 2000000
empty files => size eq 0
files that are empty => size eq 0
files with a size over 2 MB => size gt 2000000
no larger than 5 GB => size lte 5000000000
"""
_PATHS = r"""
read src/app.py => path 'src/app.py'
open ./x => path './x'
look in /tmp => path '/tmp'
list ~/notes => path '~/notes'
read "My File.txt" => path 'My File.txt'
read 'notes.txt' => path 'notes.txt'
show `docs/plan.md` => path 'docs/plan.md'
what is a.b.c => path 'a.b.c'
delete ../x.txt => path '../x.txt'
read README => path 'README'
read the Makefile => path 'Makefile'
what's in the tmp folder => path 'tmp'
list the folder src => path 'src'
list the directory "my stuff" => path 'my stuff'
what is in my home directory => path '~'
what's in the current folder => path '.'
files in tmp => path 'tmp'
copy a.txt to docs/b.txt => path 'a.txt'; path 'docs/b.txt'
make a folder called reports => path 'reports'
show .env => path '.env'
"""
_KINDS = r"""
all *.py => glob '*.py'
find **/*.md => glob '**/*.md'
find python files => kind *.py
list images => kind *.png *.jpg *.jpeg *.gif *.webp *.svg *.bmp
markdown documents => kind *.md *.markdown
log files => kind *.log
.csv files => kind *.csv
find pdfs => kind *.pdf
count typescript files => measure count; kind *.ts *.tsx
shell scripts => kind *.sh
config files => kind *.toml *.ini *.cfg *.conf *.yaml *.yml
text documents => kind *.txt
"""
_LITERALS = r"""
find "TODO" => quoted 'TODO'
say ‘hello there’ => quoted 'hello there'
write to bob@example.com => email 'bob@example.com'
open https://example.org/a?b=1 => url 'https://example.org/a?b=1'
"""
_REQUESTS = r"""
what records have changed in the last day => span 2026-11-15 15:00.. changed
show me the schema for the orders table =>
find all python files and show their sizes => kind *.py
what's in my home directory => path '~'
list files larger than 1 MB modified this week => size gt 1000000; span 2026-11-16 00:00.. changed
which commands failed today and why => span 2026-11-16 00:00..
how many rooms do we have => measure count
is everything running okay =>
show the last 20 lines of the log with errors => limit 20 last
delete files older than 30 days in tmp => age gt 2592000; path 'tmp'
orders from last month by status => span 2026-10-01 00:00..2026-11-01 00:00; group status
average total per customer by average desc => measure avg total; group customer; order average down
total where city = Rome or city = Bern => measure sum; compare city eq 'Rome'; compare city eq 'Bern' instead
which files were created yesterdya => span 2026-11-15 00:00..2026-11-16 00:00 created
show the larges files => order size down
list teh 5 bigest files => limit 5 top by size down
count custmers by cty => measure count; group cty
who approved the last command => limit 1 last
compare orders of this month with last month => span 2026-11-01 00:00..; span 2026-10-01 00:00..2026-11-01 00:00
how old is notes.txt => path 'notes.txt'
how big is src/app.py => path 'src/app.py'
the five oldest files in docs => limit 5 first by time up; path 'docs'
which orders over 100 came since Monday by customer => compare (orders) gt 100; span 2026-11-16 00:00..; group customer
which files are larger than 1 MB => size gt 1000000
which files in tmp are older than 30 days => path 'tmp'; age gt 2592000
which files have uncommitted changes =>
is there a file called config/server.toml => path 'config/server.toml'
how many tickets are assigned to anna => measure count; compare assignee eq 'anna'
wipe it without asking =>
what has alice changed => compare (by) eq 'alice'
which orders are larger than 2500 => compare (orders) gt 2500
show today's tickets => span 2026-11-16 00:00..
last week's orders => span 2026-11-09 00:00..2026-11-16 00:00
count customers created over 30 days ago => measure count; age gt 2592000 created
show paid orders with a quantity of at least 5 => compare quantity gte 5
count tickets with priority urgent => measure count; compare (priority) eq 'urgent'
count tickets by assignee => measure count; group assignee
files that nobody changed for more than 50 days => age gt 4320000 changed
what does a ticket record look like =>
"""


@pytest.mark.parametrize(
    "table",
    [_SIZES, _PATHS, _KINDS, _LITERALS, _REQUESTS],
    ids=["sizes", "paths", "globs and kinds", "literals", "whole requests"],
)
def test_a_request_holds_what_it_says(table: str) -> None:
    rows = dict(line.split(" =>", 1) for line in table.strip().splitlines())
    assert {asked: found(asked) for asked in rows} == {asked: held.strip() for asked, held in rows.items()}
