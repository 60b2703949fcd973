import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readHead, splitSkill } from "./front-matter.ts";
import { checkPath, readInside, resolveInside } from "./inside.ts";
import { SkillError } from "./skill-error.ts";
import { substitute } from "./substitute.ts";
import type { Skill, SkillResource } from "./types.ts";

const REFERENCE_BYTES = 256 * 1024;
const ASSET_BYTES = 512 * 1024;

async function load(root: string, given: string, kind: SkillResource["kind"] | undefined): Promise<SkillResource> {
  const { path, folder } = checkPath(given, ["references", "assets"]);
  const own = folder === "references" ? "reference" : "asset";
  if (kind !== undefined && kind !== own) throw new SkillError("unsupported_path", `'${given}' is no ${kind}`);
  const bytes = await readInside(root, path, own === "reference" ? REFERENCE_BYTES : ASSET_BYTES);
  if (own === "asset") return { kind: own, content: bytes.toString("base64") };
  try {
    return { kind: own, content: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    throw new SkillError("io_error", `'${given}' is no text in UTF-8`);
  }
}

/** A skill of one folder, from the text of its `SKILL.md`. Throws a `SkillError`. */
export function fileSkill(folder: string, root: string, text: string): Skill {
  const { head, body } = splitSkill(text);
  const { name, ...rest } = readHead(head);
  if (name !== folder.normalize("NFKC")) throw new SkillError("invalid_skill_md", `'name' is '${name}' and its folder is '${folder}'`);
  return {
    id: name,
    name,
    ...rest,
    fingerprint: createHash("sha256").update(text).digest("hex"),
    hasResources: existsSync(join(root, "references")) || existsSync(join(root, "assets")),
    hasScripts: existsSync(join(root, "scripts")),
    instruct: (args) => substitute(body, rest.arguments, args),
    load: (path, kind) => load(root, path, kind),
    findScript: async (given) => {
      const { path } = checkPath(given, ["scripts"]);
      return { path: await resolveInside(root, path), root };
    },
  };
}
