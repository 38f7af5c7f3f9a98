// @ts-check
// Login with a one-time link or a password.

import { login } from "../lib/api.js";
import { Button, Confirm, ErrorBox, Field, html, SafeText, useEffect, useRef, useState } from "./ui.js";

/** Take the login code out of the address, if the page was opened with a link. */
export function takeLoginCode() {
  const found = /^#login=([\w-]{1,200})$/.exec(location.hash);
  if (location.hash.startsWith("#login=")) history.replaceState(null, "", location.pathname + location.search);
  return found ? found[1] : "";
}

/** Anyone can send someone a link, so a logged-in user is asked before the link switches users. */
export function SwitchUserDialog({ link, onClose }) {
  return html`<${Confirm} title="Switch user?" action="Switch user" kind="primary" onClose=${onClose}
    onConfirm=${() => login({ code: link.code, instead: true })}>
    <p><${SafeText} text=${link.text} /></p>
    <p>If you continue, you act as the other user and your own session ends. If you did not request this link, cancel.</p>
  </${Confirm}>`;
}

/** @param {{problem: ProblemFacts | null, lost?: boolean, note?: string}} props */
export function LoginPage({ problem: given, lost, note }) {
  const [values, setValues] = useState({ tenant: "", user: "", password: "" });
  const [problem, setProblem] = useState(given ?? null);
  const [busy, setBusy] = useState(false);
  /** @type {import("./ui.js").ElementRef} */
  const first = useRef(null);
  // A link that is opened while this page is shown may be refused too.
  useEffect(() => {
    if (given) setProblem(given);
  }, [given]);
  useEffect(() => {
    document.title = "Log in · Doorward";
    first.current?.focus();
  }, []);
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await login({ user: values.user.trim(), password: values.password, tenant: values.tenant.trim() });
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<main class="login" id="main">
    <div class="login-card">
      <p class="brand"><span class="mark" aria-hidden="true"></span>Doorward</p>
      <h1>Log in</h1>
      ${(lost || note) &&
      !problem &&
      html`<p class="note">${lost ? "You are logged out. Your session expired or was ended." : html`<${SafeText} text=${note} /> Log in again.`}</p>`}
      <${ErrorBox} problem=${problem} />
      <section aria-labelledby="by-link">
        <h2 id="by-link">With a link</h2>
        <p>Run this in a terminal on the machine that runs Doorward:</p>
        <pre class="code"><code>doorward login</code></pre>
        <p class="quiet">It prints a link that logs in one browser, once. <code>doorward up</code> prints one too.</p>
      </section>
      <form onSubmit=${submit} aria-labelledby="by-password">
        <h2 id="by-password">With a password</h2>
        <${Field} label="User" value=${values.user} onInput=${change("user")} inputRef=${first}
          autocomplete="username" autocapitalize="none" spellcheck=${false} required />
        <${Field} label="Password" type="password" value=${values.password} onInput=${change("password")}
          autocomplete="current-password" required />
        <details>
          <summary>Another tenant</summary>
          <${Field} label="Tenant" value=${values.tenant} onInput=${change("tenant")}
            hint="Leave empty for the default tenant." autocapitalize="none" spellcheck=${false} />
        </details>
        <${Button} kind="primary" type="submit" busy=${busy}>${busy ? "Logging in…" : "Log in"}</${Button}>
      </form>
    </div>
  </main>`;
}
