import { holdsInSeeds } from "./seed-cases.ts";
import { SUITES } from "./suites.ts";

/**
 * Two developers and an application share a topic, join, crash and leave at random for minutes of simulated time: every
 * message is handled by the right party, in order, none is lost, and none comes twice but across a crash. The other
 * titles lean on what splitting may break. That a seed can be replayed, other suites show.
 */
holdsInSeeds("split", SUITES.split.titles.length, false);
