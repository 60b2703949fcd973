import { makeVersion } from "./support/corpus-files.ts";
import { startServer } from "./support/databases.ts";

// Writes the records of today into a new folder of the corpus: npx node --conditions=awaken-source e2e/durability/make-corpus.ts v2

await using server = await startServer();
console.log(await makeVersion(process.argv[2] ?? "", server.url));
