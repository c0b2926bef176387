import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { ServerInfo } from '../contract/server-info.js';
import type { MainConf } from './core-directives.js';
import type { Installation } from './installation.js';
import { defaultNodeName } from './node-name.js';

export interface ServerIdentity {
  readonly role: ServerInfo['role'];
  readonly worker: number;
  readonly installation: Installation;
  readonly prefix: string;
  /** Folder of the configuration file. */
  readonly confFolder: string;
  /** Random bytes that the threads of one server share; absent: this one is alone. */
  readonly secret?: Uint8Array;
}

const SECRET_BYTES = 32;

/** Source of the secrets of one server: of the system's generator, since node:crypto takes 12 ms of a start. */
export function newSecret(): Uint8Array {
  const secret = Buffer.alloc(SECRET_BYTES);
  const source = openSync('/dev/urandom', 'r');
  try {
    if (readSync(source, secret) === SECRET_BYTES) return secret;
  } finally {
    closeSync(source);
  }
  throw new Error('/dev/urandom gave less than what was asked for');
}

/** Identity of a server, for its modules. */
export class InstanceInfo extends ServerInfo {
  readonly version: string;
  readonly prefix: string;
  readonly role: ServerInfo['role'];
  readonly worker: number;
  readonly #leaving = new AbortController();
  #secret: Uint8Array | undefined;
  #defaultName: string | undefined;

  /** @param main the current configuration, if there is one yet */
  constructor(
    { role, worker, installation, prefix, secret }: ServerIdentity,
    private readonly main: () => MainConf | undefined,
  ) {
    super();
    this.version = installation.version;
    this.prefix = prefix;
    this.role = role;
    this.worker = worker;
    this.#secret = secret;
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** It has to end. */
  leave(): void {
    this.#leaving.abort();
  }

  get clusterName(): string {
    return this.main()?.cluster_name ?? '';
  }

  get nodeName(): string {
    return this.main()?.node_name ?? (this.#defaultName ??= defaultNodeName());
  }

  path(relative: string): string {
    return resolve(this.prefix, relative);
  }

  secret(purpose: string, length: number): Buffer {
    this.#secret ??= newSecret();
    // Loaded when it is used: most threads need no cryptography of their own.
    return Buffer.from(process.getBuiltinModule('node:crypto').hkdfSync('sha256', this.#secret, '', purpose, length));
  }
}
