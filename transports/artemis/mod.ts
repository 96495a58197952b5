/**
 * ActiveMQ Artemis, and any AMQP 1.0 broker, for BabelQueue.
 *
 * @module
 */

export * from "./policy.ts";
