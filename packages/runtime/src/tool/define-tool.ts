import {
  AwakenError,
  checkOptions,
  copyJson,
  freezeJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  needed,
  type PartRules,
  partRule,
  RULES,
  reading,
  type Schema,
  shorten,
  toJson,
  toJsonSchema,
  type Validated,
  validate,
} from "@awaken/contract";
import type { HookScene } from "../phase/hook.ts";
import { type AnyStateKey, isKeyList } from "../state/key.ts";
import type { Bounds } from "../stream/bounds.ts";
import { allow } from "./allow.ts";
import { checkedReply } from "./checked-reply.ts";
import type { JsonOnly } from "./json-only.ts";
import { Reply } from "./plain-reply.ts";
import type { PreparedCall, Reconciled, Tool, ToolContext, ToolReply } from "./tool.ts";
import { toolData } from "./tool-data.ts";
import { guessToolKind, TOOL_KINDS, type ToolKind } from "./tool-kind.ts";
import type { Verdict } from "./verdict.ts";

export interface ToolInit<I, O> {
  /** The name by which the model calls it. */
  readonly id: string;
  /** When and how to use it, for the model. */
  readonly description: string;
  /** Checks what the model wrote, and gives `execute` its type. What does not fit is told to the model. */
  readonly input: Schema<I>;
  /** Checks what `execute` returns; what does not fit is a failed result. */
  readonly output?: Schema<O>;
  /** Does the work. What it returns is the result; what it throws is a failure that the model reads. */
  execute(input: NoInfer<I>, context: ToolContext): O | Reply | Promise<O | Reply>;
  /** Decides on the checked input whether the call may run, must ask, or is refused. */
  approve?(input: NoInfer<I>, scene: HookScene): Verdict | Promise<Verdict>;
  /** After a crash: did the effect of this call happen? */
  reconcile?(input: NoInfer<I>, context: ToolContext): Reconciled | Promise<Reconciled>;
  /** Running it twice with one `idempotencyKey` does it once: after a crash it is simply run again. Default false. */
  readonly idempotent?: boolean;
  /** It changes nothing outside: no claim is written before it runs, and it may run again. Default false. */
  readonly pure?: boolean;
  /** After this the call has failed, and its signal is aborted. Default: none. */
  readonly timeoutMs?: number;
  /** What gates and policies decide by. Default: guessed from the id. */
  readonly kind?: ToolKind;
  /** Default false. True for a tool that the program found, e.g. on another server, and does not know by type. */
  readonly dynamic?: boolean;
  /** For catalogues that group tools; the model does not see it. */
  readonly category?: string;
  /** For whoever lists tools; the model does not see it. */
  readonly metadata?: JsonObject;
  /** JSON Schema of the input, when the schema library cannot give it. */
  readonly parameters?: JsonObject;
  /** State keys that the tool reads and updates: they come with it, and no plugin has to register them. */
  readonly state?: readonly AnyStateKey[];
}

const ID = /^[^\s\p{Cc}]{1,128}$/u;

const INIT: PartRules<ToolInit<unknown, unknown>> = {
  id: needed(partRule("1 to 128 characters without spaces", (id) => typeof id === "string" && ID.test(id))),
  description: needed(RULES.text),
  input: needed(RULES.schema),
  output: RULES.schema,
  execute: needed(RULES.code),
  approve: RULES.code,
  reconcile: RULES.code,
  idempotent: RULES.flag,
  pure: RULES.flag,
  timeoutMs: partRule("a number above 0", (ms) => typeof ms === "number" && ms > 0),
  kind: RULES.oneOf(...TOOL_KINDS),
  dynamic: RULES.flag,
  category: RULES.text,
  metadata: RULES.any,
  parameters: RULES.any,
  state: partRule("a list of keys made with defineState", isKeyList),
};

/** Tools are told apart by their ids, also in messages about them. */
function checkInit(init: unknown): void {
  const id: unknown = reading("invalid_tool", "a tool", () => (isJsonObject(init) ? Reflect.get(init, "id") : undefined));
  checkOptions("invalid_tool", typeof id === "string" ? `tool '${shorten(id)}'` : "defineTool", init, INIT);
}

/** A call of a tool that was declared here. */
class DefinedCall<I, O> implements PreparedCall {
  readonly #tool: ToolInit<I, O>;
  readonly #input: I;
  readonly #bounds: Bounds | undefined;

  constructor(tool: ToolInit<I, O>, input: I, bounds: Bounds | undefined) {
    this.#tool = tool;
    this.#input = input;
    this.#bounds = bounds;
  }

  get input(): JsonValue {
    return toJson(this.#input);
  }

  async approve(scene: HookScene): Promise<Verdict> {
    return this.#tool.approve === undefined ? allow() : this.#tool.approve(this.#input, scene);
  }

  async execute(context: ToolContext): Promise<ToolReply> {
    const { id, output } = this.#tool;
    const returned = await this.#tool.execute(this.#input, context);
    if (returned instanceof Reply) return returned;
    // Never behind a door: what was done must not fail because a file is gone.
    return output === undefined
      ? new Reply({ type: "success", data: toolData(id, returned) }, undefined)
      : checkedReply(id, output, returned, this.#bounds);
  }

  async reconcile(context: ToolContext): Promise<Reconciled> {
    return this.#tool.reconcile === undefined ? { type: "unknown" } : this.#tool.reconcile(this.#input, context);
  }
}

/** Declares a tool. Types of input and output come from the schemas; code that is generic in its output takes a `ToolInit<I, unknown>`. */
/* @__NO_SIDE_EFFECTS__ */
export function defineTool<I, O>(init: ToolInit<I, O> & JsonOnly<O>): Tool {
  checkInit(init);
  let descriptor: Tool["descriptor"] | undefined;
  const accept = (checked: Validated<I>, bounds: Bounds | undefined): Validated<PreparedCall> =>
    checked.type === "valid" ? { type: "valid", value: new DefinedCall(init, checked.value, bounds) } : checked;
  return {
    id: init.id,
    get descriptor() {
      descriptor ??= describe(init);
      return descriptor;
    },
    traits: {
      kind: init.kind ?? guessToolKind(init.id),
      runsAt: "server",
      dynamic: init.dynamic ?? false,
      idempotent: init.idempotent ?? false,
      pure: init.pure ?? false,
      canApprove: init.approve !== undefined,
      canReconcile: init.reconcile !== undefined,
      timeoutMs: init.timeoutMs,
    },
    ...(init.state === undefined ? {} : { state: Object.freeze([...init.state]) }),
    prepare(input, bounds) {
      const checked = validate(init.input, input ?? {});
      return checked instanceof Promise ? checked.then((result) => accept(result, bounds)) : accept(checked, bounds);
    },
  };
}

/** Whoever declared the tool keeps his; this one models and hooks are shown. */
function ownJson(given: JsonObject): JsonObject {
  const own = copyJson(given);
  freezeJson(own);
  return own;
}

function describe<I, O>(init: ToolInit<I, O>): Tool["descriptor"] {
  const parameters = init.parameters ?? toJsonSchema(init.input);
  if (!isJsonObject(parameters)) throw new AwakenError("invalid_tool", `tool '${init.id}': parameters must be a JSON Schema object`);
  return Object.freeze({
    id: init.id,
    description: init.description,
    parameters: ownJson(parameters),
    ...(init.category === undefined ? {} : { category: init.category }),
    ...(init.metadata === undefined ? {} : { metadata: ownJson(init.metadata) }),
  });
}
