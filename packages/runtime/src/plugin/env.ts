import type { PhaseTable } from "../phase/hook.ts";
import type { AnyStateKey } from "../state/key.ts";
import type { AnyProfileKey } from "../state/profile.ts";
import type { GateEntry } from "../tool/gate.ts";
import type { Tool } from "../tool/tool.ts";
import type { AroundTable } from "./around.ts";
import type { Plugin } from "./define-plugin.ts";
import type { Transform } from "./registrar.ts";
import type { ReadSource } from "./tool-source.ts";

/** All that an agent's plugins brought, compiled once per resolution and frozen. */
export interface Env extends PhaseTable {
  readonly plugins: readonly Plugin[];
  /** There are none but the runtime's own, which change nothing that they are given. */
  readonly isOwn: boolean;
  /** Those of them that have `onActivate`. */
  readonly activating: readonly Plugin[];
  /** Those of them that have `onBind`. */
  readonly binding: readonly Plugin[];
  readonly stateKeys: readonly AnyStateKey[];
  readonly profileKeys: ReadonlyMap<string, AnyProfileKey>;
  readonly gates: readonly GateEntry[];
  readonly tools: ReadonlyMap<string, Tool>;
  /** Those of sources, which give way to any other tool of their id. */
  readonly lateTools: ReadonlyMap<string, Tool>;
  /** The sources, as they were read for `lateTools`. */
  readonly sources: readonly ReadSource[];
  readonly arounds: AroundTable;
  readonly transforms: readonly Transform[];
  /** What is odd but no error: a section that no plugin claims, a tool of a source that was left out. */
  readonly warnings: readonly string[];
}
