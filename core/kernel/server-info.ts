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

/** Source of the secrets of one server. */
export function newSecret(): Uint8Array {
  return process.getBuiltinModule('node:crypto').randomBytes(32);
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
