import type { Delivery } from "@bq/core/transport";
import type { RabbitMessage } from "./client.ts";
import { attemptsOf, textHeaders } from "./project.ts";

/** A message as the worker sees it. The count beside the body is for one that cannot be read. Contract: Q7. */
export function deliveryOf(queue: string, { content, properties }: RabbitMessage): Delivery {
  const beside = attemptsOf(properties.headers);
  return {
    queue,
    body: new Uint8Array(content.buffer, content.byteOffset, content.byteLength),
    headers: textHeaders(properties.headers),
    counting: beside === undefined ? {} : { beside },
  };
}
