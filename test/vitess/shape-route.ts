import { tenantsOf } from "./shard-router.ts";

/** Of text: bytes are written `x'…'`. */
const LITERAL = /(?<!\bx)'(?:[^'\\]|\\.|'')*'/g;
const NUMBER = /\b\d+(?:\.\d+)?\b/g;

/**
 * A route for the gateway, as `tenantRoute`, that parses each shape of a statement once: where its tenants stand among its
 * literals does not depend on what the literals are. The parser takes some ten milliseconds, and the gateway runs in the
 * process of the test.
 */
export function shapeRoute(shardOf: (tenant: string) => number): (sql: string) => number {
  const known = new Map<string, readonly number[]>();
  return (sql) => {
    const literals = sql.match(LITERAL) ?? [];
    const shape = sql.replaceAll(LITERAL, "''").replaceAll(NUMBER, "0");
    let places = known.get(shape);
    if (places === undefined) {
      places = tenantPlaces(sql);
      known.set(shape, places);
    }
    const tenants = [...new Set(places.map((place) => literals[place]?.slice(1, -1)))];
    const [tenant] = tenants;
    if (tenant === undefined || tenants.length > 1)
      throw new Error(`the statement names ${tenants.length} tenants`);
    return shardOf(tenant);
  };
}

/** Which of the statement's literals are tenants, by their place among all literals. */
function tenantPlaces(sql: string): number[] {
  let place = 0;
  const marked = sql.replaceAll(LITERAL, () => `'literal-${place++}'`);
  return tenantsOf(marked).map((tenant) => Number(/^literal-(\d+)$/.exec(tenant)?.[1]));
}
