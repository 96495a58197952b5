/**
 * The runtime: the App, and the types of the seam that transports implement.
 *
 * @module
 */

export { BabelQueue } from "./app.ts";
export type { ConsumeOptions, ConsumeResult, RunOptions } from "./run_options.ts";
export type { Handler, HandlerContext, Middleware } from "./context.ts";
export {
  type BabelQueueEvent,
  describeEvent,
  type DropReason,
  type EventSubject,
  type WarningCode,
} from "./events.ts";
export type { Health, QueueHealth } from "./health.ts";
export {
  defineMessage,
  type MessageDefinition,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
} from "./message.ts";
export type { BabelQueueOptions, RetryOptions, UnknownUrnStrategy } from "./options.ts";
export type { OffRoute, RetryDelay, SettlementPolicy } from "./policy.ts";
export type {
  MessageOptions,
  PublishItem,
  PublishOptions,
  PublishRawOptions,
  SendOptions,
} from "./publish_options.ts";
export type { HandleOptions } from "./router.ts";
export type * from "./transport.ts";
