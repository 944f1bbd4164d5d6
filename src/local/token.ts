import { parseArgs } from "node:util";
import { mintToken, parseTokenRequest, SCOPES } from "./access-token.ts";
import { readSecret } from "./data-folder.ts";
import { readSettings } from "./settings.ts";
import { StartRefusal } from "./start-refusal.ts";

const USAGE = `Prints an access token for the local server, or for any server with the same AUTH_SECRET.

npm run --silent token -- --tenant acme --scope "publish consume" --ttl 1h

  --tenant   one tenant, or * for every tenant
  --scope    some of: ${SCOPES.join(" ")} (default: all)
  --ttl      how long it lasts: 90s, 15m, 1h, 7d (default: 1h)
`;

async function main(): Promise<string> {
  const { values } = readArguments();
  if (values.help) return USAGE;
  if (values.tenant === undefined) throw new StartRefusal("--tenant is missing; --help says how");
  const request = parseTokenRequest(values.tenant, values.scope, values.ttl);
  const settings = readSettings(process.env);
  const secret = settings.authSecret ?? readSecret(settings.dataDir);
  if (secret === null) {
    throw new StartRefusal(`${settings.dataDir} holds no secret yet: run npm start once, or set AUTH_SECRET`);
  }
  return `${await mintToken(secret, request, Date.now())}\n`;
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        tenant: { type: "string" },
        scope: { type: "string", default: SCOPES.join(" ") },
        ttl: { type: "string", default: "1h" },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new StartRefusal(`${error instanceof Error ? error.message : error}; --help says how`);
  }
}

try {
  process.stdout.write(await main());
} catch (error) {
  if (!(error instanceof StartRefusal)) throw error;
  process.stderr.write(`Fairlane: ${error.message}\n`);
  process.exit(1);
}
