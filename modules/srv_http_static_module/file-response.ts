import type { Stats } from 'node:fs';
import { DONE, type HttpRequest, type Result } from '../../core/module/http.js';
import type { Log } from '../../core/module/services.js';
import { conditionalStatus, type ModifiedSince } from './conditions.js';
import { fileStatus, shown } from './file-errors.js';
import { OpenFile } from './open-file.js';
import { contentRange, lengthOf, multipart, rangesOf, type ByteRange, type Part } from './ranges.js';

/** Bytes of a file that are read at once: smaller files are sent whole, larger ones in such pieces. */
const PIECE = 65_536;

export interface FileSettings {
  readonly etag: boolean;
  readonly modifiedSince: ModifiedSince;
  readonly logsNotFound: boolean;
  readonly maxRanges: number;
}

/** Sends a file, redirects to a folder with its slash, or gives the status of what is wrong with it. */
export async function sendFile(request: HttpRequest, path: string, settings: FileSettings, log: Log): Promise<Result> {
  // Asked for now: it tells what happens while the file is opened.
  const { signal } = request;
  let file: OpenFile;
  try {
    file = await OpenFile.open(path);
  } catch (error) {
    return fileStatus(error, 'open()', path, request, log, settings.logsNotFound);
  }
  let isHandedOver = false;
  try {
    const { stats } = file;
    if (signal.aborted) return DONE;
    const status = statusOf(request, stats, path, log);
    if (status !== 200) return status;
    const { parts, length, type, ...content } = contentOf(request, stats, settings);
    if (content.status === 304) return request.send(304, '');
    if (content.status >= 400) return content.status;
    const [part] = parts;
    if (request.method !== 'HEAD' && length <= PIECE && parts.length === 1 && part !== undefined && !Buffer.isBuffer(part)) {
      return request.send(content.status, await file.read(part.start, part.end), type);
    }
    const body = request.respond(content.status, type === '' ? undefined : type, length);
    if (request.method === 'HEAD') body.end();
    else {
      isHandedOver = true;
      body.pipe(piecesOf(file, parts));
    }
    return DONE;
  } finally {
    if (!isHandedOver) file.close();
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

/** What is sent of a file, and how. */
interface Content {
  readonly status: number;
  readonly parts: readonly Part[];
  /** Bytes of all parts. */
  readonly length: number;
  readonly type: string;
}

/** Chooses what is sent, by the conditions and the ranges of the request, and sets the fields of the response. */
function contentOf(request: HttpRequest, { mtimeMs, size }: Stats, settings: FileSettings): Content {
  const modified = Math.floor(mtimeMs / 1000);
  const etag = settings.etag ? `"${modified.toString(16)}-${size.toString(16)}"` : undefined;
  const file = { etag, modified };
  // An error page is no file that the client asked for.
  const isPlain = Number(request.variable('status')) < 300 && request.parent === undefined;
  const status = isPlain ? conditionalStatus(request, file, settings.modifiedSince) : 200;
  if (status === 412) return withoutParts(status);
  const ranges = isPlain && status === 200 ? rangesOf(request, size, file, settings.maxRanges) : undefined;
  if (ranges?.length === 0) {
    request.response.set('Content-Range', `bytes */${size}`);
    return withoutParts(416);
  }
  request.response.set('Last-Modified', new Date(modified * 1000).toUTCString());
  if (etag !== undefined) request.response.set('ETag', etag);
  if (status === 304) return withoutParts(status);
  if (ranges !== undefined) return partsOf(request, ranges, size);
  if (isPlain && settings.maxRanges > 0) request.response.set('Accept-Ranges', 'bytes');
  return { status, parts: [{ start: 0, end: size }], length: size, type: request.defaultType };
}

function withoutParts(status: number): Content {
  return { status, parts: [], length: 0, type: '' };
}

function partsOf(request: HttpRequest, ranges: readonly ByteRange[], size: number): Content {
  const [range] = ranges;
  if (ranges.length === 1 && range !== undefined) {
    request.response.set('Content-Range', contentRange(range, size));
    return { status: 206, parts: ranges, length: range.end - range.start, type: request.defaultType };
  }
  const boundary = process.getBuiltinModule('node:crypto').randomBytes(10).toString('hex');
  const parts = multipart(ranges, size, request.defaultType, boundary);
  return { status: 206, parts, length: lengthOf(parts), type: `multipart/byteranges; boundary=${boundary}` };
}

/** The file may shrink meanwhile: then the response is cut off, as its length is out. */
async function* piecesOf(file: OpenFile, parts: readonly Part[]): AsyncGenerator<Buffer, void> {
  try {
    for (const part of parts) {
      if (Buffer.isBuffer(part)) {
        yield part;
        continue;
      }
      for (let at = part.start; at < part.end;) {
        const piece = await file.read(at, Math.min(at + PIECE, part.end));
        if (piece.length === 0) return;
        at += piece.length;
        yield piece;
      }
    }
  } finally {
    file.close();
  }
}

/** A path as it stands in a URI: bytes are percent-encoded where they must be. */
function escaped(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]|["#%<>?\\^`{|}]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
