import { v7 } from "uuid";

/** Makes ids that are unique and sort by time; handed in so that tests can count instead. */
export type Ids = () => string;

export const uuidIds: Ids = () => v7();
