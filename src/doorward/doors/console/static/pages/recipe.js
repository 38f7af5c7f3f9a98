// The editor of one recipe. While somebody types it says what is wrong and where, and what each agent could do.

import { get, part, post, run, session } from "../api.js";
import { Diff } from "../diff.js";
import { Flips } from "../flips.js";
import { lineDiff } from "../linediff.js";
import { Rights } from "../rights.js";
import { rooms } from "../state.js";
import {
  Button,
  Confirm,
  ErrorBox,
  Field,
  html,
  Loading,
  Page,
  say,
  toast,
  useEffect,
  useLayoutEffect,
  useRef,
  useSignal,
  useState,
  Visible,
} from "../ui.js";

const PAUSE = 200;
const START = (id) => ({
  recipeId: id,
  displayName: id,
  description: "",
  strategy: { aiCommands: { enabled: true, tiers: ["information"], whitelist: [], blacklist: [], requireApproval: {} } },
});

export default function Editor({ id, query, navigate }) {
  const [saved, setSaved] = useState(null);
  const [text, setText] = useState(null);
  const [problem, setProblem] = useState(null);
  const [done, setDone] = useState(null);
  const [asking, setAsking] = useState("");
  const [valid, setValid] = useState(false);
  const [found, setFound] = useState(false);
  const may = session.value?.access === "root";
  const load = async () => {
    setProblem(null);
    try {
      if (query.new || query.from) {
        const source = query.from ? (await get(`/recipes/${part(query.from)}`)).recipe : START(id);
        const kept = sessionStorage.getItem(`recipe:${id}`);
        setFound(kept !== null);
        setSaved("");
        setText(kept ?? JSON.stringify({ ...source, recipeId: id }, null, 2));
      } else {
        const now = JSON.stringify((await get(`/recipes/${part(id)}`)).recipe, null, 2);
        const kept = sessionStorage.getItem(`recipe:${id}`);
        setFound(kept !== null && kept !== now);
        setSaved(now);
        setText(kept ?? now);
      }
    } catch (error) {
      setProblem(error);
    }
  };
  useEffect(() => {
    load();
  }, [id]);
  const changed = text !== null && text !== saved;
  useEffect(() => {
    if (text === null) return undefined;
    if (changed && saved !== null) sessionStorage.setItem(`recipe:${id}`, text);
    else sessionStorage.removeItem(`recipe:${id}`);
    const stay = (event) => changed && event.preventDefault();
    addEventListener("beforeunload", stay);
    return () => removeEventListener("beforeunload", stay);
  }, [text, saved]);

  const put = async (body) => {
    const outcome = await run("recipe/put", { id, text: body });
    sessionStorage.removeItem(`recipe:${id}`);
    setSaved(body);
    setText(body);
    setDone({ call: outcome.call, made: !saved, words: saved ? "Saved, and in force." : "Made, and in force." });
    say("The recipe is in force");
    if (query.new || query.from) navigate(`/console/recipes/${part(id)}`, { replace: true });
  };
  const undo = async () => {
    try {
      await run("undo", { execution: done.call });
      setDone(null);
      toast("It is as it was before.");
      if (done.made) navigate("/console/recipes");
      else await load();
    } catch (error) {
      setProblem(error);
    }
  };
  const remove = async () => {
    const outcome = await run("recipe/remove", { id });
    sessionStorage.removeItem(`recipe:${id}`);
    toast(`Recipe ${id} is removed. To bring it back: doorward run --as me undo --execution=${outcome.call}`);
    navigate("/console/recipes");
  };

  const putBack = () => {
    setFound(false);
    setText(saved || JSON.stringify(START(id), null, 2));
    say("The text is put back");
  };
  const actions = html`<a class="button" href="/console/recipes">All recipes</a>
    ${may && saved && html`<${Button} kind="danger" onClick=${() => setAsking("remove")}>Remove…</${Button}>`}
    ${may && html`<${Button} disabled=${!changed} onClick=${putBack}>Put back</${Button}>
      <${Button} kind="primary" disabled=${!changed || !valid} onClick=${() => setAsking("save")}>Save…</${Button}>`}`;
  return html`<${Page} title=${id} wide actions=${actions} shown=${html`Recipe <code><${Visible} text=${id} /></code>`}>
    <${ErrorBox} problem=${problem} onRetry=${load} />
    ${done && html`<p class="note info" role="status">${done.words} <${Button} kind="quiet small" onClick=${undo}>Undo</${Button}></p>`}
    ${found && changed && html`<p class="note" role="status">These are unsaved changes of yours, from before.${saved ? " In force is the saved text." : " Nothing of them is in force."}
      ${" "}<${Button} kind="quiet small" onClick=${putBack}>Put back</${Button}></p>`}
    ${text === null && !problem && html`<${Loading} />`}
    ${text !== null && html`<${Work} id=${id} text=${text} setText=${setText} saved=${saved} may=${may} onValid=${setValid} onSave=${() => changed && may && valid && setAsking("save")} />`}
    ${asking === "save" && html`<${Save} id=${id} before=${saved ?? ""} after=${text} onYes=${() => put(text)} onClose=${() => setAsking("")} />`}
    ${asking === "remove" && html`<${Confirm} title=${`Remove recipe ${id}?`} words="Remove it" onYes=${remove} onClose=${() => setAsking("")}>
      <p>Its file is deleted. It can be undone.</p></${Confirm}>`}
  </${Page}>`;
}

function Save({ id, before, after, onYes, onClose }) {
  return html`<${Confirm} title=${`Put ${id} in force?`} words="Save" kind="primary" onYes=${onYes} onClose=${onClose}>
    <p>It holds at once in every room that it governs.</p>
    ${before ? html`<${Diff} text=${lineDiff(before, after)} label="What changes in the file" />` : html`<p>There is no recipe of this id yet.</p>`}
  </${Confirm}>`;
}

const TABS = [
  ["rights", "Who may do what"],
  ["flips", "Time machine"],
  ["diff", "Difference"],
];

function Work({ id, text, setText, saved, may, onSave, onValid }) {
  const mine = useSignal(rooms) ?? [];
  const [room, setRoom] = useState("");
  const [tab, setTab] = useState("rights");
  const [preview, setPreview] = useState(null);
  const [problem, setProblem] = useState(null);
  const turn = useRef(0);
  useEffect(() => {
    const now = ++turn.current;
    const timer = setTimeout(async () => {
      try {
        const told = await post(`/recipes/${part(id)}/preview`, { text: text || " ", ...(room ? { inRoom: room } : {}) });
        if (now !== turn.current) return;
        setPreview(told);
        onValid(told.valid);
        setProblem(null);
      } catch (error) {
        if (now === turn.current) setProblem(error);
      }
    }, preview ? PAUSE : 0);
    return () => clearTimeout(timer);
  }, [text, room, id]);
  const fault = preview?.fault ?? null;
  const governed = mine.filter((one) => one.recipe === id && !one.archived);
  const keys = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = TABS.findIndex(([name]) => name === tab);
    const next = TABS[(at + step + TABS.length) % TABS.length][0];
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return html`<div class="recipe-work">
    <section aria-label="The text of the recipe">
      <${JsonText} text=${text} onText=${setText} fault=${fault} readOnly=${!may} onSave=${onSave} />
      ${preview?.idle?.length > 0 && html`<p class="note">${preview.idle.map((one, at) => html`${at > 0 && ", "}<code><${Visible} text=${one} /></code>`)} ${preview.idle.length === 1 ? "fits" : "fit"} no command that there is now.</p>`}
      <p class="quiet governed">${governed.length ? "It governs " : "It governs no room of yours."}
        ${governed.map((one, at) => html`${at > 0 && ", "}<a href=${`/console/rooms/${part(one.room)}`}><${Visible} text=${one.title || one.room} /></a>`)}
        ${!may && " Only people with root access may change recipes."}</p>
    </section>
    <section aria-label="What it would do">
      <div class="tabs" role="tablist" onKeyDown=${keys}>
        ${TABS.map(([name, title]) => html`<button type="button" role="tab" key=${name} id=${`tab-${name}`} aria-selected=${tab === name ? "true" : "false"}
          aria-controls="tab-panel" tabindex=${tab === name ? 0 : -1} class=${tab === name ? "tab on" : "tab"} onClick=${() => setTab(name)}>${title}</button>`)}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby=${`tab-${tab}`} tabindex="0">
        ${tab !== "diff" && html`<${Field} label="Room" value=${room} onChange=${(event) => setRoom(event.target.value)}
          options=${[["", governed.length ? "Every room that it governs" : "No room in particular"], ...mine.map((one) => [one.room, `As if it governed ${one.title || one.room}`])]} />`}
        <${ErrorBox} problem=${problem} />
        ${tab === "rights" && preview && html`<${Rights} preview=${preview} />`}
        ${tab === "flips" && html`<${Flips} id=${id} text=${text} room=${room} valid=${preview?.valid ?? false} />`}
        ${tab === "diff" && (text === saved ? html`<p class="quiet">The text is as it is in force.</p>` : html`<${Diff} text=${lineDiff(saved ?? "", text)} label="What changes in the file" />`)}
      </div>
    </section>
  </div>`;
}

/** A text with the numbers of its lines, and with what is wrong beside the line where it is. */
function JsonText({ text, onText, fault, readOnly, onSave }) {
  const area = useRef(null);
  const gutter = useRef(null);
  const lines = text.split("\n").length;
  const follow = () => {
    if (gutter.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  useLayoutEffect(follow, [lines]);
  const keys = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      onSave();
    }
  };
  const jump = () => {
    const at = text.split("\n").slice(0, fault.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + fault.column - 1;
    area.current.focus();
    area.current.setSelectionRange(at, at);
  };
  return html`<div class="field">
    <label for="recipe-text">Recipe <span class="quiet">(JSON; Ctrl+S saves)</span></label>
    <div class=${`json-text ${fault ? "faulty" : ""}`}>
      <div class="gutter" ref=${gutter} aria-hidden="true">
        ${Array.from({ length: lines }, (_, at) => html`<div key=${at} class=${fault?.line === at + 1 ? "at-fault" : ""}>${fault?.line === at + 1 ? "▸" : ""}${at + 1}</div>`)}
        <div class="gutter-end"></div>
      </div>
      <textarea id="recipe-text" class="mono" ref=${area} value=${text} readonly=${readOnly} spellcheck=${false} autocomplete="off" autocapitalize="off"
        wrap="off" rows="28" aria-invalid=${fault ? "true" : undefined} aria-describedby="recipe-fault" onScroll=${follow} onKeyDown=${keys}
        onInput=${(event) => onText(event.target.value)}></textarea>
    </div>
    <p id="recipe-fault" class=${fault ? "field-error" : "hint"} role="status">${
      fault
        ? html`<button type="button" class="link" onClick=${jump}>Line ${fault.line}, column ${fault.column}</button>${fault.field && html`, at <code><${Visible} text=${fault.field} /></code>`}:
            ${" "}<${Visible} text=${fault.reason.replace(/^(?:(not valid JSON) at )?line \d+, column \d+: /, (_, what) => (what ? `${what}: ` : ""))} />`
        : "It is a valid recipe."
    }</p>
  </div>`;
}
