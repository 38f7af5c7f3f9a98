// Who one is, where one is logged in, tokens, people, and how Doorward itself is doing.

import { Offered } from "../allowed.js";
import { get, post, run, session } from "../api.js";
import { canNotify } from "../notify.js";
import { NotifyButton } from "../notifybutton.js";
import { People } from "../settingpeople.js";
import { Tokens } from "../settingtokens.js";
import { browserName, sorted } from "../sessions.js";
import { setTheme, theme } from "../themes.js";
import {
  Badge,
  Button,
  Confirm,
  ErrorBox,
  Field,
  html,
  Loaded,
  moment,
  Page,
  Table,
  Time,
  toast,
  useLoad,
  useSignal,
  useState,
  Visible,
} from "../ui.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function Settings() {
  const who = useSignal(session);
  return html`<${Page} title="Settings">
    <div class="sections">
      <${Health} />
      <section aria-labelledby="me-title">
        <h2 id="me-title">You</h2>
        <dl class="facts">
          <dt>User</dt><dd><strong><${Visible} text=${who.name || who.user} /></strong> (<code><${Visible}
            text=${who.user} /></code>)</dd>
          <dt>Tenant</dt><dd><code><${Visible} text=${who.tenant} /></code></dd>
          <dt>Access</dt><dd>${who.access}</dd>
        </dl>
      </section>
      <${Appearance} />
      <${Sessions} />
      <${Password} />
      <${Tokens} who=${who} />
      <${People} who=${who} />
      <${About} />
    </div>
  </${Page}>`;
}

/** What is not as it should be stands first, and loud. */
function Health() {
  const status = useLoad(async () => (await run("system/status")).result, []);
  if (!status.data || (status.data.state === "well" && status.data.sandbox === "full")) return null;
  return html`<div class="error-box" role="alert">
    <p><strong>${status.data.sandbox === "full" ? "Doorward is not well." : status.data.sandbox === "off"
      ? "Programs run without a sandbox." : "The sandbox is degraded."}</strong></p>
    <ul>${status.data.problems.map((one) => html`<li key=${one}><${Visible} text=${one} /></li>`)}</ul>
  </div>`;
}

function Appearance() {
  const chosen = useSignal(theme);
  return html`<section aria-labelledby="look-title">
    <h2 id="look-title">This browser</h2>
    <div class="two">
      <${Field} label="Theme" options=${[["system", "as the system has it"], ["light", "light"], ["dark", "dark"]]}
        value=${chosen} onChange=${(event) => setTheme(event.target.value)} />
      <div class="field">
        <span class="label">Notifications</span>
        ${canNotify()
          ? html`<${NotifyButton} on="Switch them off" off="Notify me while I look elsewhere" />`
          : html`<p class="quiet">Browsers only notify on this machine or over HTTPS.</p>`}
      </div>
    </div>
  </section>`;
}

function Sessions() {
  const found = useLoad(async () => (await run("user/sessions")).result.items, []);
  const [ending, setEnding] = useState(null);
  const columns = [
    { key: "browser", title: "Browser", render: (row) => html`<span title=${row.browser}><${Visible} text=${browserName(row.browser)}
      /></span>${row.id === session.value.id ? html` <${Badge} tone="info">this one</${Badge}>` : ""}` },
    { key: "createdAt", title: "Since", render: (row) => html`<${Time} at=${row.createdAt} />` },
    { key: "expiresAt", title: "Until", render: (row) => html`<${Time} at=${row.expiresAt} form="exact" />` },
    { key: "end", title: "End", render: (row) => html`<${Button} kind="danger small"
      aria-label=${`End ${row.id === session.value.id ? "this session" : `the session of ${browserName(row.browser)} since ${
        moment(row.createdAt).toLocaleString()}`}`}
        onClick=${() => setEnding(row)}>End…</${Button}>` },
  ];
  const end = async () => {
    await run("user/logout", { id: ending.id });
    await found.reload();
  };
  return html`<section aria-labelledby="sessions-title">
    <h2 id="sessions-title">Where you are logged in</h2>
    <${Loaded} from=${found}>${(items) => html`<${Table} caption="Your sessions" columns=${columns}
      rows=${sorted(items, session.value.id)} />`}</${Loaded}>
    ${ending && html`<${Confirm} title="End this session?" words="End it" onYes=${end}
      onClose=${() => setEnding(null)}><p>${ending.id === session.value.id ? "This browser is logged out at once: you have to log in again."
        : "That browser is logged out at once."}</p></${Confirm}>`}
  </section>`;
}

function Password() {
  const [facts, setFacts] = useState({ password: "", again: "", current: "" });
  const [problem, setProblem] = useState(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const typed = (name) => (event) => setFacts({ ...facts, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    setWrong(facts.password === facts.again ? "" : "The two are not the same.");
    if (facts.password !== facts.again) return;
    setBusy(true);
    setProblem(null);
    try {
      await post("/users/me/password", { password: facts.password, ...(facts.current ? { current: facts.current }
        : {}) });
      setFacts({ password: "", again: "", current: "" });
      toast("The password is set.");
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<section aria-labelledby="password-title">
    <h2 id="password-title">Password</h2>
    <p class="quiet">With a password you can log in without a link. A new one ends all your sessions, this one included.</p>
    <form onSubmit=${submit}>
      <input type="text" hidden name="username" autocomplete="username" value=${session.value.user} readonly />
      <div class="two">
        <${Field} label="New password" type="password" value=${facts.password} onInput=${typed("password")}
          autocomplete="new-password" hint="At least 12 characters." required />
        <${Field} label="The same again" type="password" value=${facts.again} onInput=${typed("again")}
          autocomplete="new-password" error=${wrong} required />
        <${Field} label="The one until now" type="password" value=${facts.current} onInput=${typed("current")}
          autocomplete="current-password" hint="If you have one." />
      </div>
      <${ErrorBox} problem=${problem} />
      <${Button} type="submit" busy=${busy}>Set the password</${Button}>
    </form>
  </section>`;
}

const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

const totals = (hour) =>
  `${counted(hour.calls, "call")}: ${hour.done} done, ${hour.refused} refused, ${hour.failed} failed, ${hour.parked} waited for a person`;

function About() {
  const status = useLoad(async () => (await run("system/status")).result, []);
  const [verified, setVerified] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const verify = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setVerified(await get("/audit/verify"));
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<section aria-labelledby="about-title">
    <h2 id="about-title">About Doorward</h2>
    <${Loaded} from=${status}>
      ${(found) => html`<dl class="facts">
        <dt>Version</dt><dd>${found.version}</dd>
        <dt>State</dt><dd><${Badge} tone=${found.state === "well" ? "good" : "bad"}>${found.state}</${Badge}></dd>
        <dt>Sandbox</dt><dd><${Badge} tone=${found.sandbox === "full" ? "good" : "bad"}>${found.sandbox}</${Badge}></dd>
        ${found.home && html`<dt>Home folder</dt><dd><code><${Visible} text=${found.home} /></code></dd>`}
        <dt>Memory</dt><dd>${found.memoryMb} MB at most so far</dd>
        <dt>Commands</dt><dd>${counted(found.commands, "command")}, ${counted(found.recipes, "recipe")}, ${counted(found.rooms, "room")}</dd>
        <dt>Last hour</dt><dd>${totals(found.lastHour)}</dd>
        ${found.ledgerRecords !== null &&
          html`<dt>Record</dt><dd>${found.ledgerRecords.toLocaleString("en")} records</dd>`}
      </dl>`}
    </${Loaded}>
    <${Offered} command="audit/verify" what="To verify the record">
      <p><${Button} busy=${busy} onClick=${verify}>${busy ? "Reading every record…" : "Verify the record"}</${Button}></p>
    </${Offered}>
    <${ErrorBox} problem=${problem} />
    ${verified &&
    html`<p role="status">
      ${verified.verified
        ? html`<${Badge} tone="good">as it was written</${Badge}> ${verified.records.toLocaleString("en")} records and${" "}
            ${verified.checkpoints.toLocaleString("en")} checkpoints were read; nothing was changed, dropped, moved or
            cut off.`
        : html`<${Badge} tone="bad">broken</${Badge}> <${Visible} text=${verified.broken} />`}
    </p>`}
  </section>`;
}
