import { findsFaults } from "./fault-cases.ts";
import { PROFILE_TITLES } from "./profile.ts";
import { SOURCE_PATCHES } from "./source-patches.ts";

findsFaults("embedded", SOURCE_PATCHES, PROFILE_TITLES);
