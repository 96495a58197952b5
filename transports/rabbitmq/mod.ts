/**
 * RabbitMQ for BabelQueue: confirmed publishes, a pushed window, durable delays.
 *
 * @module
 */

export * from "./policy.ts";
