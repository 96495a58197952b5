/**
 * Typed messages: a URN and any Standard Schema.
 *
 * @module
 */

import { isBlank, trimAscii } from "../core/blank.ts";
import { BabelQueueError, InvalidPayloadError } from "../core/errors.ts";
import type { JsonObject } from "../core/envelope.ts";

/** One complaint of a Standard Schema. */
export interface StandardIssue {
  /** What is wrong. */
  readonly message: string;
  /** Where, from the root. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a Standard Schema answers. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** The Standard Schema interface, version 1: implemented by zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The standard's own properties. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A message: its URN, and the schema that types what is published and what a handler gets. */
export interface MessageDefinition<Input = JsonObject, Output = Input> {
  /** The URN. */
  readonly urn: string;
  /** The schema. */
  readonly schema: StandardSchema<Input, Output>;
}

/**
 * Defines a message. What is published is the schema's input, as given; a handler gets the schema's
 * output, so that transforms and defaults run where the message is handled.
 *
 * @param urn The URN; not blank, and without white space at its ends, which publishing would trim.
 * @param schema Any Standard Schema.
 * @returns The definition, for `publish` and `handle`.
 * @throws {BabelQueueError} `invalid_option` when the URN is blank or padded, or the schema is none.
 *
 * @example Types follow from the schema
 * ```ts
 * import { BabelQueue, defineMessage, memory } from "@bq/core";
 * import { z } from "zod";
 * import assert from "node:assert/strict";
 *
 * const OrderCreated = defineMessage("urn:babel:orders:created", z.object({ order_id: z.number() }));
 *
 * const bq = new BabelQueue(memory(), { deadLetter: true });
 * const seen: number[] = [];
 * bq.handle(OrderCreated, (order) => {
 *   seen.push(order.order_id);
 * });
 * await bq.publish(OrderCreated, { order_id: 1042 });
 * await bq.consume();
 * await bq.close();
 * assert.deepEqual(seen, [1042]);
 * ```
 */
export function defineMessage<Input, Output>(
  urn: string,
  schema: StandardSchema<Input, Output>,
): MessageDefinition<Input, Output> {
  if (typeof urn !== "string" || isBlank(urn)) {
    throw new BabelQueueError("invalid_option", `Cannot define a message: its URN is blank`);
  }
  if (trimAscii(urn) !== urn) {
    throw new BabelQueueError(
      "invalid_option",
      `Cannot define message '${urn}': a published URN has no white space at its ends`,
    );
  }
  if (!isSchema(schema)) {
    throw new BabelQueueError(
      "invalid_option",
      `Cannot define message '${urn}': the schema is not a Standard Schema`,
    );
  }
  return Object.freeze({ urn, schema });
}

function isSchema(schema: unknown): boolean {
  return typeof (schema as Partial<StandardSchema> | null | undefined)?.["~standard"]?.validate ===
    "function";
}

/** Whether something is a definition, made by hand or by `defineMessage`. */
export function isDefinition(message: unknown): message is MessageDefinition<unknown, unknown> {
  const { urn, schema } = (message ?? {}) as Partial<MessageDefinition>;
  return typeof urn === "string" && isSchema(schema);
}

/**
 * Runs a message's schema.
 *
 * @param definition The message.
 * @param value The data.
 * @returns The schema's output.
 * @throws {InvalidPayloadError} naming the first violation.
 */
export async function validate<Input, Output>(
  definition: MessageDefinition<Input, Output>,
  value: unknown,
): Promise<Output> {
  const result = await definition.schema["~standard"].validate(value);
  if (result && result.issues === undefined) return result.value;
  // A schema that answers something else has not agreed.
  const issue = result?.issues?.[0];
  throw new InvalidPayloadError(
    definition.urn,
    `${pathOf(issue)}: ${issue?.message ?? "invalid"}`,
  );
}

function pathOf(issue: StandardIssue | undefined): string {
  const parts = (issue?.path ?? []).map((part) =>
    String(typeof part === "object" ? part?.key : part)
  );
  return parts.length === 0 ? "<root>" : parts.join(".");
}
