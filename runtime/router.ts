import { isBlank } from "../core/blank.ts";
import { BabelQueueError } from "../core/errors.ts";
import type { Handler } from "./context.ts";
import { isDefinition, type MessageDefinition } from "./message.ts";
import { checkOptions, duration, flag, integer, text } from "./option_checks.ts";

/** Options of one handler. */
export interface HandleOptions {
  /**
   * The only queue it handles messages from. By default every queue the worker works on.
   *
   * @default {undefined}
   */
  readonly queue?: string;
  /**
   * Deliveries a message gets in all, the first included.
   *
   * @default {the App's maxAttempts}
   */
  readonly maxAttempts?: number;
  /**
   * Time the handler may take, in milliseconds.
   *
   * @default {the App's handlerTimeoutMs}
   */
  readonly timeoutMs?: number;
  /**
   * Whether integers beyond 2^53 in `data` arrive as `bigint` instead of rounded.
   *
   * @default {false}
   */
  readonly bigint?: boolean;
}

/** A handler and how it was registered. */
export interface Route {
  readonly urn: string;
  readonly handler: Handler<unknown>;
  readonly definition: MessageDefinition<unknown, unknown> | undefined;
  readonly queue: string | undefined;
  readonly maxAttempts: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly bigint: boolean;
}

const CHECKS = {
  queue: text,
  maxAttempts: integer(1),
  timeoutMs: duration(1),
  bigint: flag,
};

/** Finds the handler of a URN, by the exact string. Contract: C131. */
export class Router {
  readonly #routes: Map<string, Route[]> = new Map();

  /** URNs with a handler. */
  get size(): number {
    return this.#routes.size;
  }

  /** @throws {BabelQueueError} `invalid_option`, or `duplicate_handler` when a message could reach two handlers. */
  add(
    message: string | MessageDefinition<unknown, unknown>,
    handler: Handler<unknown>,
    given: HandleOptions,
  ): void {
    const definition = typeof message === "string" ? undefined : message;
    const urn = typeof message === "string" ? message : message?.urn;
    if (typeof urn !== "string" || isBlank(urn)) {
      throw new BabelQueueError("invalid_option", "Cannot add a handler: its URN is blank");
    }
    if (definition !== undefined && !isDefinition(definition)) {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot add a handler for '${urn}': the definition has no Standard Schema`,
      );
    }
    if (typeof handler !== "function") {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot add a handler for '${urn}': it is no function`,
      );
    }
    const { queue, maxAttempts, timeoutMs, bigint = false } = checkOptions(given, CHECKS);
    const routes = this.#routes.get(urn) ?? [];
    const rival = routes.find((route) =>
      route.queue === undefined || queue === undefined || route.queue === queue
    );
    if (rival) {
      throw new BabelQueueError(
        "duplicate_handler",
        `Cannot add a handler for '${urn}': it has one already${
          rival.queue === undefined ? "" : ` on queue '${rival.queue}'`
        }`,
      );
    }
    routes.push({ urn, handler, definition, queue, maxAttempts, timeoutMs, bigint });
    this.#routes.set(urn, routes);
  }

  /** The handler for `urn` on `queue`. */
  find(urn: string, queue: string): Route | undefined {
    const routes = this.#routes.get(urn);
    if (routes === undefined) return undefined;
    return routes.find((route) => route.queue === undefined || route.queue === queue);
  }
}
