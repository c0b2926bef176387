import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { ServerInfo } from '../module/services.js';
import type { MainConf } from './core-directives.js';
import type { Installation } from './installation.js';

export interface Identity {
  readonly role: ServerInfo['role'];
  readonly worker: number;
  readonly installation: Installation;
  readonly prefix: string;
  /** Folder of the configuration file. */
  readonly confFolder: string;
}

/** Who and where a server is, as its modules see it. */
export class InstanceInfo extends ServerInfo {
  readonly version: string;
  readonly prefix: string;
  readonly role: ServerInfo['role'];
  readonly worker: number;

  /** @param main the configuration in force, if there is one yet */
  constructor(
    { role, worker, installation, prefix }: Identity,
    private readonly main: () => MainConf | undefined,
  ) {
    super();
    this.version = installation.version;
    this.prefix = prefix;
    this.role = role;
    this.worker = worker;
  }

  get clusterName(): string {
    return this.main()?.cluster_name ?? '';
  }

  get nodeName(): string {
    return this.main()?.node_name ?? hostname();
  }

  path(relative: string): string {
    return resolve(this.prefix, relative);
  }
}
