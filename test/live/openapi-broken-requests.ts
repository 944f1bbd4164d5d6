import fc from "fast-check";
import type { Contract, DocumentedOperation, Parameter, Schema } from "./openapi-document.ts";
import { faultsOf, ODD_TEXTS, shown } from "./openapi-faults.ts";
import { type Request, requestsOf, searchOf, type Twist } from "./openapi-request.ts";

/** A request in which exactly one thing is wrong, and where the reply has to say so. */
export interface BrokenRequest {
  what: string;
  request: Request;
  twist: Twist;
  path: string;
  orBeside?: string;
}

/** Everything that can be there, about things that are there. */
export function wholeRequest(
  contract: Contract,
  operation: DocumentedOperation,
  names: Record<string, string>,
): Request {
  const [request] = fc.sample(requestsOf(contract, operation, true), { numRuns: 1, seed: 5 });
  if (request === undefined) throw new Error(`no request for ${operation.operationId}`);
  const params = Object.fromEntries(Object.keys(request.params).map((name) => [name, names[name] ?? ""]));
  return { ...request, params };
}

/** Each thing of a valid request wrong in turn, by what the document says of it. */
export function brokenRequests(
  contract: Contract,
  operation: DocumentedOperation,
  request: Request,
): BrokenRequest[] {
  const broken = [
    ...brokenParams(contract, operation),
    ...brokenQueries(contract, operation, request),
    ...brokenHeaders(contract, operation),
    ...brokenBodies(contract, operation),
  ];
  return broken.map((one) => ({ request, twist: {}, ...one }));
}

type Broken = Omit<BrokenRequest, "request" | "twist"> & Partial<BrokenRequest>;

function parametersIn(operation: DocumentedOperation, place: Parameter["in"]): Parameter[] {
  return operation.parameters.filter((parameter) => parameter.in === place);
}

/** Not UTF-8 once decoded. */
const NOT_UTF8 = ["%ff", "%C3", "%ED%A0%80"];

/** The tenant is looked up whatever its shape: the tests of who may call have it. */
function brokenParams(contract: Contract, operation: DocumentedOperation): Broken[] {
  return parametersIn(operation, "path")
    .filter(({ name }) => name !== "tenant")
    .flatMap(({ name, schema }) =>
      // Without a name it would be another path.
      [...oddTexts(contract, schema).filter((text) => text !== "" && text !== "."), ...NOT_UTF8].map(
        (text): Broken => ({
          what: `${name} ${shown(text)}`,
          twist: { params: { [name]: NOT_UTF8.includes(text) ? text : encodeURIComponent(text) } },
          path: name,
        }),
      ),
    );
}

/** What can be sent in an address, and is not valid. */
function oddTexts(contract: Contract, schema: Schema): string[] {
  return ODD_TEXTS.filter((text) => text.isWellFormed() && !contract.isValid(schema, text));
}

const MAX_QUERY_PARAMETERS = 50;

function brokenQueries(contract: Contract, operation: DocumentedOperation, { query }: Request): Broken[] {
  const parameters = parametersIn(operation, "query");
  const good = searchOf(query);
  const faults = parameters.flatMap(({ name, required, schema }) => {
    const { [name]: value, ...others } = query;
    const rest = searchOf(others);
    const withText = (text: string) => `${rest}${rest === "" ? "" : "&"}${name}=${text}`;
    const search = (what: string, text: string): Broken => ({
      what: `${name} ${what}`,
      twist: { search: text },
      path: name,
    });
    const twice = withText(
      `${encodeURIComponent(String(value))}&${name}=${encodeURIComponent(String(value))}`,
    );
    return [
      ...wrongTexts(contract, schema).map((text) => search(shown(text), withText(encodeURIComponent(text)))),
      ...NOT_UTF8.map((text) => search(text, withText(text))),
      search("twice", value === undefined ? withText("1&").concat(`${name}=1`) : twice),
      ...(required ? [search("left out", rest)] : []),
    ];
  });
  const end = good === "" ? "" : `${good}&`;
  const many = Array.from({ length: MAX_QUERY_PARAMETERS + 1 }, (_, i) => `p${i}=1`).join("&");
  return [
    ...faults,
    { what: "an unknown parameter", twist: { search: `${end}unknownParameter=1` }, path: "unknownParameter" },
    { what: "__proto__ as a parameter", twist: { search: `${end}__proto__=1` }, path: "__proto__" },
    { what: "too many parameters", twist: { search: many }, path: "" },
  ];
}

/** Texts that stand for no valid value. */
function wrongTexts(contract: Contract, schema: Schema): string[] {
  switch (schema.type) {
    case "string":
      return oddTexts(contract, schema);
    case "boolean":
      return ["", "1", "yes", "TRUE", "true "];
    case "integer": {
      const { minimum, maximum } = schema as { minimum: number; maximum: number };
      const bounds = [String(minimum - 1), `${BigInt(maximum) + 1n}`];
      return ["", "x", "1.5", "1e1", "0x1", " 1", "-0", "null", "9".repeat(30), ...bounds];
    }
    default:
      throw new Error(`no wrong texts are known for ${JSON.stringify(schema)}`);
  }
}

function brokenHeaders(contract: Contract, operation: DocumentedOperation): Broken[] {
  const header = (name: string, text: string, path = name): Broken => ({
    what: `${name}: ${shown(text)}`,
    twist: { headers: { [name]: text } },
    path,
  });
  const named = parametersIn(operation, "header").flatMap(({ name, schema, "x-decoded": decoded }) => {
    if (decoded === undefined) {
      // HTTP drops the white space around a value.
      return wrongTexts(contract, schema)
        .filter((text) => text.trim() === text)
        .map((text) => header(name, text));
    }
    const encoded = oddTexts(contract, decoded).map(encodeURIComponent);
    return [...encoded, ...NOT_UTF8, "%", "%zz", "é"].map((text) => header(name, text));
  });
  const prefixed = (operation["x-prefixed-headers"] ?? []).flatMap(({ prefix }) => [
    header(`${prefix}x-dev`, "é"),
    header(`${prefix}a\`b`, "v"),
    header(prefix.replace(/header-$/, "unknown"), "v"),
  ]);
  if (operation.requestBody === undefined) return [...named, ...prefixed];
  const coded = header("content-encoding", "gzip");
  const isRaw = "*/*" in operation.requestBody.content;
  return [...named, ...prefixed, coded, ...(isRaw ? [header("content-type", `a/${"b".repeat(254)}`)] : [])];
}

const NO_JSON: [string, string | Uint8Array][] = [
  ["half an object", "{"],
  ["two objects", "{}{}"],
  ["a word", "hello"],
  ["a byte order mark", "\uFEFF{}"],
  ["bytes that are not UTF-8", Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["nesting without end", "[".repeat(100_000)],
];

function brokenBodies(contract: Contract, operation: DocumentedOperation): Broken[] {
  const body = contract.jsonBody(operation);
  if (body === null) return operation.requestBody === undefined ? unwantedBodies(operation) : [];
  // Alternatives that share a property have the same faults in it: each is sent once.
  const faults = new Map(
    faultsOf(contract, body.schema).map((fault) => [`${fault.path} ${fault.what}`, fault]),
  );
  const texts = body.required ? [...NO_JSON, ["nothing", ""] as [string, string]] : NO_JSON;
  return [
    ...[...faults.values()].map(
      ({ what, value, ...where }): Broken => ({
        what: `${where.path === "" ? "the body" : where.path}: ${what}`,
        twist: { text: JSON.stringify(value) },
        ...where,
      }),
    ),
    ...texts.map(([what, text]): Broken => ({ what, twist: { text }, path: "" })),
  ];
}

/** Of a call that takes no body. A GET cannot be sent with one. */
function unwantedBodies({ method }: DocumentedOperation): Broken[] {
  if (method === "GET") return [];
  return [
    ...NO_JSON,
    ["a field", '{"some":1}'] as [string, string],
    ["a list", "[1]"] as [string, string],
  ].map(([what, text]) => ({ what, twist: { text }, path: "" }));
}
