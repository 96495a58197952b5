import type { Counting, Delivery } from "../../runtime/transport.ts";
import type { Stored } from "./_broker.ts";
import { Handed } from "./_handed.ts";
import type { Host } from "./_world.ts";

/** Makes the delivery of a message that was just taken. */
export function deliver(host: Host, item: Stored): Handed {
  const { broker } = host.world.plan;
  const counting: Counting = {
    ...(broker.counting === "floor" && item.delivered > 1 ? { floor: item.delivered - 1 } : {}),
    ...(broker.counting === "replaces" && item.header !== undefined
      ? { replaces: item.header }
      : {}),
    ...(item.beside === undefined ? {} : { beside: item.beside }),
  };
  const delivery: Delivery = {
    queue: item.queue,
    body: item.body.slice(),
    // An object of its own for each delivery: by it a handler's call is told apart.
    headers: Object.assign(Object.create(null), item.headers),
    counting,
    ...(item.gated ? { schemaVersion: "2" } : broker.gate ? { schemaVersion: "1" } : {}),
    ...(broker.leaseMs === null ? {} : { leaseUntilMs: host.wallMs + broker.leaseMs }),
  };
  item.holder = delivery;
  return new Handed(delivery, item, host);
}
