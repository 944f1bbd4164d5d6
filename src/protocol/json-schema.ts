import { z } from "zod";

export type Json = Record<string, unknown>;

const DEFS = "#/$defs/";
const COMPONENTS = "#/components/schemas/";

/**
 * JSON Schema as OpenAPI 3.1 takes it in: its dialect is the same, named once by the document. Schemas with an `id`
 * are collected, and referred to.
 */
export class SchemaCollection {
  readonly components: Record<string, Json> = {};

  /** `input`: what a caller may send. `output`: what is answered. */
  of(schema: z.ZodType, io: "input" | "output"): Json {
    const made = z.toJSONSchema(schema, {
      target: "draft-2020-12",
      io,
      unrepresentable: "any",
      override: ({ jsonSchema }) => rewrite(jsonSchema as Json),
    });
    const { $schema: _, $defs = {}, ...plain } = withComponentRefs(made) as Json & { $defs?: Json };
    for (const [id, found] of Object.entries($defs)) this.collect(id, found as Json);
    return plain;
  }

  private collect(id: string, schema: Json): void {
    const known = this.components[id];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are called ${id}`);
    }
    this.components[id] = schema;
  }
}

/** One of several objects that share most of their properties, as metadata of an object's schema. */
interface Variant {
  title: string;
  /** The property that makes it this one. */
  required: string;
  without: string[];
}

/** What metadata says in other words than JSON Schema's. */
function rewrite(schema: Json): void {
  const { override, variants, ...rest } = schema as Json & { variants?: Variant[] };
  // A value that is text in a query stands for another type: the schema says so under `override`.
  if (override !== undefined) replace(schema, { ...rest, ...(override as Json) });
  else if (variants !== undefined)
    replace(schema, { oneOf: variants.map((variant) => variantOf(rest, variant)) });
}

function replace(schema: Json, by: Json): void {
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, by);
}

function variantOf(schema: Json, { title, required, without }: Variant): Json {
  const properties = Object.entries(schema.properties as Json).filter(([name]) => !without.includes(name));
  const others = (schema.required as string[] | undefined) ?? [];
  return {
    title,
    ...schema,
    properties: Object.fromEntries(properties),
    required: [...others, required],
  };
}

function withComponentRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponentRefs);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === "$ref" && typeof inner === "string"
        ? inner.replace(DEFS, COMPONENTS)
        : withComponentRefs(inner),
    ]),
  );
}
