/** Longest name of a queue, and of a header, in bytes of UTF-8. */
export const LONGEST_NAME = 255;

/** Length of a text as AMQP counts it. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Why no queue can have this name, if none can. */
export function nameTrouble(queue: string): string | undefined {
  // No character of UTF-16 takes more than three bytes.
  if (queue !== "" && queue.length * 3 <= LONGEST_NAME) return undefined;
  const bytes = bytesOf(queue);
  if (bytes > 0 && bytes <= LONGEST_NAME) return undefined;
  return `its name has ${bytes} bytes, and RabbitMQ takes 1 to ${LONGEST_NAME}`;
}
