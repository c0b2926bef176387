import { LogRecords, type LogLevel, type LogRecord, type SubjectDetail } from '../contract/log.js';
import type { StreamSession } from '../contract/stream.js';
import { escapeControls, isRequest, requestFields, type LoggedSession, type LogSubject } from './error-line.js';

/** The fields of a line of the error log; see `errorLine` for its text. */
export function errorRecord(
  level: LogLevel,
  text: string,
  origin: string,
  subject: LogSubject | undefined,
  now: Date,
  detail: SubjectDetail = 'all',
): LogRecord {
  const head = { time: now.getTime(), level, origin, message: escapeControls(text) };
  if (subject === undefined) return head;
  const { id: connection } = subject.connection;
  if (detail === 'number') return { ...head, connection };
  return { ...head, connection, ...(isRequest(subject) ? requestFields(subject) : sessionFields(subject)) };
}

/** A record as one line of JSON. */
export function recordJson({ time, level, origin, connection, requestId, ...fields }: LogRecord): string {
  const [pid, thread] = origin.split('#').map(Number);
  return JSON.stringify({
    time: new Date(time).toISOString(),
    level,
    pid,
    thread,
    connection,
    ...fields,
    request_id: requestId,
  });
}

function sessionFields({ connection, serverAddress, upstreamTrace }: StreamSession & LoggedSession): Partial<LogRecord> {
  return {
    client: connection.remoteAddress,
    ...(serverAddress !== undefined && { server: serverAddress }),
    ...(upstreamTrace !== undefined && { upstream: escapeControls(upstreamTrace.address) }),
  };
}

/** Passes the lines of one thread to listeners. */
export class LogRecordFeed extends LogRecords {
  readonly #listeners = new Set<(record: LogRecord) => void>();
  #isPassing = false;

  /** False: a record need not be made. */
  get isFollowed(): boolean {
    return this.#listeners.size > 0 && !this.#isPassing;
  }

  follow(listener: (record: LogRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A listener that throws gets no further records. @param failed called with what it has thrown */
  pass(record: LogRecord, failed: (error: unknown) => void): void {
    this.#isPassing = true;
    for (const listener of this.#listeners) {
      try {
        listener(record);
      } catch (error) {
        this.#listeners.delete(listener);
        failed(error);
      }
    }
    this.#isPassing = false;
  }
}
