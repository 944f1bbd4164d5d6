import { holdsInSeeds } from "./seed-cases.ts";
import { SUITES } from "./suites.ts";

holdsInSeeds("late", 3 * SUITES.late.titles.length);
