import asyncio, json, pytest, time, tracemalloc
from keeper_house import Kept, call, run, kept
from doorward.model import Credential, Request

@pytest.fixture(scope="module")
def anyio_backend(): return "asyncio"
@pytest.fixture(scope="module")
async def k(anyio_backend, tmp_path_factory):
    async with kept(tmp_path_factory.mktemp("k")/"home") as h:
        o = await h.run("collection/define", collection="notes"); print(o.status, o.message)
        if o.status!="done": print(h.house.services.registry["collection/define"].schema)
        yield h

async def test_1_present(k):
    try:
        out = await k.run("data/create", collection="notes", id="n1", data={"toolCalls":[1],"sessionId":"x"})
        print(out)
        out = await k.run("data/read", collection="notes", id="n1")
        print(out)
    except BaseException as e: print("RAISED", repr(e))

async def test_2_ticket(k):
    out = await k.run("data/create", collection="notes", id="n2", data={"ticket":"T-1234","title":"printer"})
    print("R", (await k.run("data/read", collection="notes", id="n2")).result)
    k.says([call("run_command", command="data/read --collection=notes --id=n2")], "done")
    out = await k.ask("show n2"); print(out.status, out.code, out.message, out.result)

async def people(k):
    toks={}
    for n,acc in (("anna","full"),("bob","edit")):
        await k.run("user/create", id=n, access=acc)
        toks[n]=(await k.done("token/create", name=n+"t", user=n, kind="human", access=acc))["token"]
    return toks

async def test_5_vouch(k):
    made = await k.done("token/create", name="laptop", kind="human", access="root")
    async def revoked(prompt):
        await k.done("token/revoke", id=made["id"])
        yield run("file/write", path="tmp/after.txt", content="x")
    k.says(revoked, "ok")
    out = await k.run("shell/script", token=made["token"], script="agent/ask --prompt='do it'")
    print(out.status, out.code, out.message, out.result)
    print("after", (await k.run("file/stat", path="tmp/after.txt")).status)

async def test_6_ids(k):
    t = await people(k)
    r = await k.run("room/create", name="lab", recipe="admin"); print(r.status, r.message)
    r = await k.run("room/join", name="lab", member="keeper", kind="ai"); print("join", r.status, r.message)
    r = await k.run("room/say", name="lab", text="the plan is blue"); print(r.status, r.message)
    print("bob himself", (await k.run("room/messages", token=t["bob"], name="lab")).status, (await k.run("data/list", token=t["bob"], collection="messages")).text[:200])
    k.says([run("room/messages", name="lab")], [run("data/list", collection="messages")], "done")
    a = (await k.ask("what is said in lab", token=t["bob"])).result
    print([ (c["status"], c["output"][:300]) for c in a["toolCalls"]])

async def test_7_mem(k):
    tracemalloc.start()
    t0=time.monotonic()
    out = await k.run("sh/seq", args=["-s","x"*1000,"100000"])
    print("seq", out.status, len(str(out.result)), tracemalloc.get_traced_memory()[1]/1e6, "MB", time.monotonic()-t0)
    tracemalloc.reset_peak(); t0=time.monotonic()
    out = await k.run("sh/xargs", args=["-I","a","echo","a"*1000], input="b"*100000)
    print("xargs", out.status, tracemalloc.get_traced_memory()[1]/1e6, "MB", time.monotonic()-t0)
    tracemalloc.reset_peak(); t0=time.monotonic()
    out = await k.run("sh/printf", args=["%999s"*100000])
    print("printf", out.status, tracemalloc.get_traced_memory()[1]/1e6, "MB", time.monotonic()-t0)
    tracemalloc.reset_peak(); t0=time.monotonic()
    rows=[{"a":"x"*100000}]+[{"a":"y"}]*1000
    out = await k.run("sh/table", input=json.dumps(rows))
    print("table", out.status, tracemalloc.get_traced_memory()[1]/1e6, "MB", time.monotonic()-t0)
    tracemalloc.stop()

async def test_8_scope(k):
    await k.run("room/create", name="secretproject", recipe="admin")
    r = await k.run("shell/script", room="secretproject", script="set X y", session="new"); print(r.status, r.message)
    sid = r.result["session"]
    tok = (await k.done("token/create", name="narrow", kind="human", access="root", rooms=["general"]))["token"]
    r = await k.run("session/list", token=tok, room="general"); print(r.status, r.message, r.result)
    r = await k.run("session/end", token=tok, room="general", session=sid); print("end", r.status, r.message)
    r = await k.run("session/show", room="secretproject", session=sid); print("show", r.status, r.message)

async def test_11_event(k):
    t = await people(k)
    await k.run("file/write", path="tmp/q.txt", content="x")
    await k.run("user/update", id="bob", access="full")
    k.says([run("file/delete", path="tmp/q.txt")], "x")
    a = await k.ask("delete q"); print(a.result["ended"])
    ticket = a.result["toolCalls"][0]["ticket"]
    r = await k.run("event/list", token=t["anna"], only="approval"); print(r.status, r.message, [e for e in r.result["items"] if ticket in str(e)] if r.result else None)
    r = await k.run("approval/show", token=t["anna"], id=ticket); print(r.status, r.message)
    r = await k.run("data/list", token=t["anna"], collection="approvals"); print(ticket in r.text, [i for i in r.result["items"] if i["id"]==ticket] if r.result else r.message)
    r = await k.run("data/list", token=t["bob"], collection="approvals"); print("bob", ticket in r.text, r.message)
