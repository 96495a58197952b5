import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "../harness.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly workspace?: readonly string[];
  readonly workspaces?: readonly string[];
  readonly imports?: Readonly<Record<string, string>>;
  readonly tasks?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly publish?: { readonly include: readonly string[] };
}

/** The settings that the other gates rely on; without them they would check less and say nothing. */
const SETTINGS = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    isolatedDeclarations: true,
    noImplicitOverride: true,
    erasableSyntaxOnly: true,
  },
  lint: { plugins: ["./tools/house/plugin.ts"], rules: { tags: ["recommended", "jsr"] } },
  test: { sanitizeOps: true, sanitizeResources: true },
};

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const denoJson: Manifest = JSON.parse(read("deno.json"));
const packageJson: Manifest = JSON.parse(read("package.json"));
const members = (denoJson.workspace ?? []).map((path) => path.replace(/^\.\/|\/$/g, ""));

/** Packages of other people: everything but this repository's own names. */
function foreign(ranges: Readonly<Record<string, string>>): [name: string, range: string][] {
  return Object.entries(ranges).filter(([name]) => !name.startsWith("@bq/"));
}

for (const folder of ["", ...members.map((path) => `${path}/`)]) {
  const here: Manifest = JSON.parse(read(`${folder}deno.json`));
  const npm: Manifest = JSON.parse(read(`${folder}package.json`));

  test(`${folder}deno.json and package.json ask for the same packages in the same ranges`, () => {
    const imports = foreign(here.imports ?? {}).map(([name, target]) => {
      assert.ok(target.startsWith(`npm:${name}@^`), `${name}: ${target}`);
      return [name, target.slice(`npm:${name}@`.length)] as const;
    });
    assert.deepEqual(
      Object.fromEntries(imports),
      Object.fromEntries(foreign({ ...npm.dependencies, ...npm.devDependencies })),
    );
  });

  test(`${folder}deno.json and package.json agree on name, version and exports`, () => {
    assert.equal(npm.name, here.name);
    assert.equal(npm.version, here.version);
    assert.deepEqual(npm.exports, here.exports);
  });

  test(`${folder}package.json asks for the same engines as the core`, () => {
    assert.deepEqual(npm.engines, packageJson.engines);
  });

  test(`${folder}package.json asks for the core in this repository's version`, () => {
    const range = folder === "" ? undefined : `^${packageJson.version}`;
    assert.equal(npm.dependencies?.["@bq/core"], range);
  });
}

test("deno.json and package.json list the same members of the workspace", () => {
  const workspaces = (packageJson.workspaces ?? []).map((path) => path.replace(/^\.\/|\/$/g, ""));
  assert.deepEqual(workspaces, members);
});

test("the core depends on nothing at run time", () => {
  assert.deepEqual(foreign(packageJson.dependencies ?? {}), []);
});

test("the changelog begins with the package's version, or with what is not released yet", () => {
  const [, newest] = /^## \[?([^\]\s]+)/m.exec(read("CHANGELOG.md")) ?? [];
  assert.ok(newest === denoJson.version || newest === "Unreleased", newest);
});

test("every npm script runs the deno task of its name", () => {
  for (const [name, command] of Object.entries(packageJson.scripts ?? {})) {
    assert.ok(denoJson.tasks?.[name], `no deno task '${name}'`);
    const same = command === `deno task ${name}` ||
      command.replace(/^npx -y deno@\S+/, "deno") === denoJson.tasks?.[name];
    assert.ok(same, `${name}: ${command}`);
  }
});

test("every task names the permissions it needs", () => {
  for (const [name, command] of Object.entries(denoJson.tasks ?? {})) {
    assert.doesNotMatch(command, /(^| )(-A|--allow-all)( |$)/, name);
  }
});

test("every file that a task names exists", () => {
  for (const [name, command] of Object.entries(denoJson.tasks ?? {})) {
    for (const [path] of command.matchAll(/\b[\w/-]+\.(ts|json)\b/g)) {
      assert.doesNotThrow(() => read(path), `${name}: ${path}`);
    }
  }
});

test("the compiler, the linter and the tests are as strict as they were set", () => {
  const { compilerOptions, lint, test: tests } = JSON.parse(read("deno.json"));
  assert.deepEqual({ compilerOptions, lint, test: tests }, SETTINGS);
  const { lib, ...web } = JSON.parse(read("tools/web.json")).compilerOptions;
  assert.deepEqual([lib, web], [["esnext", "webworker"], SETTINGS.compilerOptions]);
});

test("the core publishes its entry points and its rooms, and nothing else", () => {
  const included = denoJson.publish?.include ?? [];
  const covers = (path: string): boolean =>
    included.some((one) => one === path || (one.endsWith("/") && path.startsWith(one)));
  const entries = Object.values(denoJson.exports).map((path) => path.replace("./", ""));
  for (const path of [...entries, "core/mod.ts", "README.md", "LICENSE"]) {
    assert.ok(covers(path), path);
  }
  for (const path of ["tests/harness.ts", "tools/test.ts", "transports/redis/mod.ts", ".ci/run"]) {
    assert.ok(!covers(path), path);
  }
});
