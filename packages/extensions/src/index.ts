export { compileValueGlob, type ValueGlob } from "./pattern/value-glob.ts";
