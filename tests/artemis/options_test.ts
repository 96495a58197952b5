/** What `artemis()` takes and what it refuses, before anything is sent. */

import assert from "node:assert/strict";
import { artemis, type ArtemisOptions } from "@bq/artemis";
import { BabelQueueError } from "@bq/core";
import rhea from "rhea";
import { resolveOptions } from "../../transports/artemis/options.ts";
import { context } from "../_context.ts";
import { test } from "../harness.ts";

function refused(options: unknown, message: RegExp): void {
  assert.throws(() => artemis(options as ArtemisOptions), (error: unknown) => {
    assert.ok(error instanceof BabelQueueError);
    assert.equal(error.code, "invalid_option");
    assert.match(error.message, message);
    return true;
  });
}

test("artemis() refuses what cannot be, naming option, value and bound", () => {
  refused({ url: "amqp://localhost" }, /'url': it must be a URL of the form artemis:/);
  refused({ url: "artemis://" }, /'url'/);
  refused({ url: "localhost:5672" }, /'url'/);
  refused("artemis://localhost/orders", /'url': .* ends with the port; the queue is an option/);
  refused("artemis://localhost?prefetch=5", /'url': .* ends with the port/);
  refused({ url: 7 }, /'url' to 7/);
  refused({ idleTimeoutMs: 0 }, /'idleTimeoutMs' to 0/);
  refused({ idleTimeoutMs: "15" }, /'idleTimeoutMs' to '15'/);
  refused({ idleTimeoutMs: 2 ** 30 }, /'idleTimeoutMs' to 1073741824: it must be at most/);
  refused("artemis://user:p%w@host", /'url': .* percent-encoded/);
  refused({ scheduler: "yes" }, /'scheduler' to 'yes': it must be true or false/);
  refused({ containerId: "" }, /'containerId' to ''/);
  refused({ username: "" }, /'username' to ''/);
  refused({ password: 7 }, /'password': it must be a string/);
  refused({ tls: true, url: "artemis+ssl://h" }, /'tls' to true: it must be an object/);
  refused({ tls: {} }, /'tls': TLS is used with a URL of the form artemis\+ssl/);
  refused({ connection: {} }, /'connection' to an object: it must be a connection of rhea/);
  refused({ host: "h" }, /'host': the options here are url, connection/);
  refused(null, /options/);
});

test("what says how to connect is refused beside a connection", () => {
  const connection = rhea.create_container().create_connection({ host: "h" } as never);
  refused({ connection, url: "artemis://h" }, /'url' beside 'connection'/);
  refused({ connection, idleTimeoutMs: 5 }, /'idleTimeoutMs' beside 'connection'/);
  assert.equal(artemis({ connection, scheduler: false }).capabilities.publishDelay.kind, "none");
});

test("a refused URL is not repeated, since it may hold a password", () => {
  assert.throws(() => artemis("artemis//user:secret@host"), (error: Error) => {
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test("user and password come from the URL, decoded, or from the options, which come first", () => {
  const url = "artemis://us%40er:p%3Aw@h";
  const { username, password } = resolveOptions({ url }).target;
  assert.deepEqual([username, password], ["us@er", "p:w"]);
  const other = resolveOptions({ url, username: "u", password: "" }).target;
  assert.deepEqual([other.username, other.password], ["u", ""]);
  assert.deepEqual(resolveOptions({}).target, {
    host: "localhost",
    port: 5672,
    tls: undefined,
    username: undefined,
    password: undefined,
    containerId: undefined,
    idleTimeoutMs: 15_000,
  });
});

test("port 80 is port 80, however it is written", () => {
  for (const port of ["80", "080"]) {
    assert.equal(resolveOptions({ url: `artemis://h:${port}` }).target.port, 80);
  }
});

test("without a scheduler a delayed publish is refused, and retries are held", async () => {
  const transport = artemis({ scheduler: false });
  assert.deepEqual(transport.capabilities.publishDelay, { kind: "none" });
  assert.deepEqual(transport.policy.retryDelay, { kind: "held" });
  assert.deepEqual(artemis().policy.retryDelay, { kind: "native" });
  await transport.close();
});

test("a transport that is not open, or closed, refuses work and says so", async () => {
  const transport = artemis();
  const { signal } = new AbortController();
  const work = [
    (): Promise<unknown> => transport.publish("q", [{ body: new Uint8Array() }]),
    (): Promise<unknown> =>
      transport.subscribe("q", { prefetch: 1, intake: signal, lost: () => {} }),
    (): Promise<unknown> => transport.size("q"),
    (): Promise<unknown> => Array.fromAsync(transport.peek("q")),
  ];
  for (const one of work) await assert.rejects(one(), { code: "closed", message: /not open yet/ });
  await transport.close();
  for (const one of work) await assert.rejects(one(), { code: "closed", message: /is closed/ });
  await assert.rejects(transport.open(context()), { code: "closed" });
});
