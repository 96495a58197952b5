/** Finds free ports. */

import { createServer } from "node:net";

/**
 * Ports are drawn below the range that the system gives to clients (32768 and up on Linux): a client
 * that keeps trying to reach a server which is down would sooner or later get that very port as its
 * own and be connected to itself.
 */
const FIRST = 12_000;
const COUNT = 10_000;
const TRIES = 200;

/** Whether nobody listens on a port of 127.0.0.1. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}

/**
 * A port from 12000 to 21999 that nobody listens on. Another process may take it before the server
 * does; whoever starts a server tries again then.
 *
 * @param offsets Distances from it to further ports that must be free as well.
 */
export async function freePort(offsets: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const free = await Promise.all([0, ...offsets].map((offset) => isFree(port + offset)));
    if (free.every((one) => one)) return port;
  }
  throw new Error(`Cannot find a free port: ${TRIES} from ${FIRST} up were taken`);
}
