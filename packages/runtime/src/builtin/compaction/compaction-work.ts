import type { CompactionSection, Log, Provider } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import type { InferencePolicy } from "../../inference/infer.ts";
import type { LiveRun } from "../../plugin/define-plugin.ts";
import type { Ids } from "../../stream/ids.ts";

export interface CompactionInit {
  readonly policy: ContextPolicy;
  /** Writes the summaries. */
  readonly provider: Provider;
  /** The agent's model, for summaries too unless the section names another. */
  readonly model: string;
  readonly ids: Ids;
  /** How stubborn a summary is tried for. */
  readonly inference?: InferencePolicy;
  readonly log?: Log;
}

/** What the work on the conversations of an agent begins with. */
export interface CompactionWork extends CompactionInit {
  readonly section: CompactionSection;
  /** Those that are at work. */
  readonly runs: ReadonlySet<LiveRun>;
}
