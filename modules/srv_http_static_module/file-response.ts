import type { Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { DONE, type HttpRequest, type Result } from '../../core/module/http.js';
import type { Log } from '../../core/module/services.js';
import { conditionalStatus, type ModifiedSince } from './conditions.js';
import { bytesOf, fileStatus, shown } from './file-errors.js';

/** Bytes of a file that are read at once: smaller files are sent whole, larger ones in such pieces. */
const PIECE = 65_536;

export interface FileSettings {
  readonly etag: boolean;
  readonly modifiedSince: ModifiedSince;
  readonly logsNotFound: boolean;
}

/** Sends a file, redirects to a folder with its slash, or gives the status of what is wrong with it. */
export async function sendFile(request: HttpRequest, path: string, settings: FileSettings, log: Log): Promise<Result> {
  // Asked for now: it tells what happens while the file is opened.
  const { signal } = request;
  let file: FileHandle;
  try {
    file = await open(bytesOf(path));
  } catch (error) {
    return fileStatus(error, 'open()', path, request, log, settings.logsNotFound);
  }
  let isHandedOver = false;
  try {
    const stats = await file.stat();
    if (signal.aborted) return DONE;
    const status = statusOf(request, stats, path, log);
    if (status !== 200) return status;
    const validated = validate(request, stats, settings);
    if (validated !== 200) return validated === 304 ? request.send(304, '') : validated;
    if (request.method !== 'HEAD' && stats.size <= PIECE) return request.send(200, await wholeOf(file, stats.size), request.defaultType);
    const body = request.respond(200, request.defaultType, stats.size);
    if (request.method === 'HEAD') body.end();
    else {
      isHandedOver = true;
      body.pipe(piecesOf(file, stats.size));
    }
    return DONE;
  } finally {
    if (!isHandedOver) await file.close();
  }
}

function statusOf(request: HttpRequest, stats: Stats, path: string, log: Log): number {
  if (stats.isDirectory()) {
    request.response.set('Location', `${escaped(request.uri)}/${request.args === '' ? '' : `?${request.args}`}`);
    return 301;
  }
  if (!stats.isFile()) {
    log.write('crit', `"${shown(path)}" is not a regular file`, request);
    return 404;
  }
  return request.method === 'POST' ? 405 : 200;
}

/** Sets the validators of the response, unless a condition makes another one of it. */
function validate(request: HttpRequest, { mtimeMs, size }: Stats, settings: FileSettings): number {
  const modified = Math.floor(mtimeMs / 1000);
  const etag = settings.etag ? `"${modified.toString(16)}-${size.toString(16)}"` : undefined;
  // An error page is no file that the client asked for.
  const isPlain = Number(request.variable('status')) < 300 && request.parent === undefined;
  const status = isPlain ? conditionalStatus(request, { etag, modified }, settings.modifiedSince) : 200;
  if (status === 412) return status;
  request.response.set('Last-Modified', new Date(modified * 1000).toUTCString());
  if (etag !== undefined) request.response.set('ETag', etag);
  return status;
}

async function wholeOf(file: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  const { bytesRead } = size === 0 ? { bytesRead: 0 } : await file.read(bytes, 0, size, 0);
  return bytes.subarray(0, bytesRead);
}

/** The file may shrink meanwhile: then the response is cut off, as its length is out. */
async function* piecesOf(file: FileHandle, end: number): AsyncGenerator<Buffer, void> {
  try {
    for (let at = 0; at < end;) {
      const length = Math.min(PIECE, end - at);
      const bytes = Buffer.allocUnsafe(length);
      const { bytesRead } = await file.read(bytes, 0, length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield bytes.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** A path as it stands in a URI: bytes are percent-encoded where they must be. */
function escaped(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]|["#%<>?\\^`{|}]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
