/** The files of the page, as the build has made them (tools/dashboard.ts). */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** From the folder of this file: in the bundle, and beside it. */
const FOLDERS = ['../../dashboard', '../../bundle/dashboard'].map((path) => join(import.meta.dirname, path));
/** Stands for the path of the API in the page. */
const API = '{{api}}';
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  readonly gzip: Buffer;
  readonly etag: string;
}

/** @param api path of the API on this server. Undefined: the build has made no page. */
export function readPage(api: string): ReadonlyMap<string, PageFile> | undefined {
  const folder = FOLDERS.find((path) => existsSync(join(path, 'index.html')));
  if (folder === undefined) return undefined;
  return new Map(readdirSync(folder).map((name) => [name, fileOf(name, readFileSync(join(folder, name)), api)]));
}

function fileOf(name: string, content: Buffer, api: string): PageFile {
  const type = TYPES[extname(name)] ?? 'application/octet-stream';
  const body = extname(name) === '.html' ? Buffer.from(content.toString().replaceAll(API, () => escaped(api))) : content;
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 16)}"`;
  return { type, body, gzip: gzipSync(body, { level: 9 }), etag };
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? '');
}
