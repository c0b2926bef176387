import type { Certificate } from './certificate.js';

/** Content of a server under test. Every server gets the same site in its own configuration language. */
export interface Site {
  /** Port of 127.0.0.1 that it listens on. */
  readonly port: number;
  /** Port of 127.0.0.1 of the backend that it passes everything to. */
  readonly backend: number;
  /** Port of the backend for HTTP/2; 0: it has none. */
  readonly backendHttp2: number;
  readonly workers: number;
  /** Folder of the files below {@link FILES}: `1k` and `10m`, of that size. */
  readonly files: string;
  /** The port speaks TLS when given. */
  readonly certificate?: Certificate;
  /** The port speaks HTTP/2. */
  readonly http2?: boolean;
  /** A port for datagrams, and that of the echo they go to. */
  readonly datagrams?: { readonly port: number; readonly backend: number };
  /** Connections are passed on as they are, by the stream module: the server knows nothing of HTTP. */
  readonly stream?: boolean;
}

/** Connections that a worker keeps open to the backend: as many as the load has. */
export const UPSTREAM_KEEPALIVE = 64;

/** Connections that a server must be able to hold. */
export const MAX_CONNECTIONS = 11_000;

/** Path of files that the server reads by itself, as by default. */
export const FILES = '/files/';

/** Path of the same files with open_file_cache. */
export const CACHED_FILES = '/cached/';

/** Path of the backend's responses from a cache in files. */
export const CACHE = '/cache';

/** Path of the same from a cache that srv has in memory as well. */
export const MEMORY = '/memory';

/** Path of responses that are stored, and never asked for again. */
export const MISSES = '/misses';

/** Path of responses of which nine of ten come from a cache in files. */
export const MIXED = '/mixed';

/** Path that srv passes on over HTTP/2, other servers over HTTP/1. */
export const OVER_HTTP2 = '/two';

/** Path of bodies that are passed on while they come. */
export const UPLOADS = '/uploads';

/** Path that the server serves itself, with 1 KB, so that a server of several workers is not held up by a backend. */
export const OWN_ANSWER = '/own';
export const OWN_BODY = 'x'.repeat(1024);

/** Path of the backend's responses, compressed on the way to the client. */
export const COMPRESSED = '/compressed';

/** Path of the backend's responses, decompressed on the way to the client. */
export const DECOMPRESSED = '/decompressed';
