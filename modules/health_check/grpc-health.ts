/** Messages of the gRPC Health Checking Protocol (grpc.health.v1), and what a response to them says. */
import type { CheckFailure } from './probe.js';

/** Bytes before a message: a flag for compression and the length. */
const PREFIX = 5;
/** HealthCheckRequest.service, a text. */
const SERVICE_TAG = 0x0a;
/** HealthCheckResponse.status, a number; in bytes, where it says SERVING. */
const SERVING = '0801';

/** Response to a call. */
export interface GrpcAnswer {
  /** Of HTTP. */
  readonly status: number;
  /** Status of the call; undefined: there was none. */
  readonly grpcStatus: string | undefined;
  readonly body: Buffer;
}

/** When a member passes. */
export interface GrpcExpectation {
  /** Status of the call. 0: the response has to say SERVING as well. */
  readonly grpcStatus: number;
}

/** HealthCheckRequest with its prefix. */
export function checkRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([SERVICE_TAG, ...varint(name.length)]), name]);
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Undefined: the member passes. */
export function answerFailure({ status, grpcStatus, body }: GrpcAnswer, expected: GrpcExpectation): CheckFailure | undefined {
  if (status !== 200) return { reason: `status ${status}`, step: 'checking status code' };
  if (grpcStatus === undefined) return { reason: 'no gRPC status', step: 'checking gRPC status' };
  if (grpcStatus !== String(expected.grpcStatus))
    return { reason: /^\d{1,3}$/.test(grpcStatus) ? `gRPC status ${grpcStatus}` : 'invalid gRPC status', step: 'checking gRPC status' };
  if (expected.grpcStatus !== 0 || isServing(body)) return undefined;
  return { reason: 'not serving', step: 'checking gRPC response' };
}

function isServing(body: Buffer): boolean {
  return (
    body.length >= PREFIX && body[0] === 0 && body.readUInt32BE(1) === body.length - PREFIX && body.toString('hex', PREFIX) === SERVING
  );
}

/** A number as protocol buffers encode it. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}
