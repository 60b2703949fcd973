/** Which packages a package may import. The one place that knows the direction between packages. */
export const PACKAGE_IMPORTS: ReadonlyMap<string, readonly string[] | "all"> = new Map<string, readonly string[] | "all">([
  ["@awaken/contract", []],
  ["@awaken/runtime", ["@awaken/contract"]],
  ["@awaken/providers", ["@awaken/contract"]],
  ["@awaken/stores", ["@awaken/contract"]],
  ["@awaken/extensions", ["@awaken/contract", "@awaken/runtime"]],
  ["@awaken/server", ["@awaken/contract", "@awaken/runtime"]],
  ["@awaken/client", ["@awaken/contract"]],
  ["@awaken/evals", ["@awaken/contract", "@awaken/runtime"]],
  ["awaken", "all"],
  ["console", ["@awaken/contract"]],
]);

/** These see other packages as types only; at run time they speak HTTP. */
export const TYPES_ONLY: ReadonlySet<string> = new Set(["console"]);

/** Entries that are not for everybody, and the files that may import them. */
export const RESERVED: ReadonlyMap<string, readonly string[]> = new Map([
  ["@awaken/contract/writer", ["packages/runtime/src/commit/land.ts"]],
]);

interface RoomRules {
  /** Rooms from top to bottom; rooms of one row may not import each other. `x/*` makes each child of `x` a room. */
  readonly rows: readonly (readonly string[])[];
  /** Files that stand beside the rooms, and the room that they belong to. */
  readonly files: Readonly<Record<string, string>>;
  /** The room of the other ones; default: each is a room of its own name, which nobody planned. */
  readonly otherFiles?: string;
  /** Folders that the rest of the package knows by one file. */
  readonly entries?: Readonly<Record<string, readonly [entry: string, late?: string]>>;
  /** Rooms that only tests may import. */
  readonly testOnly: readonly string[];
  /** Whether every file must be in a listed room. */
  readonly isClosed: boolean;
}

const RUNTIME =
  "composition mailbox relay run testing builtin resolve registry backend loop prompt inference plugin tool phase commit state stream";

const ROOMS: Readonly<Record<string, RoomRules>> = {
  "@awaken/runtime": {
    rows: RUNTIME.split(" ").map((room) => [room]),
    files: {
      "index.ts": "composition",
      "create-runtime.ts": "composition",
      "open-runtime.ts": "composition",
      "runtime-init.ts": "composition",
      "runtime-late-store.ts": "composition",
      "runtime-memory.ts": "composition",
      "runtime-more.ts": "composition",
      "runtime-parts.ts": "composition",
      "runtime-plugins.ts": "composition",
      "runtime-verbs.ts": "composition",
      "runtime-with-store.ts": "composition",
      "testing.ts": "testing",
    },
    entries: { "loop/resume": ["resume.ts", "seldom.ts"] },
    testOnly: ["testing"],
    isClosed: true,
  },
  "@awaken/server": {
    rows: [["app"], ["protocols/*"], ["routes"], ["config"], ["http"]],
    files: {
      "index.ts": "app",
      "app.ts": "app",
      "create-server.ts": "app",
      "serve.ts": "app",
      "answer.ts": "app",
      "node-listener.ts": "app",
    },
    testOnly: [],
    isClosed: true,
  },
  "@awaken/extensions": {
    rows: [["index"], ["observability"], ["skills"], ["reminder", "deferred-tools"], ["permission", "mcp", "a2a"], ["pattern", "peer"]],
    files: { "index.ts": "index" },
    testOnly: [],
    isClosed: true,
  },
  "@awaken/contract": {
    rows: [["entry"], ["http"], ["events"], ["store"], ["spec", "json-schema"], ["records"], ["schema"], ["base"]],
    files: {
      "index.ts": "entry",
      "writer.ts": "entry",
      "event-table.ts": "events",
      "json.ts": "base",
      "error.ts": "base",
      "error-table.ts": "base",
      "nearest-name.ts": "base",
      "per-object.ts": "base",
    },
    otherFiles: "records",
    testOnly: [],
    isClosed: true,
  },
  "@awaken/stores": {
    rows: [["entry"], ["conformance"], ["memory", "sqlite", "postgres"], ["sql"], ["plan"], ["claims"]],
    files: { "index.ts": "entry", "fence-errors.ts": "claims", "parcels.ts": "claims", "ports.ts": "claims", "worker-moves.ts": "claims" },
    testOnly: [],
    isClosed: true,
  },
};

function roomOf(rules: RoomRules, path: string): string {
  const [first = "", second] = path.split("/");
  if (second === undefined) return rules.files[first] ?? rules.otherFiles ?? first;
  return rules.rows.flat().includes(`${first}/*`) ? `${first}/${second}` : first;
}

const rowOf = (rules: RoomRules, room: string): number =>
  rules.rows.findIndex((row) => row.includes(room) || row.includes(room.replace(/\/.*/, "/*")));

/** What is wrong with the place of one file; paths are relative to the package's `src`. */
export function checkRoom(packageName: string, path: string): string | undefined {
  const rules = ROOMS[packageName];
  if (!rules?.isClosed) return undefined;
  const room = roomOf(rules, path);
  return rowOf(rules, room) < 0 ? `unknown room "${room}"` : undefined;
}

function checkEntry({ entries = {} }: RoomRules, from: string, to: string): string | undefined {
  for (const [folder, [entry, late]] of Object.entries(entries))
    if (to.startsWith(`${folder}/`) && !from.startsWith(`${folder}/`) && to !== `${folder}/${entry}` && to !== `${folder}/${late}`)
      return `"${folder}" is imported by its entry, ${entry} (${to})`;
  return undefined;
}

/** What is wrong with an import between two files of one package that are not tests. */
export function checkRoomImport(packageName: string, from: string, to: string): string | undefined {
  const rules = ROOMS[packageName];
  if (rules === undefined) return undefined;
  const hidden = checkEntry(rules, from, to);
  if (hidden !== undefined) return hidden;
  const [source, target] = [roomOf(rules, from), roomOf(rules, to)];
  const [sourceRow, targetRow] = [rowOf(rules, source), rowOf(rules, target)];
  if (source === target || sourceRow < 0 || targetRow < 0) return undefined;
  if (rules.testOnly.includes(target)) return `only tests import room "${target}" (${to})`;
  if (targetRow > sourceRow) return undefined;
  return `room "${source}" must not import room "${target}" ${targetRow === sourceRow ? "beside" : "above"} it (${to})`;
}
