/** The launchers: what they start answers, comes back on its port, and goes with its parent. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { child, eventually, type Runtime, runtimePath, test } from "../harness.ts";
import { Server } from "./_server.ts";
import { childEnvironment } from "./_shell.ts";
import { absentRedis, RespClient, type RunningBroker, startRedis } from "./mod.ts";

/** Reads one value and hangs up. */
async function ask(port: number, ...command: string[]): Promise<string> {
  const client = await RespClient.connect(port);
  try {
    return await client.text(...command);
  } finally {
    await client.close();
  }
}

async function withBroker(
  start: () => Promise<RunningBroker>,
  use: (broker: RunningBroker) => Promise<void>,
): Promise<void> {
  const broker = await start();
  try {
    await use(broker);
  } finally {
    await broker.stop();
  }
}

const noRedis = await absentRedis({ own: true });
const noValkey = await absentRedis({ kind: "valkey", own: true });

test("startRedis() starts a server that answers at its URL and is gone after stop()", async () => {
  const broker = await startRedis({ own: true });
  assert.equal(broker.owned, true);
  assert.equal(broker.url, `redis://127.0.0.1:${broker.port}`);
  assert.deepEqual(broker.ports, [broker.port]);
  assert.equal(await ask(broker.port, "PING"), "PONG");
  const client = await RespClient.connect(broker.port);
  const [, folder = ""] = await client.list("CONFIG", "GET", "dir");
  await client.close();
  assert.equal(existsSync(folder), true);
  await broker.stop();
  await assert.rejects(RespClient.connect(broker.port));
  assert.equal(existsSync(folder), false);
}, { ignore: noRedis });

test("startRedis() gives servers of their own at the same time", async () => {
  const brokers = await Promise.all([startRedis({ own: true }), startRedis({ own: true })]);
  assert.notEqual(brokers[0]?.port, brokers[1]?.port);
  for (const { port } of brokers) assert.equal(await ask(port, "DBSIZE"), "0");
  await Promise.all(brokers.map((broker) => broker.stop()));
}, { ignore: noRedis });

test("restart() keeps the port, the data of a persistent Redis, and no scripts", async () => {
  await withBroker(() => startRedis({ persistent: true }), async ({ port, restart }) => {
    await ask(port, "SET", "k", "v");
    const sha = await ask(port, "SCRIPT", "LOAD", "return 1");
    assert.equal(await ask(port, "EVALSHA", sha, "0"), "1");
    await restart();
    assert.equal(await ask(port, "GET", "k"), "v");
    await assert.rejects(ask(port, "EVALSHA", sha, "0"), /^Error: NOSCRIPT/);
  });
}, { ignore: noRedis });

test("restart() of a Redis that is not persistent brings it back empty", async () => {
  await withBroker(() => startRedis({ own: true }), async ({ port, restart }) => {
    await ask(port, "SET", "k", "v");
    await restart();
    assert.equal(await ask(port, "DBSIZE"), "0");
  });
}, { ignore: noRedis });

test("kill() leaves the server down, and nothing that was answered is lost", async () => {
  await withBroker(() => startRedis({ persistent: true }), async ({ port, kill, restart }) => {
    const client = await RespClient.connect(port);
    for (let n = 1; n <= 500; n++) await client.call("INCR", "n");
    await kill();
    await assert.rejects(client.call("PING"));
    await client.close();
    await assert.rejects(RespClient.connect(port));
    await restart();
    assert.equal(await ask(port, "GET", "n"), "500");
  });
}, { ignore: noRedis });

test("pause() leaves connections open and unanswered until resume()", async () => {
  await withBroker(() => startRedis({ own: true }), async ({ port, pause, resume }) => {
    const client = await RespClient.connect(port);
    await pause();
    let answered = false;
    const answer = client.text("PING").then((text) => {
      answered = true;
      return text;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(answered, false);
    await resume();
    assert.equal(await answer, "PONG");
    await client.close();
  });
}, { ignore: noRedis });

test("restart() and stop() end a server that is paused", async () => {
  const broker = await startRedis({ own: true });
  await broker.pause();
  await broker.restart();
  assert.equal(await ask(broker.port, "PING"), "PONG");
  await broker.pause();
  await broker.stop();
  await assert.rejects(RespClient.connect(broker.port));
}, { ignore: noRedis });

test("startRedis() passes the configuration on", async () => {
  const conf = [["maxmemory", "20mb"], ["maxmemory-policy", "noeviction"]] as const;
  await withBroker(() => startRedis({ conf }), async ({ port }) => {
    const client = await RespClient.connect(port);
    assert.deepEqual(await client.list("CONFIG", "GET", "maxmemory"), ["maxmemory", "20971520"]);
    await client.close();
  });
}, { ignore: noRedis });

test("startRedis() accepts a server that wants a password", async () => {
  const conf = [["requirepass", "secret"]] as const;
  await withBroker(() => startRedis({ conf }), async ({ port }) => {
    await assert.rejects(ask(port, "PING"), /NOAUTH/);
  });
}, { ignore: noRedis });

test("startRedis() names what a server that cannot start wrote", async () => {
  const conf = [["no-such-option", "1"]] as const;
  await assert.rejects(startRedis({ conf }), /Cannot start redis on port \d+: .*no-such-option/s);
}, { ignore: noRedis });

test("startRedis() starts Valkey", async () => {
  await withBroker(() => startRedis({ kind: "valkey", own: true }), async ({ port }) => {
    assert.match(await ask(port, "INFO", "server"), /server_name:valkey/);
  });
}, { ignore: noValkey });

for (const kind of ["redis", "valkey"] as const) {
  test(`startRedis() forms a cluster of three ${kind} masters, again after a restart`, async () => {
    const start = () => startRedis({ kind, cluster: true, persistent: true });
    await withBroker(start, async ({ ports, restart }) => {
      assert.equal(ports.length, 3);
      const key = "{orders}";
      const owners = async (): Promise<number[]> => {
        const owning: number[] = [];
        for (const port of ports) {
          assert.match(await ask(port, "CLUSTER", "INFO"), /cluster_state:ok/);
          const moved = await ask(port, "GET", key).then(() => false, (e) => /MOVED/.test(`${e}`));
          if (!moved) owning.push(port);
        }
        return owning;
      };
      const [owner, ...others] = await owners();
      assert.deepEqual(others, []);
      await ask(owner ?? 0, "SET", key, "v");
      await restart();
      assert.deepEqual(await owners(), [owner]);
      assert.equal(await ask(owner ?? 0, "GET", key), "v");
    });
  }, { ignore: kind === "redis" ? noRedis : noValkey, timeoutMs: 120_000 });
}

test(
  "a server that finds its port taken moves to another, and is not taken for the first",
  async () => {
    await withBroker(() => startRedis({ own: true }), async ({ port }) => {
      const ports: number[] = [];
      const recipe = {
        name: "redis",
        command(free: number): string[] {
          // As if the first one had taken the port after it was found to be free.
          ports.push(free);
          return ["redis-server", "--port", `${ports.length === 1 ? port : free}`, "--save", ""];
        },
        async answers(free: number, pid: number): Promise<boolean> {
          const asked = ports.length === 1 ? port : free;
          const info = await ask(asked, "INFO", "server").catch(() => "");
          return info.includes(`process_id:${pid}\r`);
        },
      };
      const server = await Server.start(recipe);
      assert.equal(ports.length, 2);
      assert.equal(server.port, ports[1]);
      await server.stop();
    });
  },
  { ignore: noRedis },
);

test("a server that ends at once is tried on other ports, then reported", async () => {
  let tries = 0;
  const recipe = {
    name: "a broker",
    command: () => (tries++, ["sh", "-c", "echo no luck; exit 3"]),
    answers: () => Promise.resolve(false),
  };
  await assert.rejects(Server.start(recipe), /Cannot start a broker on port \d+: .*no luck/);
  assert.equal(tries, 5);
});

test("a server that never answers is killed and reported", async () => {
  const recipe = {
    name: "a broker",
    command: () => ["sleep", "1000"],
    answers: () => Promise.resolve(false),
    startTimeoutMs: 300,
  };
  await assert.rejects(Server.start(recipe), /no answer within 300 ms/);
});

/** Runs a program on this machine's runtimes until it has printed its line. */
function firstLine(
  runtime: Runtime,
  env: Record<string, string> = {},
): Promise<{ line: string; kill(): Promise<void> }> {
  const args = runtime === "deno" ? ["run", "-A"] : runtime === "bun" ? ["run"] : [];
  const program = new URL("programs/start_redis.ts", import.meta.url).pathname;
  const started = spawn(runtimePath(runtime) ?? runtime, [...args, program], {
    env: childEnvironment(env),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = new Promise<void>((resolve) => started.on("close", () => resolve()));
  return new Promise((resolve, reject) => {
    let text = "";
    const kill = (): Promise<void> => {
      started.kill("SIGKILL");
      return closed;
    };
    started.on("error", reject);
    started.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\n")) resolve({ line: text.split("\n")[0] ?? "", kill });
    });
    started.on("close", () => reject(new Error(`Cannot read a line: the program ended`)));
  });
}

for (const runtime of ["deno", "bun", "node22", "node24"] as const) {
  const ignore = noRedis || runtimePath(runtime) === null;
  test(`a server and its folder are gone after its parent on ${runtime} was killed`, async () => {
    const { line, kill } = await firstLine(runtime);
    const { url, owned, folder } = JSON.parse(line);
    assert.equal(owned, true);
    const port = Number(new URL(url).port);
    assert.equal(await ask(port, "PING"), "PONG");
    assert.equal(existsSync(folder), true);
    await kill();
    await eventually(() =>
      RespClient.connect(port).then((client) => (client.close(), false), () => true)
    );
    await eventually(() => !existsSync(folder));
  }, { ignore });
}

test("a server is gone after an error that nobody caught ended its parent", async () => {
  const program = `
    const { startRedis } = await import("./tests/brokers/mod.ts");
    const { port } = await startRedis({ own: true });
    console.log(port);
    throw new Error("nobody catches this");
  `;
  const { code, stdout } = await child("deno", ["eval", program]);
  assert.equal(code, 1);
  const port = Number(stdout);
  assert.ok(port > 0);
  await eventually(() =>
    RespClient.connect(port).then((client) => (client.close(), false), () => true)
  );
}, { ignore: noRedis || runtimePath("deno") === null });

test("startRedis() uses the URL of the environment, and never touches that server", async () => {
  await withBroker(() => startRedis({ own: true }), async ({ url, port }) => {
    const program = `
      const { startRedis } = await import("./tests/brokers/mod.ts");
      const named = await startRedis();
      const refused = [];
      for (const verb of ["restart", "kill", "pause", "resume"]) {
        await named[verb]().catch((error) => refused.push(error.message));
      }
      await named.stop();
      const own = await startRedis({ own: true });
      await own.stop();
      console.log(JSON.stringify({ named, refused, other: own.url !== named.url }));
    `;
    const env = { BQ_TEST_REDIS_URL: url };
    const { stdout, stderr } = await child("deno", ["eval", program], { env });
    assert.equal(stderr, "");
    const { named, refused, other } = JSON.parse(stdout);
    assert.equal(named.url, url);
    assert.equal(named.owned, false);
    assert.equal(refused.length, 4);
    assert.match(refused[0], /Cannot restart the broker at .*: BQ_TEST_REDIS_URL named it/);
    assert.equal(other, true);
    assert.equal(await ask(port, "PING"), "PONG");
  });
}, { ignore: noRedis || runtimePath("deno") === null });

test("without the program the reason names what is missing", async () => {
  const env = { PATH: "/nonexistent", BQ_REQUIRE_BROKERS: "0" };
  const { line, kill } = await firstLine("deno", env);
  await kill();
  assert.match(JSON.parse(line).absent, /there is no redis/);
}, { ignore: runtimePath("deno") === null });
