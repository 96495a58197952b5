/** Gets programs from the registries of Debian and Python. */

import { environment } from "../harness.ts";
import { BrokerAbsentError } from "./broker.ts";
import { shell } from "./_shell.ts";

/**
 * Packages go into a folder of the user's cache, once. The folder takes its name when it is complete,
 * so that several test runs may do this at a time.
 */
const PIP = `
set -e
target=\${XDG_CACHE_HOME:-$HOME/.cache}/$1
shift
if [ ! -d "$target" ]; then
  part=$target.part.$$
  trap 'rm -rf "$part"' EXIT
  bundle=/etc/ssl/certs/ca-certificates.crt
  [ -n "\${PIP_CERT:-}" ] || [ ! -f "$bundle" ] || export PIP_CERT="$bundle"
  python3 -m pip install -q --disable-pip-version-check --target "$part" "$@" >&2
  mv -T "$part" "$target" 2>/dev/null || [ -d "$target" ]
fi
echo "$target"
`;

/** `RUNLEVEL=1` keeps a package from starting a service of its own. */
const APT = `
set -e
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
get() { apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "$@"; }
get "$@" >&2 || { apt-get update -qq >&2; get "$@" >&2; }
`;

/** How much of a package manager's error goes into a message, in characters. */
const ERROR_LENGTH = 500;

/**
 * Installs Python packages into a folder of their own and gives its path: the value for `PYTHONPATH`.
 *
 * @param folder Path below the user's cache folder; it must name the versions.
 * @param args Requirements and options for `pip install`.
 * @throws {BrokerAbsentError} when there is no Python, no pip or no such package.
 */
export async function pythonPackages(folder: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await shell(PIP, folder, ...args);
  if (code === 0) return stdout.trim();
  const reason = stderr.trim().slice(-ERROR_LENGTH);
  throw new BrokerAbsentError(`'${args.at(-1)}' could not be installed with pip: ${reason}`);
}

/** Whether a test run may install packages for the whole system. */
export function mayInstall(): boolean {
  return environment("BQ_REQUIRE_BROKERS") === "1";
}

/**
 * Installs Debian packages, if that may be done.
 *
 * @param name What is missing, and its name for `install.ts`.
 * @param allowed Whether it was asked for.
 * @param packages The packages.
 * @throws {BrokerAbsentError} when it was not asked for, or cannot be done.
 */
export async function debianPackages(
  name: string,
  allowed: boolean,
  ...packages: readonly string[]
): Promise<void> {
  if (!allowed) {
    const command = `deno run -A tests/brokers/install.ts ${name}`;
    throw new BrokerAbsentError(`there is no ${name}; '${command}' installs it`);
  }
  if ((await shell('[ "$(id -u)" = 0 ] && command -v apt-get')).code !== 0) {
    throw new BrokerAbsentError(`there is no ${name}, and only root can install it with apt-get`);
  }
  const { code, stderr } = await shell(APT, ...packages);
  if (code === 0) return;
  const reason = stderr.trim().slice(-ERROR_LENGTH);
  throw new BrokerAbsentError(`'${packages.join(" ")}' could not be installed: ${reason}`);
}
