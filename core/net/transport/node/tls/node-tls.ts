import type * as tls from 'node:tls';

/** node:tls, loaded when TLS is first used: loading it costs every thread about 10 ms and 1.5 MB. */
export function nodeTls(): typeof tls {
  return process.getBuiltinModule('node:tls');
}
