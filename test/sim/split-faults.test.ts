import { findsFaults } from "./fault-cases.ts";
import { LATE_SPLIT_PATCHES, SPLIT_PATCHES } from "./split-patches.ts";
import { SUITES } from "./suites.ts";

findsFaults("split", SPLIT_PATCHES, SUITES.split.titles.length);
findsFaults("late-split", LATE_SPLIT_PATCHES, SUITES["late-split"].titles.length);
