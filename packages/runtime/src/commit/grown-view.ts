import { foldedUpTo, GrowingView, type SequencedMessage } from "@awaken/contract/store";

/** What a model may see of the first `count` rows. */
export interface GrownView {
  readonly growing: GrowingView;
  readonly count: number;
}

/** Costs what was added since the one before, where that can be added to. */
export function grownView(log: readonly SequencedMessage[], before: GrownView | undefined): GrownView {
  const isGrown = before?.growing.append(log.slice(before.count)) === true;
  const growing = isGrown ? before.growing : new GrowingView(log.slice(foldedUpTo(log.map(({ message }) => message))));
  return { growing, count: log.length };
}
