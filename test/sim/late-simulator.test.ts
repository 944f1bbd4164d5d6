import { LATE_TITLES } from "./late-profile.ts";
import { holdsInSeeds } from "./seed-cases.ts";

holdsInSeeds("late", LATE_TITLES, 3 * LATE_TITLES.length);
