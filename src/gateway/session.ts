import { randomUUID } from "node:crypto";
import { z } from "zod";

/** Opaque to clients, which send back what they got last. */
export const sessionSchema = z.object({
  vitessSession: z.object({
    autocommit: z.literal(true),
    SessionUUID: z.string().max(64),
    inTransaction: z.literal(true).optional(),
    /** Key of the open transaction. */
    transaction: z.string().max(64).optional(),
  }),
});

export type Session = z.infer<typeof sessionSchema>;

export function newSession(): Session {
  return { vitessSession: { autocommit: true, SessionUUID: randomUUID() } };
}

/** Body of Execute. Names that are not ours are ignored, as PlanetScale does. */
export const executeSchema = z.object({
  query: z.string().refine((text) => text.isWellFormed(), "lone surrogate"),
  session: sessionSchema.nullish(),
});
