import { describe, expect, it } from "vitest";
import { runScript, writeTree } from "./write-tree.ts";

/** A facade with one entry. */
const facade = (source: string, others: Readonly<Record<string, string>> = {}): string =>
  writeTree({
    "packages/awaken/package.json": JSON.stringify({
      name: "awaken",
      type: "module",
      exports: { ".": { "awaken-source": "./src/index.ts" } },
    }),
    "packages/awaken/src/index.ts": source,
    ...others,
  });

const check = (root: string): string[] => runScript("check-hovers.ts", root).output.trimEnd().split("\n");
const missing = (at: string, path: string): string => `packages/awaken/src/${at}: ${path} has no line of documentation`;

describe("check-hovers", () => {
  it("is content when every member has a line", () => {
    const root = facade(`
      export interface Options {
        /** How long to wait. */
        readonly timeoutMs?: number;
      }
      /** Starts it. */
      export function start(options: Options): void { void options; }
    `);
    const { status, output } = runScript("check-hovers.ts", root);
    expect({ status, output }).toEqual({ status: 0, output: "hovers: 2 members, ok\n" });
  });

  it("names members of exported types, of options, of results and of what they lead to", () => {
    const root = facade(
      `import type { Inner } from "./inner.ts";
export interface Options<T> { readonly plain: number; nested?: { readonly deep: T } }
/** Starts it. */
export function start(options: Options<Inner>, more: { readonly flag?: boolean }): Promise<readonly Result[]> { throw { options, more }; }
type Result = { readonly status: "done"; readonly text: string } | { readonly status: "failed" };
export const stop = (): void => {};
/** By phase. */
export type Facts<P extends keyof Phases> = { readonly at: number } & Phases[P];
interface Phases {
  /** The first one. */
  first: { readonly step: number };
}
`,
      { "packages/awaken/src/inner.ts": "export interface Inner { readonly last: string }\n" },
    );
    const found = check(root);
    expect(found).toEqual([
      missing("index.ts:2", "Options.plain"),
      missing("index.ts:2", "Options.nested"),
      missing("index.ts:2", "Options.nested.deep"),
      missing("index.ts:4", "start(more).flag"),
      missing("index.ts:5", "start().text"),
      missing("index.ts:6", "stop"),
      missing("index.ts:8", "Facts.at"),
      missing("index.ts:11", "Facts.step"),
      missing("inner.ts:1", "start(options).last"),
    ]);
    expect(runScript("check-hovers.ts", root).status).toBe(1);
  });

  it("leaves alone what nobody meets: private fields, tags of unions, types of others", () => {
    const root = facade(`
      /** Does it. */
      export class Worker {
        readonly #secret = { inner: 1 };
        private other = 2;
        /** When it began. */
        readonly since = new Date();
        /** What it has. */
        get all(): number { return this.#secret.inner + this.other; }
      }
      export type Part = { readonly type: "a" } | { readonly type: "b" };
    `);
    expect(check(root)).toEqual(["hovers: 3 members, ok"]);
  });
});
