import { errorMessage, type RunId, type Ticket } from "@awaken/contract";
import type { OpenTasks } from "./builtin/background/open-tasks.ts";
import type { ChildEnd, ChildOrder, Children } from "./loop/children.ts";
import { isLeft } from "./loop/finish.ts";
import type { TaskScene } from "./loop/run-tasks.ts";
import type { ChildRuns } from "./run/child-runs.ts";
import { LateTasks } from "./run/late-tasks.ts";
import { moreRoom } from "./run/more-door.ts";
import type { More, RunInit } from "./run/run-parts.ts";
import { type Late, whenThere } from "./stream/door.ts";

const openTasks = (init: RunInit, scene: TaskScene): Late<OpenTasks> => whenThere(moreRoom.open(), (room) => room.openTasks(init, scene));

/** The runs that a run starts, which most runs have none of. */
class LateChildren implements Children {
  readonly #init: RunInit;
  #made: ChildRuns | undefined;

  constructor(init: RunInit) {
    this.#init = init;
  }

  async run(order: ChildOrder): Promise<ChildEnd> {
    return (await this.#open()).run(order);
  }

  ready(): Late<unknown> {
    return this.#open();
  }

  async find(id: RunId): Promise<ChildEnd | undefined> {
    return (await this.#open()).find(id);
  }

  async tickets(): Promise<readonly Ticket[]> {
    return (await this.#open()).tickets();
  }

  #open(): Late<ChildRuns> {
    return (
      this.#made ??
      whenThere(moreRoom.open(), (room) => {
        this.#made ??= new room.ChildRuns(this.#init);
        return this.#made;
      })
    );
  }
}

export const more: More = {
  children: (init) => new LateChildren(init),
  checkRoot: async (...asked) => (await moreRoom.open()).checkRoot(...asked),
  tasks: (init, scene) => new LateTasks(init, scene, openTasks),
  tellOwner: async (...ended) => (await moreRoom.open()).tellOwner(...ended),
  stopWaiting: async (parts, id) => (await moreRoom.open()).stopWaiting(await parts.all(), id),
  freed: async (...stopped) => (await moreRoom.open()).freed(...stopped),
  isReleased: async (...stopped) => (await moreRoom.open()).isReleased(...stopped),
  left: async (ended, ...run) => {
    try {
      return await (await moreRoom.open()).left(ended, ...run);
    } catch (thrown) {
      // Why it left counts for whoever tries it again; how far listeners have come does not.
      if (isLeft(ended)) return ended;
      throw thrown;
    }
  },
  withFamily: async (parts, ended) => {
    let room: Awaited<ReturnType<typeof moreRoom.open>>;
    try {
      room = await moreRoom.open();
    } catch (thrown) {
      parts.log.warn(`what the runs below used could not be read: ${errorMessage(thrown)}`, { runId: ended.runId });
      return ended;
    }
    return room.withFamily(await parts.all(), ended);
  },
  followedElsewhere: async (parts, ...left) => (await moreRoom.open()).followedElsewhere(await parts.all(), ...left),
};
