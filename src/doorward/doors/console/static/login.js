// The way in: by a link, which works once, or by a password.

import { login } from "./api.js";
import { Button, Confirm, ErrorBox, Field, html, useEffect, useRef, useState, Visible } from "./ui.js";

/** The code in the address, if this page was opened by a link. It leaves the address at once. */
export function codeInAddress() {
  const found = /^#login=([\w-]{1,200})$/.exec(location.hash);
  if (location.hash.startsWith("#login=")) history.replaceState(null, "", location.pathname + location.search);
  return found ? found[1] : "";
}

/** A link can be put before anybody, so whoever is logged in is asked before it makes them somebody else. */
export function Other({ link, onClose }) {
  return html`<${Confirm} title="Log in as somebody else?" words="Log in as the other" kind="primary" onClose=${onClose}
    onYes=${() => login({ code: link.code, instead: true })}>
    <p><${Visible} text=${link.words} /></p>
    <p>What you do here from then on is done in the other's name, and your own session ends. If you did not ask for this
      link yourself, leave it.</p>
  </${Confirm}>`;
}

export function Login({ problem: given, lost, note }) {
  const [facts, setFacts] = useState({ tenant: "", user: "", password: "" });
  const [problem, setProblem] = useState(given ?? null);
  const [busy, setBusy] = useState(false);
  const first = useRef(null);
  // A link that was opened in a tab which showed this page already may be refused as well.
  useEffect(() => {
    if (given) setProblem(given);
  }, [given]);
  useEffect(() => {
    document.title = "Log in · Doorward";
    first.current?.focus();
  }, []);
  const change = (name) => (event) => setFacts({ ...facts, [name]: event.target.value });
  const enter = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await login({ user: facts.user.trim(), password: facts.password, tenant: facts.tenant.trim() });
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<main class="login" id="main">
    <div class="login-card">
      <p class="brand"><span class="mark" aria-hidden="true"></span>Doorward</p>
      <h1>Log in</h1>
      ${(lost || note) && !problem && html`<p class="note">${lost ? "You are logged out: the session ended, or was ended elsewhere."
        : html`<${Visible} text=${note} /> Log in again.`}</p>`}
      <${ErrorBox} problem=${problem} />
      <section aria-labelledby="by-link">
        <h2 id="by-link">With a link</h2>
        <p>In the terminal on the machine that runs Doorward:</p>
        <pre class="code"><code>doorward login</code></pre>
        <p class="quiet">It prints a link that logs this browser in, once. <code>doorward up</code> prints one too.</p>
      </section>
      <form onSubmit=${enter} aria-labelledby="by-password">
        <h2 id="by-password">With a password</h2>
        <${Field} label="User" value=${facts.user} onInput=${change("user")} inputRef=${first}
          autocomplete="username" autocapitalize="none" spellcheck=${false} required />
        <${Field} label="Password" type="password" value=${facts.password} onInput=${change("password")}
          autocomplete="current-password" required />
        <details>
          <summary>Another tenant</summary>
          <${Field} label="Tenant" value=${facts.tenant} onInput=${change("tenant")}
            hint="Leave it empty for the house's own." autocapitalize="none" spellcheck=${false} />
        </details>
        <${Button} kind="primary" type="submit" busy=${busy}>${busy ? "One moment…" : "Log in"}</${Button}>
      </form>
    </div>
  </main>`;
}
