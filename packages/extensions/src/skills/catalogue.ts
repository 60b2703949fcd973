import { errorMessage, type Log } from "@awaken/contract";
import type { Skill, SkillSource } from "./types.ts";

const NONE: ReadonlyMap<string, Skill> = new Map();

/** All skills of all sources, sorted by id. A source that cannot tell keeps what it had. */
export class Catalogue {
  readonly #sources: readonly SkillSource[];
  readonly #last = new Map<SkillSource, readonly Skill[]>();
  readonly #told = new Set<string>();
  #skills = NONE;
  #refreshing: Promise<ReadonlyMap<string, Skill>> | undefined;
  /** Where warnings go, once somebody said so. */
  log: Log | undefined;

  constructor(sources: readonly SkillSource[]) {
    this.#sources = sources;
  }

  /** As they were when somebody looked last. */
  get skills(): ReadonlyMap<string, Skill> {
    return this.#skills;
  }

  /** Looks again. Those who look at the same time share it. Never rejects. */
  refresh(now: number): Promise<ReadonlyMap<string, Skill>> {
    this.#refreshing ??= this.#refresh(now).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(now: number): Promise<ReadonlyMap<string, Skill>> {
    const lists = await Promise.all(this.#sources.map((source) => this.#list(source, now)));
    const found = new Map<string, Skill>();
    for (const skill of lists.flat()) {
      if (found.has(skill.id)) this.warn(`duplicate_skill_id: there are two skills '${skill.id}', and the later one is left out`);
      else found.set(skill.id, skill);
    }
    this.#skills = new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
    return this.#skills;
  }

  async #list(source: SkillSource, now: number): Promise<readonly Skill[]> {
    try {
      const { skills, warnings } = await source.list(now);
      for (const warning of warnings) this.warn(warning);
      this.#last.set(source, skills);
      return skills;
    } catch (thrown) {
      this.warn(`the skills of ${source.name} cannot be listed, those known before stay: ${errorMessage(thrown)}`);
      return this.#last.get(source) ?? [];
    }
  }

  /** Each once. */
  warn(message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.log?.warn(message);
  }
}
