/** A known fault: an edit of one file of the runtime. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly text: string;
  readonly instead: string;
}

const desk = "runtime/desk.ts";
const worker = "runtime/worker.ts";

/** Faults that the simulation has to find: each takes away one thing that the runtime is careful about. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: "acknowledges although the write it depends on failed",
    file: desk,
    text: `this.#conclude(held, { kind: "writeFailed" });`,
    instead: `this.#settle(held, { kind: "ack" }, "write_failed");`,
  },
  {
    name: "settles after its lease is over",
    file: desk,
    text: `    const nowMs = this.#env.clock.elapsed();
    if (held.lease?.over(nowMs)) {`,
    instead: `    const nowMs = this.#env.clock.elapsed();
    if (held.lease?.over(nowMs) && held.state === "gone") {`,
  },
  {
    name: "starts a handler on an old look at the clock",
    file: desk,
    text: `      nowMs = undefined;`,
    instead: ``,
  },
  {
    name: "settles a delivery that was lost",
    file: desk,
    text: `if (held.state !== "working") {`,
    instead: `if (held.state !== "working" && !held.lost) {`,
  },
  {
    name: "forgets to give back what shutdown catches unfinished",
    file: desk,
    text: `this.#cutOff(held, { kind: "shutdown" }, stopped());`,
    instead: `held.abort(stopped());`,
  },
  {
    name: "forgets to give back what waits for a handler",
    file: desk,
    text: `for (const held of unstarted) this.#conclude(held, { kind: "shutdown" });`,
    instead: `for (const held of unstarted) this.#leave(held);`,
  },
  {
    name: "is not woken when a handler ends",
    file: desk,
    text: `    this.#conclude(held, outcome);
    this.#wake();`,
    instead: `    this.#conclude(held, outcome);`,
  },
  {
    name: "is not woken after a receive that was rejected",
    file: worker,
    text: `void this.#backOff(error).then(() => this.#pump());`,
    instead: `void this.#backOff(error);`,
  },
  {
    name: "does not tell a handler that its message is taken away",
    file: "runtime/_held.ts",
    text: `this.#controller?.abort(this.#aborted);`,
    instead: ``,
  },
  {
    name: "is not woken when a lease is lost",
    file: desk,
    text: `error ? { cause: error } : undefined));
    this.#wake();`,
    instead: `error ? { cause: error } : undefined));`,
  },
  {
    name: "is not woken when a settle was answered",
    file: desk,
    text: `      this.#report.answered(held, verdict, cause, result);
      this.#leave(held);
      this.#wake();`,
    instead: `      this.#report.answered(held, verdict, cause, result);
      this.#leave(held);`,
  },
  {
    name: "is not woken when a settle failed",
    file: desk,
    text: `      this.#report.settleFailed(held, error);
      this.#leave(held);
      this.#wake();`,
    instead: `      this.#report.settleFailed(held, error);
      this.#leave(held);`,
  },
  {
    name: "extends a lease while it settles",
    file: desk,
    text: `    held.lease?.stop();
    held.state = "settling";`,
    instead: `    held.state = "settling";`,
  },
  {
    name: "does not keep the lease of a message whose write failed",
    file: desk,
    text: `    held.lease?.start(this.#env.clock.elapsed());
    this.#conclude`,
    instead: `    this.#conclude`,
  },
  {
    name: "receives on while it backs off",
    file: worker,
    text: `!intake.aborted && this.#backOffs === 0 && this`,
    instead: `!intake.aborted && this`,
  },
  {
    name: "goes on receiving after the end of intake",
    file: worker,
    text: `!intake.aborted && this.#backOffs === 0 && this`,
    instead: `this.#backOffs === 0 && this`,
  },
  {
    name: "ends before a receive under way has brought what it took",
    file: worker,
    text: `    if (this.#receives > 0 && !this.#over) return;`,
    instead: ``,
  },
  {
    name: "stops for good when a receive is rejected",
    file: worker,
    text: `    this.#backOffs--;`,
    instead: ``,
  },
  {
    name: "settles twice when a settle fails",
    file: desk,
    text: `if (codeOf(error) === "settle_write_failed" && cause !== "write_failed") {`,
    instead: `if (cause !== "write_failed") {`,
  },
  {
    name: "drops its holds at the end of intake",
    file: desk,
    text: `for (const held of [...this.#holding]) held.afterHold?.();`,
    instead: `for (const held of [...this.#holding]) this.#leave(held);`,
  },
  {
    name: "keeps its holds beyond the end of intake",
    file: desk,
    text: `for (const held of [...this.#holding]) held.afterHold?.();`,
    instead: ``,
  },
  {
    name: "does not count a failed delivery",
    file: "runtime/decide.ts",
    text: `    counted,
    retryPace(requestedMs, policy.retryDelay, options.retry.maxHoldMs),
    () => edited(of, { attempts: counted }),`,
    instead: `    counted,
    retryPace(requestedMs, policy.retryDelay, options.retry.maxHoldMs),
    () => edited(of, { attempts: subject.reconciled }),`,
  },
  {
    name: "retries once more than allowed",
    file: "runtime/decide.ts",
    text: `if (counted >= options.maxAttempts || codeOf(`,
    instead: `if (counted > options.maxAttempts || codeOf(`,
  },
  {
    name: "lets a handler's late result settle",
    file: desk,
    text: `if (held.state !== "working") {`,
    instead: `if (held.state !== "working" && held.state !== "settling") {`,
  },
  {
    name: "does not free the slot of a handler past its time-out",
    file: desk,
    text: `      this.#cutOff(held, { kind: "failed", error }, error);`,
    instead: `      this.#working++;
      this.#cutOff(held, { kind: "failed", error }, error);`,
  },
  {
    name: "lets a handler run past its time-out",
    file: desk,
    text: `held.deadline = deadlines.at(nowMs + timeoutMs, () => {`,
    instead: `held.deadline = deadlines.at(nowMs + timeoutMs * 1e6, () => {`,
  },
  {
    name: "renews a lease only once",
    file: "runtime/lease.ts",
    text: `      this.#overAtMs = overAtMs(untilMs, at);
      this.start(at.elapsedMs);`,
    instead: `      this.#overAtMs = overAtMs(untilMs, at);`,
  },
  {
    name: "reads a lease on the wall clock all the time",
    file: "runtime/lease.ts",
    text: `return untilMs - nowMs + elapsedMs;`,
    instead: `return untilMs;`,
  },
  {
    name: "ignores the end of the time for stopping",
    file: worker,
    text: `this.#deadlines.at(plan.endsAtMs, () => this.#overrun()),`,
    instead: `this.#deadlines.at(plan.endsAtMs, () => {}),`,
  },
  {
    name: "lets a second stop lengthen the first one's time",
    file: "runtime/shutdown.ts",
    text: `Math.min(endsAtMs, earlier?.endsAtMs ?? Infinity)`,
    instead: `endsAtMs`,
  },
  {
    name: "measures durations on the wall clock",
    file: "runtime/_deadlines.ts",
    text: `    const entry: Deadline = { atMs:`,
    instead: `    atMs += this.#clock.now() - (this.wall ??= this.#clock.now());
    const entry: Deadline = { atMs:`,
  },
  {
    name: "waits for ever for a receive that hangs",
    file: worker,
    text: `const RECEIVE_GRACE_MS = 30_000;`,
    instead: `const RECEIVE_GRACE_MS = 1e12;`,
  },
  {
    name: "waits for ever for an open that hangs",
    file: "runtime/connection.ts",
    text: `const OPEN_PATIENCE_MS = 30_000;`,
    instead: `const OPEN_PATIENCE_MS = 1e12;`,
  },
  {
    name: "waits for ever for a subscribe that hangs",
    file: worker,
    text: `const SUBSCRIBE_PATIENCE_MS = 30_000;`,
    instead: `const SUBSCRIBE_PATIENCE_MS = 1e12;`,
  },
  {
    name: "waits for ever for the answer to a settle",
    file: desk,
    text: `const SETTLE_PATIENCE_MS = 30_000;`,
    instead: `const SETTLE_PATIENCE_MS = 1e12;`,
  },
  {
    name: "runs one handler too many",
    file: desk,
    text: `this.#ready.length > 0 && this.#working < this.#concurrency`,
    instead: `this.#ready.length > 0 && this.#working <= this.#concurrency`,
  },
  {
    name: "asks for slots that were promised to another lane",
    file: worker,
    text: `Math.min(this.#desk.free, budget) - this.#promised;`,
    instead: `Math.min(this.#desk.free, budget);`,
  },
  {
    name: "does not bound the settles without an answer",
    file: desk,
    text: `Math.min(this.#concurrency, this.#largestSettling - this.#settling) - unsettled`,
    instead: `this.#concurrency - unsettled`,
  },
  {
    name: "forgets a loss that comes before the delivery",
    file: desk,
    text: `else this.#lostEarly.set(delivery, cause);`,
    instead: ``,
  },
  {
    name: "gives a handler nothing of its message's data",
    file: "runtime/handler.ts",
    text: `? body.data`,
    instead: `? {}`,
  },
  {
    name: "takes the same delivery twice",
    file: desk,
    text: `if (this.#admitted.get(held.delivery)) {`,
    instead: `if (this.#admitted.get(held.delivery) && held.lost) {`,
  },
  {
    name: "drops what it has in hand after a fatal error",
    file: worker,
    text: `return this.stop(options.shutdownTimeoutMs);`,
    instead: `return this.#overrun();`,
  },
  {
    name: "leaves a publish behind when it closes",
    file: "runtime/app.ts",
    text: `    this.#publisher.close();`,
    instead: ``,
  },
  {
    name: "leaves a timer behind when it closes",
    file: "runtime/app.ts",
    text: `    this.#deadlines.close();`,
    instead: ``,
  },
  {
    name: "leaves a listener on the user's signal",
    file: "runtime/crew.ts",
    text: `    signal?.removeEventListener("abort", stop);`,
    instead: ``,
  },
  {
    name: "says nothing when a lease is lost",
    file: desk,
    text: `    this.#report.leaseLost(held, error);
    const reason`,
    instead: `    const reason`,
  },
  {
    name: "says nothing when a message is dropped",
    file: "runtime/_reporter.ts",
    text: `        if (cause === "handled") return;
        this.#counts.dropped++;`,
    instead: `        if (cause === "handled" || cause === "failed") return;
        this.#counts.dropped++;`,
  },
  {
    name: "reports a publish without an answer as one that failed",
    file: "runtime/publisher.ts",
    text: `sent && codeOf(error) === "publish_uncertain"`,
    instead: `false`,
  },
];
