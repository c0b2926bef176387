import { HEAD_TOO_LARGE } from '../../../net/http1/message-head.js';
import { parseLoneLine } from '../../../net/http1/request-head.js';
import { Http2ErrorCode } from '../../../net/http2/protocol.js';
import { run } from '../../phases/phase-runner.js';
import { Request } from '../../request/request.js';
import { type MatchedServer, parseForServer } from '../head-server.js';
import { rejectedRequest } from '../rejected-request.js';
import { startRequest } from '../request-start.js';
import type { Http2Stream } from './http2-stream.js';
import type { RequestFields } from './request-fields.js';

/** The virtual server does not speak HTTP/2: the client has to ask it over another connection (RFC 9110, 15.5.20). */
const MISDIRECTED = 421;

/** Makes a request of the fields that opened a stream, and runs it. */
export function beginRequest(stream: Http2Stream, fields: RequestFields): void {
  const { context } = stream;
  const { head } = context;
  const text = fields.isTooLarge ? '' : fields.head();
  if (fields.malformed !== '') {
    context.log.write('info', `client sent malformed request: ${fields.malformed}, client: ${stream.client.remoteAddress}`);
    stream.breakOff(Http2ErrorCode.ProtocolError);
    return;
  }
  const { names } = stream.listener;
  const found = fields.isTooLarge ? names.find(fields.host) : parseForServer(head, text, names, stream.client, fields.uncounted);
  const code = fields.isTooLarge ? HEAD_TOO_LARGE : head.code;
  if (code !== 0) {
    reject(stream, fields, found, code);
    return;
  }
  const request = new Request(stream, found.server, head);
  context.headOwner = request;
  context.figures.countRequest();
  stream.request = request;
  let rejected = startRequest(request, found);
  if (rejected === 0 && !request.server.settings.http2 && isMisdirected(stream)) {
    const reason = 'client attempted to request the server name for which the negotiated protocol is disabled';
    context.log.write('info', reason, request);
    rejected = MISDIRECTED;
  }
  if (!stream.remoteEnded) stream.openBody(request, request.contentLength);
  else if (request.contentLength > 0) {
    stream.breakOff(Http2ErrorCode.ProtocolError);
    return;
  }
  if (rejected === 0) run(request);
  else context.flow.reject(request, rejected);
}

/** The protocol was agreed on for another server. Where that one gave it up since, connections that are open go on. */
function isMisdirected({ connection, client }: Http2Stream): boolean {
  const { http2, names } = connection.listener;
  const negotiated = client.serverName === undefined ? names.defaultServer : names.find(client.serverName).server;
  return !http2 && negotiated.settings.http2;
}

/** A head that HTTP/1 would not take either. */
function reject(stream: Http2Stream, fields: RequestFields, found: MatchedServer, code: number): void {
  const { context } = stream;
  const reason = fields.isTooLarge ? 'client sent too large request' : context.head.reason;
  parseLoneLine(context.head, fields.line.replace(/2\.0$/, '1.1'), found.server.settings.headLimits);
  const request = rejectedRequest(stream, { line: fields.line, reason, found });
  stream.request = request;
  context.flow.reject(request, code);
}
