/**
 * What every launcher gives: one running broker, whichever it is.
 *
 * @module
 */

import { requireOrSkip } from "../harness.ts";

/** A broker that answers. */
export interface RunningBroker {
  /** Where it listens; the first node of a cluster. */
  readonly url: string;
  /** Its port on 127.0.0.1; the first node's. */
  readonly port: number;
  /** Ports of all its nodes. */
  readonly ports: readonly number[];
  /** Whether it was started here. The verbs below reject for a broker that the environment named. */
  readonly owned: boolean;
  /**
   * Ends it in order, or starts it again after {@linkcode kill}, on the same port, and resolves when
   * it answers. What was stored is there again only when it was started as persistent.
   */
  restart(): Promise<void>;
  /** Kills it with SIGKILL and leaves it down. */
  kill(): Promise<void>;
  /** Freezes it with SIGSTOP: connections stay open, nothing is answered. */
  pause(): Promise<void>;
  /** Lets a frozen one go on. */
  resume(): Promise<void>;
  /** Ends it and removes what it wrote. A broker that the environment named is left alone. */
  stop(): Promise<void>;
}

/** A broker cannot be had on this machine; the message says what is missing. */
export class BrokerAbsentError extends Error {
  override readonly name: string = "BrokerAbsentError";
}

/**
 * Says whether the tests of a broker have to be skipped, for `ignore` of a test. What may be
 * installed without asking is installed on the way.
 *
 * @param name The broker, for the message.
 * @param find Finds its program; rejects with {@linkcode BrokerAbsentError} when there is none.
 */
export async function absent(name: string, find: () => Promise<unknown>): Promise<boolean> {
  try {
    await find();
    return requireOrSkip(name, true, "");
  } catch (error) {
    if (!(error instanceof BrokerAbsentError)) throw error;
    return requireOrSkip(name, false, error.message);
  }
}

/** A broker that somebody else runs: used, never touched. */
export function foreignBroker(url: string, variable: string): RunningBroker {
  const port = Number(new URL(url).port);
  const refuse = (verb: string) => (): Promise<never> =>
    Promise.reject(new Error(`Cannot ${verb} the broker at '${url}': ${variable} named it`));
  return {
    url,
    port,
    ports: [port],
    owned: false,
    restart: refuse("restart"),
    kill: refuse("kill"),
    pause: refuse("pause"),
    resume: refuse("resume"),
    stop: () => Promise.resolve(),
  };
}
