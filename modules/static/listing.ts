/** The formats of autoindex. Texts are strings of bytes. */
import type { FolderFile } from './folder-entries.js';

/** How a folder is written down. */
export interface Listing {
  readonly type: string;
  readonly head: string;
  /** Between two entries. */
  readonly separator: string;
  /** After the last one. */
  readonly last: string;
  readonly tail: string;
  entry(file: FolderFile): string;
}

export interface HtmlOptions {
  readonly exactSize: boolean;
  readonly localTime: boolean;
  /** Names are measured in characters of UTF-8, not in bytes. */
  readonly isUtf8: boolean;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Columns for the name. */
const NAME_WIDTH = 50;
const KILO = 1024;
/** A size up to this one is written in bytes. */
const MOST_BYTES = 9999;

const HTML_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function htmlListing(uri: string, options: HtmlOptions): Listing {
  const title = `Index of ${escapeHtml(uri)}`;
  return {
    type: 'text/html',
    head: `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<h1>${title}</h1><hr><pre><a href="../">../</a>\r\n`,
    separator: '',
    last: '',
    tail: '</pre><hr></body>\r\n</html>\r\n',
    entry(file) {
      const slash = file.isFolder ? '/' : '';
      const time = htmlTime(new Date(file.modified), options.localTime);
      return `<a href="${escapeUri(file.name)}${slash}">${nameColumn(file.name, slash, options.isUtf8)}${time} ${sizeColumn(file, options.exactSize)}\r\n`;
    },
  };
}

export function xmlListing(): Listing {
  return {
    type: 'text/xml; charset=utf-8',
    head: '<?xml version="1.0"?>\r\n<list>\r\n',
    separator: '',
    last: '',
    tail: '</list>\r\n',
    entry(file) {
      const kind = kindOf(file);
      const time = new Date(file.modified).toISOString().replace(/\.\d+Z$/, 'Z');
      const size = file.isFile ? ` size="${file.size}"` : '';
      return `<${kind} mtime="${time}"${size}>${escapeHtml(file.name)}</${kind}>\r\n`;
    },
  };
}

/** @param callback the function of JSONP */
export function jsonListing(callback: string | undefined): Listing {
  return {
    type: callback === undefined ? 'application/json' : 'application/javascript',
    head: callback === undefined ? '[\r\n' : `/* callback */\r\n${callback}([\r\n`,
    separator: ',\r\n',
    last: '\r\n',
    tail: callback === undefined ? ']' : ']);',
    entry(file) {
      const size = file.isFile ? `, "size":${file.size}` : '';
      return `{ "name":"${escapeJson(file.name)}", "type":"${kindOf(file)}", "mtime":"${new Date(file.modified).toUTCString()}"${size} }`;
    },
  };
}

function kindOf({ isFolder, isFile }: FolderFile): string {
  return isFolder ? 'directory' : isFile ? 'file' : 'other';
}

/** The name, cut to its column, the end of the link and spaces up to the time. */
function nameColumn(name: string, slash: string, isUtf8: boolean): string {
  const characters = isUtf8 ? (name.match(CHARACTER) ?? []) : name;
  const width = characters.length + slash.length;
  if (width <= NAME_WIDTH) return `${escapeHtml(name)}${slash}</a>${' '.repeat(NAME_WIDTH + 1 - width)}`;
  const start = characters.slice(0, NAME_WIDTH - 3);
  return `${escapeHtml(typeof start === 'string' ? start : start.join(''))}..&gt;</a> `;
}

/** One character of UTF-8 in a string of bytes. */
const CHARACTER = /[^\x80-\xbf][\x80-\xbf]*/g;

function htmlTime(date: Date, isLocal: boolean): string {
  const [day, month, year] = isLocal
    ? [date.getDate(), date.getMonth(), date.getFullYear()]
    : [date.getUTCDate(), date.getUTCMonth(), date.getUTCFullYear()];
  const [hours, minutes] = isLocal ? [date.getHours(), date.getMinutes()] : [date.getUTCHours(), date.getUTCMinutes()];
  return `${two(day)}-${MONTHS[month]}-${year} ${two(hours)}:${two(minutes)}`;
}

function sizeColumn({ isFolder, size }: FolderFile, isExact: boolean): string {
  if (isExact) return (isFolder ? '-' : String(size)).padStart(19);
  return (isFolder ? '-' : roundedSize(size)).padStart(7);
}

function roundedSize(size: number): string {
  if (size >= KILO ** 3) return `${Math.round(size / KILO ** 3)}G`;
  if (size >= KILO ** 2) return `${Math.round(size / KILO ** 2)}M`;
  return size > MOST_BYTES ? `${Math.round(size / KILO)}K` : String(size);
}

const two = (value: number): string => String(value).padStart(2, '0');

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => HTML_ESCAPES[character] ?? character);
}

/** Escapes characters other than unreserved ones (RFC 3986, 2.3) as `%HH`. */
function escapeUri(text: string): string {
  return text.replaceAll(/[^\w.~-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

function escapeJson(text: string): string {
  return text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll(/[\x00-\x1f]/g, controlInJson);
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f' };

function controlInJson(character: string): string {
  return SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
