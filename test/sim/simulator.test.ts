import { PROFILE_TITLES } from "./profile.ts";
import { holdsInSeeds } from "./seed-cases.ts";

holdsInSeeds("embedded", PROFILE_TITLES, 300);
