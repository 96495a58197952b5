import {
  BabelQueueError,
  type Clock,
  type ConnectionError,
  type Peeked,
  type QueueSize,
  settledWithin,
  unlessAborted,
  within,
} from "@bq/core/transport";
import type { AmqpMessage, AmqpSession } from "./_amqp.ts";
import type { Connector } from "./_connector.ts";
import { brokerError, connectionError } from "./_errors.ts";
import { accepted, type Arrival, Receiver } from "./_receiver.ts";
import { toDelivery } from "./project.ts";

/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 10_000;
/** Where Artemis takes questions about itself. */
const MANAGEMENT = "activemq.management";
/** Who answers there; elsewhere the questions would stay in a queue of that name. */
const ANSWERING = "apache-activemq-artemis";
/** What is asked for; delayed and delivered messages are among the first. */
const COUNTS = ["messageCount", "scheduledCount", "deliveringCount"] as const;

/**
 * Looks at what waits: a browsing link gets copies, and what it does with them changes nothing.
 *
 * @throws {ConnectionError} when the link is lost meanwhile.
 */
export async function browse(
  connector: Connector,
  clock: Clock,
  queue: string,
  max: number,
): Promise<readonly Peeked[]> {
  const arrivals: Arrival[] = [];
  let lost: ConnectionError | undefined;
  const listener = {
    arrived: (arrival: Arrival): void => void arrivals.push(arrival),
    gone: (_: Receiver, error: ConnectionError): void => {
      lost = error;
    },
  };
  const mode = { distribution_mode: "copy" } as const;
  const receiver = await Receiver.open(queue, connector, listener, mode);
  try {
    let before: number;
    do {
      before = arrivals.length;
      receiver.ask(Math.min(max - before, receiver.room));
      await settledWithin(receiver.drain(), ANSWER_MS, clock);
      if (lost !== undefined) throw connectionError(`peek at '${queue}'`, lost);
      // A link holds no more than a session of what is unsettled. A copy that is released would come
      // again from ActiveMQ Classic.
      for (const arrival of arrivals.slice(before)) receiver.settle(arrival, accepted);
      // What is settled makes room a turn later.
      await clock.sleep(0);
      // A broker that reads from its disk may send less than it has.
    } while (arrivals.length > before && arrivals.length < max);
  } finally {
    await receiver.close(AbortSignal.abort());
  }
  return arrivals.map(({ received }) => {
    const { body, headers } = toDelivery(queue, received);
    return { body, headers, state: "ready" };
  });
}

/**
 * Asks the management of Artemis for the counts of a queue; they are taken one after the other.
 *
 * @throws {BabelQueueError} `unsupported` when the broker has no such management, or refuses it.
 */
export async function sizeOf(
  connector: Connector,
  clock: Clock,
  queue: string,
): Promise<QueueSize> {
  const { product } = connector;
  if (product !== undefined && product !== ANSWERING) {
    throw unsupported(queue, new Error(`it is '${product}'`));
  }
  const session = connector.session();
  const late = (): never => {
    throw connectionError(`count '${queue}'`, new Error("no answer came in time"));
  };
  try {
    const [all = 0, delayed = 0, inFlight = 0] = await within(
      ANSWER_MS,
      clock,
      undefined,
      (over) => unlessAborted(askAll(session, queue), over, late),
    );
    return { ready: Math.max(0, all - delayed - inFlight), delayed, inFlight };
  } finally {
    connector.endSession(session);
  }
}

/** One question after the other, each answered to an address that is made for them. */
function askAll(session: AmqpSession, queue: string): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const counts: number[] = [];
    const replies = session.attach_receiver({
      source: { dynamic: true },
      credit_window: COUNTS.length,
      autoaccept: true,
    });
    const questions = session.attach_sender({ target: { address: MANAGEMENT } });
    const ask = (): void => {
      const attribute = COUNTS[counts.length];
      const to = replies.source?.address;
      if (attribute === undefined || !to || !questions.target?.address) return;
      questions.send({
        reply_to: to,
        application_properties: {
          _AMQ_ResourceName: `queue.${queue}`,
          _AMQ_Attribute: attribute,
        },
      });
    };
    const refused = (): void =>
      reject(unsupported(queue, brokerError(questions.error ?? replies.error, "it was refused")));
    replies.on("receiver_open", ask);
    questions.on("sender_open", ask);
    replies.on("message", ({ message = {} }) => {
      const count = countIn(message);
      // A queue that there is not is empty.
      if (count === undefined) return resolve([]);
      if (counts.push(count) === COUNTS.length) return resolve(counts);
      ask();
    });
    questions.on("rejected", refused);
    for (const event of ["sender_error", "sender_close"]) questions.on(event, refused);
    for (const event of ["receiver_error", "receiver_close"]) replies.on(event, refused);
    for (const event of ["session_error", "session_close"]) session.on(event, refused);
  });
}

/** The answer is a JSON array in a string; undefined when the question could not be answered. */
function countIn({ body, application_properties }: AmqpMessage): number | undefined {
  if (application_properties?.["_AMQ_OperationSucceeded"] === false) return undefined;
  try {
    const [count] = JSON.parse(String(body)) as unknown[];
    return typeof count === "number" ? count : undefined;
  } catch {
    return undefined;
  }
}

function unsupported(queue: string, cause: Error): BabelQueueError {
  return new BabelQueueError(
    "unsupported",
    `Cannot count '${queue}': the broker does not answer as Artemis' management: ${cause.message}`,
    { cause },
  );
}
