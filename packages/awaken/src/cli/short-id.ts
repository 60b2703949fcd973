import { dispatchId, runId, threadId, ticketId } from "@awaken/contract";
import type { DispatchPosition, QueuePorts, RunPosition, ScopedStore, ThreadPosition } from "@awaken/contract/store";
import { CliError } from "./cli-error.ts";

const PAGE = 200;
/** Shorter ones would name nearly everything. */
const MIN_LENGTH = 4;

export const isPartOf = (part: string, id: string): boolean => part.length >= MIN_LENGTH && (id.startsWith(part) || id.endsWith(part));

async function* threadIds({ threads }: ScopedStore): AsyncGenerator<string> {
  let after: ThreadPosition | undefined;
  do {
    const page = await threads.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { id } of page.items) yield id;
    after = page.next;
  } while (after !== undefined);
}

async function* runIds({ runs }: ScopedStore): AsyncGenerator<string> {
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const run of page.items) yield run.runId;
    after = page.next;
  } while (after !== undefined);
}

const SHOWN = 3;

/** The one id that begins or ends like this. Several are an error that names some of them. */
async function onlyOne(part: string, ids: AsyncIterable<string>, what: string, isMeant = isPartOf): Promise<string | undefined> {
  if (part.length < MIN_LENGTH) return undefined;
  const found: string[] = [];
  for await (const id of ids) if (isMeant(part, id)) found.push(id);
  if (found.length < 2) return found[0];
  const some = `${found.slice(0, SHOWN).join(", ")}${found.length > SHOWN ? ", …" : ""}`;
  throw new CliError("ambiguous_id", `'${part}' is part of ${found.length} ${what}: ${some}`, "give more of the id");
}

const GENERATED = /^(?:chat-[0-9a-f]{8}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

async function* generatedOnly(ids: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const id of ids) if (GENERATED.test(id)) yield id;
}

/** The thread to go on with or to begin: only ids that nobody chose may be shortened, since another one is the name of a new thread. */
export async function threadToUse(store: ScopedStore, id: string): Promise<string> {
  if (!/^(?:chat-)?[0-9a-f-]+$/.test(id) || (await store.threads.load(threadId(id))) !== undefined) return id;
  return (await onlyOne(id, generatedOnly(threadIds(store)), "threads")) ?? id;
}

async function* openTicketIds({ runs }: ScopedStore): AsyncGenerator<string> {
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ statuses: ["waiting"], limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const run of page.items) if (run.status === "waiting") yield* run.waiting.tickets.map((ticket) => ticket.id);
    after = page.next;
  } while (after !== undefined);
}

/** The id of a ticket that is open; what is none is given back. */
export async function shortTicket(store: ScopedStore, id: string): Promise<string> {
  if ((await store.runs.listByTicket(ticketId(id))).length > 0) return id;
  return (await onlyOne(id, openTicketIds(store), "tickets")) ?? id;
}

/** The id of a thread, of which the beginning or the end is enough when no other one has it; what is no thread is given back. */
export async function shortThread(store: ScopedStore, id: string): Promise<string> {
  if ((await store.threads.load(threadId(id))) !== undefined) return id;
  return (await onlyOne(id, threadIds(store), "threads")) ?? id;
}

async function* deadLetterIds({ dispatches }: QueuePorts, part: string): AsyncGenerator<string> {
  let after: DispatchPosition | undefined;
  do {
    const page = await dispatches.listAll({ statuses: ["dead-letter"], limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { dispatchId: id, runId: run } of page.items) if (isPartOf(part, id) || isPartOf(part, run)) yield id;
    after = page.next;
  } while (after !== undefined);
}

/** The id of a dead letter, by its own or that of its run; what is none is given back. */
export async function shortDeadLetter(store: QueuePorts, id: string): Promise<string> {
  const whole = id.trim() === "" ? undefined : await store.dispatches.load(dispatchId(id));
  if (whole?.status === "dead-letter") return id;
  return (await onlyOne(id, deadLetterIds(store, id), "dead letters", () => true)) ?? id;
}

interface LetterIds {
  readonly id: string;
  readonly runId: string;
}

/** The same among those that a server lists. */
export async function shortListedLetter(letters: AsyncIterable<LetterIds>, part: string): Promise<string> {
  async function* meant(): AsyncGenerator<string> {
    for await (const { id, runId: run } of letters) if (isPartOf(part, id) || isPartOf(part, run)) yield id;
  }
  return (await onlyOne(part, meant(), "dead letters", () => true)) ?? part;
}

/** The same for a run. */
export async function shortRun(store: ScopedStore, id: string): Promise<string> {
  if ((await store.runs.load(runId(id))) !== undefined) return id;
  return (await onlyOne(id, runIds(store), "runs")) ?? id;
}
