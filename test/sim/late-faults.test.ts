import { findsFaults } from "./fault-cases.ts";
import { LATE_PATCHES } from "./late-patches.ts";
import { LATE_TITLES } from "./late-profile.ts";

findsFaults("late", LATE_PATCHES, LATE_TITLES);
