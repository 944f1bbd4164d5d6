import { holdsInSeeds } from "./seed-cases.ts";

holdsInSeeds("embedded", 300);
