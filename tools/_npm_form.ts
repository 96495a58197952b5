/** Makes the npm form of one package. */

import { filesBelow } from "./_files.ts";
import { deno, type Finished, type Package, root, run } from "./_shell.ts";

interface NpmFields {
  readonly description?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** A finished tarball. */
export interface Packed {
  readonly tarball: string;
  /** What is wrong with it. */
  readonly problems: readonly string[];
}

/**
 * Packs into `.out/` what `deno pack` makes of a package, completed with what it leaves out: the
 * fields that npm readers expect, the dependency on the core, and the license.
 */
export async function npmForm({ config, folder }: Package, scratch: string): Promise<Packed> {
  const { name, version } = config;
  const file = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  const tarball = `${root}.out/${file}`;
  const inside = `${scratch}/${file}.d`;
  const raw = `${scratch}/${file}`;
  await Deno.mkdir(inside, { recursive: true });
  const cwd = `${root}${folder}`;
  must("pack", await deno(["pack", "--allow-dirty", "--no-source-maps", "--output", raw], { cwd }));
  must("unpack", await run("tar", ["xzf", raw, "-C", inside]));

  const path = `${inside}/package/package.json`;
  const packed = JSON.parse(await Deno.readTextFile(path));
  const npm: NpmFields = JSON.parse(await Deno.readTextFile(`${cwd}package.json`));
  const { description, engines, dependencies = {} } = npm;
  const complete = { ...packed, description, engines, sideEffects: false, dependencies };
  await Deno.writeTextFile(path, JSON.stringify(complete, null, 2) + "\n");
  await Deno.copyFile(`${root}LICENSE`, `${inside}/package/LICENSE`);
  must("pack again", await run("tar", ["czf", tarball, "-C", inside, "package"]));

  const known = new Set([...Object.keys(dependencies), name]);
  const problems = [...await importsOf(`${inside}/package`)]
    .filter((imported) => !known.has(imported))
    .map((imported) => `${name} imports ${imported}, which is none of its dependencies`);
  return { tarball, problems };
}

/** Names of the packages that the code and the types of a folder import. */
async function importsOf(folder: string): Promise<Set<string>> {
  const names = new Set<string>();
  for (const path of [...filesBelow(folder, ".js"), ...filesBelow(folder, ".d.ts")]) {
    const code = (await Deno.readTextFile(path)).replace(/\/\*[^]*?\*\//g, "");
    const found = code.matchAll(
      /\b(?:from|import)\s*\(?\s*["'](?!node:)((?:@[\w.-]+\/)?[\w-][\w.-]*)/g,
    );
    for (const [, name] of found) if (name !== undefined) names.add(name);
  }
  return names;
}

/** Ends the tool unless the program did its work. */
export function must(what: string, { code, output }: Finished): void {
  if (code !== 0) throw new Error(`Cannot ${what}: ${output}`);
}
