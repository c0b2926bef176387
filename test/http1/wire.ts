/** The codec put together as a connection does it: what a peer's bytes mean, as data. */
import { TOKEN } from '../../core/net/http1/characters.js';
import { ChunkedDecoder } from '../../core/net/http1/chunked.js';
import { fieldName, fieldValue } from '../../core/net/http1/fields.js';
import { HeadEnd, parseFound } from '../../core/net/http1/head-end.js';
import { DEFAULT_HEAD_LIMITS, type HeadLimits, type MessageHead } from '../../core/net/http1/message-head.js';
import { parseRequestHead, RequestHead } from '../../core/net/http1/request-head.js';
import {
  BODY_CHUNKED,
  BODY_LENGTH,
  BODY_NONE,
  BODY_UNTIL_CLOSE,
  parseResponseHead,
  responseBodyKind,
  ResponseHead,
} from '../../core/net/http1/response-head.js';
import { RequestUri } from '../../core/net/http1/uri.js';

/** A whole message. */
export interface Message {
  /** Method and target, or status and reason phrase. */
  first: string;
  second: string;
  minor: number;
  /** Names and values in turn. */
  fields: string[];
  body: string;
  trailers: string;
}

export interface Reading {
  /** What was read completely. */
  messages: Message[];
  /** Status of the rejection that ended the reading, 0: none. */
  status: number;
  reason: string;
  /** Where the rejection came from. */
  in: 'head' | 'path' | 'body' | '';
}

/** The input as it is sent on: in the heads of the messages that were read, each line with its CRLF. */
export interface Rewritten {
  text: string;
}

const LIMITS: HeadLimits = { ...DEFAULT_HEAD_LIMITS, names: TOKEN };

class Body {
  text = '';

  onData(input: Buffer, start: number, end: number): void {
    this.text += input.latin1Slice(start, end);
  }
}

function fieldList(head: MessageHead): string[] {
  const list: string[] = [];
  for (let i = 0; i < head.count; i++) list.push(fieldName(head.text, head.fields, i), fieldValue(head.text, head.fields, i));
  return list;
}

/** Where the body that starts at `start` ends; -1: not yet, -2: it is malformed. Fills `message`. */
function readBody(message: Message, kind: number, length: number, input: Buffer, start: number): number {
  if (kind === BODY_CHUNKED) {
    const decoder = new ChunkedDecoder();
    const body = new Body();
    const end = decoder.decode(input, start, input.length, body);
    if (decoder.failed) return -2;
    message.body = body.text;
    message.trailers = decoder.trailers;
    return decoder.done ? end : -1;
  }
  const size = kind === BODY_LENGTH ? length : kind === BODY_UNTIL_CLOSE ? input.length - start : 0;
  if (start + size > input.length) return -1;
  message.body = input.latin1Slice(start, start + size);
  return start + size;
}

/** Puts the message that was read from `from` to `to` into `rewritten`, and everything after it. */
function rewrite(rewritten: Rewritten, search: HeadEnd, head: MessageHead, input: Buffer, from: number, to: number): void {
  const before = rewritten.text.slice(0, rewritten.text.length - (input.length - from));
  const emptyLines = input.latin1Slice(from, search.start).replaceAll(/\r?\n/g, '\r\n');
  rewritten.text = before + emptyLines + head.text + input.latin1Slice(search.end, to) + input.latin1Slice(to);
}

/** Reads pipelined requests until the input or the connection ends, or one is refused. */
export function readRequests(input: Buffer, rewritten: Rewritten = { text: '' }): Reading {
  rewritten.text = input.latin1Slice();
  const reading: Reading = { messages: [], status: 0, reason: '', in: '' };
  const head = new RequestHead();
  const search = new HeadEnd();
  const uri = new RequestUri();
  let at = 0;
  while (at < input.length) {
    search.reset();
    const end = search.find(input, at, LIMITS);
    if (end < 0) return refused(reading, -end, search.reason, 'head');
    if (end === 0) return reading;
    const status = parseFound(search, input, at, end, LIMITS, head, parseRequestHead);
    if (status !== 0) return refused(reading, status, head.reason, 'head');
    const target = head.text.slice(head.targetStart, head.targetEnd);
    if (!uri.parse(head.text.slice(head.pathStart, head.targetEnd), true)) return refused(reading, 400, 'path', 'path');
    const message: Message = { first: head.method, second: target, minor: head.minor, fields: fieldList(head), body: '', trailers: '' };
    const kind = head.chunked ? BODY_CHUNKED : head.contentLength > 0 ? BODY_LENGTH : BODY_NONE;
    const from = at;
    at = readBody(message, kind, head.contentLength, input, search.end);
    if (at === -2) return refused(reading, 400, 'body', 'body');
    if (at === -1) return reading;
    rewrite(rewritten, search, head, input, from, at);
    reading.messages.push(message);
    // What follows a request for another protocol is read when it is known in which protocol.
    if (!head.keepAlive || head.upgrade || head.method === 'CONNECT') return reading;
  }
  return reading;
}

/** Reads the response to a request with `method`, with the interim responses before it, from a connection that was closed behind `input`. */
export function readResponse(input: Buffer, method: string, rewritten: Rewritten = { text: '' }): Reading {
  rewritten.text = input.latin1Slice();
  const reading: Reading = { messages: [], status: 0, reason: '', in: '' };
  const head = new ResponseHead();
  const search = new HeadEnd(0);
  let at = 0;
  do {
    search.reset();
    const end = search.find(input, at, LIMITS);
    if (end < 0) return refused(reading, 502, search.reason, 'head');
    if (end === 0) return reading;
    if (parseFound(search, input, at, end, LIMITS, head, parseResponseHead) !== 0) return refused(reading, 502, head.reason, 'head');
    const reason = head.text.slice(head.reasonStart, head.reasonEnd);
    const message: Message = {
      first: String(head.status),
      second: reason,
      minor: head.minor,
      fields: fieldList(head),
      body: '',
      trailers: '',
    };
    const from = at;
    at = readBody(message, responseBodyKind(method, head), head.contentLength, input, search.end);
    if (at === -2) return refused(reading, 502, 'body', 'body');
    if (at === -1) return reading;
    rewrite(rewritten, search, head, input, from, at);
    reading.messages.push(message);
  } while (head.interim);
  return reading;
}

function refused(reading: Reading, status: number, reason: string, where: Reading['in']): Reading {
  reading.status = status;
  reading.reason = reason;
  reading.in = where;
  return reading;
}
