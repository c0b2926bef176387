import { isIP } from 'node:net';
import type { ControlPlaneGuard } from '../../contract/control-plane-guard.js';
import type { HostNames } from '../../contract/host-names.js';
import { systemErrorText } from '../../contract/system-error.js';

/** Bytes of a response that are read, as in nginx. */
const LONGEST = 16_384;
const MEDIA_TYPE = 'application/ocsp-response';

/** Where a question goes to. */
export interface Responder {
  /** With its port, if the URL has one. */
  readonly host: string;
  readonly name: string;
  readonly port: number;
  /** Ends with `/`. */
  readonly path: string;
}

/** Why there is no response, in nginx's words. */
export class StatusRequestError extends Error {
  /** @param peer address that was connected to; empty: none */
  constructor(
    message: string,
    readonly peer: string,
  ) {
    super(message);
  }
}

/** Parses a URL. @returns a text: what is wrong with it, in nginx's words */
export function responderOf(url: string): Responder | string {
  if (!/^http:\/\//i.test(url)) return `invalid URL prefix in OCSP responder "${url}"`;
  const parsed = URL.parse(url);
  if (parsed === null || parsed.hostname === '') return `invalid host in OCSP responder "${url}"`;
  const { host, hostname, port, pathname } = parsed;
  const name = hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, name, port: port === '' ? 80 : Number(port), path: pathname.endsWith('/') ? pathname : `${pathname}/` };
}

/** Asks responders of OCSP (RFC 6960, A.1). */
export class StatusRequests {
  constructor(
    private readonly names: HostNames,
    private readonly guard: ControlPlaneGuard,
    /** Milliseconds. */
    private readonly timeout = 60_000,
  ) {}

  /**
   * @param request in DER
   * @param signal ends it; then the error is of no interest
   * @throws StatusRequestError (rejects)
   */
  async ask(responder: Responder, request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.timeout)]);
    let failure = new StatusRequestError(`${responder.name} could not be resolved`, '');
    for (const address of await this.#addresses(responder.name)) {
      try {
        return await this.#askAt(address, responder, request, limit);
      } catch (error) {
        if (!(error instanceof StatusRequestError)) throw error;
        failure = error;
        if (limit.aborted) break;
      }
    }
    throw failure;
  }

  async #addresses(name: string): Promise<readonly string[]> {
    if (isIP(name) !== 0) return [name];
    try {
      return await this.names.resolve(name);
    } catch (error) {
      throw new StatusRequestError((error as Error).message, '');
    }
  }

  #askAt(address: string, { host, port, path }: Responder, request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const peer = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
    const rejection = this.guard.rejection({ host: address, port });
    return new Promise((resolve, reject) => {
      const fail = (message: string): void => reject(new StatusRequestError(message, peer));
      if (rejection !== undefined) {
        fail(rejection);
        return;
      }
      // Loaded when it is used: workers never ask.
      const call = process.getBuiltinModule('node:http').request({
        host: address,
        port,
        agent: false,
        signal,
        path: `${path}${encodeURIComponent(request.toString('base64'))}`,
        headers: { Host: host, Accept: MEDIA_TYPE },
      });
      let isConnected = false;
      call.once('socket', (socket) => socket.once('connect', () => (isConnected = true)));
      call.on('error', (error: NodeJS.ErrnoException) => fail(reasonOf(error, signal, isConnected)));
      call.once('response', (response) => {
        const { statusCode, headers } = response;
        const type = headers['content-type'] ?? '';
        const wrong = statusCode !== 200 ? `OCSP responder sent status ${statusCode}` : problemOfType(type);
        if (wrong !== undefined) {
          call.destroy();
          fail(wrong);
          return;
        }
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          chunks.push(chunk);
          if (length <= LONGEST) return;
          call.destroy();
          fail(`OCSP responder sent more than ${LONGEST} bytes`);
        });
        response.once('end', () => resolve(Buffer.concat(chunks)));
        response.once('error', (error: NodeJS.ErrnoException) => fail(reasonOf(error, signal, true)));
      });
      call.end();
    });
  }
}

function problemOfType(type: string): string | undefined {
  if (type.toLowerCase() === MEDIA_TYPE) return undefined;
  return `OCSP responder sent invalid "Content-Type" header: "${type}"`;
}

function reasonOf(error: NodeJS.ErrnoException, signal: AbortSignal, isConnected: boolean): string {
  if (signal.aborted) return 'OCSP responder timed out';
  if (!isConnected) return `connect() failed (${systemErrorText(error)})`;
  if (error.code?.startsWith('HPE_') === true) return 'OCSP responder sent invalid response';
  return 'OCSP responder prematurely closed connection';
}
