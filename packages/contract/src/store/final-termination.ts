import type { FinalTermination } from "../run.ts";
import * as s from "../schema/all.ts";
import type { Termination } from "../termination.ts";
import { terminationSchema } from "../termination-schema.ts";

const isFinal = (termination: Termination): termination is FinalTermination => termination.type !== "suspended";
export const finalTerminationSchema = s.narrow(terminationSchema, isFinal, "what is done cannot be suspended");
