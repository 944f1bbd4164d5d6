import { findsFaults } from "./fault-cases.ts";
import { LATE_PATCHES } from "./late-patches.ts";

findsFaults("late", LATE_PATCHES);
