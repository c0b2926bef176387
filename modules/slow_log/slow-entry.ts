import type { HttpRequest } from '../../core/contract/http.js';
import { attemptView, phasesOf, type Phases, type SlowAttempt } from './phases.js';

/** Characters of a text that an entry of the API has at most. */
const LONGEST = 2048;
/** Attempts of one request, the last ones. */
const MOST_ATTEMPTS = 20;

/** A line of the slow log. */
export interface SlowEntry {
  /** ISO 8601, when the request was over. */
  readonly time: string;
  /** Milliseconds. */
  readonly duration: number;
  readonly phases: Phases;
  readonly server: string;
  readonly client: string;
  readonly method: string;
  readonly uri: string;
  readonly protocol: string;
  readonly host: string;
  readonly status: number;
  readonly received: number;
  readonly sent: number;
  readonly attempts: readonly SlowAttempt[];
  readonly request_id: string;
}

/** @param end epoch milliseconds */
export function slowEntry(request: HttpRequest, end: number): SlowEntry {
  const { startTime, method, requestUri, protocol, host, status, connection, attempts } = request;
  return {
    time: new Date(end).toISOString(),
    duration: end - startTime,
    phases: phasesOf({ startTime, headTime: request.headTime, attempts }, end),
    server: characters(request.variable('server_name') ?? ''),
    client: connection.remoteAddress,
    method: characters(method),
    uri: characters(requestUri),
    protocol,
    host: characters(host),
    status,
    received: request.bytesReceived,
    sent: request.bytesSent,
    attempts: attempts.map(attemptView),
    request_id: request.requestId,
  };
}

/** The entry with texts that are not too long to be kept. */
export function shortened(entry: SlowEntry): SlowEntry {
  return { ...entry, uri: entry.uri.slice(0, LONGEST), host: entry.host.slice(0, LONGEST), attempts: entry.attempts.slice(-MOST_ATTEMPTS) };
}

/** Values of requests are strings of bytes. */
function characters(value: string): string {
  return Buffer.from(value, 'latin1').toString();
}
