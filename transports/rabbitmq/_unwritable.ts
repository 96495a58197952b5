import type { RabbitProperties } from "./client.ts";
import { bytesOf, LONGEST_NAME } from "./_names.ts";
import { isContract } from "./project.ts";

/** Properties to try, each with fewer headers, when those that came cannot be written again: first every text and the contract's, then the contract's alone. */
export function lighterProperties(properties: RabbitProperties): readonly RabbitProperties[] {
  const headers = Object.entries(properties.headers ?? {});
  const contract = headers.filter(([name]) => isContract(name));
  const texts = headers.filter(([name, value]) => isContract(name) || typeof value === "string");
  return [texts, contract].map((kept) => ({ ...properties, headers: Object.fromEntries(kept) }));
}

/** What of the headers does not fit, where that can be told better than the client does. */
export function headerTrouble({ headers = {} }: RabbitProperties): Error | undefined {
  const name = Object.keys(headers).find((name) => bytesOf(name) > LONGEST_NAME);
  if (name === undefined) return undefined;
  return new Error(
    `the header '${name.slice(0, 32)}…' has a name of ${
      bytesOf(name)
    } bytes, and AMQP takes ${LONGEST_NAME}`,
  );
}
