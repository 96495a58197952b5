/**
 * The one room that knows how each runtime tells a process to stop.
 *
 * @module
 */

export { shutdownSignal, type ShutdownSignals } from "./shutdown_signal.ts";
