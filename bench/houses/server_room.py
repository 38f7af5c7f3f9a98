"""A server room: machines in racks have incidents that technicians handle."""

from __future__ import annotations

from bench.houses.vocabulary import CollectionKind, FieldKind, FieldOfWork, Join, person_fields

SERVER_ROOM = FieldOfWork(
    name="server_room",
    person="technician",
    thing="machine",
    event="incident",
    person_link="technician",
    thing_link="machine",
    amount="downtime",
    done="resolved",
    collections=(
        CollectionKind(
            role="technician",
            names=(("technician", "technicians"), ("engineer", "engineers"), ("admin", "admins")),
            records=(9, 13),
            fields=person_fields(
                since=("hired on", "joined", "start date"),
                level=FieldKind(
                    role="level",
                    names=("level", "grade", "seniority"),
                    kind="enum",
                    values=("junior", "senior", "lead"),
                    says=("level", "grade"),
                    equals=("{v} {n}", "{n} at {v} level", "{n} who are {v}"),
                ),
                extra=(
                    FieldKind(
                        role="badge",
                        names=("badge", "badge number", "key card"),
                        kind="code",
                        missing=0.25,
                        says=("badge number", "badge"),
                        absent=("{n} without a badge", "{n} who have no badge number"),
                    ),
                ),
            ),
        ),
        CollectionKind(
            role="rack",
            names=(("rack", "racks"), ("cabinet", "cabinets")),
            records=(5, 7),
            fields=(
                FieldKind(role="name", names=("name", "label"), kind="label", draw="rack", says=("name",)),
                FieldKind(
                    role="power",
                    names=("power kw", "max power", "power limit"),
                    kind="integer",
                    values=(4, 30),
                    says=("power", "power limit"),
                    above=("{n} with more than {v} kW",),
                    below=("{n} with less than {v} kW",),
                ),
            ),
        ),
        CollectionKind(
            role="machine",
            names=(("machine", "machines"), ("server", "servers"), ("host", "hosts")),
            records=(12, 16),
            fields=(
                FieldKind(
                    role="name", names=("name", "hostname", "host name"), kind="label", draw="host", says=("name",)
                ),
                FieldKind(
                    role="rack",
                    names=("rack", "cabinet", "located in"),
                    kind="link",
                    to="rack",
                    equals=("{n} in rack {v}", "{n} sitting in {v}"),
                ),
                FieldKind(
                    role="system",
                    names=("os", "operating system", "system"),
                    kind="enum",
                    values=("debian", "windows", "freebsd", "ubuntu"),
                    says=("operating system", "os"),
                    equals=("{v} {n}", "{n} running {v}", "{n} on {v}"),
                ),
                FieldKind(
                    role="memory",
                    names=("ram gb", "memory", "memory gb"),
                    kind="integer",
                    values=(8, 512),
                    says=("memory", "RAM"),
                    above=("{n} with more than {v} GB of memory", "{n} with over {v} gigs of ram"),
                    below=("{n} with less than {v} GB of memory", "{n} under {v} GB ram"),
                ),
                FieldKind(
                    role="cost",
                    names=("price", "cost", "purchase cost"),
                    kind="number",
                    values=(900, 14000),
                    says=("price", "cost"),
                    above=("{n} that cost more than {v}", "{n} dearer than {v}"),
                    below=("{n} that cost less than {v}", "{n} cheaper than {v}"),
                    most=("most expensive", "priciest"),
                    least=("cheapest", "least expensive"),
                ),
                FieldKind(
                    role="serial",
                    names=("serial", "serial number", "asset tag"),
                    kind="code",
                    missing=0.25,
                    says=("serial number", "asset tag"),
                    absent=("{n} without a serial number", "{n} that have no asset tag"),
                ),
            ),
        ),
        CollectionKind(
            role="incident",
            names=(("incident", "incidents"), ("outage", "outages"), ("alarm", "alarms")),
            records=(45, 60),
            fields=(
                FieldKind(
                    role="machine",
                    names=("machine", "server", "host"),
                    kind="link",
                    to="machine",
                    equals=("{n} on {v}", "{n} of {v}", "{n} for {v}"),
                ),
                FieldKind(
                    role="technician",
                    names=("assignee", "handled by", "technician", "assigned to"),
                    kind="link",
                    to="technician",
                    equals=("{n} handled by {v}", "{n} assigned to {v}"),
                ),
                FieldKind(
                    role="severity",
                    names=("severity", "priority", "level"),
                    kind="enum",
                    values=("minor", "major", "critical"),
                    says=("severity", "priority"),
                    equals=("{v} {n}", "{n} with {v} severity", "{n} that were {v}"),
                ),
                FieldKind(
                    role="day",
                    names=("opened on", "date", "reported", "reported on"),
                    kind="date",
                    values=(-60, 0),
                    when=("{n} opened {v}", "{n} {v}", "{n} reported {v}"),
                ),
                FieldKind(
                    role="resolved",
                    names=("resolved", "closed", "fixed"),
                    kind="boolean",
                    true=("resolved {n}", "{n} that are fixed", "{n} already solved"),
                    false=("unresolved {n}", "{n} that are still open", "{n} not fixed yet"),
                ),
                FieldKind(
                    role="downtime",
                    names=("downtime minutes", "downtime", "minutes down"),
                    kind="integer",
                    values=(2, 600),
                    missing=0.2,
                    says=("downtime", "minutes of downtime"),
                    above=("{n} with more than {v} minutes of downtime", "{n} that took longer than {v} minutes"),
                    below=("{n} with under {v} minutes of downtime", "{n} shorter than {v} minutes"),
                    most=("longest",),
                    least=("shortest",),
                    absent=("{n} without any downtime noted", "{n} with no downtime recorded"),
                ),
            ),
        ),
    ),
    join=Join(
        things_of=(
            "which {things} has {person} worked on?",
            "on which {things} did {person} handle {events}",
            "list the {things} {person} had to look after",
        ),
        people_of=(
            "who handled {events} on {thing}?",
            "which {people} have worked on {thing}",
            "names of all {people} assigned to {events} of {thing}",
        ),
        when=(
            "when was the incident on {thing} handled by {person} opened?",
            "on which day did {person} get the incident on {thing}",
        ),
        when_field="day",
        event_of="{event} on {thing} handled by {person}",
        most_person=(
            "which {person_one} handled the most {events}?",
            "who has the most {events}",
            "busiest {person_one} by {events}?",
        ),
        most_thing=(
            "which {thing_one} breaks most often?",
            "which {thing_one} has the most {events}",
            "whats our worst {thing_one} going by number of {events}",
        ),
    ),
    mark=("mark {the_event} as resolved", "{person} is done: set {the_event} to resolved"),
    add=(
        "add a {one} called {label} running {v}",
        "new {one} {label}, operating system {v}, please add it",
        "register the {one} {label} ({v})",
    ),
    add_field="system",
    no_such=(
        "what's the MAC address of {thing}?",
        "what is the warranty end of {thing}",
        "what's {person}'s shoe size?",
    ),
    rooms=("ops", "on-call", "hardware", "postmortems"),
    topics=("backup", "firmware", "cooling", "switch"),
)
