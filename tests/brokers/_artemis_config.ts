/** The configuration files of an Artemis for tests, written by the shell that becomes the broker. */

import type { Certificates } from "./_certificates.ts";

/** What of it a test can choose. */
export interface ArtemisConfig {
  /** Deliveries after which the broker itself moves a message to its dead-letter address; -1 for never. */
  readonly maxDeliveryAttempts: number;
  /** With it the first port speaks TLS. */
  readonly certificates?: Certificates | undefined;
}

/** User and password of the acceptor that wants them. */
export const ARTEMIS_USER = "test";

/** The second port wants a user and a password; it is this far from the first. */
export const USERS_OFFSET = 1;

const JAAS = "org.apache.activemq.artemis.spi.core.security.jaas";
const AMQP = "protocols=AMQP,CORE;anycastPrefix=queue://;multicastPrefix=topic://";
const PERMISSIONS: readonly string[] = [
  "createAddress",
  "deleteAddress",
  "createDurableQueue",
  "deleteDurableQueue",
  "createNonDurableQueue",
  "deleteNonDurableQueue",
  "send",
  "consume",
  "browse",
  "manage",
];

/**
 * The broker's configuration. A mechanism of SASL that nobody knows carries the process id to whoever
 * connects.
 * The journal is written without waiting for the disk: it outlives a SIGKILL, only a power cut could
 * lose something.
 */
function brokerXml({ maxDeliveryAttempts, certificates }: ArtemisConfig): string {
  const tls = certificates === undefined
    ? ""
    : ";sslEnabled=true;keyStoreType=PEM;keyStorePath=$PWD/etc/server.pem";
  const permissions = PERMISSIONS.map((type) => `<permission type="${type}" roles="amq"/>`);
  return `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
<name>bq</name>
<persistence-enabled>true</persistence-enabled>
<journal-type>NIO</journal-type>
<journal-datasync>false</journal-datasync>
<journal-file-size>1M</journal-file-size>
<journal-min-files>2</journal-min-files>
<journal-pool-files>2</journal-pool-files>
<global-max-size>64M</global-max-size>
<max-disk-usage>-1</max-disk-usage>
<critical-analyzer>false</critical-analyzer>
<configuration-file-refresh-period>-1</configuration-file-refresh-period>
<thread-pool-max-size>8</thread-pool-max-size>
<scheduled-thread-pool-max-size>2</scheduled-thread-pool-max-size>
<acceptors>
<acceptor name="open">tcp://127.0.0.1:$1?${AMQP}${tls};securityDomain=open;saslMechanisms=ANONYMOUS,PLAIN,BQ-$$</acceptor>
<acceptor name="users">tcp://127.0.0.1:$2?${AMQP};securityDomain=users;saslMechanisms=PLAIN,BQ-$$</acceptor>
</acceptors>
<security-settings><security-setting match="#">${permissions.join("")}</security-setting>
<security-setting match="forbidden.#"><permission type="browse" roles="amq"/></security-setting></security-settings>
<address-settings>
<address-setting match="#">
<dead-letter-address>DLA</dead-letter-address>
<max-delivery-attempts>${maxDeliveryAttempts}</max-delivery-attempts>
<redelivery-delay>0</redelivery-delay>
<default-address-routing-type>ANYCAST</default-address-routing-type>
<default-queue-routing-type>ANYCAST</default-queue-routing-type>
<auto-delete-addresses>false</auto-delete-addresses>
<auto-delete-queues>false</auto-delete-queues>
<max-size-bytes>10M</max-size-bytes>
<address-full-policy>PAGE</address-full-policy>
</address-setting>
<address-setting match="full.#">
<default-address-routing-type>ANYCAST</default-address-routing-type>
<default-queue-routing-type>ANYCAST</default-queue-routing-type>
<auto-delete-addresses>false</auto-delete-addresses>
<auto-delete-queues>false</auto-delete-queues>
<max-size-messages>3</max-size-messages>
<address-full-policy>FAIL</address-full-policy>
</address-setting>
</address-settings>
<addresses><address name="DLA"><anycast><queue name="DLA"/></anycast></address></addresses>
</core></configuration>`;
}

const LOGIN = `open {
  ${JAAS}.GuestLoginModule required
    org.apache.activemq.jaas.guest.user="guest" org.apache.activemq.jaas.guest.role="amq";
};
users {
  ${JAAS}.PropertiesLoginModule required
    baseDir="etc"
    org.apache.activemq.jaas.properties.user="users.properties"
    org.apache.activemq.jaas.properties.role="roles.properties";
};`;

const LOGGING = `handlers=java.util.logging.ConsoleHandler
.level=WARNING
java.util.logging.ConsoleHandler.level=WARNING`;

/**
 * Writes the configuration into the working directory and becomes the broker, so that the process id
 * of the shell is the broker's. `$1` and `$2` are its ports, `$3` the folder of its jars.
 */
export function startScript(config: ArtemisConfig): string {
  const { cert = "", key = "" } = config.certificates ?? {};
  return `
set -e
mkdir -p etc
cat >etc/broker.xml <<END
${brokerXml(config)}
END
cat >etc/server.pem <<'END'
${key}${cert}
END
cat >etc/login.config <<'END'
${LOGIN}
END
cat >etc/logging.properties <<'END'
${LOGGING}
END
echo '${ARTEMIS_USER}=${ARTEMIS_USER}' >etc/users.properties
echo 'amq=${ARTEMIS_USER}' >etc/roles.properties
exec java -Xms64m -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto \
  -Djava.awt.headless=true -Djava.util.logging.config.file=etc/logging.properties \
  -Djava.security.auth.login.config=etc/login.config -cp "$3/*" \
  org.apache.activemq.artemis.core.server.embedded.Main "$PWD"
`;
}
