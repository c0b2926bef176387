/** Responding with what is stored. */
import type { HttpRequest, MemberCall, Result } from '../../core/contract/http.js';
import { conditionalStatus } from '../../core/toolkit/conditions.js';
import type { ArrivingFile } from './arriving-file.js';
import { EntryFile, type StoredHead } from './entry-file.js';
import type { CachingRules } from './rules.js';
import { cut, type ByteSpan } from './rfc9111/partial.js';

const STATUS_LINE = /^[^\r]*/;
const EMPTY = { length: 0, read: (): number => 0, close: (): void => undefined };

/** Sends a stored response, or what the conditions of the client make of it. @param wanted part of the body; undefined: all of it */
export function sendStored(
  call: MemberCall,
  request: HttpRequest,
  rules: CachingRules,
  stored: StoredHead,
  file: EntryFile | ArrivingFile,
  wanted: ByteSpan | undefined,
): Result {
  const { stored: plain, body } = file instanceof EntryFile ? cut(stored, file, wanted) : { stored, body: file };
  const head = rules.sentHead(plain, Date.now());
  const found = conditionalStatusOf(request, rules, stored);
  if (found === 200) return call.respond(head, body instanceof EntryFile ? (body.body ?? body) : body, rules.keepsDate);
  file.close();
  return withoutBody(call, rules, head, found);
}

/** The same for a response that is here as a whole. */
export function sendWhole(call: MemberCall, request: HttpRequest, rules: CachingRules, stored: StoredHead, body: Buffer): Result {
  const head = rules.sentHead(stored, request.startTime);
  const found = conditionalStatusOf(request, rules, stored);
  return found === 200 ? call.respond(head, body, rules.keepsDate) : withoutBody(call, rules, head, found);
}

function withoutBody(call: MemberCall, rules: CachingRules, head: string, status: 304 | 412): Result {
  return status === 304 ? call.respond(head.replace(STATUS_LINE, 'HTTP/1.1 304 '), EMPTY, rules.keepsDate) : status;
}

/** The conditions of the client are about what is stored. */
function conditionalStatusOf(request: HttpRequest, rules: CachingRules, stored: StoredHead): 200 | 304 | 412 {
  if (request.parent !== undefined || !stored.head.startsWith('HTTP/1.1 200')) return 200;
  const modified = rules.modified(stored);
  const since = Number.isNaN(modified) ? 'off' : rules.modifiedSince;
  return conditionalStatus(request, stored.etag === '' ? undefined : stored.etag, modified, since);
}
