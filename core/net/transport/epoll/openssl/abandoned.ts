import type { AbandonedTls } from '../../open-tls.js';
import { foreignFunctions } from '../foreign-functions.js';

const DEFINITIONS = {
  SSL_CTX_free: { arguments: ['pointer'], return: 'void' },
  SSL_free: { arguments: ['pointer'], return: 'void' },
} as const;

/** Frees what a thread has left behind. None of it has a function of that thread to call then. */
export function freeAbandoned({ connections, contexts }: AbandonedTls): void {
  const ffi = connections.length + contexts.length === 0 ? '' : foreignFunctions();
  if (typeof ffi === 'string') return;
  const { SSL_free, SSL_CTX_free } = ffi.dlopen(null, DEFINITIONS).functions;
  for (const pointer of connections) SSL_free(pointer);
  for (const pointer of contexts) SSL_CTX_free(pointer);
}
