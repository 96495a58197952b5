/**
 * What a test of an application, or of a transport, needs: a clock that stands still, a recorder of
 * events, any bytes on a queue, a run that throws what handlers threw, and the suite that every
 * transport passes.
 *
 * @module
 */

export { type FakeClock, fakeClock } from "./fake_clock.ts";
export {
  type EventOf,
  type EventType,
  type Recorder,
  recorder,
  type WaitForOptions,
} from "./recorder.ts";
export { inject, type InjectOptions } from "./inject.ts";
export { drain, type DrainOptions } from "./drain.ts";
export {
  type HarnessTransportOptions,
  type SuiteFeatures,
  type TestFunction,
  testTransport,
  type TransportHarness,
} from "./suite/test_transport.ts";
