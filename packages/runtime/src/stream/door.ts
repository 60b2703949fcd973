import { asItIsNow, type Late } from "@awaken/contract";

export { Door, type Late } from "@awaken/contract";

/** At once when it is there: nothing is awaited that need not be. */
export const whenThere = <T, U>(late: Late<T>, use: (value: T) => Late<U>): Late<U> =>
  late instanceof Promise ? late.then(use) : use(late);

/** What is handed in is read as it was then, also when the room comes later: it is the caller's, who may change it. */
export const withRoom = <Room, Given, T>(late: Late<Room>, given: Given, use: (room: Room, given: Given) => T | Promise<T>): Late<T> => {
  if (!(late instanceof Promise)) return use(late, given);
  const now = asItIsNow(given);
  return late.then((room) => use(room, now));
};
