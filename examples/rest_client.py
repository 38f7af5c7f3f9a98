"""A program that talks to Doorward over REST, with `doorward.client`.

Start a server in one terminal, and make a token for a program that acts in the room `general`:

    .venv/bin/doorward up
    .venv/bin/doorward token create demo --kind=service --room=general

Then, as that program. When something waits for approval, approve it in another terminal, as it says:

    DOORWARD_TOKEN=… .venv/bin/python examples/rest_client.py

Or as a person with a password, who makes a room, lets a program act in it, and approves what it asks:

    .venv/bin/python examples/rest_client.py --login local/owner

The owner sets a password with `doorward token password`. Somebody new registers a tenant with a passcode, which the
owner makes with `doorward token invite`:

    .venv/bin/python examples/rest_client.py --login acme/ada --register PASSCODE
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import threading

from doorward.client import Client, Outcome, Output, Parked, ServerEvent, Started, Stream
from doorward.core.errors import DoorwardError, NotPermitted


def main() -> None:
    options = read_options()
    if not options.login:
        with Client(options.url, token=os.environ.get("DOORWARD_TOKEN", ""), room=options.room) as program:
            tour(program, wait=options.wait)
        return
    with Client(options.url, token="") as person:
        come_in(person, options.login, options.register)
        token = make_a_place(person, options.room)
        questions = person.events(only="approval:requested")
        next(questions)  # from this first event on, none is missed
        threading.Thread(target=approve_the_first, args=(person, questions), daemon=True).start()
        with Client(options.url, token=token, room=options.room) as program:
            tour(program, wait=options.wait)


def tour(program: Client, *, wait: float) -> None:
    """What a program can do: look around, run, follow, be refused, and wait for a person."""
    me = program.me()
    print(f"I am {me['id']} ({me['kind']}) of {me['tenant']}, on behalf of {me['onBehalfOf'] or 'nobody'}.")

    found = program.commands(search="list files", limit=3)
    print(f"\nCommands for “list files”, of {found.total} that fit:")
    for command in found:
        print(f"  {command['name']:20} {command['summary']}")

    print("\nshell/pwd:")
    print(f"  {program.run('shell/pwd').text}")

    print("\nshell/seq, as it goes on:")
    with program.stream("shell/seq", params={"numbers": [1, 3]}) as stream:
        for event in stream:
            match event:
                case Started():
                    print(f"  execution {event.execution}")
                case Output():
                    print("  | " + event.text.rstrip().replace("\n", "\n  | "))
                case Outcome():
                    print(f"  {event.status}, exit code {event.result['exitCode']}")

    print("\nsystem/status, which this room does not allow:")
    try:
        program.run("system/status")
    except NotPermitted as refusal:
        print(f"  {refusal}\n  rule: {refusal.rule}")

    print("\nfile/write, which a person must approve:")
    try:
        written = program.run("file/write", path="hello-rest.txt", content="Hello from a program.\n")
    except Parked as parked:
        print(f"  {parked}\n  It would run: {parked.outcome.result['shown']}")
        print(f"  A person decides with: doorward approvals approve {parked.ticket}")
        written = program.resume(parked.ticket, wait=wait)
    print(f"  {written.status}: {written.result['path']}, {written.result['bytesAfter']} bytes")


def come_in(person: Client, login: str, passcode: str) -> None:
    """With a password, which is asked for unless DOORWARD_PASSWORD has it."""
    tenant, _, user = login.partition("/")
    password = os.environ.get("DOORWARD_PASSWORD") or getpass.getpass(f"Password of {user}: ")
    if passcode:
        person.register(tenant, user, password, passcode=passcode)
        print(f"Registered {tenant} with its first user {user}.")
    else:
        person.login(tenant, user, password)
        print(f"Logged in as {user} of {tenant}.")


def make_a_place(person: Client, room: str) -> str:
    """A room that a recipe governs, and a token that is good for that room alone, for a day."""
    if room not in [one["room"] for one in person.rooms()]:
        made = person.create_room(room, recipe="code-collaboration")
        print(f"Made the room {made['room']} (recipe {made['recipe']}).")
    return str(person.create_token("demo", kind="service", rooms=[room], days=1)["token"])


def approve_the_first(person: Client, questions: Stream[ServerEvent]) -> None:
    """What a person does who sits in front of it: wait for a question, read it, and decide."""
    approval = person.approval(next(questions).data["approval"])
    print(f"  (the person reads: {approval['shown']}, and says yes)")
    person.approve(approval["id"])
    questions.close()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the server (default: DOORWARD_URL, or http://127.0.0.1:8642)")
    parser.add_argument("--room", default="general", help="the room to act in (default: general)")
    parser.add_argument("--login", metavar="TENANT/USER", help="act as a person with a password, and as their program")
    parser.add_argument("--register", metavar="PASSCODE", default="", help="register that tenant and user first")
    parser.add_argument("--wait", type=float, default=30, help="seconds to wait for an approval (default: 30)")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except DoorwardError as error:
        sys.exit(f"{error}\n{error.hint}".strip())
