import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Address } from '../../core/contract/address.js';
import { SocketError, type SocketStream } from '../../core/contract/sockets.js';
import { connectionFailure, type ConnectionOptions } from './connection.js';
import { answerFailure, checkRequest, type GrpcAnswer, type GrpcExpectation } from './grpc-health.js';
import { timedOut, type CheckFailure, type Probe, type Prober } from './probe.js';

export interface GrpcProbeOptions extends ConnectionOptions, GrpcExpectation {
  /** Service that is asked for; empty: the server as a whole. */
  readonly service: string;
  /** Name of the upstream, for `:authority`. */
  readonly host: string;
}

/** Most bytes of a response: that of the protocol has two. */
const MAX_BODY = 4096;

/** Checks members with one call each of the gRPC Health Checking Protocol, over a connection of its own. */
export function grpcProber({ service, ...options }: GrpcProbeOptions): Prober {
  const request = checkRequest(service);
  return (address, done) => new GrpcProbe(address, request, options, done);
}

class GrpcProbe implements Probe {
  #step = 'connecting to upstream';
  readonly #socket: SocketStream;
  #session: ClientHttp2Session | undefined = undefined;
  #isOver = false;
  readonly #answer: { -readonly [K in keyof GrpcAnswer]: GrpcAnswer[K] } = { status: 0, grpcStatus: undefined, body: Buffer.alloc(0) };

  constructor(
    address: Address,
    private readonly request: Buffer,
    private readonly options: Omit<GrpcProbeOptions, 'service'>,
    private readonly done: Parameters<Prober>[1],
  ) {
    const { tls, means } = options;
    this.#socket = means.sockets.stream(address, tls);
    this.#socket.on('connect', () => this.#call());
    this.#socket.on('reached', () => (this.#step = 'SSL handshaking to upstream'));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#finish({ reason: 'connection closed', step: this.#step }));
  }

  expire(): CheckFailure {
    this.cancel();
    return timedOut(this.#step);
  }

  cancel(): void {
    this.#isOver = true;
    this.#session?.destroy();
    this.#socket.destroy();
  }

  #call(): void {
    if (this.#isOver) return;
    this.#step = 'reading response header from upstream';
    const { host, tls } = this.options;
    if (tls !== undefined && this.#socket.protocol !== 'h2') {
      this.#finish({ reason: 'HTTP/2 was not agreed on by ALPN', step: 'SSL handshaking to upstream' });
      return;
    }
    const scheme = tls === undefined ? 'http' : 'https';
    const session = process.getBuiltinModule('node:http2').connect(`${scheme}://localhost`, {
      createConnection: () => this.#socket,
      settings: { enablePush: false },
    });
    this.#session = session;
    session.on('error', () => this.#finish({ reason: 'invalid response', step: this.#step }));
    this.#read(
      session.request({
        ':method': 'POST',
        ':path': '/grpc.health.v1.Health/Check',
        ':authority': host,
        'content-type': 'application/grpc',
        te: 'trailers',
        'user-agent': 'srv (health check)',
      }),
    );
  }

  #read(stream: ClientHttp2Stream): void {
    const answer = this.#answer;
    const takeStatus = (fields: Readonly<Record<string, unknown>>): void => {
      const { 'grpc-status': status } = fields;
      if (typeof status === 'string') answer.grpcStatus = status;
    };
    stream.on('response', (fields) => {
      answer.status = fields[':status'] ?? 0;
      takeStatus(fields);
      this.#step = 'reading response body from upstream';
    });
    stream.on('trailers', takeStatus);
    stream.on('data', (chunk: Buffer) => {
      answer.body = Buffer.concat([answer.body, chunk]);
      if (answer.body.length > MAX_BODY) this.#finish({ reason: 'too long response', step: this.#step });
    });
    stream.on('error', () => this.#finish({ reason: 'the call was reset', step: this.#step }));
    stream.on('close', () => this.#finish(answerFailure(answer, this.options)));
    stream.end(this.request);
  }

  #fail(error: Error): void {
    if (error instanceof SocketError) this.#finish(connectionFailure(error, this.#step));
    else this.#finish({ reason: 'invalid response', step: this.#step });
  }

  /** The check is over. */
  #finish(failure: CheckFailure | undefined): void {
    if (this.#isOver) return;
    this.cancel();
    this.done(failure);
  }
}
