/**
 * Computes every point of the JSR score that the repository decides, for each package, and fails
 * when one is missing. Provenance, the description and the runtime marks are set at the registry.
 *
 * @module
 */

import { deno, type Package, packages, report, root } from "./_shell.ts";

interface Declaration {
  readonly declarationKind: string;
  readonly kind: string;
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly unknown[] };
  readonly def?: { readonly hasBody?: boolean };
}

interface Documentation {
  readonly module_doc?: { readonly doc?: string };
  readonly symbols: readonly {
    readonly name: string;
    readonly declarations: readonly Declaration[];
  }[];
}

const problems: string[] = [];
const totals: string[] = [];
for (const item of packages()) await score(item);
report(problems, totals.join("\n"));

async function score({ config, folder, entries }: Package): Promise<void> {
  let points = 0;
  let most = 0;
  const award = (worth: number, earned: number, what: string): void => {
    most += worth;
    points += earned;
    console.log(`${earned} of ${worth}  ${what}`);
    if (earned < worth) problems.push(`${config.name} misses ${worth - earned}: ${what}`);
  };

  const docs = await Promise.all(entries.map(([, path]) => documentation(path)));
  const mainDoc = docs[entries.findIndex(([name]) => name === ".")]?.module_doc?.doc ?? "";
  const readme = await Deno.readTextFile(`${root}${folder}README.md`).catch(() => "");
  award(2, readme !== "" || mainDoc !== "" ? 2 : 0, "a README or a module doc of the main entry");
  award(1, /^```/m.test(readme) || /^```/m.test(mainDoc) ? 1 : 0, "a code example in it");

  const bare = entries.filter(([name], i) =>
    !docs[i]?.module_doc?.doc && !(name === "." && readme !== "")
  ).map(([name]) => name);
  award(1, bare.length === 0 ? 1 : 0, `a module doc in every entry point${without(bare)}`);

  const { total, missing } = symbols(entries.map(([name]) => name), docs);
  const share = total === 0 ? 0 : (total - missing.length) / total;
  award(
    5,
    Math.floor(5 * Math.min(1, share / 0.8)),
    `documented symbols: ${total - missing.length} of ${total}${without(missing)}`,
  );

  const dryRun = await deno(["publish", "--dry-run", "--allow-dirty"], { cwd: root + folder });
  if (dryRun.code !== 0) console.error(dryRun.output);
  award(5, dryRun.code === 0 ? 5 : 0, "no slow types, as `deno publish --dry-run` sees them");
  totals.push(`${config.name}: ${points} of the ${most} points that the repository decides`);
}

async function documentation(path: string): Promise<Documentation> {
  const { code, stdout, output } = await deno(["doc", "--json", path]);
  if (code !== 0) throw new Error(`Cannot read the documentation of '${path}': ${output}`);
  const [node] = Object.values<Documentation>(JSON.parse(stdout).nodes);
  if (node === undefined) throw new Error(`Cannot find the documentation of '${path}'`);
  return node;
}

/** The registry counts every public declaration, save the implementation behind overloads. */
function symbols(
  names: readonly string[],
  docs: readonly Documentation[],
): { total: number; missing: string[] } {
  const missing: string[] = [];
  let total = 0;
  docs.forEach((entry, i) => {
    for (const { name, declarations } of entry.symbols) {
      const overloaded = declarations.filter(({ kind }) => kind === "function").length > 1;
      for (const declaration of declarations) {
        if (declaration.declarationKind === "private") continue;
        if (overloaded && declaration.def?.hasBody === true) continue;
        total += 1;
        const { doc, tags } = declaration.jsDoc ?? {};
        if (!doc && !tags?.length) missing.push(`${names[i]}#${name}`);
      }
    }
  });
  return { total, missing };
}

function without(names: readonly string[]): string {
  return names.length === 0 ? "" : ` (without: ${names.join(", ")})`;
}
