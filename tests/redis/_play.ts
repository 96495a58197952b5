/** Plays one history on a server, each step held against the model. */

import assert from "node:assert/strict";
import { reemit, type Verdict } from "@bq/core";
import { type Lab, latin, text } from "./lab.ts";
import { LegacyModel } from "./_legacy_model.ts";
import {
  attemptsOf,
  Bodies,
  type Choice,
  type Hand,
  type Held,
  type History,
  identityOf,
  isPoison,
  RETRY_AFTER,
  type Step,
} from "./_model.ts";
import { PeerWorker, SecondPassedError, type ThirdWorker } from "./_third_worker.ts";
import { ZsetModel } from "./_zset_model.ts";

type Model = ZsetModel | LegacyModel;

/** One history being played. */
export class Play {
  readonly hands: readonly Hand[];
  readonly model: Model;
  readonly bodies: Bodies = new Bodies();
  readonly #ended: Set<string> = new Set();
  readonly #third: ThirdWorker;
  readonly #now: number;

  constructor(labs: readonly [Lab, Lab], history: History, third: ThirdWorker, now: number) {
    const { migrationBatchSize, skew } = history;
    this.model = labs[0].options.layout === "zset"
      ? new ZsetModel(migrationBatchSize)
      : new LegacyModel(migrationBatchSize);
    this.#now = now;
    labs[0].now = now;
    labs[1].now = now + skew;
    this.hands = labs.map((lab) => ({ lab, held: [], last: undefined }));
    this.#third = third;
  }

  async play(steps: readonly Step[]): Promise<void> {
    try {
      for (const step of steps) {
        await this.#step(step);
        await this.check();
      }
    } catch (error) {
      // Where the history goes on from here nobody can say; that nothing is lost holds all the same.
      if (!(error instanceof SecondPassedError)) throw error;
    }
  }

  /** Whatever happened, nothing is lost: a worker that comes late ends every message. */
  async drain(): Promise<void> {
    const hand = this.hands[0]!;
    hand.lab.now = this.#now + 1_000_000;
    const subscription = await hand.lab.subscription();
    for (let idle = 0; idle < 2;) {
      const taken = await subscription.receive(50, 0);
      idle = taken.length === 0 ? idle + 1 : 0;
      for (const delivery of taken) {
        this.#ended.add(identityOf(text(delivery.body)));
        await subscription.settle(delivery, { kind: "ack" });
      }
    }
    const { ready, processing, delayed, reserved, deadlines } = await hand.lab.look();
    assert.deepEqual([ready, processing, delayed, reserved, deadlines], [[], [], [], [], []]);
    const pushed = new Set(this.bodies.pushed.map(identityOf));
    assert.deepEqual(this.#ended, pushed, "what was pushed, and what was ended");
  }

  async check(): Promise<void> {
    const { lab } = this.hands[0]!;
    this.model.check(await lab.look(), await lab.records());
  }

  async #step(step: Step): Promise<void> {
    switch (step.do) {
      case "push": {
        const body = this.bodies.next(step.kind);
        await this.#publish(body);
        return this.model.push(body);
      }
      case "delay": {
        const body = this.bodies.next("canonical");
        await this.#publish(body, step.delayMs);
        if (step.delayMs === 0) return this.model.push(body);
        const { lab } = this.hands[0]!;
        const score = Math.floor(lab.now) + Math.ceil(step.delayMs / 1_000);
        return (this.model as ZsetModel).delay(body, score);
      }
      case "clock":
        this.hands[step.worker]!.lab.now += step.by;
        return;
      case "work":
        return await this.#work(this.hands[step.worker]!, step.max, step.settles);
      case "extend":
        return await this.#extend(this.hands[step.worker]!, step.which);
      case "twice":
        return await this.#twice(this.hands[step.worker]!);
      case "crash":
        this.hands[step.worker]!.held = [];
        return;
      case "stock":
        return await this.#foreign(step.verb, step.which);
    }
  }

  async #publish(body: string, delayMs = 0): Promise<void> {
    const { lab } = this.hands[0]!;
    const [outcome] = await lab.transport.publish(lab.queue, [{ body: latin(body), delayMs }]);
    assert.equal(outcome!.status, "confirmed");
  }

  /** Settles and reserves in one tick, so that all of it is one call. */
  async #work(hand: Hand, max: number, choices: readonly Choice[]): Promise<void> {
    const subscription = await hand.lab.subscription();
    const settles = choices.flatMap((choice) => {
      const [held] = hand.held.splice(choice.which, 1);
      return held ? [{ held, verdict: verdictOf(hand.lab, held, choice) }] : [];
    });
    const answers = settles.map(({ held, verdict }) => subscription.settle(held.delivery, verdict));
    const taking = max > 0 ? subscription.receive(max, 0) : undefined;
    // A record travels alone, and is on its way before what waits for the end of the tick.
    const expected = new Map<Held, boolean>();
    const alone = settles.filter(({ verdict }) => verdict.kind === "deadLetter");
    for (const { held, verdict } of [...alone, ...settles.filter((one) => !alone.includes(one))]) {
      expected.set(held, this.#settle(hand, held, verdict));
    }
    const wantedAnswers = settles.map(({ held }) => expected.get(held) ? "settled" : "expired");
    assert.deepEqual(await Promise.all(answers), wantedAnswers);
    if (taking === undefined) return;
    const taken = await taking;
    this.#bringBack(hand.lab.now);
    const { reserved, deadlines } = await hand.lab.look();
    const actual = [...reserved, ...deadlines];
    const wanted = this.model.reserve(max, hand.lab.now, actual);
    assert.deepEqual(taken.map(({ body }) => text(body)), wanted.map(([job]) => job));
    taken.forEach((delivery, at) => {
      const [job, member] = wanted[at]!;
      const poison = hand.lab.options.layout === "zset" && isPoison(job);
      assert.equal(delivery.undecodable ?? false, poison, "whether it is poison");
      assert.equal(delivery.leaseUntilMs, (Math.floor(hand.lab.now) + RETRY_AFTER) * 1_000);
      hand.held.push({ delivery, member });
    });
  }

  #bringBack(now: number): void {
    if (this.model instanceof ZsetModel) this.model.migrate(now);
    else this.model.sweep(now);
  }

  #settle(hand: Hand, { delivery, member }: Held, verdict: Verdict): boolean {
    hand.last = delivery;
    const body = text(delivery.body);
    switch (verdict.kind) {
      case "ack": {
        const done = this.model.ack(member);
        if (done) this.#ended.add(identityOf(body));
        return done;
      }
      case "deadLetter": {
        const done = this.model.deadLetter(member, text(verdict.record));
        if (done) this.#ended.add(identityOf(body));
        return done;
      }
      case "retry":
      case "return": {
        const delayMs = verdict.kind === "retry" ? verdict.delayMs : 0;
        const score = Math.floor(hand.lab.now) + Math.ceil(delayMs / 1_000);
        const payload = verdict.kind === "retry" ? text(verdict.body) : body;
        return this.model.release(member, payload, score);
      }
      default:
        return assert.fail(verdict.kind);
    }
  }

  async #extend(hand: Hand, which: number): Promise<void> {
    const held = hand.held[which];
    if (held === undefined) return;
    const until = await (await hand.lab.subscription()).extend!(held.delivery);
    const expected = this.model.extend(held.member, hand.lab.now);
    assert.equal(until, expected === null ? null : expected * 1_000);
  }

  async #twice(hand: Hand): Promise<void> {
    if (hand.last === undefined) return;
    const subscription = await hand.lab.subscription();
    assert.equal(await subscription.settle(hand.last, { kind: "ack" }), "expired");
    assert.equal(await subscription.extend!(hand.last), null);
  }

  async #foreign(verb: "pop" | "ack" | "release", which: number): Promise<void> {
    const { model } = this;
    const third = this.#third;
    if (verb === "pop") {
      // A real one would wait for a message.
      if (third instanceof PeerWorker && model.idleAt(third.now())) return;
      const taken = await third.pop();
      const now = taken?.now ?? third.now();
      this.#bringBack(now);
      return model.reserveForeign(now, taken?.member ?? null);
    }
    if (verb === "ack") {
      const member = await third.ack(which);
      if (member !== null && model.ack(member)) this.#ended.add(identityOf(bodyOf(member)));
      return;
    }
    const released = await third.release(which);
    if (released === null) return;
    const { member, payload, now } = released;
    model.releaseForeign(member, payload, now);
  }
}

/** A member without the token before it. */
function bodyOf(member: string): string {
  return member.startsWith("{") ? member : member.slice(33);
}

function verdictOf(lab: Lab, { delivery }: Held, { how, delayMs }: Choice): Verdict {
  const body = text(delivery.body);
  switch (how) {
    case "ack":
    case "return":
      return { kind: how };
    case "retry": {
      if (isPoison(body)) return { kind: "return" };
      const attempts = attemptsOf(body) + 1;
      return { kind: "retry", body: reemit(delivery.body, { attempts }), attempts, delayMs };
    }
    case "deadLetter":
      return {
        kind: "deadLetter",
        record: latin(`record of ${body}`),
        queue: lab.transport.policy.deadLetterQueue(lab.queue),
        reason: "failed",
      };
  }
}
