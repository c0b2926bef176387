/** Identity of the server, for unit tests. */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { ServerInfo } from '../core/contract/server-info.js';

/** A worker, or what the test says. */
export class FakeServerInfo extends ServerInfo {
  readonly version: string = '0.0.0';
  readonly prefix: string = '/srv';
  readonly role: ServerInfo['role'] = 'worker';
  readonly worker: number = 0;
  readonly clusterName: string = 'cluster';
  readonly nodeName: string = 'node';
  readonly #leaving = new AbortController();

  constructor(facts: Partial<Pick<ServerInfo, 'version' | 'prefix' | 'role' | 'worker' | 'clusterName' | 'nodeName'>> = {}) {
    super();
    Object.assign(this, facts);
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Begins the graceful end of the worker. */
  leave(): void {
    this.#leaving.abort();
  }

  path(relative: string): string {
    return resolve(this.prefix, relative);
  }

  /** The same bytes in each test. */
  secret(purpose: string, length: number): Buffer {
    return createHash('shake256', { outputLength: length }).update(purpose).digest();
  }
}
