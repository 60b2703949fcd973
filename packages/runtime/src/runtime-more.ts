import { errorMessage } from "@awaken/contract";
import type { ChildRuns } from "./run/child-runs.ts";
import { LateTasks } from "./run/late-tasks.ts";
import type { More } from "./run/run-parts.ts";
import { Door, type Late, whenThere } from "./stream/door.ts";

/** Verbs on runs that are on record, and runs that a run starts. */
export const moreRoom = new Door(() => import("./run/more.ts"));

export const more: More = {
  children(...init) {
    let made: ChildRuns | undefined;
    const open = (): Late<ChildRuns> =>
      made ??
      whenThere(moreRoom.open(), (room) => {
        made ??= new room.ChildRuns(...init);
        return made;
      });
    return {
      run: async (order) => (await open()).run(order),
      find: async (id) => (await open()).find(id),
      cancel: async (ids) => {
        try {
          await (await open()).cancel(ids);
        } catch (thrown) {
          // They end as cancelled when they are claimed: their parent is over.
          const [{ log }, { runId }] = init;
          log.warn(`runs could not be told to stop: ${errorMessage(thrown)}`, { runId });
        }
      },
      tickets: async () => (await open()).tickets(),
    };
  },
  checkRoot: async (...asked) => (await moreRoom.open()).checkRoot(...asked),
  tasks: (init) => new LateTasks(init, (given) => whenThere(moreRoom.open(), ({ openTasks }) => openTasks(given))),
  tellOwner: async (...ended) => (await moreRoom.open()).tellOwner(...ended),
  withFamily: async (parts, ended) => {
    let room: Awaited<ReturnType<typeof moreRoom.open>>;
    try {
      room = await moreRoom.open();
    } catch (thrown) {
      parts.log.warn(`what the runs below used could not be read: ${errorMessage(thrown)}`, { runId: ended.runId });
      return ended;
    }
    return room.withFamily(parts, ended);
  },
  followedElsewhere: async (...left) => (await moreRoom.open()).followedElsewhere(...left),
};
