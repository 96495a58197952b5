/** Runs programs for the tools, and knows where each runtime's program is. */

/** What a finished program left behind. */
export interface Finished {
  readonly code: number;
  /** Standard output and standard error, in this order. */
  readonly output: string;
  readonly stdout: string;
  readonly seconds: number;
}

/** How a program runs. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** The program is killed after this time, in milliseconds. */
  readonly timeoutMs?: number;
}

/** Absolute path of the repository. */
export const root: string = new URL("..", import.meta.url).pathname;

/** How long a program that was told to end may still print, in milliseconds. */
const LAST_WORDS_MS = 2_000;

/**
 * Runs a program to its end without a shell. A program that does not exist has code 127. What was
 * printed until a time-out is kept, even when children of the program still hold its output open.
 */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  const { cwd = root, env = {}, timeoutMs = 600_000 } = options;
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const timeUp = new AbortController();
  const cut = new AbortController();
  const timers = [
    setTimeout(() => timeUp.abort(), timeoutMs),
    setTimeout(() => cut.abort(), timeoutMs + LAST_WORDS_MS),
  ];
  try {
    const child = new Deno.Command(program, {
      args: [...args],
      cwd,
      env: { NO_COLOR: "1", ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      signal: timeUp.signal,
    }).spawn();
    let ended = false;
    const status = child.status.finally(() => ended = true);
    cut.signal.addEventListener("abort", () => ended || child.kill("SIGKILL"));
    const [out, err] = await Promise.all(
      [child.stdout, child.stderr].map((stream) => read(stream, cut.signal)),
    );
    const { code } = await status;
    const output = `${out}${err}` +
      (timeUp.signal.aborted ? `\nkilled after ${timeoutMs} ms\n` : "");
    return { code, output, stdout: out ?? "", seconds: seconds() };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { code: 127, output: `${program}: not found\n`, stdout: "", seconds: seconds() };
  } finally {
    timers.forEach(clearTimeout);
  }
}

async function read(stream: ReadableStream<Uint8Array>, cut: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const sink = new WritableStream<Uint8Array>({
    write: (chunk) => void (text += decoder.decode(chunk, { stream: true })),
  });
  await stream.pipeTo(sink, { signal: cut }).catch((error) => {
    if (!cut.aborted) throw error;
  });
  return text;
}

/** Runs this Deno. */
export function deno(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return run(Deno.execPath(), args, options);
}

/** Ends the tool: prints what is wrong and exits with 1, or prints what is right. */
export function report(problems: readonly string[], success: string): void {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) Deno.exit(1);
  console.log(success);
}

/** The fields of `deno.json` that the tools read. */
export interface Config {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>> | string;
  readonly imports?: Readonly<Record<string, string>>;
  readonly tasks?: Readonly<Record<string, string>>;
  readonly workspace?: readonly string[];
  readonly publish?: { readonly include?: readonly string[] };
}

/** A package of the repository: the root, or a member of the workspace. */
export interface Package {
  readonly config: Config;
  /** Its folder from the repository's root, with a slash at the end; empty for the root. */
  readonly folder: string;
  /** Name of each entry point, and its file from the repository's root. */
  readonly entries: readonly (readonly [name: string, path: string])[];
}

/** Every package of the repository, the root first. */
export function packages(): Package[] {
  const main = readPackage("");
  const members = (main.config.workspace ?? []).map((path) => path.replace(/^\.\/|\/$/g, ""));
  return [main, ...members.map((path) => readPackage(`${path}/`))];
}

function readPackage(folder: string): Package {
  const config: Config = JSON.parse(Deno.readTextFileSync(`${root}${folder}deno.json`));
  const map = typeof config.exports === "string" ? { ".": config.exports } : config.exports;
  const entries = Object.entries(map).map(([name, target]) =>
    [name, folder + target.replace(/^\.\//, "")] as const
  );
  return { config, folder, entries };
}
