import { HEAD_TOO_LARGE } from '../../../net/http1/message-head.js';
import { parseLoneLine, parseRequestHead } from '../../../net/http1/request-head.js';
import { ErrorCode } from '../../../net/http2/protocol.js';
import { run } from '../../phases/phase-runner.js';
import { Request } from '../../request/request.js';
import { rejectedRequest } from '../rejected-request.js';
import { startRequest } from '../request-start.js';
import type { Http2Stream } from './http2-stream.js';
import type { RequestFields } from './request-fields.js';

/** Makes a request of the fields that opened a stream, and runs it. */
export function beginRequest(stream: Http2Stream, fields: RequestFields): void {
  const { context, listener } = stream;
  const { defaultServer } = listener.names;
  const text = fields.isTooLarge ? '' : fields.head();
  if (fields.malformed !== '') {
    context.log.write('info', `client sent malformed request: ${fields.malformed}, client: ${stream.client.remoteAddress}`);
    stream.breakOff(ErrorCode.ProtocolError);
    return;
  }
  const code = fields.isTooLarge ? HEAD_TOO_LARGE : parseRequestHead(context.head, text, defaultServer.settings.headLimits);
  if (code !== 0) {
    reject(stream, fields, code);
    return;
  }
  const request = new Request(stream, defaultServer, context.head);
  context.headOwner = request;
  context.figures.countRequest();
  stream.request = request;
  const rejected = startRequest(request);
  if (!stream.remoteEnded) stream.openBody(request, request.contentLength);
  else if (request.contentLength > 0) {
    stream.breakOff(ErrorCode.ProtocolError);
    return;
  }
  if (rejected === 0) run(request);
  else context.flow.reject(request, rejected);
}

/** A head that HTTP/1 would not take either. */
function reject(stream: Http2Stream, fields: RequestFields, code: number): void {
  const { context, listener } = stream;
  const reason = fields.isTooLarge ? 'client sent too large request' : context.head.reason;
  parseLoneLine(context.head, fields.line.replace(/2\.0$/, '1.1'), listener.names.defaultServer.settings.headLimits);
  const request = rejectedRequest(stream, { line: fields.line, reason });
  stream.request = request;
  context.flow.reject(request, code);
}
