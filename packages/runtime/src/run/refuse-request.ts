import { AwakenError } from "@awaken/contract";

/** What is wrong with a request. */
export const INVALID = "invalid_activation";

export const refuse = (why: string): never => {
  throw new AwakenError(INVALID, `invalid activation: ${why}`);
};
