import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';

export interface AskOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as it came: compressed, an image. */
  readonly bytes: Buffer;
}

/** One request to a port of 127.0.0.1, on a connection of its own. @throws Error when there is no response within 30 seconds */
export function ask(port: number, path: string, { method = 'GET', headers, body }: AskOptions): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false, timeout: 30_000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes.toString(), bytes });
      });
    });
    sent.once('timeout', () => sent.destroy(new Error(`no response to ${method} ${path} within 30 s`)));
    sent.once('error', reject);
    sent.end(body);
  });
}
