import type { HttpRequest } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import type { FileAccess } from './file-access.js';
import { fileStatus } from './file-errors.js';
import type { OpenedFile } from './opened-file.js';

/** Of srv_http_gzip_module. */
export abstract class GzipNegotiation {
  static readonly service = 'srv.gzip-clients';
  abstract negotiate(request: HttpRequest): boolean;
}

/** Files that were compressed before, beside the requested ones, with the suffix `.gz` (gzip_static). */
export class CompressedFiles {
  constructor(
    private readonly clients: GzipNegotiation,
    /** Also for clients that do not take gzip. */
    private readonly isForAll: boolean,
  ) {}

  /** Name of the file in place of another one. */
  nameFor(path: string): string {
    return `${path}.gz`;
  }

  /**
   * False: there is none, or the client does not get it. Undefined: a disk has to be asked for it.
   * @param path see {@link nameFor}
   */
  open(path: string, request: HttpRequest, access: FileAccess, log: Log, waits: boolean): OpenedFile | false | undefined {
    if (request.method === 'POST') return false;
    try {
      const stats = access.find(path, request, waits);
      if (stats === undefined) return undefined;
      // In this order: Vary is sent wherever there is such a file.
      if (stats === false || !(this.isForAll || this.clients.negotiate(request)) || !stats.isFile()) return false;
      const file = access.open(path, request, waits);
      if (file === undefined || file.stats.isFile()) return file;
      file.release();
    } catch (error) {
      fileStatus(error, 'open()', path, request, log, false);
    }
    return false;
  }
}
