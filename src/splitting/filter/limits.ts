/**
 * The bounds of a filter, each with its reason. What lies beyond them is refused as undecided, never guessed.
 */

/** Of the JSON text. Twenty routes of a group are a third of a megabyte then, which one row still holds. */
export const MAX_FILTER_BYTES = 16 * 1024;
/** As many as a person or a program writes for one developer; `in` holds long lists without more atoms. */
export const MAX_ATOMS = 256;
/** Levels of all, any and not: what reads a filter recurses, and no person nests deeper. */
export const MAX_DEPTH = 16;
/** Nodes that are looked at before the size is known: a program could hand over something endless. */
export const MAX_NODES = 1024;
/** Two filters are compared conjunction by conjunction: at most 64 times 64 pairs. */
export const MAX_CONJUNCTIONS = 64;
/** The shortest bound of the sources: a header name of AMQP has a length of one byte. */
export const MAX_NAME_BYTES = 255;
/** Code points of a text that a value is compared with: longer ones are no names of anybody. */
export const MAX_TEXT_CODE_POINTS = 1000;
/** Code points of a regular expression. */
export const MAX_EXPRESSION_CODE_POINTS = 200;
/** Of one expression's automaton. It may grow as 2 to the length: it is stopped while it grows. */
export const MAX_STATES = 500;
/** Of an expression with its counted repetitions written out: four for each state that it may end with. */
export const MAX_PROGRAM_STATES = 4 * MAX_STATES;
/** Entries of two bytes in the automata of one filter, so that the filters of a busy group stay in memory. */
export const MAX_TABLE_ENTRIES = 128 * 1024;
/** Steps to make one filter's automata: less than 100 ms. */
export const MAX_COMPILE_STEPS = 1_000_000;
/** Steps to answer one question about two filters: most often less than 100 ms, never more than some hundreds. */
export const MAX_DECISION_STEPS = 500_000;
/** Combined states in one search for a text; each is kept until the search ends. */
export const MAX_EXPLORED_STATES = 50_000;
/** A reply lists no more: a filter of a thousand mistakes must not make a reply as large. */
export const MAX_FILTER_ISSUES = 20;
