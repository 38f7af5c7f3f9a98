// Shapes that several modules share: what the REST API returns, and what pages and hooks pass around.
// They are global, so JSDoc comments name them without an import.

interface Session {
  loggedIn: boolean;
  id: string;
  user: string;
  name: string;
  tenant: string;
  access: Access;
  version?: string;
  /** Why the cookie alone is not enough, in the server's words. */
  note?: string;
  /** Whether this page was logged in before. */
  lost?: boolean;
  csrf?: string;
}

type Access = "read" | "edit" | "full" | "root";
type CallerKind = "human" | "ai" | "service";

/** What `ErrorBox` shows. `Problem` in lib/api.js is the usual one. */
interface ProblemFacts {
  title?: string;
  detail?: string;
  message?: string;
  hint?: string;
  rule?: string;
  code?: string;
  status?: number;
  call?: string;
  outcome?: string;
  effect?: string;
  result?: any;
  retryAfter?: number | null;
  /** Whether the page tries again by itself. */
  retrying?: boolean;
}

interface RequestOptions {
  query?: Record<string, any>;
  body?: any;
  headers?: Record<string, string>;
  /** Return the Response itself instead of its JSON. */
  raw?: boolean;
  signal?: AbortSignal;
}

interface Signal<T> {
  readonly value: T;
  set(next: T): void;
  subscribe(watcher: (value: T) => void): () => void;
}

interface Loadable<T> {
  data: T | null;
  problem: ProblemFacts | null;
  loading: boolean;
  reload: () => Promise<void>;
  setData: (next: T | ((before: T | null) => T | null)) => void;
}

/** An event of the server, such as `approval:decided`. */
interface ServerEvent {
  id: string;
  event: string;
  at: string;
  data: any;
}

/** The address of a page: /console/NAME/ID/REST?query. */
interface Place {
  name: string;
  id: string;
  rest: string[];
  query: Record<string, string>;
  path: string;
  /** Whether the address names no page. */
  first: boolean;
}

type Navigate = (path: string, options?: { replace?: boolean }) => void;

interface PageProps {
  params: Place;
  navigate: Navigate;
}

interface Column<Row = any> {
  key: string;
  title: string;
  render?: (row: Row) => any;
  class?: string;
}

interface Room {
  room: string;
  name?: string;
  title?: string;
  topic?: string;
  recipe: string;
  workspace?: string;
  direct: boolean;
  archived: boolean;
  /** Whether its recipe only records what it would refuse or ask. */
  observes?: boolean;
  /** Whether agents change drafts here, which people merge. */
  drafts?: boolean;
  unread: number;
  read?: number;
  members: Record<string, string>;
  kinds?: Record<string, CallerKind>;
}

interface Message {
  id: string;
  room: string;
  position: number;
  revision: number;
  sender: string;
  kind: CallerKind;
  onBehalfOf?: string;
  text: string;
  at: string;
  replyTo?: string;
  editedAt?: string;
  deletedAt?: string | null;
  deletedBy?: string;
  attachments?: (CallAttachment | FileAttachment)[];
}

/** A call that an AI made, shown as a card on its message. */
interface CallAttachment {
  type: "call";
  command: string;
  params?: Record<string, any>;
  state: string;
  call?: string;
  approval?: string;
  summary?: string;
  rule?: string;
  seconds?: number;
}

interface FileAttachment {
  type: "file";
  id: string;
  name: string;
  size: number;
  mediaType: string;
}

/** What a room shows. */
interface Timeline {
  messages: Message[];
  drafts: Draft[];
  /** When each member last typed, in milliseconds since 1970. */
  typing: Record<string, number>;
  /** What each persona is doing: `thinking` or `waiting`. */
  thinking: Record<string, string>;
  /** Members who have the room open; null before it is known. */
  here: string[] | null;
  /** Cursor for older messages; null at the beginning of the room. */
  older: string | null;
  /** Cursor for newer messages; null when the newest message is shown. */
  newer: string | null;
  revision: number;
}

interface Draft {
  id: string;
  sender: string;
  text: string;
  done?: boolean;
}

/** A message that this browser is sending. */
interface OutboxEntry {
  key: string;
  /** Tenant and user who wrote it. */
  by: string;
  room: string;
  text: string;
  attachments: { id: string; name: string }[];
  replyTo: string;
  /** Position of the newest message when it was written. */
  after: number;
  tries: number;
  problem: ProblemFacts | null;
  refused?: boolean;
  /** Id of the message it became. */
  message?: string;
}

interface Approval {
  id: string;
  state: "pending" | "approved" | "denied" | "expired" | "used";
  command: string;
  caller: string;
  kind?: CallerKind;
  onBehalfOf?: string;
  room?: string;
  createdAt: string;
  expiresAt: string;
  safety?: string;
  quorum: number;
  /** The exact call, as text. */
  shown?: string;
  /** The change it would make: a part of it. */
  difference?: string;
  /** Number of characters of the whole change. */
  differenceLength?: number;
  /** Offset of the next part; null at the end. */
  differenceNext?: number | null;
  linesAdded?: number;
  linesRemoved?: number;
  why?: string;
  decisions?: {
    decider: string;
    verdict: "approve" | "deny";
    at: string;
    counts: boolean;
    scope: "once" | "session" | "always";
    rule: string;
  }[];
  /** Its parameters, with secrets redacted. */
  params?: Record<string, any>;
  /** Why it was denied, or which part was merged. */
  reason?: string;
  /** Seconds for which a look holds it; 0 for not at all. */
  holdSeconds?: number;
  /** The person whose look holds it. */
  heldBy?: string;
  /** Why the current user cannot decide. */
  cannotDecide?: string;
  waitsForYou?: boolean;
  /** The execution that used the approval. */
  usedBy?: string;
}

/** A file that a draft changes. */
interface DraftFile {
  path: string;
  change: "created" | "changed" | "deleted";
  linesAdded: number;
  linesRemoved: number;
  /** Number of hunks; 0 if there is no text to compare. */
  hunks: number;
  /** What changes besides the lines. */
  note?: string;
  /** What the person's own tools would run because of it. */
  later?: string;
  mergedByLines?: boolean;
}

/** A draft's difference, as its reviewer sees it. */
interface DraftReviewFacts {
  draft: string;
  agent: string;
  /** Whether this is the difference that was submitted, not the present one. */
  submitted: boolean;
  version: string;
  files: DraftFile[];
  moreFiles: number;
  conflicts: { path: string; why: string }[];
  ignored: { total: number; first: string[] };
  git: { files: number; moves: string[]; repositories: string[] };
  notes: string[];
  lastRun?: { command: string; exitCode: number | null; output: string; at: string };
}

interface DraftHunk {
  number: number;
  linesAdded: number;
  linesRemoved: number;
  text: string;
  /** Offset of the rest of the hunk; null at its end. */
  next: number | null;
}

/** An open draft of a room. */
interface OpenDraft {
  id: string;
  name: string;
  agent: string;
  onBehalfOf: string;
  workspace: string;
  created: string;
  bytes: number;
}

interface Persona {
  id: string;
  name: string;
  bio?: string;
  model: string;
  access: Access;
  rooms: string[];
  suggestions?: string[];
  remarks?: string[];
  awaited?: string[];
  energy?: { level?: number; status?: string };
}

/** A long-running program of a room. */
interface RoomProcess {
  id: string;
  name: string;
  command: string;
  folder: string;
  room: string;
  caller: string;
  state: "running" | "ended";
  startedAt: string;
  seconds: number;
  ports?: number[];
  end?: string;
}

interface Execution {
  execution: string;
  command: string;
  state: string;
  caller: string;
  room?: string;
  startedAt: string;
  seconds: number;
  code?: string;
  cancelledBy?: string;
  fraction?: number;
  message?: string;
  next?: number;
  inside?: string;
  /** When this browser received these facts, in milliseconds since 1970. */
  heardAt?: number;
}

/** Output of an execution: its newest part, in blocks. */
interface OutputBuffer {
  /** Each starts in a style, and splits no escape sequence. */
  blocks: { id: number; stream: string; style: import("./lib/ansi.js").TextStyle; text: string }[];
  /** By stream: the style after its last block, and an escape sequence that is not complete yet. */
  streams: Record<string, { style: import("./lib/ansi.js").TextStyle; rest: string }>;
  /** Number of characters that are no longer held. */
  dropped: number;
  length: number;
  next: number;
}

/** A JSON Schema, as far as forms use it. */
interface Schema {
  [keyword: string]: any;
}

interface EnergyFacts {
  level: number;
  status: "high" | "medium" | "low" | "urgent";
  perSecond: number;
  recoveryPerSecond: number;
  spent: number;
}

interface BudgetFacts {
  scope: "conversation" | "agent" | "room";
  id: string;
  unit: "energy" | "tokens" | "dollars";
  amount: number;
  spent: number;
  left: number;
}

/** An agent that regulates its effort. */
interface AgentEffort {
  agent: string;
  energy: EnergyFacts;
  /** Its models, cheapest first, with what an answer costs. */
  models: { model: string; cost?: number | null; [fact: string]: any }[];
  /** The model that it would use now. */
  model: string;
  conversations: Record<string, number>;
  working: string[];
  subAgent: "off" | "idle" | "working" | "paused";
  pausedBy: string;
  requests: Record<string, number>;
  budgets: BudgetFacts[];
  /** When this browser received these facts, in milliseconds since 1970. */
  heardAt: number;
}

interface Conversation {
  agent: string;
  room: string;
  state: "open" | "answered" | "snoozed" | "awaiting_energy" | "out_of_budget" | "ended";
  priority: "low" | "medium" | "high";
  asker: string;
  unansweredSince: string | null;
  until: string | null;
  note: string;
  energy: number;
  tokens: number;
  dollars: number;
  budgets: BudgetFacts[];
  createdAt: string;
  updatedAt: string;
}

/** Work that was given to a sub-agent. */
interface SubAgentRequest {
  id: string;
  agent: string;
  room: string;
  kind: string;
  params: Record<string, any>;
  priority: "low" | "medium" | "high";
  state: "queued" | "in_progress" | "completed" | "failed" | "cancelled";
  progress: number;
  message: string;
  energy: number;
  error: string;
  /** The approval that it waits for. */
  ticket: string;
  createdAt: string;
  endedAt: string | null;
}

interface EnergyPoint {
  at: string;
  level: number;
}
