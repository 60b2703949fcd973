import type { DispatchStore } from "@awaken/contract/store";
import { entry } from "./ports.ts";

/** What moves a dispatch is read as it was when it was asked for, fences too. Apart from the other ports: most programs with a store in memory move none. */
export const dispatchEntries = (port: DispatchStore): DispatchStore => ({
  ...port,
  enqueue: entry(port.enqueue),
  claim: entry(port.claim),
  claimDispatch: entry(port.claimDispatch),
  extendLease: entry(port.extendLease),
  recordStart: entry(port.recordStart),
  recordResult: entry(port.recordResult),
  ack: entry(port.ack),
  nack: entry(port.nack),
  deadLetter: entry(port.deadLetter),
  release: entry(port.release),
  supersedeClaimed: entry(port.supersedeClaimed),
  hint: entry(port.hint),
});
