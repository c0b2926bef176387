/** Identity of this server. */
export abstract class ServerInfo {
  abstract readonly version: string;
  abstract readonly prefix: string;
  /** `master`: the main thread of the data plane; `control`: the process of `helper ctrl`. */
  abstract readonly role: 'master' | 'worker' | 'control';
  /** 0-based number of this worker; -1 in the master. */
  abstract readonly worker: number;
  abstract readonly clusterName: string;
  /** `node_name`, otherwise the host name. */
  abstract readonly nodeName: string;
  /** Aborted when this server or worker begins to end gracefully: a response that would go on forever ends now, or QUIT waits for it. */
  abstract readonly leaving: AbortSignal;
  /** An absolute path for one that may be relative to the prefix. */
  abstract path(relative: string): string;
  /** Bytes for one purpose that all threads of this server share and keep secret: other ones after each start. */
  abstract secret(purpose: string, length: number): Buffer;
}
