import { findsFaults } from "./fault-cases.ts";
import { SOURCE_PATCHES } from "./source-patches.ts";

findsFaults("embedded", SOURCE_PATCHES);
