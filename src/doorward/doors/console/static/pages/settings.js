// @ts-check
// The current user, sessions, tokens, users, and the state of Doorward.

import { get, post, run, session } from "../lib/api.js";
import { formatCount, formatNumber, toDate } from "../lib/format.js";
import { canNotify } from "../lib/notifications.js";
import { describeBrowser, sortSessions } from "../lib/sessions.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { setTheme, theme } from "../lib/theme.js";
import { NotificationButton } from "../parts/notification-button.js";
import { Permitted } from "../parts/permission.js";
import { Tokens } from "../parts/tokens.js";
import { Users } from "../parts/users.js";
import { Badge, Button, Confirm, ErrorBox, Field, html, Loaded, Page, SafeText, showToast, Table, Time, useLoad, useSignal, useState } from "../parts/ui.js";

await loadStylesheet("work.css");

export default function SettingsPage() {
  const who = useSignal(session);
  if (!who) return null;
  return html`<${Page} title="Settings">
    <div class="sections">
      <${Health} />
      <section aria-labelledby="me-title">
        <h2 id="me-title">You</h2>
        <dl class="facts">
          <dt>User</dt><dd><strong><${SafeText} text=${who.name || who.user} /></strong> (<code><${SafeText} text=${who.user} /></code>)</dd>
          <dt>Tenant</dt><dd><code><${SafeText} text=${who.tenant} /></code></dd>
          <dt>Access</dt><dd>${who.access}</dd>
        </dl>
      </section>
      <${BrowserSettings} />
      <${Sessions} current=${who.id} />
      <${Password} user=${who.user} />
      <${Tokens} who=${who} />
      <${Users} who=${who} />
      <${About} />
    </div>
  </${Page}>`;
}

/** Problems of Doorward come first. */
function Health() {
  const status = useLoad(async () => (await run("system/status")).result, []);
  if (!status.data || (status.data.state === "well" && status.data.sandbox === "full")) return null;
  const { sandbox, problems } = status.data;
  const title = sandbox === "full" ? "Doorward has problems." : sandbox === "off" ? "Programs run without a sandbox." : "The sandbox is degraded.";
  return html`<div class="error-box" role="alert">
    <p><strong>${title}</strong></p>
    <ul>${problems.map((one) => html`<li key=${one}><${SafeText} text=${one} /></li>`)}</ul>
  </div>`;
}

function BrowserSettings() {
  const themes = [["system", "system"], ["light", "light"], ["dark", "dark"]];
  return html`<section aria-labelledby="look-title">
    <h2 id="look-title">This browser</h2>
    <div class="two">
      <${Field} label="Theme" options=${themes} value=${useSignal(theme)} onChange=${(event) => setTheme(event.target.value)} />
      <div class="field">
        <span class="label">Notifications</span>
        ${canNotify() ? html`<${NotificationButton} />` : html`<p class="quiet">Notifications need HTTPS, or a browser on the same machine.</p>`}
      </div>
    </div>
  </section>`;
}

/** @param {{current: string}} props */
function Sessions({ current }) {
  const found = useLoad(async () => (await run("user/sessions")).result.items, []);
  const [ending, setEnding] = useState(/** @type {{id: string} | null} */ (null));
  const describe = (row) =>
    row.id === current ? "this session" : `the session of ${describeBrowser(row.browser)} since ${toDate(row.createdAt).toLocaleString()}`;
  /** @type {Column[]} */
  const columns = [
    {
      key: "browser",
      title: "Browser",
      render: (row) =>
        html`<span title=${row.browser}><${SafeText} text=${describeBrowser(row.browser)} /></span>${row.id === current ? html` <${Badge} tone="info">this one</${Badge}>` : ""}`,
    },
    { key: "createdAt", title: "Logged in", render: (row) => html`<${Time} at=${row.createdAt} />` },
    { key: "expiresAt", title: "Expires", render: (row) => html`<${Time} at=${row.expiresAt} form="exact" />` },
    {
      key: "end",
      title: "Log out",
      render: (row) => html`<${Button} kind="danger small" aria-label=${`Log out ${describe(row)}`} onClick=${() => setEnding(row)}>Log out…</${Button}>`,
    },
  ];
  const end = async () => {
    await run("user/logout", { id: ending?.id });
    await found.reload();
  };
  return html`<section aria-labelledby="sessions-title">
    <h2 id="sessions-title">Sessions</h2>
    <${Loaded} from=${found}>${(items) => html`<${Table} caption="Your sessions" columns=${columns} rows=${sortSessions(items, current)} />`}</${Loaded}>
    ${ending &&
    html`<${Confirm} title="End this session?" action="Log out" onConfirm=${end} onClose=${() => setEnding(null)}>
      <p>${ending.id === current ? "This browser is logged out at once." : "That browser is logged out at once."}</p>
    </${Confirm}>`}
  </section>`;
}

const NO_PASSWORDS = { password: "", again: "", current: "" };

/** @param {{user: string}} props */
function Password({ user }) {
  const [values, setValues] = useState(NO_PASSWORDS);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    setError(values.password === values.again ? "" : "The passwords do not match.");
    if (values.password !== values.again) return;
    setBusy(true);
    setProblem(null);
    try {
      await post("/users/me/password", { password: values.password, ...(values.current ? { current: values.current } : {}) });
      setValues(NO_PASSWORDS);
      showToast("Password saved.");
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<section aria-labelledby="password-title">
    <h2 id="password-title">Password</h2>
    <p class="quiet">With a password you can log in without a link. A new password ends all your sessions, including this one.</p>
    <form onSubmit=${submit}>
      <input type="text" hidden name="username" autocomplete="username" value=${user} readonly />
      <div class="two">
        <${Field} label="Current password" type="password" value=${values.current} onInput=${change("current")} autocomplete="current-password" hint="If you have one." />
        <${Field} label="New password" type="password" value=${values.password} onInput=${change("password")} autocomplete="new-password" hint="At least 12 characters." required />
        <${Field} label="Repeat new password" type="password" value=${values.again} onInput=${change("again")} autocomplete="new-password" error=${error} required />
      </div>
      <${ErrorBox} problem=${problem} />
      <${Button} type="submit" busy=${busy}>Save password</${Button}>
    </form>
  </section>`;
}

const summarizeHour = (hour) =>
  `${formatCount(hour.calls, "call")}: ${hour.done} done, ${hour.failed} failed, ${hour.refused} refused, ${hour.parked} waiting, ${hour.denied} denied, ${hour.expired} expired`;

function About() {
  const status = useLoad(async () => (await run("system/status")).result, []);
  const [verified, setVerified] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
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
        <dt>Health</dt><dd><${Badge} tone=${found.state === "well" ? "good" : "bad"}>${found.state === "well" ? "healthy" : found.state}</${Badge}></dd>
        <dt>Sandbox</dt><dd><${Badge} tone=${found.sandbox === "full" ? "good" : "bad"}>${found.sandbox}</${Badge}></dd>
        ${found.home && html`<dt>Home folder</dt><dd><code><${SafeText} text=${found.home} /></code></dd>`}
        <dt>Peak memory</dt><dd>${found.memoryMb} MB</dd>
        <dt>Contents</dt><dd>${formatCount(found.commands, "command")}, ${formatCount(found.recipes, "recipe")}, ${formatCount(found.rooms, "room")}</dd>
        <dt>Last hour</dt><dd>${summarizeHour(found.lastHour)}</dd>
        ${found.ledgerRecords !== null && html`<dt>Ledger</dt><dd>${formatCount(found.ledgerRecords, "record")}</dd>`}
      </dl>`}
    </${Loaded}>
    <${Permitted} command="audit/verify" action="Verify the ledger">
      <p><${Button} busy=${busy} onClick=${verify}>${busy ? "Verifying…" : "Verify ledger"}</${Button}></p>
    </${Permitted}>
    <${ErrorBox} problem=${problem} />
    ${verified &&
    html`<p role="status">
      ${verified.verified
        ? html`<${Badge} tone="good">verified</${Badge}> ${formatNumber(verified.records)} records and ${formatNumber(verified.checkpoints)} checkpoints are unchanged.`
        : html`<${Badge} tone="bad">altered</${Badge}> <${SafeText} text=${verified.broken} />`}
    </p>`}
  </section>`;
}
