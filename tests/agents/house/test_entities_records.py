"""What a request holds: conditions, groupings, orders and figures.

Each row is a request and what is found in it, at three in the afternoon of Monday, 16 November 2026, in Berlin.
"""

from __future__ import annotations

import pytest
from reading_shown import found

_CONDITIONS = r"""
amount over 100 => compare (amount) gt 100
status is paid => compare (status) eq 'paid'
total greater than or equal to 20 => compare (total) gte 20
users named bob => compare name eq 'bob'
where city = Berlin => compare city eq 'Berlin'
files containing 'x' => compare (files) contains 'x'
orders not shipped => compare (orders) ne 'shipped'
users with no email => compare email empty
users without an email address => compare email address empty
users with an email => compare email notempty
price between 10 and 20 => compare (price) between (10, 20)
orders with a total over 100 => compare total gt 100
orders with total >= 20 => compare total gte 20
customers whose city is New York => compare city eq 'New York'
customers whose name starts with A => compare name starts 'A'
customers whose email ends with .org => compare email ends '.org'
orders where status is paid or shipped => compare status in ('paid', 'shipped')
orders where status is one of paid, open or late => compare status in ('paid', 'open', 'late')
orders where status is not paid => compare status ne 'paid'
orders where the note is empty => compare note empty
customers over 30 in Berlin => compare (customers) gt 30; compare (in) eq 'Berlin'
customers from Germany => compare (from) eq 'Germany'
orders above $1,200 => compare (orders) gt 1200
orders below 5 euros => compare (orders) lt 5
products cheaper than 20 => compare (price) lt 20
people older than 30 => compare (age) gt 30
commands that took longer than 5 seconds => compare took gt 5.0
executions slower than 500ms => compare (duration) gt 0.5
which orders are paid => compare (orders) eq 'paid'
how many orders are pending => measure count; compare (orders) eq 'pending'
which orders have not been shipped => compare (orders) ne 'shipped'
orders that are open => compare - eq 'open'
messages mentioning budget => compare (messages) contains 'budget'
titled "The end" => compare title eq 'The end'
with status open => compare status eq 'open'
status:open => compare (status) eq 'open'
tickets assigned to alice => compare assignee eq 'alice'
what was changed by alice => compare (by) eq 'alice'
what did alice do => compare (by) eq 'alice'
how many messages did bob send => measure count; compare (by) eq 'bob'
orders with priority 1 => compare priority eq 1
where active is true => compare active eq True
100 or more => compare - gte 100
invoices with a due date before 2026-12-01 => compare due date lt '2026-12-01'
orders where status = paid and total > 100 => compare status eq 'paid'; compare total gt 100
orders where city is Berlin or city is Paris => compare city eq 'Berlin'; compare city eq 'Paris' instead
tables that are empty => compare - empty
"""
_SHAPES = r"""
count users by access level => measure count; group access level
orders per status => group status
total for each customer => measure sum; group customer
grouped by month => group month
orders broken down by city => group city
group by status and city => group status; group city
count the orders in each city => measure count; group city
users sorted by name => order name up
sorted by size descending => order size down
order by amount desc => order amount down
by amount descending => order amount down
largest files first => order size down
newest first => order time down
list users alphabetically => order name up
top 5 customers by revenue => limit 5 top; order revenue down
files by size => order size down
sort customers by last name => order last name up
which customer has the most orders => order count down of orders
ranked by total => order total down
from newest to oldest => order time down
total amount => measure sum amount
average price of products => measure avg price
the highest total => measure max total
how much did we sell => measure sum
sum of amounts => measure sum amounts
the average of all totals => measure avg totals
how many orders => measure count
number of rooms => measure count
max price => measure max price
mean duration => measure avg duration
lowest price => measure min price
total number of orders => measure count
"""
_LIMITS = r"""
last 20 lines => limit 20 last
first five rows => limit 5 first
top 3 customers => limit 3 top
bottom 3 products => limit 3 top
the 10 largest files => limit 10 top by size down
largest 10 files => limit 10 top by size down
five most recent orders => limit 5 last by time down
the latest order => limit 1 last by time down
the newest file => limit 1 last by time down
the oldest user => limit 1 first by time up
the biggest file => limit 1 top by size down
the first one => limit 1 first
the last commit => limit 1 last
at most 50 orders => limit 50
no more than ten rows => limit 10
limit 10 => limit 10
up to 5 => limit 5
show 5 orders => limit 5
give me three customers => limit 3
show me a couple of orders => limit 2
the second one => ordinal 2
the third file => ordinal 3
the cheapest product => limit 1 top by price up
the 5 most expensive products => limit 5 top by price down
the slowest command => limit 1 top by duration down
"""
_NUMBERS = r"""
three => number 3
a dozen => number 12
1,200 => number 1200
2.5k => number 2500
twenty-five => number 25
two hundred and fifty => number 250
a hundred => number 100
1.2 million => number 1200000
order #42 => number 42
half a dozen => number 6
"""


@pytest.mark.parametrize(
    "table",
    [_CONDITIONS, _SHAPES, _LIMITS, _NUMBERS],
    ids=["compare", "group, order, measure", "limits", "numbers"],
)
def test_a_request_holds_what_it_says(table: str) -> None:
    rows = dict(line.split(" =>", 1) for line in table.strip().splitlines())
    assert {asked: found(asked) for asked in rows} == {asked: held.strip() for asked, held in rows.items()}
