/** Certificates for a server of a test, made anew each time: nothing secret lies in the repository. */

import { BrokerAbsentError } from "./broker.ts";
import { shell } from "./_shell.ts";

/** What a server and its clients need, as PEM text. */
export interface Certificates {
  /** The authority that clients have to trust. */
  readonly ca: string;
  /** The server's certificate, for `localhost` and 127.0.0.1. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
}

/** The subject has to differ from the authority's, and must not be an authority itself. */
const SCRIPT = `
set -e
dir=$(mktemp -d "\${TMPDIR:-/tmp}/bq-tls.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >ca.conf <<END
[req]
distinguished_name = name
x509_extensions = authority
prompt = no
[name]
CN = Test authority
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
END
cat >leaf.conf <<END
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
END
for name in ca server; do
  openssl ecparam -name prime256v1 -genkey -noout -out $name.ec
  openssl pkcs8 -topk8 -nocrypt -in $name.ec -out $name.key
done
openssl req -x509 -new -key ca.key -config ca.conf -days 2 -out ca.pem
openssl req -new -key server.key -subj /CN=localhost -config ca.conf -out server.csr
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
  -extfile leaf.conf -out server.pem
cat ca.pem; echo ====; cat server.pem; echo ====; cat server.key
`;

/**
 * Makes an authority and a certificate that it signs, with the system's `openssl`.
 *
 * @throws {BrokerAbsentError} when there is no `openssl`.
 */
export async function makeCertificates(): Promise<Certificates> {
  const { code, stdout, stderr } = await shell(SCRIPT);
  if (code === 127) throw new BrokerAbsentError("there is no openssl to make certificates with");
  if (code !== 0) throw new Error(`Cannot make certificates: ${stderr}`);
  const [ca = "", cert = "", key = ""] = stdout.split("====\n");
  return { ca, cert, key };
}
