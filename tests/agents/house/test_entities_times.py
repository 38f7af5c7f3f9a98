"""What a request holds: days, periods and ages.

Each row is a request and what is found in it, at three in the afternoon of Monday, 16 November 2026, in Berlin.
"""

from __future__ import annotations

import pytest
from reading_shown import found

_SPANS = r"""
what changed today => span 2026-11-16 00:00.. changed
what changed yesterday => span 2026-11-15 00:00..2026-11-16 00:00 changed
what happened the day before yesterday => span 2026-11-14 00:00..2026-11-15 00:00
files created this week => span 2026-11-16 00:00.. created
orders of last week => span 2026-11-09 00:00..2026-11-16 00:00
this month => span 2026-11-01 00:00..
last month => span 2026-10-01 00:00..2026-11-01 00:00
this year => span 2026-01-01 00:00..
last year => span 2025-01-01 00:00..2026-01-01 00:00
this quarter => span 2026-10-01 00:00..
last quarter => span 2026-07-01 00:00..2026-10-01 00:00
in the last hour => span 2026-11-16 14:00..
in the last day => span 2026-11-15 15:00..
in the last week => span 2026-11-09 15:00..
over the past month => span 2026-10-16 15:00..
during the past year => span 2025-11-16 15:00..
in the last 3 minutes => span 2026-11-16 14:57..
in the last two hours => span 2026-11-16 13:00..
in the past 10 days => span 2026-11-06 15:00..
for the last couple of days => span 2026-11-14 15:00..
over the last few weeks => span 2026-10-26 15:00..
the past fortnight => span 2026-11-02 15:00..
within the last 6 months => span 2026-05-16 15:00..
last hour => span 2026-11-16 14:00..
last 24 hours => span 2026-11-15 15:00..
last 24h => span 2026-11-15 15:00..
past 3 days => span 2026-11-13 15:00..
7d => span 2026-11-09 15:00..
within 2 days => span 2026-11-14 15:00..
in the last half hour => span 2026-11-16 14:30..
since yesterday => span 2026-11-15 00:00..
since Monday => span 2026-11-16 00:00..
since last Monday => span 2026-11-09 00:00..
since 3 May => span 2026-05-03 00:00..
since May => span 2026-05-01 00:00..
since 2025 => span 2025-01-01 00:00..
since 2026-11-01 => span 2026-11-01 00:00..
since 9am => span 2026-11-16 09:00..
since 14:30 => span 2026-11-16 14:30..
since noon => span 2026-11-16 12:00..
since this morning => span 2026-11-16 00:00..
since two days ago => span 2026-11-14 00:00..
since last week => span 2026-11-09 00:00..
after 1 November => span 2026-11-02 00:00..
after Tuesday => span 2026-11-11 00:00..
after 10:30 => span 2026-11-16 10:30..
before 2026-11-01 => span ..2026-11-01 00:00
before yesterday => span ..2026-11-15 00:00
before 3 May 2025 => span ..2025-05-03 00:00
until Friday => span ..2026-11-14 00:00
up to 1 November => span ..2026-11-02 00:00
prior to October => span ..2026-10-01 00:00
between Monday and Wednesday => span 2026-11-09 00:00..2026-11-12 00:00
between 1 May and 3 June => span 2026-05-01 00:00..2026-06-04 00:00
between 2026-01-01 and 2026-02-01 => span 2026-01-01 00:00..2026-02-02 00:00
from Monday to Friday => span 2026-11-09 00:00..2026-11-14 00:00
from 1 May until 3 May => span 2026-05-01 00:00..2026-05-04 00:00
from October 1 to October 5 => span 2026-10-01 00:00..2026-10-06 00:00
on Tuesday => span 2026-11-10 00:00..2026-11-11 00:00
on Monday => span 2026-11-16 00:00..
on the 3rd of May => span 2026-05-03 00:00..2026-05-04 00:00
on 3 May => span 2026-05-03 00:00..2026-05-04 00:00
on May 3rd => span 2026-05-03 00:00..2026-05-04 00:00
on May 3, 2025 => span 2025-05-03 00:00..2025-05-04 00:00
on 2026-11-01 => span 2026-11-01 00:00..2026-11-02 00:00
on 1.11.2026 => span 2026-11-01 00:00..2026-11-02 00:00
last Tuesday => span 2026-11-10 00:00..2026-11-11 00:00
last Friday => span 2026-11-13 00:00..2026-11-14 00:00
last night => span 2026-11-15 18:00..2026-11-16 06:00
tonight => span 2026-11-16 18:00..2026-11-17 06:00
this morning => span 2026-11-16 00:00..2026-11-16 12:00
this afternoon => span 2026-11-16 12:00..
yesterday morning => span 2026-11-15 00:00..2026-11-15 12:00
yesterday at 3pm => span 2026-11-15 15:00..2026-11-15 16:00
at noon => span 2026-11-16 12:00..2026-11-16 13:00
in October => span 2026-10-01 00:00..2026-11-01 00:00
in October 2025 => span 2025-10-01 00:00..2025-11-01 00:00
in 2025 => span 2025-01-01 00:00..2026-01-01 00:00
in the year 2024 => span 2024-01-01 00:00..2025-01-01 00:00
in Q3 => span 2026-07-01 00:00..2026-10-01 00:00
in Q1 2025 => span 2025-01-01 00:00..2025-04-01 00:00
recently => span 2026-11-09 15:00..
lately => span 2026-11-09 15:00..
two days ago => span 2026-11-14 00:00..2026-11-15 00:00
3 hours ago => span 2026-11-16 11:30..2026-11-16 12:30
a week ago => span 2026-11-09 00:00..2026-11-10 00:00
a month ago => span 2026-10-16 00:00..2026-10-17 00:00
over the weekend => span 2026-11-14 00:00..2026-11-16 00:00
last weekend => span 2026-11-14 00:00..2026-11-16 00:00
since the beginning of the month => span 2026-11-01 00:00..
earlier today => span 2026-11-16 00:00..
so far this week => span 2026-11-16 00:00..
tomorrow => span 2026-11-17 00:00..2026-11-18 00:00
next week => span 2026-11-23 00:00..2026-11-30 00:00
year to date => span 2026-01-01 00:00..
"""
_AGES = r"""
files older than 30 days => age gt 2592000
files older than a week => age gt 604800
files newer than an hour => age lt 3600
more than 3 days old => age gt 259200
modified more than 3 days ago => age gt 259200 changed
less than two hours ago => age lt 7200
at least a month old => age gt 2592000
not touched for two weeks => age gt 1209600 changed
unused for a year => age gt 31536000 changed
files that have not been changed in 90 days => age gt 7776000 changed
untouched since October => span ..2026-10-01 00:00 changed
younger than 2 days => age lt 172800
no older than 3 days => age lt 259200
30d or older => age gt 2592000
"""
_DATES = r"""
3 May => date 2026-05-03 00:00..2026-05-04 00:00
2026-11-01 => date 2026-11-01 00:00..2026-11-02 00:00
May 3rd => date 2026-05-03 00:00..2026-05-04 00:00
"""


@pytest.mark.parametrize(
    "table",
    [_SPANS, _AGES, _DATES],
    ids=["spans", "ages", "dates"],
)
def test_a_request_holds_what_it_says(table: str) -> None:
    rows = dict(line.split(" =>", 1) for line in table.strip().splitlines())
    assert {asked: found(asked) for asked in rows} == {asked: held.strip() for asked, held in rows.items()}
