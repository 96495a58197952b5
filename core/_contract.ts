/**
 * The fixed words and numbers of the wire contract.
 *
 * @module
 */

/** Version of the envelope; independent of the version of this library. Contract: C11. */
export const SCHEMA_VERSION = 1 as const;

/** What this library writes as `lang`. Contract: C7. */
export const SOURCE_LANG = "node" as const;

/** Queue of a message that names none. Contract: C89, C94. */
export const DEFAULT_QUEUE = "default";

/** Deepest nesting of containers, the root counted as 1. Contract: C68. */
export const DEEPEST_NESTING = 1000;

/** Members of `meta` that may never be written, in the order in which they are reported. Contract: C20, C22. */
export const FORBIDDEN_META: readonly string[] = ["max_retries", "attempts", "source", "ts"];

/** Members of `meta` that only the codec writes. Contract: C52. */
export const CORE_META: readonly string[] = [
  "id",
  "queue",
  "lang",
  "schema_version",
  "created_at",
];
