/** Finds `rabbitmq-server`, gets it where that may be done, and knows how a node of its own starts. */

import { debianPackages, mayInstall } from "./_packages.ts";
import { shell } from "./_shell.ts";

/** Debian keeps the script that starts one node below the version's own folder. */
const FIND = `ls -d /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin 2>/dev/null | sort -V | tail -n 1`;

/** From a node's port to those of its distribution, of its `epmd` and of TLS. */
export const OFFSETS: readonly number[] = [1, 2, 3];

/**
 * Becomes one node in the working folder: its own cookie, data and `epmd`, everything on 127.0.0.1.
 * `$1` is the folder of the scripts, `$2` the port, `$3` further arguments of the virtual machine; the
 * rest are lines of the configuration, in which `{folder}` stands for the working folder.
 *
 * An `epmd` that Erlang starts by itself would outlive the node; this one is a child of the process
 * that becomes the node, and the kernel kills it with that. `RABBITMQ_ALLOW_INPUT` makes the last script
 * become the virtual machine instead of staying its parent.
 */
const START = `
set -e
bin=$1 port=$2 vm=$3
shift 3
mkdir -p home
{ echo "listeners.tcp.1 = 127.0.0.1:$port"
  echo "vm_memory_high_watermark.absolute = 512MB"
  echo "disk_free_limit.absolute = 1MB"
  echo "log.file.level = warning"
  for line in "$@"; do echo "$line" | sed "s|{folder}|$PWD|"; done; } >rabbitmq.conf
echo "[]." >enabled_plugins
cat >.environment <<END
export HOME=$PWD/home ERL_EPMD_PORT=$((port + 2)) RABBITMQ_DIST_PORT=$((port + 1))
export RABBITMQ_NODENAME=bq$port@localhost RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_ALLOW_INPUT=1
export RABBITMQ_MNESIA_BASE=$PWD/data RABBITMQ_LOG_BASE=$PWD/log RABBITMQ_SCHEMA_DIR=$PWD/schema
export RABBITMQ_GENERATED_CONFIG_DIR=$PWD/schema RABBITMQ_PID_FILE=$PWD/.node
export RABBITMQ_CONFIG_FILE=$PWD/rabbitmq.conf RABBITMQ_ENABLED_PLUGINS_FILE=$PWD/enabled_plugins
END
. ./.environment
tries=0
while :; do
  setpriv --pdeathsig KILL epmd -address 127.0.0.1 -port "$ERL_EPMD_PORT" >/dev/null 2>&1 &
  epmd=$!
  sleep 0.05
  until ! kill -0 $epmd 2>/dev/null || epmd -port "$ERL_EPMD_PORT" -names >/dev/null 2>&1; do sleep 0.02; done
  # One of a start before this may still have been on its way out.
  kill -0 $epmd 2>/dev/null && break
  tries=$((tries + 1))
  [ $tries -lt 100 ] || exit 1
done
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-noinput +S 2:2 +sbwt none -kernel inet_dist_use_interface {127,0,0,1} $vm"
exec "$bin/rabbitmq-server"
`;

let found: Promise<string> | undefined;

/**
 * Folder of RabbitMQ's scripts, from Debian's package.
 *
 * @param allowed Whether packages may be installed system-wide.
 * @throws {BrokerAbsentError} when it cannot be had; the message says what is missing.
 */
export function rabbitmqScripts(allowed: boolean = mayInstall()): Promise<string> {
  return found ??= find(allowed).catch((error) => {
    found = undefined;
    throw error;
  });
}

async function find(allowed: boolean): Promise<string> {
  const installed = (await shell(FIND)).stdout.trim();
  if (installed !== "") return installed;
  await debianPackages("rabbitmq", allowed, "rabbitmq-server");
  return (await shell(FIND)).stdout.trim();
}

/** The command that becomes a node. */
export function nodeCommand(
  scripts: string,
  port: number,
  vm: string,
  conf: readonly string[],
): readonly string[] {
  return ["sh", "-c", START, "rabbitmq", scripts, `${port}`, vm, ...conf];
}

/** Runs `rabbitmqctl` with the cookie and the names of the node in `folder`. */
const CONTROL = `
cd "$1" && . ./.environment
bin=$2
shift 2
exec "$bin/rabbitmqctl" -q "$@"
`;

/**
 * Asks or changes a node, beside AMQP.
 *
 * @param scripts Folder of RabbitMQ's scripts.
 * @param folder The node's working folder.
 * @param args Command and arguments of `rabbitmqctl`.
 * @returns What it wrote.
 */
export async function control(
  scripts: string,
  folder: string,
  ...args: readonly string[]
): Promise<string> {
  const { code, stdout, stderr } = await shell(CONTROL, folder, scripts, ...args);
  if (code !== 0) throw new Error(`Cannot run rabbitmqctl ${args.join(" ")}: ${stderr || stdout}`);
  return stdout;
}
