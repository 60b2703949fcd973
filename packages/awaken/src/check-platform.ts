import { AwakenError } from "@awaken/contract";
import { NODE_MAJOR, nodeProblem } from "./node-version.ts";

/** Versions by name, as `process.versions` has them. */
type Versions = { readonly [name: string]: string | undefined };

/** Others than Node say a version of Node too, which is not what they are. */
const isNode = ({ bun, deno }: Versions): boolean => bun === undefined && deno === undefined;

/** Throws on a Node that is too old. Where there is no Node, there is nothing to check. */
export function checkPlatform(versions: Versions | undefined = globalThis.process?.versions): void {
  const { node } = versions ?? {};
  const problem = node !== undefined && isNode(versions ?? {}) ? nodeProblem(node) : undefined;
  if (problem !== undefined) throw new AwakenError("unsupported_platform", problem, { details: { node: node ?? "", needed: NODE_MAJOR } });
}
