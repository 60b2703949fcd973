import {
  DISPATCH_STATUSES,
  type DispatchPosition,
  type DispatchStatus,
  type MessageFilter,
  type RunFilter,
  type RunPosition,
  type ThreadFilter,
  type ThreadPosition,
} from "@awaken/contract/store";

export type Value = string | number | null;

/** A WHERE clause under construction. Each `?` of a condition takes the next value; nothing else of a caller reaches the text. */
export class Conditions {
  readonly values: Value[] = [];
  readonly #mark: "?" | "$";
  readonly #parts: string[] = [];

  /** `mark` is how the engine numbers its parameters: `?1` or `$1`. */
  constructor(mark: "?" | "$") {
    this.#mark = mark;
  }

  add(condition: string, ...values: readonly Value[]): this {
    this.#parts.push(this.bind(condition, ...values));
    return this;
  }

  oneOf(column: string, values: readonly string[] | undefined): this {
    if (values === undefined) return this;
    if (values.length === 0) return this.add("1 = 0");
    return this.add(`${column} IN (${values.map(() => "?").join(", ")})`, ...values);
  }

  /** Text behind the clause, such as a LIMIT. */
  bind(text: string, ...values: readonly Value[]): string {
    let next = 0;
    return text.replaceAll("?", () => {
      this.values.push(values[next++] ?? null);
      return `${this.#mark}${this.values.length}`;
    });
  }

  get where(): string {
    return `WHERE ${this.#parts.join(" AND ")}`;
  }
}

export function threadConditions(where: Conditions, { resourceId, lineage }: ThreadFilter): Conditions {
  if (resourceId !== undefined) where.add("resource_id = ?", resourceId);
  if (lineage?.type === "root") where.add("parent_thread_id IS NULL");
  if (lineage?.type === "child-of") where.add("parent_thread_id = ?", lineage.threadId);
  return where;
}

export function afterThread(where: Conditions, after: ThreadPosition | undefined): Conditions {
  if (after === undefined) return where;
  return where.add("(updated_at < ? OR (updated_at = ? AND thread_id > ?))", after.updatedAt, after.updatedAt, after.id);
}

export function messageConditions(where: Conditions, { visibility = "all", runId, afterSeq, beforeSeq }: MessageFilter): Conditions {
  if (visibility !== "all") where.add("is_internal = ?", visibility === "internal" ? 1 : 0);
  if (runId !== undefined) where.add("run_id = ?", runId);
  if (afterSeq !== undefined) where.add("seq > ?", afterSeq);
  if (beforeSeq !== undefined) where.add("seq < ?", beforeSeq);
  return where;
}

export function runConditions(where: Conditions, { threadId, statuses, parentRunId, rootRunId }: RunFilter): Conditions {
  if (threadId !== undefined) where.add("thread_id = ?", threadId);
  if (parentRunId !== undefined) where.add("parent_run_id = ?", parentRunId);
  if (rootRunId !== undefined) where.add("root_run_id = ?", rootRunId);
  return where.oneOf("status", statuses);
}

export function afterRun(where: Conditions, after: RunPosition | undefined): Conditions {
  if (after === undefined) return where;
  return where.add("(created_at > ? OR (created_at = ? AND run_id > ?))", after.createdAt, after.createdAt, after.runId);
}

/** Of this tenant. The statuses stand in the text, for the index over dead letters. */
export function dispatchConditions(
  where: Conditions,
  statuses: readonly DispatchStatus[],
  after: DispatchPosition | undefined,
): Conditions {
  const known = DISPATCH_STATUSES.filter((status) => statuses.includes(status));
  where.add(known.length === 0 ? "1 = 0" : `(${known.map((status) => `status = '${status}'`).join(" OR ")})`);
  if (after === undefined) return where;
  return where.add("(created_at > ? OR (created_at = ? AND dispatch_id > ?))", after.createdAt, after.createdAt, after.dispatchId);
}

export const isFiltered = (filter: MessageFilter): boolean =>
  (filter.visibility ?? "all") !== "all" || filter.runId !== undefined || filter.afterSeq !== undefined || filter.beforeSeq !== undefined;
