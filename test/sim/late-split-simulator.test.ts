import { holdsInSeeds } from "./seed-cases.ts";
import { SUITES } from "./suites.ts";

/** The same as split-simulator.test.ts where the log is outside the object. */
holdsInSeeds("late-split", SUITES["late-split"].titles.length, false);
