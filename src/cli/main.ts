import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// What Node made of the program's files is kept for the next run: most of a short run is that. Older ones cannot, and
// where the folder cannot be written the run is only slower.
module.enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "fairlane"));

const { run } = await import("./command-line.ts");
const exitCode = await run(process);
// Connections are kept open for more calls: there are none.
process.exit(exitCode);
