import * as s from "../schema/all.ts";
import { Secret } from "../secret.ts";

// The pieces that several specs are made of.

export const nonBlank = s.string().check(s.notBlank());
/** What a spec is looked up by. The one name that an object cannot have as a key is refused. */
export const specId = nonBlank.check(
  s.rule((id, report) => {
    if (id === "__proto__") report(s.problem("is a reserved name"));
  }),
);
export const count = s.int().check(s.atLeast(0));
export const positive = s.int().check(s.positive());

export const jsonValue = s.json();
export const jsonMap = s.record(jsonValue);

/** The mask is what a reader was shown, so writing it back would destroy the real value. */
export const isMask = (text: string): boolean => text.trim() === Secret.MASK;
export const MASKED = "cannot be a redacted placeholder";

/** Given as text; the parse functions also take a `Secret` and hand the schema its text. */
export const secret: s.Type<Secret, string | Secret> = s.transform(
  /* @__PURE__ */ s.string().check(
    s.rule((text, report) => {
      if (isMask(text)) report(s.problem(MASKED));
    }),
  ),
  (text) => new Secret(text),
);
