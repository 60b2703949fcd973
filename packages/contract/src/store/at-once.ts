const ANSWER: unique symbol = Symbol("answer");

type AtOnce<T> = Promise<T> & { [ANSWER]?: T };

/** Fulfilled already, and says so: whoever asks with `answerOf` need not wait for it. For stores that answer at once. */
export function atOnce<T>(value: T): Promise<T> {
  const promise: AtOnce<T> = Promise.resolve(value);
  promise[ANSWER] = value;
  return promise;
}

/** What it is fulfilled with, if it says so. */
export const answerOf = <T>(promise: AtOnce<T>): T | undefined => promise[ANSWER];
