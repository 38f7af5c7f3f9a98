// @ts-check
// The editor of a recipe. It validates while the user types, and shows what each agent could do.

import { encode, get, post, run, session } from "../lib/api.js";
import { computeDiff } from "../lib/diff.js";
import { readDraft, writeDraft } from "../lib/drafts.js";
import { rooms } from "../lib/store.js";
import { Diff } from "../parts/diff.js";
import { PermissionPreview } from "../parts/permission-preview.js";
import { Replay } from "../parts/replay.js";
import {
  announce,
  Button,
  Confirm,
  ErrorBox,
  Field,
  html,
  Loading,
  Page,
  SafeText,
  showToast,
  useEffect,
  useLayoutEffect,
  useLoad,
  useReload,
  useRef,
  useSignal,
  useState,
} from "../parts/ui.js";

const PREVIEW_DELAY = 200;

/** The text of an empty recipe. @param {string} id */
const createTemplate = (id) => ({
  recipeId: id,
  displayName: id,
  description: "",
  strategy: { aiCommands: { enabled: true, tiers: ["information"], whitelist: [], blacklist: [], requireApproval: {} } },
});

const format = (/** @type {any} */ value) => JSON.stringify(value, null, 2);

/** @param {{id: string, query: Record<string, string>, navigate: Navigate}} props */
export default function RecipePage({ id, query, navigate }) {
  const [saved, setSaved] = useState(/** @type {string | null} */ (null));
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [change, setChange] = useState(/** @type {{call: string, created: boolean} | null} */ (null)); // the last save
  const [dialog, setDialog] = useState("");
  const [valid, setValid] = useState(false);
  const [recovered, setRecovered] = useState(false); // whether unsaved changes were restored
  const mayEdit = session.value?.access === "root";
  const draftName = `/recipes/${id}`;
  const { problem: loadProblem, reload } = useLoad(async () => {
    /** @type {string | null} */
    const draft = readDraft(draftName);
    if (query.new || query.from) {
      const source = query.from ? (await get(`/recipes/${encode(query.from)}`)).recipe : createTemplate(id);
      setRecovered(draft !== null);
      setSaved("");
      setText(draft ?? format({ ...source, recipeId: id }));
    } else {
      const now = format((await get(`/recipes/${encode(id)}`)).recipe);
      setRecovered(draft !== null && draft !== now);
      setSaved(now);
      setText(draft ?? now);
    }
  }, [id]);
  const changed = text !== null && text !== saved;
  useEffect(() => {
    if (text === null) return undefined;
    writeDraft(draftName, changed && saved !== null ? text : null);
    const warn = (/** @type {Event} */ event) => changed && event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [text, saved]);

  const save = async (/** @type {string} */ body) => {
    const outcome = await run("recipe/put", { id, text: body });
    writeDraft(draftName, null);
    setSaved(body);
    setText(body);
    setChange({ call: outcome.call, created: !saved });
    announce("Recipe saved");
    if (query.new || query.from) navigate(`/console/recipes/${encode(id)}`, { replace: true });
  };
  const undo = async () => {
    try {
      await run("undo", { execution: change?.call });
      setChange(null);
      setProblem(null);
      showToast("The change was undone.");
      if (change?.created) navigate("/console/recipes");
      else await reload();
    } catch (error) {
      setProblem(error);
    }
  };
  const remove = async () => {
    const outcome = await run("recipe/remove", { id });
    writeDraft(draftName, null);
    showToast(`Recipe ${id} was removed. To restore it: doorward run --as me undo --execution=${outcome.call}`);
    navigate("/console/recipes");
  };
  const revert = () => {
    setRecovered(false);
    setText(saved || format(createTemplate(id)));
    announce("Changes reverted");
  };
  const actions = html`<a class="button" href="/console/recipes">All recipes</a>
    ${mayEdit && saved && html`<${Button} kind="danger" onClick=${() => setDialog("remove")}>Remove…</${Button}>`}
    ${mayEdit &&
    html`<${Button} disabled=${!changed} onClick=${revert}>Revert</${Button}>
      <${Button} kind="primary" disabled=${!changed || !valid} onClick=${() => setDialog("save")}>Save…</${Button}>`}`;
  return html`<${Page} title=${id} wide actions=${actions} heading=${html`Recipe <code><${SafeText} text=${id} /></code>`}>
    <${ErrorBox} problem=${loadProblem} onRetry=${reload} />
    <${ErrorBox} problem=${problem} />
    ${change &&
    html`<p class="note info" role="status">${change.created ? "Created. The recipe is in force." : "Saved. The recipe is in force."} <${Button} kind="quiet small" onClick=${undo}>Undo</${Button}></p>`}
    ${recovered &&
    changed &&
    html`<p class="note" role="status">You have unsaved changes. ${saved ? "The saved recipe stays in force." : "They are not in force."}
      ${" "}<${Button} kind="quiet small" onClick=${revert}>Revert</${Button}></p>`}
    ${text === null && !loadProblem && html`<${Loading} />`}
    ${text !== null &&
    html`<${RecipeEditor} id=${id} text=${text} setText=${setText} saved=${saved} mayEdit=${mayEdit} onValid=${setValid}
      onSave=${() => changed && mayEdit && valid && setDialog("save")} />`}
    ${dialog === "save" &&
    text !== null &&
    html`<${Confirm} title=${`Save ${id}?`} action="Save" kind="primary" onConfirm=${() => save(text)} onClose=${() => setDialog("")}>
      <p>The recipe takes effect at once in every room that uses it.</p>
      ${saved ? html`<${Diff} text=${computeDiff(saved, text)} label="Changes to the file" />` : html`<p>This creates a new recipe.</p>`}
    </${Confirm}>`}
    ${dialog === "remove" &&
    html`<${Confirm} title=${`Remove recipe ${id}?`} action="Remove" onConfirm=${remove} onClose=${() => setDialog("")}>
      <p>This deletes its file. It can be undone.</p>
    </${Confirm}>`}
  </${Page}>`;
}

const TABS = [
  ["rights", "Permissions"],
  ["replay", "Replay"],
  ["diff", "Changes"],
];

function RecipeEditor({ id, text, setText, saved, mayEdit, onSave, onValid }) {
  const all = useSignal(rooms) ?? [];
  const [room, setRoom] = useState("");
  const [tab, setTab] = useState("rights");
  const from = useLoad((signal) =>
    post(`/recipes/${encode(id)}/preview`, { text: text || " ", ...(room ? { inRoom: room } : {}) }, { signal }),
  );
  useReload(from.reload, [text, room, id], PREVIEW_DELAY);
  const { data: preview, problem } = from;
  useEffect(() => {
    if (preview) onValid(preview.valid);
  }, [preview]);
  const governed = all.filter((one) => one.recipe === id && !one.archived);
  const unmatched = preview?.idle ?? [];
  const onTabKey = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = TABS.findIndex(([name]) => name === tab);
    const next = TABS[(at + step + TABS.length) % TABS.length][0];
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  const roomOptions = [
    ["", governed.length ? "All rooms that use it" : "No specific room"],
    ...all.map((one) => [one.room, `If used in ${one.title || one.room}`]),
  ];
  return html`<div class="recipe-work">
    <section aria-label="Recipe text">
      <${JsonEditor} text=${text} onText=${setText} fault=${preview?.fault ?? null} readOnly=${!mayEdit} onSave=${onSave} />
      ${unmatched.length > 0 &&
      html`<p class="note">No command matches ${unmatched.map((one, at) => html`${at > 0 && ", "}<code><${SafeText} text=${one} /></code>`)}.</p>`}
      <p class="quiet governed">${governed.length ? "Used in " : "Not used in your rooms."}
        ${governed.map((one, at) => html`${at > 0 && ", "}<a href=${`/console/rooms/${encode(one.room)}`}><${SafeText} text=${one.title || one.room} /></a>`)}
        ${!mayEdit && " Changing recipes needs root access."}</p>
    </section>
    <section aria-label="Preview">
      <div class="tabs" role="tablist" onKeyDown=${onTabKey}>
        ${TABS.map(
          ([name, title]) => html`<button type="button" role="tab" key=${name} id=${`tab-${name}`} aria-selected=${tab === name ? "true" : "false"}
          aria-controls="tab-panel" tabindex=${tab === name ? 0 : -1} class=${tab === name ? "tab on" : "tab"} onClick=${() => setTab(name)}>${title}</button>`,
        )}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby=${`tab-${tab}`} tabindex="0">
        ${tab !== "diff" && html`<${Field} label="Room" value=${room} onChange=${(event) => setRoom(event.target.value)} options=${roomOptions} />`}
        <${ErrorBox} problem=${problem} />
        ${tab === "rights" && preview && html`<${PermissionPreview} preview=${preview} />`}
        ${tab === "replay" && html`<${Replay} id=${id} text=${text} room=${room} valid=${preview?.valid ?? false} />`}
        ${tab === "diff" &&
        (text === saved ? html`<p class="quiet">No unsaved changes.</p>` : html`<${Diff} text=${computeDiff(saved ?? "", text)} label="Changes to the file" />`)}
      </div>
    </section>
  </div>`;
}

/** @typedef {{line: number, column: number, field?: string, reason: string}} Fault */

/**
 * A text field with line numbers that marks the line of a mistake.
 *
 * @param {{text: string, onText: (text: string) => void, fault: Fault | null, readOnly: boolean, onSave: () => void}} props
 */
function JsonEditor({ text, onText, fault, readOnly, onSave }) {
  /** @type {import("../vendor/preact.js").Ref<HTMLTextAreaElement>} */
  const area = useRef(null);
  /** @type {import("../parts/ui.js").ElementRef} */
  const gutter = useRef(null);
  const lines = text.split("\n").length;
  const syncScroll = () => {
    if (gutter.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  useLayoutEffect(syncScroll, [lines]);
  const onKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      onSave();
    }
  };
  const goTo = (/** @type {Fault} */ { line, column }) => {
    const before = text.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
    area.current.focus();
    area.current.setSelectionRange(at, at);
  };
  // The position is shown as a link, so it is removed from the sentence.
  const reason = fault?.reason.replace(/^(?:(not valid JSON) at )?line \d+, column \d+: /, (_, what) => (what ? `${what}: ` : ""));
  return html`<div class="field">
    <label for="recipe-text">Recipe <span class="quiet">(JSON; Ctrl+S saves)</span></label>
    <div class=${`json-text ${fault ? "faulty" : ""}`}>
      <div class="gutter" ref=${gutter} aria-hidden="true">
        ${Array.from({ length: lines }, (_, at) => html`<div key=${at} class=${fault?.line === at + 1 ? "at-fault" : ""}>${fault?.line === at + 1 ? "▸" : ""}${at + 1}</div>`)}
        <div class="gutter-end"></div>
      </div>
      <textarea id="recipe-text" class="mono" ref=${area} value=${text} readonly=${readOnly} spellcheck=${false} autocomplete="off" autocapitalize="off"
        wrap="off" rows="28" aria-invalid=${fault ? "true" : undefined} aria-describedby="recipe-fault" onScroll=${syncScroll} onKeyDown=${onKey}
        onInput=${(event) => onText(event.target.value)}></textarea>
    </div>
    <p id="recipe-fault" class=${fault ? "field-error" : "hint"} role="status">${
      fault
        ? html`<button type="button" class="link" onClick=${() => goTo(fault)}>Line ${fault.line}, column ${fault.column}</button>${fault.field && html`, at <code><${SafeText} text=${fault.field} /></code>`}:
            ${" "}<${SafeText} text=${reason} />`
        : "Valid recipe."
    }</p>
  </div>`;
}
