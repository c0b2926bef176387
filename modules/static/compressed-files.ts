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

  /** Undefined: there is none, or the client does not get it. */
  open(path: string, request: HttpRequest, access: FileAccess, log: Log): OpenedFile | undefined {
    if (request.method === 'POST') return undefined;
    const compressed = `${path}.gz`;
    try {
      const stats = access.find(compressed, request);
      // In this order: Vary is sent wherever there is such a file.
      if (stats === undefined || !(this.isForAll || this.clients.negotiate(request)) || !stats.isFile()) return undefined;
      const file = access.open(compressed, request);
      if (file.stats.isFile()) return file;
      file.release();
    } catch (error) {
      fileStatus(error, 'open()', compressed, request, log, false);
    }
    return undefined;
  }
}
