import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { Processes } from './processes.js';

/** One certificate for all servers. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
  /** Both in one file, as haproxy wants them. */
  readonly bundle: string;
}

/** Makes a self-signed ECDSA P-256 certificate in `dir`. */
export async function createCertificate(processes: Processes, openssl: string, dir: string): Promise<Certificate> {
  const files = { certificate: join(dir, 'bench.crt'), key: join(dir, 'bench.key'), bundle: join(dir, 'bench.pem') };
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'.split(' ');
  await processes.run([openssl, ...request, '-keyout', files.key, '-out', files.certificate]);
  writeFileSync(files.bundle, readFileSync(files.certificate, 'utf8') + readFileSync(files.key, 'utf8'), { mode: 0o600 });
  return files;
}

/** Protocol and cipher that a server agrees on with a client of OpenSSL's defaults, as wrk is: `TLSv1.3 TLS_AES_256_GCM_SHA384`. */
export async function negotiatedCipher(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', rejectUnauthorized: false }, () => {
    resolve(`${socket.getProtocol() ?? 'none'} ${socket.getCipher().standardName}`);
  });
  socket.on('error', reject);
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
