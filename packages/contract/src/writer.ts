export { composedCommit } from "./store/composed-commit.ts";
