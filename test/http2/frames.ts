/** Frames of HTTP/2 as strings of bytes, put together by hand: also such as no library sends. */

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;
export const ACK = 1;
export const END_STREAM = 1;
export const END_HEADERS = 4;
export const PADDED = 8;
export const PRIORITY = 32;

export const ERRORS = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
] as const;

export function uint(value: number, bytes: number): string {
  return Array.from({ length: bytes }, (_, at) => String.fromCharCode(Math.floor(value / 256 ** (bytes - 1 - at)) % 256)).join('');
}

export function frame(type: number, flags: number, stream: number, payload = ''): string {
  return uint(payload.length, 3) + uint(type, 1) + uint(flags, 1) + uint(stream, 4) + payload;
}

export function settings(...list: readonly (readonly [number: number, value: number])[]): string {
  return frame(Type.settings, 0, 0, list.map(([number, value]) => uint(number, 2) + uint(value, 4)).join(''));
}

/** HPACK: a literal that does not enter the table, without Huffman codes. */
export function field(name: string, value: string): string {
  return `\0${text(name)}${text(value)}`;
}

/** HPACK: a literal that enters the table. */
export function addedField(name: string, value: string): string {
  return `\x40${text(name)}${text(value)}`;
}

function text(value: string): string {
  return integer(value.length, 7) + value;
}

/** HPACK: an integer in the last `bits` bits of its first byte, the others zero. */
export function integer(value: number, bits: number): string {
  const mask = 2 ** bits - 1;
  if (value < mask) return String.fromCharCode(value);
  let encoded = String.fromCharCode(mask);
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) encoded += String.fromCharCode((rest % 128) + 128);
  return encoded + String.fromCharCode(rest);
}

export type Fields = readonly (readonly [name: string, value: string])[];

export const GET: Fields = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a.test'],
];

export function block(fields: Fields): string {
  return fields.map(([name, value]) => field(name, value)).join('');
}

/** The usual request fields with other values, without those that are undefined, and with more after them. */
export function request(changes: Readonly<Record<string, string | undefined>> = {}, more: Fields = []): string {
  const usual = GET.flatMap(([name, value]) => {
    const changed = name in changes ? changes[name] : value;
    return changed === undefined ? [] : [[name, changed] as const];
  });
  return block([...usual, ...more]);
}

/** HEADERS that are the whole request. */
export function get(stream: number, path = '/', more: Fields = []): string {
  return frame(Type.headers, END_STREAM | END_HEADERS, stream, request({ ':path': path }, more));
}

/** HEADERS of a request with a body. */
export function post(stream: number, path = '/', more: Fields = []): string {
  return frame(Type.headers, END_HEADERS, stream, request({ ':path': path, ':method': 'POST' }, more));
}

export function data(stream: number, payload: string, flags = 0): string {
  return frame(Type.data, flags, stream, payload);
}

export function windowUpdate(stream: number, increment: number): string {
  return frame(Type.window, 0, stream, uint(increment, 4));
}

export function reset(stream: number, code = 8): string {
  return frame(Type.reset, 0, stream, uint(code, 4));
}

export function ping(payload: string, flags = 0): string {
  return frame(Type.ping, flags, 0, payload);
}
