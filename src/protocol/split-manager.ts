import { z } from "zod";
import { DEFAULT_ROUTE_TTL_MS, MAX_ROUTE_TTL_MS, MIN_ROUTE_TTL_MS } from "../core/limits.ts";
import { nameProblem } from "../core/names.ts";
import { isLabel } from "../splitting/state/names.ts";
import {
  MAX_LABEL_CHARS,
  MAX_PREFIX_CHARS,
  MAX_RESOURCES,
  MAX_SOURCE_NAME_CHARS,
  MAX_SOURCES,
  MAX_WORKLOAD_CHARS,
} from "../splitting/state/split-limits.ts";
import { atTime, flagText, integer } from "./fields.ts";
import { filterFieldOf, filterReplyOf } from "./filters.ts";

/** Brokered splits: what the HTTP API of their managers takes and answers. */

const LABEL_PATTERN = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

function label(maxChars: number) {
  return z
    .string("must be a string")
    .refine((text) => isLabel(text, maxChars), {
      error: `must be a label of at most ${maxChars} of a to z, 0 to 9 and -, which does not begin or end with -`,
    })
    .meta({ pattern: LABEL_PATTERN, minLength: 1, maxLength: maxChars });
}

/** As the names of topics are: a Kubernetes name, or a namespace and a name with a dot between. */
export const workloadName = z
  .string("must be a string")
  .superRefine((text, context) => {
    const problem = nameProblem(text, MAX_WORKLOAD_CHARS);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .meta({
    pattern: "^[a-z0-9][a-z0-9._-]*$",
    minLength: 1,
    maxLength: MAX_WORKLOAD_CHARS,
    description: "What runs the application whose queues are split",
  });

const queue = label(MAX_LABEL_CHARS);
const PRINTABLE = "^[^\\p{Cc}\\p{Cs}]+$";
const sourceName = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(MAX_SOURCE_NAME_CHARS, `must have at most ${MAX_SOURCE_NAME_CHARS} characters`)
  .refine((text) => new RegExp(PRINTABLE, "u").test(text), { error: "must not hold control characters" })
  .meta({ pattern: PRINTABLE, description: "The broker's own name of the queue or topic" });
const provider = z.enum(["rabbitmq", "kafka"], "must be rabbitmq or kafka");

/** Of every resource that a split makes on a broker, where nobody chose another. */
const DEFAULT_PREFIX = "fairlane";

export const putSplitRequest = z.strictObject({
  prefix: label(MAX_PREFIX_CHARS)
    .default(DEFAULT_PREFIX)
    .meta({ description: "The names of all that is made on the broker begin with it" }),
  sources: z
    .array(
      z.strictObject(
        {
          queue: queue.meta({ description: "What the configuration calls it; unique within the workload" }),
          provider,
          sourceName,
        },
        { error: ({ code }) => (code === "invalid_type" ? "must be an object" : undefined) },
      ),
      "must be a list",
    )
    .min(1, "must not be empty")
    .max(MAX_SOURCES, `must have at most ${MAX_SOURCES} sources`),
});

export const deleteSplitQuery = z.strictObject({
  force: flagText
    .optional()
    .meta({ description: "Also while resources are left behind that nobody has looked at" }),
});

export const resumeSplitRequest = z.strictObject({
  makeAgain: z
    .array(label(MAX_LABEL_CHARS), "must be a list")
    .max(MAX_RESOURCES, `must have at most ${MAX_RESOURCES} names`)
    .optional()
    .meta({
      description:
        "Names of shadows among `resources` that were deleted by hand and are to be made again: what was in them is lost",
    }),
});

const resourceKind = z.enum(["app-shadow", "route-shadow", "fence", "checkpoint"]);

export const splitRouteReply = z
  .strictObject({
    route: z.string(),
    queue: z.string(),
    filter: filterReplyOf("kafka"),
    ttlMs: z.int().min(0),
    expiresAt: atTime.meta({ description: "Unless it is renewed" }),
    state: z.enum(["active", "draining"]).meta({
      description: "draining: it has ended, and what is left in its shadow goes to the application's",
    }),
    shadow: z
      .string()
      .nullable()
      .meta({ description: "The queue or topic to consume from; null: it is not there yet" }),
  })
  .meta({ id: "SplitRoute", description: "A route of a brokered split" });

export const splitRoutesReply = z.strictObject({
  routes: z.array(splitRouteReply).meta({ description: "In order of their names" }),
});

export const splitReply = z
  .strictObject({
    workload: z.string(),
    phase: z.string().meta({
      description: "Where it is; `Degraded`: it is held, and goes on in `resumePhase` after a resume",
    }),
    resumePhase: z.string().optional(),
    reason: z.string().optional().meta({ description: "Why it is held" }),
    nextSafeAction: z.string().meta({ description: "What a person can do now without harm" }),
    generation: z.int().min(0).meta({ description: "Grows by one with each change" }),
    agent: z.strictObject({
      connected: z
        .boolean()
        .meta({ description: "The queue agent that may act is there, and was heard of lately" }),
      epoch: z.int().min(0).meta({ description: "Of the last agent; every older one is fenced for good" }),
    }),
    prefix: z.string().nullable(),
    sources: z.array(z.strictObject({ queue: z.string(), provider: z.string(), sourceName: z.string() })),
    routes: z.array(splitRouteReply),
    resources: z
      .array(
        z.strictObject({
          kind: resourceKind,
          queue: z.string(),
          name: z.string(),
          state: z.enum(["recorded", "created", "deleting"]),
        }),
      )
      .meta({ description: "All that may exist on brokers because of this split" }),
    retained: z
      .array(z.strictObject({ kind: resourceKind, queue: z.string(), name: z.string(), reason: z.string() }))
      .meta({ description: "Left behind since its delete could not be proved to be safe" }),
    deadlineAt: atTime.nullable().meta({ description: "When it is held unless the phase has ended" }),
  })
  .meta({ id: "Split", description: "A workload's brokered split" });

export const putSplitRouteRequest = z.strictObject({
  queue,
  // The widest dialect of a broker: what one of them does not have is refused where the queue is known.
  filter: filterFieldOf("kafka"),
  ttlMs: integer(MIN_ROUTE_TTL_MS, MAX_ROUTE_TTL_MS)
    .default(DEFAULT_ROUTE_TTL_MS)
    .meta({ description: "The route ends when it was not put again for so many milliseconds" }),
});

export type SplitView = z.output<typeof splitReply>;
export type SplitRouteView = z.output<typeof splitRouteReply>;
export type ResumeSplitInput = z.output<typeof resumeSplitRequest>;
export type PutSplitInput = z.output<typeof putSplitRequest>;
export type PutSplitRouteInput = z.output<typeof putSplitRouteRequest> & { route: string };
