import { isJsonObject, type JsonObject } from "@awaken/contract";
import * as s from "@awaken/contract/schema";

/** An agent's part: which skills it has. */
export const skillsSectionSchema = s.strictObject({
  /** Ids of the skills that the agent has; left out, all of them. */
  allowlist: s.exactOptional(s.array(s.string())),
  /** The same, by its other name. */
  ids: s.exactOptional(s.array(s.string())),
});

const SECTION = "skills";

/** The skills that an agent may have; undefined is all. Read from its spec, because tools are shared by agents. */
export function allowedSkills({ sections }: { readonly sections: JsonObject }): readonly string[] | undefined {
  const section = sections[SECTION];
  if (!isJsonObject(section)) return undefined;
  const list = section["allowlist"] ?? section["ids"];
  return Array.isArray(list) ? list.map(String) : undefined;
}
