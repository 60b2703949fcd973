import { folderOf, install } from "../field/install.ts";
import { QUEUES } from "./peer-list.ts";

// Installs the queues that `npm run bench:mailbox` compares us with, away from the workspace.

install(QUEUES);
console.log(`in ${folderOf(QUEUES.name)}`);
