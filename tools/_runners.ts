/** Every way the tests are run: on which runtime, with which arguments, on which files. */

import type { Runtime } from "../tests/harness.ts";
import { filesIn } from "./_files.ts";
import { packages } from "./_shell.ts";

/** One way to run tests. */
export interface Runner {
  readonly name: string;
  readonly runtime: Runtime;
  /** Whether it is left out unless it is asked for by name. */
  readonly alone?: boolean;
  files(): string[];
  args(files: readonly string[]): string[];
}

/** What tests may do under Deno: they start the other runtimes and write to `.out/`. */
const PERMISSIONS: readonly string[] = [
  "--no-prompt",
  "--allow-read",
  "--allow-write=.out",
  "--allow-net=127.0.0.1",
  "--allow-run",
  "--allow-env=PATH,HOME,TMPDIR,DENO_*,XDG_CACHE_HOME,SSL_CERT_*,NODE_V8_COVERAGE,BQ_*",
  // ioredis looks at every variable; to it the others do not exist.
  "--ignore-env",
];

/** Folders whose tests run on every runtime; the rest is about the repository, or needs its tools. */
const PORTABLE: readonly string[] = [
  "tests/core",
  "tests/runtime",
  "tests/transports",
  "tests/testing",
  "tests/portable",
  "tests/brokers",
];

/** The runners, in the order they run. */
export const RUNNERS: readonly Runner[] = [
  {
    name: "deno",
    runtime: "deno",
    files: () => ["--ignore=tests/simulation", "tests/"],
    args: (files) => ["test", ...PERMISSIONS, ...files],
  },
  {
    name: "sim",
    runtime: "deno",
    files: () => ["tests/simulation/"],
    args: (files) => ["test", ...PERMISSIONS, ...files],
  },
  {
    name: "doc",
    runtime: "deno",
    files: () => [...documented(), "README.md", ...filesIn("docs", ".md")],
    args: (files) => ["test", "--doc", "--no-prompt", ...files],
  },
  // Bun gives hooks five seconds whatever they say, and a broker takes longer to start.
  {
    name: "bun",
    runtime: "bun",
    files: portable,
    args: (files) => ["test", "--timeout", "120000", ...files],
  },
  { name: "node22", runtime: "node22", files: portable, args: nodeArgs },
  { name: "node24", runtime: "node24", files: portable, args: nodeArgs },
  {
    name: "workerd",
    runtime: "deno",
    alone: true,
    files: () => ["tests/runtimes/workerd_test.ts", "tests/runtimes/workerd_suite_test.ts"],
    args: (files) => ["test", ...PERMISSIONS, ...files],
  },
];

function nodeArgs(files: readonly string[]): string[] {
  const quiet = "--disable-warning=ExperimentalWarning";
  return [quiet, "--test", "--test-timeout=240000", "--test-reporter=spec", ...files];
}

function portable(): string[] {
  const inFolders = PORTABLE.flatMap((folder) => filesIn(folder, "_test.ts"));
  return [...inFolders, "tests/runtimes/exit_test.ts"].map((path) => `./${path}`);
}

/** The published source: its examples run as tests. */
function documented(): string[] {
  return packages().flatMap(({ config, folder }) =>
    (config.publish?.include ?? [""])
      .filter((path) => path === "" || path.endsWith("/") || path.endsWith(".ts"))
      .map((path) => folder + path)
  );
}
