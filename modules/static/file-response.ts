import { type HttpRequest, type Result } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { conditionalStatus, type ModifiedSince } from '../../core/toolkit/conditions.js';
import type { CompressedFiles } from './compressed-files.js';
import type { FileAccess } from './file-access.js';
import { fileStatus, shown } from './file-errors.js';
import { FileBody } from './file-body.js';
import type { FileTexts } from './file-texts.js';
import type { OpenedFile } from './opened-file.js';

export interface FileSettings {
  readonly access: FileAccess;
  readonly texts: FileTexts;
  readonly etag: boolean;
  readonly modifiedSince: ModifiedSince;
  readonly logsNotFound: boolean;
  /** Other threads read (`aio threads`). */
  readonly threads: boolean;
  /** gzip_static; undefined: off. */
  readonly compressed: CompressedFiles | undefined;
}

/** Sends a file, redirects to a folder with its slash, or gives the status of what is wrong with it. */
export function sendFile(request: HttpRequest, path: string, settings: FileSettings, log: Log): Result | Promise<Result> {
  const { compressed } = settings;
  return compressed === undefined
    ? sendPlain(request, path, settings, log, false)
    : sendCompressed(request, path, compressed, settings, log, false);
}

function sendCompressed(
  request: HttpRequest,
  path: string,
  compressed: CompressedFiles,
  settings: FileSettings,
  log: Log,
  waits: boolean,
): Result | Promise<Result> {
  const { access } = settings;
  const name = compressed.nameFor(path);
  const file = compressed.open(name, request, access, log, waits);
  if (file === false) return sendPlain(request, path, settings, log, false);
  if (file === undefined) return access.prepare(name).then(() => sendCompressed(request, path, compressed, settings, log, true));
  request.response.set('Content-Encoding', 'gzip');
  return sendOpened(request, file, true, settings, log);
}

/** @param waits for a disk */
function sendPlain(request: HttpRequest, path: string, settings: FileSettings, log: Log, waits: boolean): Result | Promise<Result> {
  const { access } = settings;
  let file: OpenedFile | undefined;
  try {
    file = access.open(path, request, waits);
  } catch (error) {
    return fileStatus(error, 'open()', path, request, log, settings.logsNotFound);
  }
  if (file !== undefined) return sendOpened(request, file, false, settings, log);
  return access.prepare(path).then(() => sendPlain(request, path, settings, log, true));
}

/** @param isWhole parts of it are of no use to clients */
function sendOpened(request: HttpRequest, file: OpenedFile, isWhole: boolean, settings: FileSettings, log: Log): Result {
  const status = statusOf(request, file, settings, log);
  if (isWhole) request.response.allowsRanges = false;
  if (status === 200) return request.sendFrom(200, new FileBody(file, request, log, settings.threads), request.defaultType);
  file.release();
  return status === 304 ? request.send(304, '') : status;
}

/** 200 if the file is to be sent: then, and for 304, the fields of the response are set. */
function statusOf(request: HttpRequest, file: OpenedFile, settings: FileSettings, log: Log): Result {
  const { stats } = file;
  if (!stats.isFile()) return stats.isDirectory() ? redirectToFolder(request) : refuse(request, file, log);
  if (request.method === 'POST') return 405;
  const { response } = request;
  // An error page is not a file that the client asked for.
  const isPlain = request.parent === undefined && (request.status < 300 || Number(request.variable('status')) < 300);
  const texts = settings.texts.of(file.modified, stats.size);
  const etag = settings.etag ? texts.etag : undefined;
  const status = isPlain ? conditionalStatus(request, etag, file.modified, settings.modifiedSince) : 200;
  if (status === 412) return status;
  response.allowsRanges = isPlain;
  response.set('Last-Modified', texts.date);
  if (etag !== undefined) response.set('ETag', etag);
  return status;
}

function redirectToFolder(request: HttpRequest): Result {
  request.response.set('Location', `${escaped(request.uri)}/${request.args === '' ? '' : `?${request.args}`}`);
  return 301;
}

function refuse(request: HttpRequest, { path }: OpenedFile, log: Log): Result {
  log.write('crit', `"${shown(path)}" is not a regular file`, request);
  return 404;
}

/** A path as it is in a URI: bytes are percent-encoded where they must be. */
function escaped(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]|["#%<>?\\^`{|}]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
