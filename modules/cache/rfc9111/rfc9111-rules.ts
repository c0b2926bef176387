/** The rules of RFC 9111 for a shared cache. */
import type { HttpRequest } from '../../../core/contract/http.js';
import type { StoredHead } from '../entry-file.js';
import type { CachingRules, Judgement, Received, Renewal } from '../rules.js';
import { namesOf } from './cache-control.js';
import { parseDate } from './dates.js';
import { fieldsOf, freshenedLines, linesOf, storedLines, textOf, type Fields } from './fields.js';
import { requestTerms } from './request-terms.js';
import { selectingValue } from './selection.js';
import { controlOf, judge, type ReceivedFields } from './storing.js';

export const rfc9111Rules: CachingRules = {
  alwaysValidates: true,
  updatesInBackground: true,
  invalidates: true,
  storesHeads: false,
  storesParts: true,
  readsQueries: true,
  errors: new Set([500, 502, 503, 504]),
  keepsDate: true,
  modifiedSince: 'before',
  terms: (request) => requestTerms(request.header('cache-control')),
  judge: (received): Judgement => {
    const { response, ignored } = received;
    return judge(receivedFields(received, response.status, fieldsOf(response.headers(), ignored)));
  },
  storedHead: ({ response, ignored, responseTime }) => {
    const lines = response.headers();
    const fields = fieldsOf(lines, ignored);
    const omitted = omittedNames(fields);
    // The recipient adds a Date that is missing (RFC 9110, 6.6.1).
    if (!Number.isNaN(parseDate(fields.get('date') ?? '', responseTime))) return textOf(response.status, storedLines(lines, omitted));
    const others = storedLines(lines, [...omitted, 'date']);
    return textOf(response.status, [...others, ['Date', new Date(responseTime).toUTCString()]]);
  },
  // Another tag is that of another response (RFC 9111, 4.3.4).
  isAbout: ({ etag }, { response }) => etag === '' || opaqueTag(response.header('etag') ?? etag) === opaqueTag(etag),
  renewed,
  sentHead: ({ head, born }, now) => `${head.slice(0, -2)}Age: ${Math.max(0, Math.floor((now - born) / 1000))}\r\n\r\n`,
  selectingValue,
  modified: ({ head, modified, date }) => {
    if (!Number.isNaN(modified)) return modified;
    // Without Last-Modified the time of the response counts (RFC 9111, 4.3.2).
    const [, sent = ''] = /\r\ndate: *([^\r]*)/i.exec(head) ?? [];
    const time = parseDate(sent, date);
    return Number.isNaN(time) ? NaN : time / 1000;
  },
};

/** The new fields take the place of the stored ones (RFC 9111, 3.2), and all of them say how it is used. */
function renewed(stored: StoredHead, received: Received): Renewal {
  const news = received.response.headers();
  const status = Number(stored.head.slice(9, 12));
  const omitted = omittedNames(fieldsOf(news, received.ignored));
  const lines = freshenedLines(linesOf(stored.head), news, omitted);
  const fields = new Map(fieldsOf(lines, received.ignored));
  const age = received.response.header('age');
  if (age !== undefined) fields.set('age', age);
  const { seconds, staleWhileRevalidate, staleIfError, born, flags } = judge(receivedFields(received, status, fields));
  const now = received.responseTime;
  // It may not be stored as it is now: it is never used again.
  const validUntil = Number.isNaN(seconds) ? 0 : born + seconds * 1000;
  const modified = parseDate(fields.get('last-modified') ?? '', now) / 1000;
  return { head: textOf(status, lines), modified, date: now, born: born || now, flags, validUntil, staleWhileRevalidate, staleIfError };
}

/** Fields that are not stored: Age is calculated each time. */
function omittedNames(fields: Fields): readonly string[] {
  const control = controlOf(fields);
  return ['age', ...namesOf(control, 'private'), ...namesOf(control, 'no-cache')];
}

function receivedFields({ request, validity, requestTime, responseTime }: Received, status: number, fields: Fields): ReceivedFields {
  return { status, fields, isAuthorized: isAuthorized(request), requestTime, responseTime, validity };
}

function isAuthorized(request: HttpRequest): boolean {
  return request.header('authorization') !== undefined;
}

function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, '');
}
