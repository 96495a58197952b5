/**
 * Starts a Redis master, its replica, and a Sentinel that makes the replica the master when that one
 * is gone.
 *
 * @module
 */

import type { RunningBroker } from "./broker.ts";
import { redisProgram } from "./_redis_program.ts";
import { answers, startRedis } from "./redis.ts";
import { type Answer, RespClient } from "./resp.ts";
import { Server } from "./_server.ts";

/** Three processes that belong together. */
export interface RunningSentinel {
  /** Where the Sentinel listens. */
  readonly port: number;
  /** The name by which it knows the master. */
  readonly name: string;
  /** What was the master at the start. */
  readonly master: RunningBroker;
  /** What was its replica at the start. */
  readonly replica: RunningBroker;
  /** Port of the master that it knows now. */
  masterPort(): Promise<number>;
  /** Ends all of them. */
  stop(): Promise<void>;
}

const NAME = "orders-master";
/** A Sentinel writes into its configuration what it learns. */
const RUN = `printf '%s\\n' "$1" >sentinel.conf && exec "$2" sentinel.conf --sentinel`;

/** Starts them on free ports of 127.0.0.1; resolves when the Sentinel knows the replica. */
export async function startRedisSentinel(): Promise<RunningSentinel> {
  const program = await redisProgram("redis");
  const started: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const one of started.reverse()) await one.stop();
  };
  try {
    const master = await startRedis({ own: true });
    started.push(master);
    const replica = await startRedis({ conf: [["replicaof", `127.0.0.1 ${master.port}`]] });
    started.push(replica);
    const sentinel = await Server.start({
      name: "Redis Sentinel",
      answers,
      command: (port) => ["sh", "-c", RUN, "sh", configuration(port, master.port), program],
    });
    started.push(sentinel);
    const ask = async (...words: string[]): Promise<string[]> => {
      const client = await RespClient.connect(sentinel.port);
      try {
        return texts(await client.call("SENTINEL", ...words));
      } finally {
        await client.close();
      }
    };
    while (!(await ask("REPLICAS", NAME)).includes(`${replica.port}`)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return {
      port: sentinel.port,
      name: NAME,
      master,
      replica,
      masterPort: async () => Number((await ask("GET-MASTER-ADDR-BY-NAME", NAME))[1]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Every text of an answer, whatever is nested in what. */
function texts(answer: Answer): string[] {
  if (Array.isArray(answer)) return answer.flatMap(texts);
  return [answer instanceof Uint8Array ? new TextDecoder().decode(answer) : String(answer)];
}

/** One vote is enough, and a second without an answer makes the master count as gone. */
function configuration(port: number, master: number): string {
  return [
    `port ${port}`,
    "bind 127.0.0.1",
    `sentinel monitor ${NAME} 127.0.0.1 ${master} 1`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 10000`,
  ].join("\n");
}
