import { CONTEXT_TARGETS } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { OPERATORS } from "../pattern/tool-call-pattern.ts";

const STATUSES = ["success", "error", "pending", "any"] as const;

const fieldSchema = s.strictObject({
  /** Where in the data of the result: `error.code`, `items[*].name`. */
  path: s.string(),
  /** How the value there is compared. Default `glob`. */
  op: s.withDefault(s.enum(OPERATORS), "glob"),
  /** With what. */
  value: s.string(),
});

const outputSchema = s.strictObject({
  /** How the call ended. Default `any`. */
  status: s.withDefault(s.enum(STATUSES), "any"),
  /** A glob over the text of the result, or conditions on its data, all of which must hold. Of an error, the text is its message, or its data. */
  content: s.exactOptional(s.union([s.string(), s.strictObject({ fields: s.array(fieldSchema) })])),
});

const messageSchema = s.strictObject({
  /** Where in the prompt it stands: around the instructions, before or in the conversation, or after it. */
  target: s.enum(CONTEXT_TARGETS),
  /** What the model reads. */
  content: s.string(),
  /** Steps for which the unchanged message is not repeated. Default 0: it comes with every match. */
  cooldownSteps: s.withDefault(s.int().check(s.atLeast(0)), 0),
});

const ruleSchema = s.strictObject({
  /** Names the message: `reminder.<name>`. Default `rule-<index>-<tool>`. */
  name: s.exactOptional(s.string().check(s.notBlank())),
  /** The calls that it is about, as a tool-call pattern. */
  tool: s.string(),
  /** The results that it is about. Default `any`. */
  output: s.withDefault(s.union([s.literal("any"), outputSchema]), "any"),
  /** What the model is told with its next request. */
  message: messageSchema,
});

/** An agent's section `reminder`. */
export const reminderSectionSchema = s.strictObject({
  /** Every one that matches a result adds its message. */
  rules: s.withDefault(s.array(ruleSchema), []),
});

/** A rule as it is written: what has a default may be left out. */
export type ReminderRuleInput = s.input<typeof ruleSchema>;

/** A rule with its defaults. */
export type ReminderRule = s.output<typeof ruleSchema>;
