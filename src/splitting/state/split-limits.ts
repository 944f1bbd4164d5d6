import { MAX_ROUTES_PER_GROUP } from "../../core/limits.ts";

/** Bounds of a brokered split, each with its reason. */

/** A workload reads few queues; with all else bounded, so many keep the document within a row. */
export const MAX_SOURCES = 16;
/** Of one queue: as many as a group of a Fairlane topic may have, and as many shadows as its pool holds. */
export const MAX_ROUTES_PER_QUEUE = MAX_ROUTES_PER_GROUP;
/** The application's shadow, a fence and a checkpoint for each queue, and its pool of route shadows. */
export const MAX_RESOURCES = MAX_SOURCES * (3 + MAX_ROUTES_PER_QUEUE);
/** As long as a Kubernetes name can be that is used as a label. */
export const MAX_LABEL_CHARS = 63;
/** Leaves a resource's name twelve characters of its queue's. */
export const MAX_PREFIX_CHARS = 16;
export const MAX_WORKLOAD_CHARS = 128;
/** RabbitMQ allows 255 bytes, Kafka 249. */
export const MAX_SOURCE_NAME_CHARS = 255;
/** Of a checkpoint and of a frontier each: positions of some hundred partitions. */
export const MAX_POSITION_BYTES = 16 * 1024;
export const MAX_SPLIT_ID_CHARS = 64;
/** Of a reason that is stored: a sentence for people, not a dump. */
export const MAX_REASON_CHARS = 500;
/** Of what an agent says it saw. It is not stored. */
export const MAX_EVIDENCE_CHARS = 2000;
/** Half of what a row may hold, since a reader of a newer version may want to add to it. */
export const MAX_DOCUMENT_BYTES = 1_000_000;
/** Generations and epochs grow by one: nothing real ever comes near, and sums of them stay exact. */
export const MAX_GENERATION = 2 ** 52;
